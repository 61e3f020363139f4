"""`vcray bench admission`: how long an API server waits for each webhook, over HTTPS and in the rule alone.

One admission actor that knows many queues answers reviews of good objects, path by path. Over HTTPS several clients ask at the
same time, each on a connection of its own and its next review when it has its answer; they share processor and event loop with the
server, so the figures are more than an API server sees. `rule_*` is the same review from its bytes to the answer's, without a
connection.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import aiohttp
import msgspec
import numpy as np

from vcray.actors.admission import AdmissionActor, AdmissionOptions
from vcray.actors.admission_reviews import read_question, write_answer
from vcray.actors.admission_view import Glance, Known
from vcray.actors.messages import ObjectChange, ObjectChanges
from vcray.actors.timekeeping import WallTime
from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES, PODGROUPS, QUEUES, Resource
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient
from vcray.metrics import Metrics
from vcray.webhooks.base import Rules
from vcray.webhooks.resource_groups import ResourceGroup
from vcray.webhooks.services import ALL_SERVICES, Service

WARM_UP = 20
NAMESPACE = "bench"
RULES = Rules(
    resource_groups=(ResourceGroup("g", frozenset({NAMESPACE}), labels=(("pool", "g"),)),), gate_pods=True
)


@dataclass(frozen=True, slots=True)
class AdmissionResult:
    """One path; milliseconds of wall time: `p50_ms` and `p99_ms` over HTTPS, `rule_*` from bytes to bytes; `cpu_ms` is the
    processor time of a review over HTTPS, client and server together, on the average."""

    path: str
    reviews: int
    clients: int
    queues: int
    p50_ms: float
    p99_ms: float
    cpu_ms: float
    rule_p50_ms: float
    rule_p99_ms: float


def run_admission(queues: int, tasks: int, reviews: int, clients: int) -> list[AdmissionResult]:
    """Measure every path with `reviews` reviews from `clients` at once; jobs have `tasks` tasks. ValueError for a size below 1."""
    if min(queues, tasks, reviews, clients) < 1:
        raise ValueError("queues, tasks, reviews and clients must be at least 1")
    return asyncio.run(_measured(queues, tasks, reviews, clients))


async def _measured(queues: int, tasks: int, reviews: int, clients: int) -> list[AdmissionResult]:
    transport = InProcessTransport(Store())
    options = replace(AdmissionOptions(), port=0, services=ALL_SERVICES, rules=RULES, unregister=False)
    actor = AdmissionActor(KubeClient(transport), options, WallTime(), Metrics())
    known = Known(WallTime().now)
    await actor.start()
    try:
        for resource, obj in _cluster(queues):
            known.put(resource, obj)
            await actor.receive(ObjectChanges(resource.full_name, (ObjectChange("ADDED", obj),)))
        gc.collect()
        gc.freeze()
        found = []
        for service in ALL_SERVICES:
            body = _question(service, tasks)
            rule = _timed(lambda body=body, service=service: _answered(service, body, known), reviews)  # type: ignore[misc]
            busy = time.process_time()
            wire = await _asked(f"https://127.0.0.1:{actor.port}{service.path}", body, reviews, clients)
            cpu_ms = (time.process_time() - busy) * 1000 / (len(wire) + WARM_UP * clients)
            sizes = (service.path, len(wire), clients, queues)
            found.append(AdmissionResult(*sizes, *_percentiles(wire), round(cpu_ms, 3), *_percentiles(rule)))
        return found
    finally:
        gc.unfreeze()
        await actor.stop()
        await transport.close()


def _timed(work: Callable[[], object], times: int) -> list[float]:
    """Seconds of each run."""
    spent = []
    for index in range(-WARM_UP, times):
        begun = time.perf_counter()
        work()
        if index >= 0:
            spent.append(time.perf_counter() - begun)
    return spent


def _answered(service: Service, body: bytes, known: Known) -> bytes:
    question = read_question(body)
    return write_answer(question.uid, service.admit(question.about(Glance(known), RULES)))


async def _asked(url: str, body: bytes, reviews: int, clients: int) -> list[float]:
    """Seconds of each review; ValueError if one is refused: then something else than asked for would be measured."""
    spent: list[float] = []
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=clients)) as session:

        async def client(share: int) -> None:
            for index in range(-WARM_UP, share):
                begun = time.perf_counter()
                async with session.post(url, data=body, headers=headers, ssl=False) as answer:
                    text = await answer.read()
                if b'"allowed":true' not in text:
                    raise ValueError(f"a review was refused: {text.decode(errors='replace')}")
                if index >= 0:
                    spent.append(time.perf_counter() - begun)

        await asyncio.gather(*(client(-(-reviews // clients)) for _ in range(clients)))
    return spent


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    p50, p99 = np.percentile(np.array(seconds) * 1000, (50, 99)).tolist()
    return round(p50, 3), round(p99, 3)


# -- what is asked about ----------------------------------------------------------------------------------------------


def _cluster(queues: int) -> list[tuple[Resource, JsonObject]]:
    """Queues below root, the namespace, and a PodGroup of nobody."""
    made: list[tuple[Resource, JsonObject]] = [
        (NAMESPACES, _stored(NAMESPACES, NAMESPACE, {})),
        (PODGROUPS, _stored(PODGROUPS, "g", {}, namespace=NAMESPACE)),
        (QUEUES, _stored(QUEUES, names.ROOT_QUEUE, {})),
    ]
    for index in range(queues):
        spec: JsonObject = {"weight": 1, "parent": names.ROOT_QUEUE, "capability": {"cpu": "64"}}
        made.append((QUEUES, _stored(QUEUES, f"q{index}", spec)))
    return made


def _stored(resource: Resource, name: str, spec: JsonObject, **metadata: JsonValue) -> JsonObject:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", **metadata},
        "spec": spec,
        "status": {"state": "Open"},
    }


def _question(service: Service, tasks: int) -> bytes:
    resource = service.resource
    request: JsonObject = {
        "uid": "u",
        "resource": {"group": resource.group, "version": resource.version, "resource": resource.plural},
        "operation": "CREATE",
        "namespace": NAMESPACE,
        "userInfo": {"username": "somebody"},
        "object": {
            "metadata": {"name": "n", "namespace": NAMESPACE, "annotations": {names.GROUP_NAME: "g"}},
            "spec": _spec(resource.plural, tasks),
        },
    }
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    )


def _spec(plural: str, tasks: int) -> JsonObject:
    pod: JsonObject = {
        "schedulerName": names.SCHEDULER_NAME,
        "containers": [
            {
                "name": "worker",
                "image": "train:1",
                "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"nvidia.com/gpu": "1"}},
                "env": [{"name": f"V{index}", "value": "x"} for index in range(10)],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
        "volumes": [{"name": "data", "emptyDir": {}}],
    }
    listed: list[JsonValue] = [
        {"name": f"t{index}", "replicas": 8, "template": {"spec": pod}} for index in range(tasks)
    ]
    job: JsonObject = {"queue": "q0", "minAvailable": 1, "tasks": listed}
    specs: dict[str, JsonObject] = {
        "jobs": job,
        "cronjobs": {"schedule": "*/5 * * * *", "timeZone": "UTC", "jobTemplate": {"spec": job}},
        "podgroups": {"queue": "q0", "minMember": 8},
        "queues": {"parent": "q0", "weight": 1, "capability": {"cpu": "8"}, "deserved": {"cpu": "0"}},
        "hypernodes": {
            "tier": 1,
            "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "^n-[0-9]+$"}}}],
        },
        "jobflows": {"flows": [{"name": f"f{index}"} for index in range(10)]},
        "pods": pod,
        "commands": {},
    }
    return specs[plural]
