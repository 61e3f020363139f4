"""Kubernetes objects -> tables, pure."""
