"""Admission rules, pure: validate and mutate, one file a resource."""
