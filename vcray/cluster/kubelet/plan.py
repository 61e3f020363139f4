"""From a pod's spec to what its containers will do: programs whose end is known before they start, and those that are run.

Most programs touch nothing of their pod: then the seconds they take and their exit code are worked out once, and only
those are kept. A program that reads the pod's own fields or a volume is run for each container anew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from vcray.cluster.kubelet import programs
from vcray.cluster.kubelet.shell import Run, Shell
from vcray.cluster.kubelet.sightings import Container, SeenPod, Variable
from vcray.cluster.kubelet.surroundings import Storage, Surroundings

TERMINATION_LOG = "/dev/termination-log"
MOST_PAUSES = 1000
"""Pauses after which a program that is worked out in advance counts as one that never ends."""
LONGEST_S = 10 * 365 * 86400.0

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ends by itself: after `seconds` (infinite: never) with `code`.

    `serves` says that SIGTERM ends it at once, `trap` what SIGTERM runs instead.
    """

    seconds: float
    code: int = 0
    output: str = ""
    message: str = ""
    serves: bool = False
    trap: str | None = None


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """One container. Without an `ending` it has to be run, from `recipe`. `ready_after` is infinite for never.

    `missing` says that its image cannot be pulled, so that it never starts.
    """

    name: str
    image: str
    sidecar: bool = False
    ending: Ending | None = None
    recipe: Container | None = None
    ready_after: float = 0.0
    missing: bool = False


@dataclass(frozen=True, slots=True)
class PodPlan:
    """All containers of a pod, and when it is over."""

    inits: tuple[ContainerPlan, ...]
    mains: tuple[ContainerPlan, ...]
    restart_policy: str
    deadline_s: float | None
    host_network: bool


def plan_pod(pod: SeenPod) -> PodPlan:
    """What the containers of a pod will do."""
    spec = pod.spec
    return PodPlan(
        inits=tuple(_plan(each, pod) for each in spec.init_containers or ()),
        mains=tuple(_plan(each, pod) for each in spec.containers),
        restart_policy=spec.restart_policy or "Always",
        deadline_s=spec.active_deadline_seconds,
        host_network=bool(spec.host_network),
    )


_KNOWN: dict[tuple[object, ...], ContainerPlan] = {}
_MOST_KNOWN = 4096


def _plan(container: Container, pod: SeenPod) -> ContainerPlan:
    """The plan of a container; the same program is worked out once while it is remembered."""
    key = (
        container.name,
        container.image,
        container.command,
        container.args,
        container.env,
        container.readiness_probe,
        container.restart_policy,
    )
    known = _KNOWN.get(key)
    if known is not None:
        return known
    made = _work_out(container, pod)
    if made.recipe is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = made
    return made


def _work_out(container: Container, pod: SeenPod) -> ContainerPlan:
    around = surroundings(
        container, pod, "", [(mount.mount_path, {}) for mount in container.volume_mounts or ()]
    )
    shell = Shell(around)
    ending = collapse(shell, shell.run(argv_of(container, around)), container)
    ready = _ready_after(container, around)
    fixed = not around.touched_pod and not around.touched_volume
    return ContainerPlan(
        name=container.name,
        image=container.image,
        sidecar=container.restart_policy == "Always",
        ending=ending if fixed else None,
        recipe=None if fixed else container,
        ready_after=ready,
        missing=programs.image_missing(container.image),
    )


def collapse(shell: Shell, run: Run, container: Container) -> Ending:
    """Run to the end without waiting; a run of very many pauses counts as one without end."""
    total, code = 0.0, 0
    try:
        for _ in range(MOST_PAUSES):
            total += next(run)
            if total > LONGEST_S:
                break
        total, serves = math.inf, shell.serving
    except StopIteration as end:
        code, serves = end.value, False
    return Ending(total, code, shell.output, message_of(shell, container), serves, shell.trap)


def message_of(shell: Shell, container: Container) -> str:
    """What the program left as its termination message."""
    return (shell.around.read(container.termination_message_path or TERMINATION_LOG) or "")[:4096]


def argv_of(container: Container, around: Surroundings) -> list[str]:
    """The command line: command and args with `$(NAME)` filled in, or what the image does by itself."""
    words = [*(container.command or ()), *(container.args or ())]
    if not container.command:
        if programs.image_ends(container.image):
            words = words or ["true"]
        else:
            words = ["the-image's-own-program", *words]
    return [_filled(word, around) for word in words]


def _filled(word: str, around: Surroundings) -> str:
    def value(found: re.Match[str]) -> str:
        return "$" if found[1] is None else around.variable(found[1]) or found[0]

    return _REFERENCE.sub(value, word) if "$" in word else word


def _ready_after(container: Container, around: Surroundings) -> float:
    probe = container.readiness_probe
    if probe is None:
        return 0.0
    if probe.exec is not None and probe.exec.command and _answer(around, probe.exec.command):
        return math.inf
    return probe.initial_delay_seconds or 0.0


def _answer(around: Surroundings, command: Sequence[str]) -> int:
    """The exit code of a probe's command; one that takes time counts as good."""
    try:
        next(Shell(around).run(command))
    except StopIteration as end:
        code: int = end.value
        return code
    return 0


# -- surroundings -------------------------------------------------------------------------------------------------


def surroundings(
    container: Container, pod: SeenPod, ip: str, mounts: Iterable[tuple[str, Storage]], attempt: int = 0
) -> Surroundings:
    """Variables and files of one container of a pod."""
    fixed: dict[str, str] = {"HOME": "/root"}
    late: dict[str, Callable[[], str]] = {"HOSTNAME": lambda: pod.metadata.name}
    for variable in container.env or ():
        if variable.value_from is None:
            fixed[variable.name] = _literal(variable, fixed)
        elif variable.value_from.field_ref is not None:
            path = variable.value_from.field_ref.field_path
            late[variable.name] = partial(field_value, pod, path, ip)
        else:
            fixed[variable.name] = ""
    return Surroundings(fixed, late, mounts, f"{pod.metadata.uid}/{container.name}/{attempt}")


def _literal(variable: Variable, known: Mapping[str, str]) -> str:
    text = variable.value or ""
    return _REFERENCE.sub(lambda found: known.get(found[1] or "", found[0]), text) if "$(" in text else text


def field_value(pod: SeenPod, path: str, ip: str) -> str:
    """A field of the downward API; empty where there is none."""
    head = pod.metadata
    if found := _KEYED.fullmatch(path):
        return ((head.labels if found[1] == "labels" else head.annotations) or {}).get(found[2], "")
    return {
        "metadata.name": head.name,
        "metadata.namespace": head.namespace,
        "metadata.uid": head.uid,
        "spec.nodeName": pod.spec.node_name or "",
        "status.podIP": ip,
        "status.podIPs": ip,
    }.get(path, "")
