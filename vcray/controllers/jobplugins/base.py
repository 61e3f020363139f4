"""What a job plugin is, how one is found, and how it keeps an object without touching anybody else's.

A plugin's arguments are a command line in Go's `flag` style. As upstream, an unknown flag or a word that is no flag
ends the parsing, and the plugin runs with what was read so far.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.controllers import raw
from vcray.controllers.base import All, Create, Delete, Read, ReconcileError, Steps, expect
from vcray.controllers.job.pods import pod_name
from vcray.controllers.job.view import JobView, TaskView

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


class JobPlugin:
    """Base of all job plugins; `flags` are its arguments with their defaults, `self.options` what a job gave.

    The job controller calls `on_job_add` until it succeeds once (and notes that in the job's controlledResources),
    `on_job_update` at every sync of a job that is past Pending, `on_job_delete` when pods are killed because the job ends,
    `on_job_restart` when they are killed to be made again, `on_pod` for each pod before it is created. All but `on_pod` may
    yield effects; ReconcileError stops the turn. Plugins dress a pod in the order of their names, those that are
    `dresses_last` after the others."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {}
    leaves_mark: ClassVar[bool] = True
    dresses_last: ClassVar[bool] = False

    def __init__(self, arguments: Sequence[str]) -> None:
        self.options = parse_flags(arguments, self.flags)

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        """Dress a pod that was built for this job; the object is the plugin's to change."""
        return pod

    def on_job_add(self, job: JobView) -> Steps[None]:
        """Make what the job's pods need."""
        yield from ()

    def on_job_update(self, job: JobView) -> Steps[None]:
        """Bring it up to date with the spec."""
        yield from ()

    def on_job_delete(self, job: JobView) -> Steps[None]:
        """Take it away."""
        yield from ()

    def on_job_restart(self, job: JobView) -> Steps[bool]:
        """Take away what new pods must not meet; whether what is left is all that they need."""
        yield from self.on_job_delete(job)
        return False


@cache
def plugin_names() -> tuple[str, ...]:
    """All plugins of this package, sorted."""
    package = importlib.import_module("vcray.controllers.jobplugins")
    found = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(name for name in found if name != "base"))


@cache
def find_plugin(name: str) -> type[JobPlugin] | None:
    """The class of a plugin by its name in a manifest; None when there is no such plugin."""
    if name not in plugin_names():
        return None
    module = importlib.import_module(f"vcray.controllers.jobplugins.{name}")
    classes = [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, JobPlugin) and item.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise TypeError(f"{module.__name__} must define one JobPlugin, not {len(classes)}")
    return classes[0]


def parse_flags(
    arguments: Sequence[str], flags: Mapping[str, str | int | bool]
) -> dict[str, str | int | bool]:
    """Read `-x=v`, `--x v`, `--b`; stop silently at the first argument that does not fit."""
    options = dict(flags)
    words = list(arguments)
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word in ("-", "--"):
            break
        name, equals, given = word.removeprefix("-").removeprefix("-").partition("=")
        if name not in flags:
            break
        default = flags[name]
        if not equals and isinstance(default, bool):
            given = "true"
        elif not equals:
            if not words:
                break
            given = words.pop(0)
        parsed = _parsed(given, default)
        if parsed is None:
            break
        options[name] = parsed
    return options


def _parsed(given: str, default: str | int | bool) -> str | int | bool | None:
    if isinstance(default, bool):
        return given in _TRUE if given in _TRUE | _FALSE else None
    if isinstance(default, int):
        try:
            return int(given, 0)
        except ValueError:
            return None
    return given


def keep_object(
    job: JobView, resource: Resource, wanted: JsonObject, likely_there: bool = False
) -> Steps[JsonObject]:
    """Create an object of the job's own, or find the one made before; `likely_there` looks before it creates.

    An object of that name that somebody else owns is left as it is: the turn ends with an error that does not count
    as a retry, so the job waits until the name is free (volcano-sh/volcano#548)."""
    creating = f"create {resource.kind} {job.namespace}/{raw.name(wanted)}"
    if not likely_there:
        outcome = yield Create(resource, wanted)
        if not outcome.already_exists:
            return expect(outcome, creating)
    found = yield from find_object(job, resource, raw.name(wanted))
    if found is None:
        outcome = yield Create(resource, wanted)
        return expect(outcome, creating)
    return found


