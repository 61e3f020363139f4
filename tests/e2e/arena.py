"""One test's part of a shared cluster: a namespace, nodes that only its pods may use, and what a test does to them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.client import ApiError, Client
from tests.conformance.harness.server import ControlPlane
from tests.e2e.watching import Watching

Object = dict[str, Any]

JOBS = "/apis/batch.volcano.sh/v1alpha1"
COMMANDS = "/apis/bus.volcano.sh/v1alpha1"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1"
ARENA = "arena"  # label, taint and node selector that keep tests apart
PATIENCE_S = 30.0


class Phases:
    """The phases of one job in the order in which a watch showed them, each once until it changes."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self.seen: list[str] = []
        self.statuses: list[Object] = []
        path = f"{JOBS}/namespaces/{namespace}/jobs?fieldSelector=metadata.name%3D{name}"
        self._watching = Watching(client, path, self._heard)

    def _heard(self, kind: str, job: Object) -> None:
        status = job.get("status") or {}
        phase = (status.get("state") or {}).get("phase") or ""
        if kind != "DELETED" and phase:
            self.statuses.append(status)
            if not self.seen or self.seen[-1] != phase:
                self.seen.append(phase)

    def wait(self, *wanted: str, timeout_s: float = PATIENCE_S) -> None:
        """Until exactly these phases have been seen, in order."""
        try:
            wait_until(lambda: self.seen[: len(wanted)] == list(wanted), "the phases", timeout_s)
        except TimeoutError:
            raise AssertionError(f"expected phases {list(wanted)}, saw {self.seen}") from None

    def close(self) -> None:
        """Stop watching."""
        self._watching.close()


