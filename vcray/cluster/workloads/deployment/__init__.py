"""Deployments: `controller` acts, `sizes` says how many replicas each set gets, `progress` what the status tells, `revisions` names."""
