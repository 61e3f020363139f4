"""Jobs in any history: phases keep to the table, no pod is lost or left over, and quiet brings a job to rest.

A history is a list of steps: pods come to phases or vanish, kubelets bury them, commands and updates arrive, PodGroups change
phase or are lost, writes fail, the controller starts anew. Steps may come between any two turns of the controller.
"""

from __future__ import annotations

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.controllers.world import World, a_task
from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import COMMANDS, JOBS, PODGROUPS, PODS, QUEUES
from vcray.controllers import raw
from vcray.controllers.base import Create, Delete, Effect, Outcome, Patch, Update, UpdateStatus
from vcray.controllers.job.controller import JobController
from vcray.controllers.job.lifecycle import TABLE

EDGES = {
    (before or "Pending", target.value)
    for before, row in TABLE.items()
    for step in row.values()
    for target in step.then.targets
}
"""Changes of phase that the table knows; a job without a phase is Pending before anything else."""

EVENTS = ("PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "*")
ACTIONS = (
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
)
Step = tuple[str, int, str]

policies = st.lists(
    st.builds(
        lambda event, action, timeout, code: {
            "action": action,
            **({"exitCode": 3} if code else {"event": event}),
            **({"timeout": "10s"} if timeout else {}),
        },
        st.sampled_from(EVENTS),
        st.sampled_from(ACTIONS),
        st.booleans(),
        st.integers(0, 5).map(lambda n: n == 0),
    ),
    max_size=3,
)
jobs = st.fixed_dictionaries(
    {
        "policies": policies,
        "maxRetry": st.integers(1, 4),
        "replicas": st.tuples(st.integers(1, 3), st.integers(0, 2)),
        "least": st.integers(0, 4),
        "minSuccess": st.sampled_from([None, None, 1, 2]),
        "plugins": st.sampled_from([{}, {"svc": [], "env": []}]),
        "partitions": st.booleans(),
    }
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("pods"), st.integers(0, 4), st.sampled_from(["Running", "Succeeded", "Failed"])),
        st.tuples(st.just("all"), st.just(0), st.sampled_from(["Running", "Succeeded"])),
        st.tuples(st.just("command"), st.just(0), st.sampled_from(ACTIONS)),
        st.tuples(st.just("group"), st.just(0), st.sampled_from(["Inqueue", "Running", "Unknown", "lost"])),
        st.tuples(st.just("scale"), st.integers(0, 3), st.just("")),
        st.tuples(
            st.sampled_from(
                ["vanish", "restarts", "refuse", "bury", "admit", "start", "wait", "turn", "settle"]
            ),
            st.integers(0, 4),
            st.just(""),
        ),
    ),
    max_size=14,
)


