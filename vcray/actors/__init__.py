"""Who runs where, when: thin actors on the runtime protocol."""
