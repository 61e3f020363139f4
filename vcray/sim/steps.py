"""What a scenario does to its cluster: create, delete, patch, finish, nodes, components, watch events."""

from __future__ import annotations

from fnmatch import fnmatchcase

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import COMMANDS, JOBS, NODES, PODS, QUEUES, Resource, resolve, resource_for
from vcray.errors import InputError, Problem
from vcray.kube.errors import AlreadyExists, ApiError
from vcray.sim import expand
from vcray.sim.backend import Backend
from vcray.sim.observed import belongs, matches, text
from vcray.sim.scenario import (
    CommandStep,
    Finish,
    Kubelet,
    Objects,
    OverwriteStep,
    PatchStep,
    Refused,
    Target,
)
from vcray.sim.shorthand import NOT_READY

COMPONENTS = ("scheduler", "controllers", "integrations")


class Steps:
    """Carries out steps on a back end; `order` picks the order in which objects of a kind are created."""

    def __init__(self, backend: Backend, order: int) -> None:
        self._backend = backend
        self._order = order
        self._running = set(COMPONENTS)
        self._held: dict[tuple[Resource, str | None, str], set[str]] = {}

    async def act(self, verb: str, value: object, where: str) -> None:
        """Do one step. InputError VC0303 when it names what is not there, an ApiError when the server refuses."""
        match verb, value:
            case "create", Objects():
                await self.create(value, where)
            case "patch", PatchStep():
                await self._patch(value)
            case "overwrite", OverwriteStep():
                resource, namespace = _resource(value)
                await self._backend.overwrite(resource, namespace or "", value.name, value.patch)
            case "delete", Target():
                await self._delete(value, where)
            case (("hold" | "release"), Target()):
                await self._events(verb, value)
            case "command", CommandStep():
                await self._command(value)
            case "finish", Finish():
                await self._finish(value, where)
            case "disconnect", _:
                await self._backend.disconnect()
            case "kubelet", Kubelet():
                self._backend.kubelet(value)
            case (("node_down" | "node_up" | "cordon" | "uncordon"), str()):
                await self._node(verb, value)
            case (("stop" | "start" | "restart"), str()):
                await self._component(verb, value, where)
            case _:
                raise TypeError(verb)

    async def create(self, given: Objects, where: str) -> None:
        """Create objects; of one that exists everything given is changed but its name and status."""
        for obj in expand.objects(given, where, self._order):
            await self._create_one(resource_for(text(obj, "apiVersion"), text(obj, "kind")), obj)

    async def refused(self, step: Refused, where: str) -> list[str]:
        """Sentences for what is wrong: nothing when the server refuses with a message that matches."""
        try:
            if step.create is not None:
                await self.create(step.create, where)
            if step.patch is not None:
                await self._patch(step.patch)
            if step.delete is not None:
                await self._delete(step.delete, where)
        except ApiError as error:
            if fnmatchcase(error.message, step.message):
                return []
            return [f"{where}: expected '{step.message}', the server said '{error.message}'"]
        return [f"{where}: the server accepted it"]

    async def _create_one(self, resource: Resource, obj: JsonObject) -> None:
        client = self._backend.client
        namespace = (text(obj, "metadata", "namespace") or "default") if resource.namespaced else None
        name, status = text(obj, "metadata", "name"), obj.get("status")
        try:
            made = await client.create(resource, namespace, obj)
        except AlreadyExists:
            changed: JsonObject = {
                key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "status")
            }
            made = await client.patch(resource, namespace, name, changed)
        if status and made.get("status") != status:
            subresource = "status" if "status" in resource.subresources else None
            await client.patch(resource, namespace, name, {"status": status}, subresource=subresource)

    async def _patch(self, step: PatchStep) -> None:
        resource, namespace = _resource(step)
        names = [step.name]
        if set(step.name) & set("*?["):
            names = await self._names(resource, namespace, step.name) or names
        for name in names:
            if step.delay_event:
                await self._backend.hold(resource, namespace or "", name)
            await self._backend.client.patch(
                resource, namespace, name, step.patch, subresource=step.subresource
            )

    async def _delete(self, target: Target, where: str) -> None:
        resource, namespace = _resource(target)
        names = await self._names(resource, namespace, target.name)
        if not names:
            raise InputError(Problem("VC0303", where, f"there is no {target.kind} '{target.name}' to delete"))
        for name in names:
            await self._backend.client.delete(resource, namespace, name)

    async def _events(self, verb: str, target: Target) -> None:
        """Hold or release; what does not exist yet can be held by its name, what is gone by now is released."""
        resource, namespace = _resource(target)
        names = {*await self._names(resource, namespace, target.name), target.name}
        held = self._held.setdefault((resource, namespace, target.name), set())
        if verb == "hold":
            held |= names
        else:
            names |= held
            held.clear()
        act = self._backend.hold if verb == "hold" else self._backend.release
        for name in sorted(names):
            await act(resource, namespace or "", name)

    async def _finish(self, step: Finish, where: str) -> None:
        pods = [
            pod
            for pod in (await self._backend.client.list(PODS)).items
            if matches(pod, step.pods)
            and text(pod, "spec", "nodeName")
            and text(pod, "status", "phase") in ("", "Pending", "Running")
        ]
        if not pods:
            what = f"no pod on a node that has not ended matches '{step.pods}'"
            raise InputError(Problem("VC0303", where, what))
        for pod in pods:
            namespace, name = text(pod, "metadata", "namespace"), text(pod, "metadata", "name")
            await self._backend.finish(namespace, name, step.code)

    async def _node(self, verb: str, name: str) -> None:
        if verb in ("node_down", "node_up"):
            await self._ready(name, verb == "node_up")
        else:
            patch: JsonObject = {"spec": {"unschedulable": verb == "cordon"}}
            await self._backend.client.patch(NODES, None, name, patch)

    async def _ready(self, name: str, ready: bool) -> None:
        """The condition as the kubelet has it and the taint as the node lifecycle controller has it."""
        client = self._backend.client
        node = await client.get(NODES, None, name)
        taints = dig(node, "spec", "taints")
        kept: list[JsonValue] = [
            each
            for each in (taints if isinstance(taints, list) else [])
            if text(each, "key") != NOT_READY["key"]
        ]
        patch: JsonObject = {"spec": {"taints": (kept or None) if ready else [*kept, NOT_READY]}}
        await client.patch(NODES, None, name, patch)
        condition: JsonObject = {"type": "Ready", "status": str(ready), "reason": "Simulated"}
        await client.patch(NODES, None, name, {"status": {"conditions": [condition]}}, subresource="status")

    async def _component(self, verb: str, name: str, where: str) -> None:
        for each in COMPONENTS if name == "all" else (name,):
            if (verb == "start") == (each in self._running):
                state = "runs already" if verb == "start" else "does not run"
                raise InputError(Problem("VC0303", where, f"the component '{each}' {state}"))
            if verb in ("stop", "restart"):
                await self._backend.stop_component(each)
                self._running.discard(each)
            if verb in ("start", "restart"):
                await self._backend.start_component(each)
                self._running.add(each)

    async def _command(self, step: CommandStep) -> None:
        client = self._backend.client
        resource, namespace = (JOBS, step.namespace) if step.kind == "Job" else (QUEUES, None)
        target = await client.get(resource, namespace, step.name)
        await client.create(
            COMMANDS,
            step.namespace,
            {
                "apiVersion": COMMANDS.api_version,
                "kind": COMMANDS.kind,
                "metadata": {
                    "generateName": f"{step.name}-{step.action.lower()}-",
                    "namespace": step.namespace,
                },
                "action": step.action,
                "target": {
                    "apiVersion": resource.api_version,
                    "kind": resource.kind,
                    "name": step.name,
                    "uid": text(target, "metadata", "uid"),
                    "controller": True,
                    "blockOwnerDeletion": True,
                },
            },
        )

    async def _names(self, resource: Resource, namespace: str | None, pattern: str) -> list[str]:
        objects = (await self._backend.client.list(resource, namespace)).items
        return sorted(text(obj, "metadata", "name") for obj in objects if belongs(obj, pattern))


def _resource(target: Target) -> tuple[Resource, str | None]:
    resource = resolve(target.kind)
    assert resource is not None, "checked when the file was read"
    return resource, target.namespace if resource.namespaced else None
