"""Measurements: `allocate` of one decision, `cluster` of the embedded cluster with its simulated nodes."""

from vcray.bench.allocate import BenchResult, helm_policy, prepared, run_allocate

__all__ = ["BenchResult", "helm_policy", "prepared", "run_allocate"]
