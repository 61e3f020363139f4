"""The Kubernetes client: one client, two transports (HTTP, in process)."""
