"""Where the agents of an elastic PyTorchJob meet, told to torchrun by variables of every container, as the training-operator 1.9 does.

The host is worker 0 also where there is a master; a port is that of the workers' container, 23456 where it names none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PYTORCHJOBS
from vcray.cluster.operators.training.kinds import Kind, Roles
from vcray.controllers import raw

_PORT: Final = 23456
_AS_GIVEN: Final[Mapping[str, str]] = {"PET_MAX_RESTARTS": "maxRestarts", "PET_RDZV_ID": "rdzvId"}
"""Variables with the field of elasticPolicy that gives them; none where it does not."""


def variables(kind: Kind, job: JsonObject, roles: Roles) -> Iterator[JsonObject]:
    """Environment of each container of the job; nothing for one that is not elastic."""
    elastic = raw.at(job, "spec", "elasticPolicy")
    if kind.resource != PYTORCHJOBS or not isinstance(elastic, dict) or "Worker" not in roles:
        return
    host = raw.text(elastic, "rdzvHost") or f"{raw.name(job)}-worker-0"
    port = raw.number(elastic, "rdzvPort") or _port(kind, roles["Worker"].spec)
    yield _variable("PET_RDZV_ENDPOINT", f"{host}:{port}")
    yield _variable("PET_RDZV_BACKEND", raw.text(elastic, "rdzvBackend") or "c10d")
    yield _variable("PET_NNODES", _sizes(elastic, roles["Worker"].replicas))
    processes = raw.at(elastic, "nProcPerNode") or raw.at(job, "spec", "nprocPerNode") or "auto"
    yield _variable("PET_NPROC_PER_NODE", str(processes))
    for name, field in _AS_GIVEN.items():
        value = raw.at(elastic, field)
        if isinstance(value, str | int):
            yield _variable(name, str(value))
    settings = raw.tables(elastic, "rdzvConf")
    if settings:
        pairs = (f"{raw.text(each, 'key')}={raw.text(each, 'value')}" for each in settings)
        yield _variable("PET_RDZV_CONF", ",".join(pairs))
    if raw.at(elastic, "standalone") is True:
        yield _variable("PET_STANDALONE", "")


def _variable(name: str, value: str) -> JsonObject:
    return {"name": name, "value": value}


def _sizes(elastic: JsonObject, replicas: int) -> str:
    """`least:most` nodes; one that is not given is as the other, and both are the replicas where none is."""
    given: list[JsonValue] = [raw.at(elastic, "minReplicas"), raw.at(elastic, "maxReplicas")]
    least, most = given
    fallback = next((each for each in given if each is not None), replicas)
    return f"{fallback if least is None else least}:{fallback if most is None else most}"


def _port(kind: Kind, workers: JsonObject) -> int:
    for container in raw.tables(workers, "template", "spec", "containers"):
        for port in raw.tables(container, "ports"):
            if container.get("name") == kind.container and port.get("name") == "pytorchjob-port":
                return raw.number(port, "containerPort", default=_PORT)
    return _PORT
