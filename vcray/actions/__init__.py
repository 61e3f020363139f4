"""One file an action; the file's name is the name in the configuration."""
