"""What a job plugin is, how one is found, and how it keeps an object without touching anybody else's.

A plugin's arguments are a command line in Go's `flag` style. As upstream, an unknown flag or a word that is no flag
ends the parsing, and the plugin runs with what was read so far.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.controllers import raw
from vcray.controllers.base import All, Create, Delete, Read, ReconcileError, Steps, expect
from vcray.controllers.job.view import JobView, TaskView

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))


class JobPlugin:
    """Base of all job plugins; `flags` are its arguments with their defaults, `self.options` what a job gave.

    The job controller calls `on_job_add` until it succeeds once (and notes that in the job's controlledResources),
    `on_job_update` at every sync of a job that is past Pending, `on_job_delete` when pods are killed, `on_pod` for each pod
    before it is created. All but `on_pod` may yield effects; ReconcileError stops the turn."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {}
    leaves_mark: ClassVar[bool] = True

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
    where = f"{resource.kind} {job.namespace}/{raw.name(wanted)}"
    if not likely_there:
        outcome = yield Create(resource, wanted)
        if not outcome.already_exists:
            return expect(outcome, f"create {where}")
    outcome = yield Read(resource, job.namespace, raw.name(wanted))
    if outcome.not_found:
        outcome = yield Create(resource, wanted)
        return expect(outcome, f"create {where}")
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


def containers_of(pod: JsonObject) -> list[JsonObject]:
    """Containers and init containers of a pod, in this order."""
    return [*raw.tables(pod, "spec", "containers"), *raw.tables(pod, "spec", "initContainers")]


def host_names(job: JobView, task: TaskView) -> list[str]:
    """Addresses of a task's pods inside the job's domain; one only when the template fixes the host name."""
    fixed = raw.text(task.spec.template, "spec", "hostname")
    subdomain = raw.text(task.spec.template, "spec", "subdomain") or job.name
    if fixed:
        return [f"{fixed}.{subdomain}"] if task.replicas else []
    return [f"{job.name}-{task.name}-{index}.{subdomain}" for index in range(task.replicas)]