class JobWorld(World):
    """A world with one job, and the steps of its history."""

    def __init__(self, graceful: bool, spec: dict[str, JsonValue]) -> None:
        super().__init__([JobController(max_requeue=1000)], graceful=graceful)
        self.refusals = 0
        self.fail = self._refuse
        self.serial = 0
        first, second = spec.pop("replicas")  # type: ignore[misc]
        parts = {"totalPartitions": 3, "partitionSize": 1} if spec.pop("partitions") else None
        tasks = [a_task("a", first, **({"partitionPolicy": parts} if parts else {})), a_task("b", second)]
        least = min(int(str(spec.pop("least"))), first + second)
        success = spec.pop("minSuccess")
        self.submit(tasks=tasks, minAvailable=least, **({"minSuccess": success} if success else {}), **spec)

    def _refuse(self, effect: Effect) -> Outcome | None:
        if self.refusals and isinstance(effect, Create | Update | UpdateStatus | Patch | Delete):
            self.refusals -= 1
            return Outcome(ok=False, status=500, reason="InternalError", message="refused")
        return None

    def step(self, step: Step) -> None:
        what, number, word = step
        if what in ("pods", "all", "vanish", "restarts"):
            self.pods_do(what, number, word)
        elif what == "command":
            self.serial += 1
            target: JsonObject = {"apiVersion": JOBS.api_version, "kind": JOBS.kind, "name": "j"}
            meta: JsonObject = {"name": f"c{self.serial}", "namespace": "ns"}
            self.put(COMMANDS, {"metadata": meta, "action": word, "target": target})
        elif what == "turn" and self.queue:
            self._turn(*self.queue.pop(0))
        elif what == "refuse":
            self.refusals = number
        else:
            {
                "group": lambda: self.group_is(word),
                "scale": lambda: self.scale(number),
                "bury": self.bury,
                "admit": self.admit,
                "start": self.start_anew,
                "wait": lambda: self.advance(6),
            }.get(what, self.settle)()

    def pods_do(self, what: str, number: int, word: str) -> None:
        """Something happens to one of the pods that are not on their way out, or to all of them."""
        pods = [raw.name(pod) for pod in self.list(PODS) if not raw.terminating(pod)]
        if not pods:
            return
        pod = pods[number % len(pods)]
        if what == "vanish":
            self.remove(PODS, "ns", pod)
        elif what == "restarts":
            status = [{"name": "main", "ready": True, "restartCount": number}]
            self.change(PODS, "ns", pod, status__containerStatuses=status)
        else:
            for each in pods if what == "all" else [pod]:
                self.play(each, word, 3 if number % 2 else 0)

    def group_is(self, phase: str) -> None:
        """The PodGroup comes to a phase, or is lost."""
        for group in self.podgroups():
            if phase == "lost":
                self.remove(PODGROUPS, "ns", raw.name(group))
            else:
                self.change(PODGROUPS, "ns", raw.name(group), status__phase=phase)

    def play(self, pod: str, phase: str, code: int = 0) -> None:
        """A kubelet tells of a pod; a pod that has ended does not come back."""
        stored = self.objects[PODS, "ns", pod]
        if raw.text(stored, "status", "phase") in ("Succeeded", "Failed"):
            return
        state: JsonObject = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": code}}
        statuses = [{"name": "main", "ready": phase == "Running", "restartCount": 0, "state": state}]
        self.change(PODS, "ns", pod, status__phase=phase, status__containerStatuses=statuses)

    def scale(self, replicas: int) -> None:
        """Somebody scales the second task, as far as the minimum of the job allows."""
        first, second = raw.tables(self.job(), "spec", "tasks")
        wanted = max(replicas, raw.number(self.job(), "spec", "minAvailable") - raw.number(first, "replicas"))
        self.change(JOBS, "ns", "j", spec__tasks=[first, {**second, "replicas": wanted}])

    def start_anew(self) -> None:
        """Another process: what was remembered and queued is lost."""
        self.controllers = [JobController(max_requeue=1000)]
        self.queue.clear()
        self.waiting.clear()
        self.failures.clear()
        self.replay(QUEUES, JOBS, PODS, PODGROUPS, COMMANDS)

    def quiet(self) -> None:
        """The scheduler lets in what waits, kubelets bury what goes, timers run out."""
        self.refusals = 0
        for _ in range(12):
            self.settle()
            self.bury()
            self.admit()
            self.advance(20)

    def writes(self) -> list[Effect]:
        kinds = Create | Update | UpdateStatus | Patch | Delete
        return [effect for effect in self.effects if isinstance(effect, kinds)]

    # what holds at any time

    def check(self) -> None:
        seen = ["Pending", *self.phases]
        assert {(a, b) for a, b in pairwise(seen) if a != b} <= EDGES, self.phases
        status = self.status()
        assert raw.number(status, "retryCount") <= raw.number(self.job(), "spec", "maxRetry")
        conditions = [raw.text(each, "status") for each in raw.tables(status, "conditions")]
        assert len(conditions) == len(set(conditions))
        for pod in self.list(PODS):
            assert raw.controlled_by(pod, raw.uid(self.job())), "each pod is owned"

    def check_pods(self) -> None:
        """A job that goes on and is let in has one pod for each index, no others, and has counted them."""
        (group,) = self.podgroups() or [{}]
        if self.phase() not in ("Pending", "Running") or raw.text(group, "status", "phase") in (
            "",
            "Pending",
        ):
            return
        wanted = {
            f"j-{raw.text(task, 'name')}-{index}"
            for task in raw.tables(self.job(), "spec", "tasks")
            for index in range(raw.number(task, "replicas"))
        }
        assert set(self.pods()) == wanted
        for phase in ("Pending", "Running", "Succeeded", "Failed"):
            there = [p for p in self.list(PODS) if (raw.text(p, "status", "phase") or "Pending") == phase]
            assert raw.number(self.status(), phase.lower()) == len(there), phase
        for pod in self.list(PODS):
            assert not raw.annotation(pod, names.CONTROLLER_OUT_OF_SYNC), "a marked pod goes"


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graceful=st.booleans(), spec=jobs, history=steps)
def test_any_history_keeps_to_the_table_and_quiet_brings_rest(
    graceful: bool, spec: dict[str, JsonValue], history: list[Step]
) -> None:
    w = JobWorld(graceful, {**spec})
    w.admit()
    for step in history:
        w.step(step)
        w.check()

    w.quiet()
    w.check()
    w.check_pods()

    before = len(w.writes())
    w.replay(QUEUES, JOBS, PODGROUPS)
    w.settle()
    assert w.writes()[before:] == [], "a sync of a job at rest writes nothing"
    w.start_anew()
    w.settle()
    assert w.writes()[before:] == [], "nor does another process"


def test_histories_know_every_change_of_phase_that_the_table_has() -> None:
    assert ("Running", "Pending") in EDGES
    assert ("Aborted", "Restarting") in EDGES
    assert not {(a, b) for a, b in EDGES if a in ("Completed", "Failed", "Terminated")}
