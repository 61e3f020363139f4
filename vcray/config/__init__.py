"""Configuration, typed: volcano-scheduler.conf and settings."""
