"""Gets a thread out of a hook of a user's that does not come back.

One thread looks at the time that the hook has; when that is over it raises `Overrun` in the thread that is in the hook. Python
delivers it at the next bytecode, so a loop in Python ends, and a call into C ends when it returns. `end` waits until an
exception that is on its way has arrived, so that it never reaches the kernel.
"""

from __future__ import annotations

import ctypes
import threading
from math import inf
from time import monotonic, sleep

from vcray.core.fence import Overrun

POLL_S = 0.02
DELIVERY_S = 1.0


class Watchdog:
    """A `vcray.core.fence.Guard`, for hooks of one thread at a time; they may nest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dues: list[float] = []
        self._thread = 0
        self._fired = False
        self._woken = threading.Event()
        self._looker: threading.Thread | None = None

    def begin(self, seconds: float) -> None:
        """The hook begins, with so much time. One that is called by another is timed alone meanwhile."""
        with self._lock:
            self._thread, self._fired = threading.get_ident(), False
            self._dues.append(monotonic() + max(seconds, 0.0))
            if self._looker is None:
                self._looker = threading.Thread(target=self._look, name="plugin watchdog", daemon=True)
                self._looker.start()
        self._woken.set()

    def end(self, interrupted: bool = False) -> None:
        """The hook is over; `interrupted`: by `Overrun`. Raises `Overrun` when one is on its way and has not arrived."""
        with self._lock:
            self._dues.pop()
            fired, self._fired = self._fired and not interrupted, False
        if fired:
            deadline = monotonic() + DELIVERY_S
            while monotonic() < deadline:  # the exception interrupts this loop
                sleep(0)

    @property
    def pending(self) -> bool:
        """Is a hook being timed?"""
        with self._lock:
            return bool(self._dues)

    def _look(self) -> None:
        while True:
            self._woken.wait()
            with self._lock:
                if not self._dues:
                    self._woken.clear()
                elif monotonic() >= self._dues[-1]:
                    self._fired, self._dues[-1] = True, inf
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(
                        ctypes.c_ulong(self._thread), ctypes.py_object(Overrun)
                    )
                timed = bool(self._dues)
            if timed:
                sleep(POLL_S)
