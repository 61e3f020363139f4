"""The embedded cluster: so far its object store and in-process transport.

`Store` holds the objects and knows the rules of the API server; `InProcessTransport` lets a `KubeClient` drive it.
"""

from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport

__all__ = ["InProcessTransport", "Store"]
