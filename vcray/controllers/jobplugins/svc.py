"""Names for the pods of a job to find each other by.

A headless Service `<job>` gives every pod a DNS name; a ConfigMap `<job>-svc` lists them per task, mounted under
/etc/volcano and as environment variables (before the user's, so that those can refer to them); a NetworkPolicy `<job>`
lets only pods of the job in. Objects of these names that the job does not own are never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CONFIGMAPS, NETWORKPOLICIES, SERVICES, Resource
from vcray.controllers import raw
from vcray.controllers.base import Patch, Steps, expect
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import (
    JobPlugin,
    containers_of,
    drop_objects,
    hosts,
    job_selector,
    keep_object,
    own_object,
)

MOUNT_PATH = "/etc/volcano"


class SvcPlugin(JobPlugin):
    """Service, hosts ConfigMap and NetworkPolicy of a job."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {
        "publish-not-ready-addresses": False,
        "disable-network-policy": False,
        "inject-hosts-env": True,
    }

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        spec = raw.table(pod, "spec")
        if not spec.get("hostname"):
            spec["hostname"] = raw.name(pod)
        if not spec.get("subdomain"):
            spec["subdomain"] = job.name
        config_map = _config_map_name(job)
        raw.append(spec, "volumes", {"name": config_map, "configMap": {"name": config_map}})
        for container in containers_of(pod):
            raw.append(container, "volumeMounts", {"name": config_map, "mountPath": MOUNT_PATH})
            if self.options["inject-hosts-env"]:
                raw.append(container, "env", *(_reference(key, config_map) for key in _keys(job)), front=True)
        return pod

    def on_job_add(self, job: JobView) -> Steps[None]:
        yield from self._keep_hosts(job)
        yield from keep_object(job, SERVICES, self._service(job))
        if not self.options["disable-network-policy"]:
            yield from keep_object(job, NETWORKPOLICIES, _network_policy(job))

    def on_job_update(self, job: JobView) -> Steps[None]:
        yield from self._keep_hosts(job, likely_there=True)

    def on_job_delete(self, job: JobView) -> Steps[None]:
        objects: list[tuple[Resource, str]] = [(CONFIGMAPS, _config_map_name(job)), (SERVICES, job.name)]
        if not self.options["disable-network-policy"]:
            objects.append((NETWORKPOLICIES, job.name))
        yield from drop_objects(job, objects)

    def _keep_hosts(self, job: JobView, likely_there: bool = False) -> Steps[None]:
        name, data = _config_map_name(job), hosts_data(job)
        wanted: JsonObject = {**own_object(job, CONFIGMAPS, name), "data": data}
        stored = yield from keep_object(job, CONFIGMAPS, wanted, likely_there)
        if raw.table(stored, "data") != data:
            patch: list[JsonValue] = [{"op": "add", "path": "/data", "value": data}]
            outcome = yield Patch(CONFIGMAPS, job.namespace, name, patch, "json")
            expect(outcome, f"update ConfigMap {job.namespace}/{name}")

    def _service(self, job: JobView) -> JsonObject:
        return {
            **own_object(job, SERVICES, job.name),
            "spec": {
                "clusterIP": "None",
                "selector": job_selector(job),
                "publishNotReadyAddresses": self.options["publish-not-ready-addresses"],
            },
        }


def hosts_data(job: JobView) -> JsonObject:
    """The ConfigMap's data: `<task>.host`, `VC_<TASK>_HOSTS` and `VC_<TASK>_NUM` of every task."""
    data: JsonObject = {}
    for task in job.tasks:
        addresses = [each.address for each in hosts(job, task)]
        data[f"{_word(task)}.host"] = "\n".join(addresses)
        data[f"VC_{_word(task).upper()}_HOSTS"] = ",".join(addresses)
        data[f"VC_{_word(task).upper()}_NUM"] = str(len(addresses))
    return data


def _keys(job: JobView) -> list[str]:
    words = [_word(task).upper() for task in job.tasks]
    return [f"VC_{word}_{what}" for word in words for what in ("HOSTS", "NUM")]


def _word(task: TaskView) -> str:
    return task.name.replace("-", "_")


def _reference(key: str, config_map: str) -> JsonObject:
    return {"name": key, "valueFrom": {"configMapKeyRef": {"name": config_map, "key": key}}}


def _config_map_name(job: JobView) -> str:
    return f"{job.name}-svc"


def _network_policy(job: JobView) -> JsonObject:
    return {
        **own_object(job, NETWORKPOLICIES, job.name),
        "spec": {
            "podSelector": {"matchLabels": job_selector(job)},
            "ingress": [{"from": [{"podSelector": {"matchLabels": job_selector(job)}}]}],
            "policyTypes": ["Ingress"],
        },
    }
