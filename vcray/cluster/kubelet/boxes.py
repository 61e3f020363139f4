"""One container of a running pod: what it does, when it ends, how often it was started."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

from vcray.cluster.kubelet.plan import ContainerPlan, argv_of, message_of, surroundings
from vcray.cluster.kubelet.shell import Run, Shell
from vcray.cluster.kubelet.sightings import SeenPod
from vcray.cluster.kubelet.surroundings import Storage, Surroundings

TERM_S = 0.3
"""How long a server takes to stop."""
SHORTEST_RUN_S = 0.1
"""Even a program that does nothing is seen to run."""
BACKOFF_S = (0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
BACKOFF_RESET_S = 600.0
KILLED = 137


class Stage(IntEnum):
    """Where a container stands."""

    WAITING = 0
    RUNNING = 1
    ENDED = 2


@dataclass(frozen=True, slots=True)
class End:
    """How one run of a container ended; times in seconds since the epoch."""

    started: float
    finished: float
    code: int
    message: str = ""


class Box:
    """A container of one pod. `due` is when it ends by itself or by a signal; infinite when never."""

    __slots__ = ("_fails", "_run", "_shell", "due", "end", "last", "plan", "restarts", "stage", "started")

    def __init__(self, plan: ContainerPlan) -> None:
        self.plan = plan
        self.stage = Stage.WAITING
        self.started = 0.0
        self.due = math.inf
        self.restarts = 0
        self.end: End | None = None
        self.last: End | None = None
        self._fails = 0
        self._shell: Shell | None = None
        self._run: Run | None = None

    def start(self, now: float, pod: SeenPod | None, ip: str, volumes: dict[str, Storage]) -> None:
        """Begin to run, unless the image is missing. `pod` is needed by plans without an ending."""
        if self.plan.missing:
            return
        if self.end is not None:
            self.restarts += 1
            self.last, self.end = self.end, None
        self.stage, self.started = Stage.RUNNING, now
        ending = self.plan.ending
        if ending is not None:
            self.due = now + max(ending.seconds, SHORTEST_RUN_S)
            return
        recipe = self.plan.recipe
        if recipe is None or pod is None:
            self.due = math.inf
            return
        mounts = [(each.mount_path, volumes.setdefault(each.name, {})) for each in recipe.volume_mounts or ()]
        around = surroundings(recipe, pod, ip, mounts, self.restarts)
        self._shell = Shell(around)
        self._run = self._shell.run(argv_of(recipe, around))
        self.due = now
        self.advance(now)

    def advance(self, now: float) -> bool:
        """Go on if the time has come; True if the container ended."""
        if self.stage is not Stage.RUNNING or self.due > now:
            return False
        if self._run is None:
            ending = self.plan.ending
            self._ended(self.due, ending.code if ending else 0, ending.message if ending else "")
            return True
        while self.due <= now:
            try:
                self.due += next(self._run)
            except StopIteration as stop:
                shell, recipe = self._shell, self.plan.recipe
                message = message_of(shell, recipe) if shell is not None and recipe is not None else ""
                self._ended(max(self.due, self.started + SHORTEST_RUN_S), stop.value, message)
                return True
        return False

    def kill(self, at: float, code: int = KILLED) -> None:
        """End at once."""
        if self.stage is Stage.RUNNING:
            self._ended(at, code, "")

    def restart_at(self) -> float:
        """When an ended container is started again."""
        assert self.end is not None
        return self.end.finished + BACKOFF_S[min(self._fails, len(BACKOFF_S)) - 1]

    def terminate(self, now: float, killed_at: float) -> tuple[float, int]:
        """Send SIGTERM: when the container ends by it, and with what code.

        A server stops at once, a trap runs, anything else goes on until it ends by itself or is killed.
        """
        serves, trap = self._signals()
        if serves:
            return now + TERM_S, 0
        if trap:
            code, seconds = _trapped(trap, self._shell)
            if seconds != math.inf:
                return min(now + seconds, killed_at), code if now + seconds <= killed_at else KILLED
        return killed_at, KILLED

    @property
    def output(self) -> str:
        """What the present run has printed so far, or will print if that is known before."""
        if self._shell is not None:
            return self._shell.output
        return self.plan.ending.output if self.plan.ending and self.stage is not Stage.WAITING else ""

    def _signals(self) -> tuple[bool, str | None]:
        if self._shell is not None:
            return self._shell.serving, self._shell.trap
        ending = self.plan.ending
        return (True, None) if ending is None else (ending.serves, ending.trap)

    def _ended(self, at: float, code: int, message: str) -> None:
        if at - self.started >= BACKOFF_RESET_S:
            self._fails = 0
        self._fails += 1
        self.end = End(self.started, at, code, message)
        self.stage, self.due, self._run = Stage.ENDED, math.inf, None


def _trapped(trap: str, shell: Shell | None) -> tuple[int, float]:
    """Exit code and seconds of a trap."""
    runner = shell or Shell(Surroundings({}))
    runner.trap = trap
    total = TERM_S
    run = runner.terminated()
    try:
        while total != math.inf:
            total += next(run)
    except StopIteration as end:
        return end.value, total
    return 0, math.inf
