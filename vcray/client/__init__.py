"""A client for programs: submit work, wait for it, look at queues. It talks to the Kubernetes API alone, so it works from a laptop, from
a pod, and from a driver in any Ray cluster.

- `blocking`: `Client`, for scripts. `waiting`: `AsyncClient`, for programs with an event loop; both have the same methods.
- `states`: how far an object of each kind has come. `queues`: queues as values.
"""

from vcray.client.blocking import Client
from vcray.client.queues import QueueInfo
from vcray.client.states import Outcome, State
from vcray.client.waiting import AsyncClient, Deadline, Submitted, connect_async

__all__ = ["AsyncClient", "Client", "Deadline", "Outcome", "QueueInfo", "State", "Submitted", "connect_async"]
