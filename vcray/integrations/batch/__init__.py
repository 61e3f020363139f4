"""Kubernetes' own batch projects: JobSet and LeaderWorkerSet."""
