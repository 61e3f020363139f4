"""What a kubelet reads of a pod, decoded from the bytes of a watch; the rest is never built."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field


class _Read(Struct, frozen=True, rename="camel", gc=False):
    """Options of all structs here."""


class FieldRef(_Read, frozen=True):
    """A field of the pod itself."""

    field_path: str = ""


class ValueFrom(_Read, frozen=True):
    """Where the value of a variable comes from, as far as the pod itself tells."""

    field_ref: FieldRef | None = None


class Variable(_Read, frozen=True):
    """One environment variable."""

    name: str = ""
    value: str | None = None
    value_from: ValueFrom | None = None


class Mount(_Read, frozen=True):
    """One volume of the pod at a path of the container."""

    name: str = ""
    mount_path: str = ""


class ExecAction(_Read, frozen=True):
    """A command of a probe or a hook."""

    command: tuple[str, ...] | None = None


class Probe(_Read, frozen=True):
    """A readiness probe."""

    exec: ExecAction | None = None
    initial_delay_seconds: float | None = None


class Container(_Read, frozen=True):
    """A container of a pod's spec."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[Variable, ...] | None = None
    volume_mounts: tuple[Mount, ...] | None = None
    readiness_probe: Probe | None = None
    restart_policy: str | None = None
    termination_message_path: str | None = None


class HostPath(_Read, frozen=True):
    """A folder of the node."""

    path: str = ""


class ClaimSource(_Read, frozen=True):
    """The claim of a volume."""

    claim_name: str = ""


class EphemeralSource(_Read, frozen=True):
    """A claim that the pod brings along."""


class Volume(_Read, frozen=True):
    """A volume; only those that programs can write matter here."""

    name: str = ""
    host_path: HostPath | None = None
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class Spec(_Read, frozen=True):
    """A pod's spec."""

    node_name: str | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    restart_policy: str | None = None
    active_deadline_seconds: float | None = None
    host_network: bool | None = None


class Head(_Read, frozen=True):
    """A pod's metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class ContainerStatus(_Read, frozen=True):
    """How often a container was started again."""

    restart_count: int = 0


class Condition(_Read, frozen=True):
    """The kind of a condition that a pod has."""

    type: str = ""


class Status(_Read, frozen=True):
    """What a pod's status says already."""

    phase: str = ""
    reason: str | None = None
    start_time: str | None = None
    pod_ip: str | None = field(default=None, name="podIP")
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class SeenPod(_Read, frozen=True):
    """A pod as its kubelet reads it."""

    metadata: Head = Head()
    spec: Spec = Spec()
    status: Status = Status()


_pods = msgspec.json.Decoder(SeenPod)


def read_pod(body: bytes | msgspec.Raw) -> SeenPod:
    """A pod from its JSON. Raises msgspec.DecodeError."""
    return _pods.decode(body)
