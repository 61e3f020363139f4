"""What an extender is told: tasks, jobs, nodes and queues as Volcano's Go structs look in JSON.

Field names are Go's, amounts floats: cpu in milli, memory in bytes, every other resource in thousandths, `pods` and attachable
volumes in whole. Of a pod the scheduler keeps only what it needs, so `Pod` is an excerpt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import resource_list
from vcray.core.arrays import Int
from vcray.core.disruption import revocable
from vcray.core.space import CPU, MEMORY, PODS
from vcray.core.tables import MISSING, PHASE_NAMES, QUEUE_STATE_NAMES, Notes, Status
from vcray.core.view import View


class Bodies:
    """Writes the parts of one session's bodies. `placed` tells where a task that moved in this session is now, by row."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.placed: dict[int, int] = {}
        space = view.space.names
        self._scale = [1000.0 if _in_bytes(name) else 1.0 for name in space]
        snapshot = view.snapshot
        tasks = snapshot.tasks
        self._shape = tasks.shape.tolist()

    def resource(self, amounts: Sequence[int] | Int) -> JsonObject:
        """Volcano's Resource."""
        space = self.view.space.names
        scalars: JsonObject = {
            space[row]: float(amounts[row]) * self._scale[row]
            for row in range(PODS, len(space))
            if amounts[row]
        }
        return {
            "MilliCPU": float(amounts[CPU]),
            "Memory": float(amounts[MEMORY]),
            "ScalarResources": scalars,
            "MaxTaskNum": int(amounts[PODS]),
        }

    def task(self, task: int) -> JsonObject:
        """Volcano's TaskInfo."""
        snapshot, tasks = self.view.snapshot, self.view.snapshot.tasks
        namespace, _, name = tasks.names[task].partition("/")
        shape = self.view.shapes[self._shape[task]]
        facts = snapshot.pod_facts[int(tasks.facts[task])]
        status = Status(int(self.view.status[task]))
        at = self.placed.get(task, int(tasks.node[task]))
        node = snapshot.nodes.names[at] if at != MISSING else ""
        request = self.resource(shape.req)
        notes, labels = dict(facts.notes), dict(snapshot.label_sets[int(tasks.labels[task])])
        asked = resource_list(dict(shape.spec.requests))
        asked.pop(names.PODS, None)
        return {
            "UID": tasks.uids[task],
            "Job": snapshot.jobs.names[int(tasks.job[task])],
            "Name": name,
            "Namespace": namespace,
            "TaskRole": snapshot.roles[int(tasks.role[task])],
            "Resreq": request,
            "InitResreq": request,
            "NodeName": node,
            "EvictionOccurred": False,
            "JobAllocatedHyperNode": "",
            "Status": 1 << status,
            "LastTransaction": None,
            "Priority": int(tasks.priority[task]),
            "VolumeReady": False,
            "Preemptable": facts.preemptable,
            "BestEffort": shape.best_effort,
            "HasRestartableInitContainer": False,
            "SchGated": bool(tasks.gated[task]),
            "RevocableZone": zone_of(facts.notes),
            "NumaInfo": None,
            "Pod": {
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "uid": tasks.uids[task],
                    "annotations": dict(notes),
                    "labels": dict(labels),
                },
                "spec": {
                    "nodeName": node,
                    "priority": facts.priority,
                    "priorityClassName": facts.priority_class,
                    "containers": [
                        {"name": "", "resources": {"requests": dict(asked), "limits": dict(asked)}}
                    ],
                },
                "status": {"qosClass": facts.qos},
            },
            "CustomBindErrHandlerSucceeded": False,
        }

    def job(self, job: int) -> JsonObject:
        """Volcano's JobInfo."""
        snapshot, view = self.view.snapshot, self.view
        jobs = snapshot.jobs
        namespace, _, name = jobs.names[job].partition("/")
        rows = sorted(view.tasks_of_job[job].tolist(), key=snapshot.tasks.names.__getitem__)
        tasks = {snapshot.tasks.uids[row]: self.task(row) for row in rows}
        by_status: dict[str, JsonValue] = {}
        for uid, task in tasks.items():
            group = by_status.setdefault(str(task["Status"]), {})
            assert isinstance(group, dict)
            group[uid] = task
        total = sum((self._request(row) for row in rows), start=view.jobs.allocated[:, job] * 0)
        roles = {snapshot.roles[role]: least for role, least in jobs.role_minimum[job]}
        said = dict(jobs.notes[job])
        least, most = said.get(names.JDB_MIN_AVAILABLE, ""), said.get(names.JDB_MAX_UNAVAILABLE, "")
        created = _time(int(jobs.created[job]))
        return {
            "UID": jobs.names[job],
            "PgUID": jobs.uids[job],
            "Name": name,
            "Namespace": namespace,
            "Queue": jobs.queue_names[job],
            "Priority": int(jobs.priority[job]),
            "MinAvailable": int(jobs.min_available[job]),
            "WaitingTime": None,
            "JobFitErrors": "",
            "NodesFitErrors": {},
            "TaskStatusIndex": by_status,
            "Tasks": dict(tasks),
            "TaskMinAvailable": dict(roles),
            "TaskMinAvailableTotal": sum(roles.values()),
            "Allocated": self.resource(view.jobs.allocated[:, job]),
            "TotalRequest": self.resource(total),
            "CreationTimestamp": created,
            "PodGroup": {
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "uid": jobs.uids[job],
                    "creationTimestamp": created,
                    "annotations": dict(said),
                },
                "spec": {"minMember": int(jobs.min_available[job]), "queue": jobs.queue_names[job]},
                "status": {"phase": PHASE_NAMES[int(view.jobs.phase[job])]},
            },
            "Preemptable": bool(jobs.preemptable[job]),
            "RevocableZone": zone_of(jobs.notes[job]),
            "Budget": {"MinAvailable": least, "MaxUnavailable": "" if least else most},
        }

    def node(self, node: int, idle: Sequence[int] | Int, used: Sequence[int] | Int) -> JsonObject:
        """Volcano's NodeInfo with these amounts (R,)."""
        nodes, live = self.view.snapshot.nodes, self.view.nodes
        labels = {
            key: nodes.labels.values[row][value]
            for key, row in nodes.labels.keys.items()
            if (value := int(nodes.labels.column[row, node])) != MISSING
        }
        taints: list[JsonValue] = [
            {"key": taint.key, "value": taint.value, "effect": taint.effect}
            for row, taint in enumerate(nodes.taints)
            if nodes.tainted[row, node]
        ]
        allocatable = nodes.allocatable[:, node]
        return {
            "Name": nodes.names[node],
            "Node": {
                "metadata": {
                    "name": nodes.names[node],
                    "labels": dict(labels),
                    "annotations": dict(nodes.notes[node]),
                },
                "spec": {"unschedulable": bool(nodes.unschedulable[node]), "taints": taints},
                "status": {"allocatable": dict(self._list(nodes.kube_allocatable[:, node]))},
            },
            "State": {"Phase": 1, "Reason": ""},
            "Releasing": self.resource(live.releasing[:, node]),
            "Pipelined": self.resource(live.pipelined[:, node]),
            "Idle": self.resource(idle),
            "Used": self.resource(used),
            "Allocatable": self.resource(allocatable),
            "Capacity": self.resource(allocatable),
            "Tasks": {},
            "RevocableZone": labels.get(names.REVOCABLE_ZONE, ""),
            "Others": {},
        }

    def queue(self, queue: int) -> JsonObject:
        """Volcano's QueueInfo."""
        queues = self.view.snapshot.queues
        said = dict(queues.notes[queue])
        hierarchy, weights = said.get(names.HIERARCHY, ""), said.get(names.HIERARCHY_WEIGHTS, "")
        parent = int(queues.parent[queue])
        spec: JsonObject = {
            "weight": int(queues.weight[queue]),
            "priority": int(queues.priority[queue]),
            "parent": queues.names[parent] if parent != MISSING else "",
            "reclaimable": bool(queues.reclaimable[queue]),
            "capability": dict(
                self._list(queues.capability[:, queue], queues.capability_named[:, queue].tolist())
            ),
            "deserved": dict(self._list(queues.deserved[:, queue], queues.deserved_named[:, queue].tolist())),
            "guarantee": {
                "resource": dict(
                    self._list(queues.guarantee[:, queue], queues.guarantee_named[:, queue].tolist())
                )
            },
        }
        return {
            "UID": queues.names[queue],
            "Name": queues.names[queue],
            "Weight": int(queues.weight[queue]),
            "Weights": weights,
            "Hierarchy": hierarchy,
            "Queue": {
                "metadata": {
                    "name": queues.names[queue],
                    "uid": queues.uids[queue],
                    "annotations": dict(said),
                },
                "spec": spec,
                "status": {
                    "state": QUEUE_STATE_NAMES[int(queues.state[queue])],
                    "allocated": dict(self._list(self.view.queues.allocated[:, queue])),
                },
            },
        }

    def session(self) -> JsonObject:
        """All that a session begins with."""
        snapshot, live = self.view.snapshot, self.view.nodes
        nodes = {
            name: self.node(row, live.idle[:, row], live.used[:, row])
            for name, row in sorted((name, row) for row, name in enumerate(snapshot.nodes.names))
        }
        jobs = sorted((name, row) for row, name in enumerate(snapshot.jobs.names))
        queues = sorted((name, row) for row, name in enumerate(snapshot.queues.names))
        return {
            "Jobs": {name: self.job(row) for name, row in jobs},
            "Nodes": dict(nodes),
            "Queues": {name: self.queue(row) for name, row in queues},
            "NamespaceInfo": {},
            "RevocableNodes": {name: body for name, body in nodes.items() if body["RevocableZone"]},
            "NodeList": [*nodes],
        }

    def _request(self, task: int) -> Int:
        request: Int = self.view.shapes[self._shape[task]].request
        return request

    def _list(self, amounts: Int, named: Iterable[bool] | None = None) -> dict[str, str]:
        shown = [amount != 0 for amount in amounts.tolist()] if named is None else list(named)
        return resource_list(
            {
                name: amount
                for name, amount, given in zip(self.view.space.names, amounts.tolist(), shown, strict=True)
                if given
            }
        )


def zone_of(notes: Notes) -> str:
    """Volcano's RevocableZone: `*` or nothing."""
    return "*" if revocable(notes) else ""


def _in_bytes(name: str) -> bool:
    """Resources that Volcano counts in thousandths and we in bytes."""
    return name == names.EPHEMERAL_STORAGE or name.startswith(names.HUGEPAGES_PREFIX)


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