def find_object(job: JobView, resource: Resource, name: str) -> Steps[JsonObject | None]:
    """Read an object of the job's own; None when there is none, ReconcileError when it is somebody else's."""
    where = f"{resource.kind} {job.namespace}/{name}"
    outcome = yield Read(resource, job.namespace, name)
    if outcome.not_found:
        return None
    found = expect(outcome, f"read {where}")
    if not raw.controlled_by(found, job.uid):
        message = f"{where} exists and belongs to somebody else; the job waits until it is gone"
        raise ReconcileError(message, counts=False)
    return found


def drop_objects(job: JobView, names: Sequence[tuple[Resource, str]]) -> Steps[None]:
    """Delete those of these objects that are the job's own."""
    reads = yield All(tuple(Read(resource, job.namespace, name) for resource, name in names))
    deletes = tuple(
        Delete(resource, job.namespace, name, uid=raw.uid(outcome.object))
        for (resource, name), outcome in zip(names, reads.parts, strict=True)
        if outcome.object is not None and outcome.ok and raw.controlled_by(outcome.object, job.uid)
    )
    if deletes:
        outcomes = yield All(deletes)
        for delete, outcome in zip(deletes, outcomes.parts, strict=True):
            if not outcome.ok and not outcome.not_found and not outcome.conflict:
                raise ReconcileError(f"delete {delete.resource.kind} {delete.name}: {outcome.message}")


def own_object(job: JobView, resource: Resource, name: str) -> JsonObject:
    """Kind and metadata of an object that the job owns; the rest is the plugin's to add."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": job.namespace, "ownerReferences": [job.owner_reference]},
    }


def job_selector(job: JobView) -> JsonObject:
    """Labels that all pods of the job have, and no others."""
    return {names.JOB_NAME: job.name, names.JOB_NAMESPACE: job.namespace}


def containers_of(pod: JsonObject) -> list[JsonObject]:
    """Containers and init containers of a pod, in this order."""
    return [*raw.tables(pod, "spec", "containers"), *raw.tables(pod, "spec", "initContainers")]


def add_variables(container: JsonObject, variables: Sequence[tuple[str, str]]) -> None:
    """Put (name, value) pairs before the user's variables: those can refer to them, and win where they have the same
    name, since the last one counts (volcano-sh/volcano#611)."""
    entries: list[JsonValue] = [{"name": name, "value": value} for name, value in variables]
    raw.append(container, "env", *entries, front=True)


def open_port(container: JsonObject, name: str, port: int) -> None:
    """Expose a port, unless the container exposes that number already, under whatever name."""
    if all(exposed.get("containerPort") != port for exposed in raw.tables(container, "ports")):
        raw.append(container, "ports", {"name": name, "containerPort": port})


@dataclass(frozen=True, slots=True)
class Host:
    """Where a pod of a job is found: its host name and the subdomain that the headless Service gives an address to."""

    name: str
    subdomain: str

    @property
    def address(self) -> str:
        """`<host>.<subdomain>`, which resolves in the job's namespace."""
        return f"{self.name}.{self.subdomain}"


def host(job: JobView, task: TaskView, index: int) -> Host:
    """The host of pod `index` of a task: what its template fixes, else the pod's own name in the job's subdomain."""
    fixed = raw.text(task.spec.template, "spec", "hostname")
    subdomain = raw.text(task.spec.template, "spec", "subdomain")
    return Host(fixed or pod_name(job, task, index), subdomain or job.name)


def hosts(job: JobView, task: TaskView) -> list[Host]:
    """The hosts of a task's pods; one only when the template fixes the name, which they then share."""
    found = dict.fromkeys(host(job, task, index) for index in range(task.replicas))
    return list(found)
