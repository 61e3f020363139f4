"""Stored objects: their versions, the verbs on them, what becomes of them when they are deleted."""
