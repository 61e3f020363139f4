"""The embedded cluster: so far its object store and in-process transport."""
