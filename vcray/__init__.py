"""Batch scheduling for machine learning on Kubernetes: Volcano's API, event-driven actors."""
