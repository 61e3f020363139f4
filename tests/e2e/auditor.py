"""An auditor that reads only the API server and tells what a scheduler must never have done.

It shares no code with vcray. Four laws, looked at after every change and once more at the end:

- a gang is whole or waits: of a PodGroup's members either none is bound or at least its minimum (each role's too);
  less may be seen only for `GRACE_S` seconds, while bindings are in flight or recovery is at work;
- nothing is bound twice: the node of a pod never changes;
- no node is overbooked, in any resource, in number of pods too;
- no queue holds more than its capability.

A gang that was whole once may shrink: its pods finish and fail, and the scheduler did not do that.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from types import TracebackType
from typing import Any, Self

from tests.conformance.harness.client import Client
from tests.e2e.watching import Watching

Object = dict[str, Any]
Amounts = dict[str, Decimal]

GRACE_S = 30.0
GROUP_ANNOTATIONS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
ROLE_ANNOTATION = "volcano.sh/task-spec"
FINISHED = ("Succeeded", "Failed")
SCALES = {
    "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "k": Decimal("1e3"), "M": Decimal("1e6"),
    "G": Decimal("1e9"), "T": Decimal("1e12"), "P": Decimal("1e15"), "Ki": Decimal(2**10), "Mi": Decimal(2**20),
    "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip


def amount(quantity: str | int) -> Decimal:
    """A quantity as a number: the exact one, without rounding."""
    text = str(quantity)
    for suffix in (text[-2:], text[-1:]):
        if suffix in SCALES:
            return Decimal(text.removesuffix(suffix)) * SCALES[suffix]
    return Decimal(text)


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, Decimal(0)) + value


def _requests(container: Object) -> Amounts:
    return {k: amount(v) for k, v in (container.get("resources", {}).get("requests") or {}).items()}


def requests(pod: Object) -> Amounts:
    """What a pod asks of its node: containers and sidecars together, or its greediest init container; plus overhead."""
    spec = pod["spec"]
    running: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        if container.get("restartPolicy") == "Always":
            _add(running, _requests(container))
            step = dict(running)
        else:
            step = dict(running)
            _add(step, _requests(container))
        peak = {name: max(peak.get(name, Decimal(0)), step.get(name, Decimal(0))) for name in {*peak, *step}}
    for container in spec["containers"]:
        _add(running, _requests(container))
    total = {
        name: max(peak.get(name, Decimal(0)), running.get(name, Decimal(0))) for name in {*peak, *running}
    }
    _add(total, {k: amount(v) for k, v in (spec.get("overhead") or {}).items()})
    return total


def key_of(obj: Object) -> str:
    """namespace/name, or the name of a cluster-scoped object."""
    metadata = obj["metadata"]
    return (
        f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])
    )


def group_of(pod: Object) -> str:
    """The key of the PodGroup that a pod belongs to; empty when it names none."""
    annotations = pod["metadata"].get("annotations") or {}
    name = next((annotations[each] for each in GROUP_ANNOTATIONS if annotations.get(each)), "")
    return f"{pod['metadata']['namespace']}/{name}" if name else ""


def node_of(pod: Object) -> str:
    """The node that a pod is bound to; empty when it waits."""
    return str(pod["spec"].get("nodeName") or "")


def holds_node(pod: Object) -> bool:
    """Does the pod take room on a node? One that is being deleted does, until it is gone."""
    return bool(node_of(pod)) and pod.get("status", {}).get("phase") not in FINISHED


def is_member(pod: Object) -> bool:
    """Does the pod count for its gang: bound and not on its way out; or without any request, which needs no room."""
    if pod["metadata"].get("deletionTimestamp"):
        return False
    return bool(node_of(pod)) or not requests(pod)


@dataclass
class State:
    """The objects of a cluster as last seen, pods by uid, all else by key."""

    pods: dict[str, Object] = field(default_factory=dict)
    groups: dict[str, Object] = field(default_factory=dict)
    nodes: dict[str, Object] = field(default_factory=dict)
    queues: dict[str, Object] = field(default_factory=dict)

    def members(self, group: str) -> list[Object]:
        """All pods of a PodGroup."""
        return [pod for pod in self.pods.values() if group_of(pod) == group]


def why_half_bound(state: State, group: str) -> str:
    """Why a PodGroup is neither whole nor waiting; empty when it is, or when it is not known (yet)."""
    found = state.groups.get(group)
    if found is None:
        return ""
    spec = found.get("spec") or {}
    members = [pod for pod in state.members(group) if is_member(pod)]
    if not any(node_of(pod) for pod in members):
        return ""
    least = int(spec.get("minMember") or 0)
    if len(members) < least:
        return f"{group}: {len(members)} bound of at least {least}"
    roles: dict[str, int] = spec.get("minTaskMember") or {}
    if least < sum(roles.values()):
        return ""
    have: dict[str, int] = defaultdict(int)
    for pod in members:
        have[(pod["metadata"].get("annotations") or {}).get(ROLE_ANNOTATION, "")] += 1
    short = [
        f"{have[role]} bound of at least {n} {role}" for role, n in sorted(roles.items()) if have[role] < n
    ]
    return f"{group}: {', '.join(short)}" if short else ""


def overbooked(state: State, names: Iterable[str] | None = None) -> list[str]:
    """Nodes (all, or the named ones) whose pods ask for more than the node has, one sentence a resource."""
    wanted = set(state.nodes if names is None else names)
    used: dict[str, Amounts] = {name: {"pods": Decimal(0)} for name in wanted}
    for pod in state.pods.values():
        if holds_node(pod) and node_of(pod) in wanted:
            _add(used[node_of(pod)], {**requests(pod), "pods": Decimal(1)})
    found = []
    for name in sorted(wanted & set(state.nodes)):
        offered = state.nodes[name].get("status", {}).get("allocatable") or {}
        for resource, asked in sorted(used[name].items()):
            if asked > amount(offered.get(resource, 0)):
                found.append(f"node {name}: {asked} {resource} in use of {offered.get(resource, 0)}")
    return found


def over_capability(state: State) -> list[str]:
    """Queues whose bound pods ask for more than the queue may hold."""
    used: dict[str, Amounts] = defaultdict(dict)
    for pod in state.pods.values():
        group = state.groups.get(group_of(pod))
        if group is not None and holds_node(pod):
            _add(used[(group.get("spec") or {}).get("queue") or "default"], requests(pod))
    found = []
    for name, asked in sorted(used.items()):
        limit = (state.queues.get(name, {}).get("spec") or {}).get("capability") or {}
        found += [
            f"queue {name}: {asked[resource]} {resource} in use of {most}"
            for resource, most in sorted(limit.items())
            if asked.get(resource, Decimal(0)) > amount(most)
        ]
    return found


class History:
    """The laws over a run: told of each change with the time at which it was seen."""

    def __init__(self, grace_s: float = GRACE_S) -> None:
        self.state = State()
        self.violations: list[str] = []
        self.half_bound_since: dict[str, float] = {}
        self.longest_half_bound_s = 0.0
        self.half_bound_moments = 0  # how often a gang became half bound
        self.bindings = 0
        self._grace_s = grace_s
        self._whole_once: set[str] = set()
        self._node_of: dict[str, str] = {}

    def pod(self, kind: str, pod: Object, now: float) -> None:
        """A pod was ADDED, MODIFIED or DELETED."""
        uid, node = pod["metadata"]["uid"], node_of(pod)
        before = self._node_of.get(uid, "")
        if before and node != before:
            self._say(f"pod {key_of(pod)} was bound to {before}, now to {node or 'nothing'}")
        if node and not before:
            self.bindings += 1
        self._node_of[uid] = node
        if kind == "DELETED":
            self.state.pods.pop(uid, None)
        else:
            self.state.pods[uid] = pod
        if node and node != before:
            for sentence in overbooked(self.state, [node]):
                self._say(sentence)
        self._look_at(group_of(pod), now)

    def group(self, kind: str, group: Object, now: float) -> None:
        """A PodGroup was ADDED, MODIFIED or DELETED."""
        key = key_of(group)
        if kind == "DELETED":
            self.state.groups.pop(key, None)
            self._whole_once.discard(key)
        else:
            self.state.groups[key] = group
        self._look_at(key, now)

    def node(self, kind: str, node: Object) -> None:
        """A node was ADDED, MODIFIED or DELETED."""
        self._keep(self.state.nodes, kind, node)

    def queue(self, kind: str, queue: Object) -> None:
        """A queue was ADDED, MODIFIED or DELETED."""
        self._keep(self.state.queues, kind, queue)

    def judge(self, now: float) -> list[str]:
        """All that was wrong so far, and what is wrong at this moment, when all should be at rest."""
        halves = [why_half_bound(self.state, group) for group in sorted(self.half_bound_since)]
        present = [f"half bound at the end: {why}" for why in halves if why]
        present += overbooked(self.state) + over_capability(self.state)
        return [*self.violations, *(each for each in present if each not in self.violations)]

    def overdue(self, now: float) -> None:
        """Note gangs that have been half bound for too long by now."""
        for group, since in list(self.half_bound_since.items()):
            if now - since > self._grace_s:
                self._say(f"half bound for more than {self._grace_s:.0f} s: {group}")

    def excuse(self, now: float) -> None:
        """Count the time of gangs that are half bound from now on: no scheduler was there to mend them before."""
        for group, since in self.half_bound_since.items():
            self.longest_half_bound_s = max(self.longest_half_bound_s, now - since)
            self.half_bound_since[group] = now

    def _look_at(self, group: str, now: float) -> None:
        if not group:
            return
        why = "" if group in self._whole_once else why_half_bound(self.state, group)
        if why:
            if group not in self.half_bound_since:
                self.half_bound_since[group] = now
                self.half_bound_moments += 1
            return
        since = self.half_bound_since.pop(group, None)
        if since is not None:
            self.longest_half_bound_s = max(self.longest_half_bound_s, now - since)
            if now - since > self._grace_s:
                self._say(f"half bound for more than {self._grace_s:.0f} s: {group}")
        if group not in self.state.groups:
            return
        if any(is_member(pod) and node_of(pod) for pod in self.state.members(group)):
            self._whole_once.add(group)
        else:
            self._whole_once.discard(group)  # it waits again, and must start whole again

    def _say(self, sentence: str) -> None:
        if sentence not in self.violations:
            self.violations.append(sentence)

    @staticmethod
    def _keep(held: dict[str, Object], kind: str, obj: Object) -> None:
        if kind == "DELETED":
            held.pop(key_of(obj), None)
        else:
            held[key_of(obj)] = obj


class Auditor:
    """Watches a server from beginning to end of a run; a context manager."""

    def __init__(self, client: Client, grace_s: float = GRACE_S) -> None:
        self.history = History(grace_s)
        self.lock = threading.Lock()
        self._client = client
        self._watches: list[Watching] = []

    def __enter__(self) -> Self:
        groups = "/apis/scheduling.volcano.sh/v1beta1/"
        told = {
            "/api/v1/nodes": lambda kind, obj: self.history.node(kind, obj),
            f"{groups}queues": lambda kind, obj: self.history.queue(kind, obj),
            f"{groups}podgroups": lambda kind, obj: self.history.group(kind, obj, time.monotonic()),
            "/api/v1/pods": lambda kind, obj: self.history.pod(kind, obj, time.monotonic()),
        }
        for path, tell in told.items():
            watch = Watching(self._client, path, self._locked(tell))
            self._watches.append(watch)
            watch.listed.wait(30)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for watch in self._watches:
            watch.close()

    def bound(self, namespace: str) -> int:
        """How many pods of a namespace have a node now."""
        with self.lock:
            pods = self.history.state.pods.values()
            return sum(bool(node_of(pod)) and pod["metadata"]["namespace"] == namespace for pod in pods)

    def half_bound(self) -> list[str]:
        """Gangs that are neither whole nor waiting now."""
        with self.lock:
            return sorted(self.history.half_bound_since)

    def excuse(self) -> None:
        """Say that the scheduler has only just come (back)."""
        with self.lock:
            self.history.excuse(time.monotonic())

    def require_content(self) -> None:
        """AssertionError with all that is or ever was wrong. Call it when all should be at rest.

        The audit hears by watches of its own: what it sees half bound gets two seconds to be seen whole."""
        late = time.monotonic() + 2
        while self.half_bound() and time.monotonic() < late:
            time.sleep(0.05)
        with self.lock:
            failures = [f"the audit broke off: {watch.failure!r}" for watch in self._watches if watch.failure]
            now = time.monotonic()
            self.history.overdue(now)
            wrong = [*failures, *self.history.judge(now)]
        assert not wrong, "the auditor found:\n" + "\n".join(wrong)

    def _locked(self, tell: Any) -> Any:
        def locked(kind: str, obj: Object) -> None:
            with self.lock:
                tell(kind, obj)

        return locked