class Arena:
    """A namespace and its nodes; `clean` removes all of it."""

    def __init__(self, server: ControlPlane) -> None:
        self.server = server
        self.client = server.client
        self.namespace = server.create_namespace("arena")
        self.core = f"/api/v1/namespaces/{self.namespace}"
        self.jobs = f"{JOBS}/namespaces/{self.namespace}/jobs"
        self.groups = f"{GROUPS}/namespaces/{self.namespace}/podgroups"
        self._nodes: list[str] = []
        self._queues: list[str] = []
        self._phases: list[Phases] = []

    # -- objects ------------------------------------------------------------------------------------------------

    def node(self, name: str, cpu: int = 4, **resources: str) -> str:
        """Add a Ready node that only this test's pods may use; returns its full name."""
        full = f"{self.namespace}-{name}"
        amounts = {"cpu": str(cpu), "memory": "64Gi", "pods": "110", **resources}
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "played by a test"}
        self._nodes.append(full)
        self.client.create(
            "/api/v1/nodes",
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": full, "labels": {ARENA: self.namespace, "kubernetes.io/hostname": full}},
                "spec": {"taints": [{"key": ARENA, "value": self.namespace, "effect": "NoSchedule"}]},
                "status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]},
            },
        )
        return full

    def queue(self, name: str, **spec: Any) -> str:
        """Add a queue; returns its full name."""
        full = f"{self.namespace}-{name}"
        self._queues.append(full)
        body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": full}}
        self.client.create(f"{GROUPS}/queues", {**body, "spec": {"weight": 1, **spec}})
        return full

    def pod_spec(self, cpu: int | str = 1, scheduler: str = "volcano") -> Object:
        """The spec of a pod that fits this arena's nodes alone."""
        return {
            "schedulerName": scheduler,
            "restartPolicy": "Never",
            "nodeSelector": {ARENA: self.namespace},
            "tolerations": [{"key": ARENA, "operator": "Exists"}],
            "containers": [
                {
                    "name": "main",
                    "image": "none",
                    "resources": {"requests": {"cpu": str(cpu), "memory": "1Mi"}},
                }
            ],
        }

    def task(self, name: str = "worker", replicas: int = 1, cpu: int | str = 1, **more: Any) -> Object:
        """One task of a vcjob; `template` in `more` is merged into the pod's template."""
        template = {"spec": self.pod_spec(cpu), **more.pop("template", {})}
        template["spec"].pop("schedulerName")
        return {"name": name, "replicas": replicas, "template": template, **more}

    def job(self, name: str, *tasks: Object, **spec: Any) -> Object:
        """A vcjob; without `minAvailable` all its pods are the gang."""
        return {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "schedulerName": "volcano",
                "minAvailable": sum(task["replicas"] for task in tasks),
                "tasks": list(tasks),
                **spec,
            },
        }

    def apply(self, *objects: Object) -> None:
        """`kubectl apply -f -`, which must succeed."""
        text = "\n---\n".join(json.dumps(each) for each in objects)
        said = self.server.kubectl("apply", "-f", "-", stdin=text)
        assert said.returncode == 0, said.stderr

    def group(self, name: str, least: int, **spec: Any) -> None:
        """Add a PodGroup."""
        body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name}}
        self.client.create(self.groups, {**body, "spec": {"minMember": least, "queue": "default", **spec}})

    def pod(self, name: str, group: str = "", cpu: int | str = 1, **spec: Any) -> Object:
        """Add a pod, as a member of a PodGroup if one is named."""
        notes = {"scheduling.k8s.io/group-name": group} if group else {}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": notes}}
        return self.client.create(f"{self.core}/pods", {**body, "spec": {**self.pod_spec(cpu), **spec}})

    def bind(self, pod: str, node: str) -> None:
        """Bind a pod, as a scheduler would."""
        self.client.create(
            f"{self.core}/pods/{pod}/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod},
                "target": {"apiVersion": "v1", "kind": "Node", "name": node},
            },
        )

    def command(self, job: str, action: str) -> None:
        """Ask for an action on a vcjob, as `vcctl job suspend` does."""
        found = self.client.get(f"{self.jobs}/{job}")
        target = {key: found[key] for key in ("apiVersion", "kind")}
        target |= {"name": job, "uid": found["metadata"]["uid"], "controller": True}
        self.client.create(
            f"{COMMANDS}/namespaces/{self.namespace}/commands",
            {
                "apiVersion": "bus.volcano.sh/v1alpha1",
                "kind": "Command",
                "metadata": {"generateName": f"{job}-", "ownerReferences": [target]},
                "action": action,
                "target": target,
            },
        )

    # -- the kubelet --------------------------------------------------------------------------------------------

    def play(self, phase: str, pods: Iterable[str] | None = None, exit_code: int = 0) -> None:
        """Write the phase of pods (of all that are bound) as their kubelet would."""
        names = list(self.bound()) if pods is None else list(pods)
        for name in names:
            path = f"{self.core}/pods/{name}"
            state: Object = {"running": {}} if phase == "Running" else {"terminated": {"exitCode": exit_code}}
            status = {
                "name": "main",
                "image": "none",
                "imageID": "",
                "ready": phase == "Running",
                "restartCount": 0,
                "state": state,
            }
            self.client.patch(f"{path}/status", {"status": {"phase": phase, "containerStatuses": [status]}})

    def reap(self) -> int:
        """Confirm the end of pods that are being deleted, as their kubelet would; how many there were."""
        leaving = [pod for pod in self.pods() if pod["metadata"].get("deletionTimestamp")]
        for pod in leaving:
            self._try(
                lambda path=f"{self.core}/pods/{pod['metadata']['name']}": self.client.delete(path, grace_s=0)
            )
        return len(leaving)

    # -- looking ------------------------------------------------------------------------------------------------

    def pods(self) -> list[Object]:
        """All pods of the namespace."""
        found: list[Object] = self.client.get(f"{self.core}/pods")["items"]
        return found

    def bound(self) -> dict[str, str]:
        """Pod -> node of all that are bound and not on their way out."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.pods()
            if pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
        }

    def conditions(self, group: str) -> dict[str, Object]:
        """The conditions of a PodGroup by type."""
        status = self.client.get(f"{self.groups}/{group}").get("status") or {}
        return {each["type"]: each for each in status.get("conditions") or []}

    def events(self, about: str = "") -> list[tuple[str, str, str, str]]:
        """(kind, type, reason, message) of the namespace's events about objects whose name starts with `about`."""
        return [
            (each["involvedObject"]["kind"], each["type"], each["reason"], each["message"])
            for each in self.client.get(f"{self.core}/events")["items"]
            if each["involvedObject"]["name"].startswith(about)
        ]

    def phases(self, job: str) -> Phases:
        """Watch the phases of a job from now on."""
        made = Phases(self.client, self.namespace, job)
        self._phases.append(made)
        return made

    def wait(self, condition: Callable[[], bool], what: str, timeout_s: float = PATIENCE_S) -> None:
        """Until `condition` holds; while waiting, pods that are being deleted go as with a kubelet."""

        def looked() -> bool:
            if condition():
                return True
            self.reap()
            return False

        try:
            wait_until(looked, what, timeout_s)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{self.story()}") from None

    def wait_bound(self, count: int, timeout_s: float = PATIENCE_S) -> dict[str, str]:
        """Until exactly `count` pods are bound; returns them."""
        self.wait(lambda: len(self.bound()) == count, f"{count} pods to be bound", timeout_s)
        return self.bound()

    def never_bound(self, seconds: float) -> None:
        """Nothing may be bound for a while (a few looks at 0.2 s)."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert not self.bound(), self.story()
            time.sleep(0.2)

    def story(self) -> str:
        """What an engineer wants to see when a wait was in vain."""
        pods = [
            f"pod {p['metadata']['name']} {p['status'].get('phase')} on {p['spec'].get('nodeName')}"
            for p in self.pods()
        ]
        groups = [
            f"podgroup {g['metadata']['name']} {json.dumps(g.get('status'))}"
            for g in self.client.get(self.groups)["items"]
        ]
        jobs = [
            f"job {j['metadata']['name']} {json.dumps(j.get('status'))}"
            for j in self.client.get(self.jobs)["items"]
        ]
        events = [" ".join(each) for each in self.events()]
        return "\n".join([*jobs, *groups, *pods, *events[-30:]])

    # -- the end ------------------------------------------------------------------------------------------------

    def clean(self) -> None:
        """Remove what would be in the way of other tests."""
        for watched in self._phases:
            watched.close()
        for path in (f"{self.core}/replicasets".replace("/api/v1", "/apis/apps/v1"), self.jobs):
            self._try(
                lambda path=path: self.client.request("DELETE", path, {"propagationPolicy": "Background"})
            )
        wait_until(lambda: not self.client.get(self.jobs)["items"], "the jobs to go", PATIENCE_S)
        options: Mapping[str, object] = {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
        self._try(lambda: self.client.request("DELETE", f"{self.core}/pods", options))
        self._try(lambda: self.client.request("DELETE", self.groups))
        for node in self._nodes:
            self._try(lambda node=node: self.client.delete(f"/api/v1/nodes/{node}"))
        for queue in reversed(self._queues):
            self._try(lambda queue=queue: self.client.delete(f"{GROUPS}/queues/{queue}"))
        self._try(lambda: self.client.delete(f"/api/v1/namespaces/{self.namespace}"))

    @staticmethod
    def _try(act: Callable[[], object]) -> None:
        try:
            act()
        except ApiError as error:
            if error.code not in (404, 409):
                raise
