"""Controllers of Kubernetes' own workloads on any API server: Jobs, sets of pods, Deployments and what surrounds them.

`Workloads` is all of it. Below: `informers` and `base` are what a controller stands on, `selection` and `podcontrol` what they do
to pods, `history` what templates they had, `fitting` which nodes take them; each controller is a module or a package.
"""

from vcray.cluster.workloads.manager import Workloads, WorkloadStatistics

__all__ = ["WorkloadStatistics", "Workloads"]
