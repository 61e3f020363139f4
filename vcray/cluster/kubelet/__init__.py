"""Simulated nodes: Node objects, leases, and a kubelet that plays each pod's containers in its own time.

`Fleet` is all of it. Below: `keeper` follows pods and writes their status, `lifecycle` and `boxes` say what happens to a pod
and to a container by a given time, `plan` turns a pod's spec into what its programs will do, `shell` (with `syntax`, `expansion`,
`programs`, `surroundings`) interprets commands in virtual time, `status` puts it in the API's words, `nodes` makes the objects.
"""

from vcray.cluster.kubelet.fleet import Fleet, FleetOptions, FleetStatistics
from vcray.cluster.kubelet.nodes import NodeShape

__all__ = ["Fleet", "FleetOptions", "FleetStatistics", "NodeShape"]
