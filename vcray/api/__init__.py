"""Kubernetes and Volcano objects as the rest of vcray sees them: pure models, quantities, names, CRDs."""
