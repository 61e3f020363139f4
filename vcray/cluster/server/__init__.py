"""The server's own words: paths, verbs, bodies, over HTTPS and in this process."""
