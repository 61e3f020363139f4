"""Scenario files and the world that runs them."""
