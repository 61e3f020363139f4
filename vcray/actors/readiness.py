"""When a control plane may say that it is ready, as far as other processes decide it.

Apart from the actors themselves, so that a process can wait for one without loading it.
"""

from __future__ import annotations

from vcray.actors.messages import Registered
from vcray.actors.runtime import Handle, Time

POLL_S = 0.02


async def registered_within(admission: Handle, time: Time, seconds: float) -> bool:
    """Wait until the API server knows of the webhooks; False when it does not after so long.

    An object that is created before gets no defaults."""
    deadline = time.now() + seconds
    while True:
        answer = await admission.ask(Registered())
        if isinstance(answer, Registered) and answer.done:
            return True
        if time.now() >= deadline:
            return False
        await time.sleep(POLL_S)
