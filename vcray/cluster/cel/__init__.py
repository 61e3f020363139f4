"""The Common Expression Language as a Kubernetes API server speaks it: CRD rules, match conditions, admission policies."""
