"""Command lines: vcray and vcctl."""
