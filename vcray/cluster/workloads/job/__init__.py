"""Kubernetes' own Jobs: `controller` acts, `turn` judges a job and its pods, `tracking` counts, `policies` and `indexes` help."""
