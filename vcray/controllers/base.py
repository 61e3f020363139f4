"""What a controller is: watch events in, requests out; a request in, effects out. No I/O, no clock, no dice.

A *host* mirrors the watched resources, turns each change into requests (`Controller.requests`), keeps the requests
in a queue (equal ones once; requests with one `key` are handled one after the other, in order) and drives
`Controller.reconcile`: it carries out each effect that the generator yields and sends back the outcome, so that
"patch, then delete, then write the status only if all went well" reads from top to bottom.

A host owes four things:

1. **A write's answer counts as the watch event it is going to be.** The object in the answer of a successful Create,
   Update, UpdateStatus or Patch goes into the mirror at once, through the door of the watch events: it yields requests,
   and the watch event with the same or an older resourceVersion that follows yields none. A Delete's answer may only
   replace an object that the mirror still holds under the same uid. All mirrors are full before the first `reconcile`.
2. **Failures come back.** `ReconcileError` means: the same request again, after 5 ms * 2^n (at most 1000 s), once however often
   it is asked for meanwhile. When `max_requeue` retries of errors with `counts` failed, `gave_up` runs and the request is dropped;
   an equal one that comes later has all its tries again where the controller `starts_anew`, else none until it succeeds.
   An error without `counts` (something outside must change first) is retried for ever, at least once in 30 s.
3. **`Again` is a promise, not a write.** Its request comes after `after_s` seconds, once, unless the process ends.
4. **`MakeKeys` is answered with keys that nobody else has.** A controller asks only when it is going to store them.

Plain data that a controller object remembers must be one that a restart can do without or build again from the
objects; each controller says which.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, TypeVar

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource

PatchKind: TypeAlias = Literal["json", "merge", "strategic", "apply"]
Propagation: TypeAlias = Literal["", "Foreground", "Background", "Orphan"]
EventType: TypeAlias = Literal["Normal", "Warning"]


class Request(Protocol):
    """Something to do, as a frozen dataclass: hashable, so that equal ones are queued once."""

    @property
    def key(self) -> str:
        """Requests with one key are handled one after the other."""
        ...


@dataclass(frozen=True, slots=True)
class Read:
    """Fetch one object from the server: for kinds that are too many to mirror."""

    resource: Resource
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Create:
    """POST `object`; namespace and name are in its metadata."""

    resource: Resource
    object: JsonObject


@dataclass(frozen=True, slots=True)
class Update:
    """PUT `object`; the resourceVersion in it makes a stale write a Conflict."""

    resource: Resource
    object: JsonObject


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """PUT `object` to its status subresource; the resourceVersion in it makes a stale write a Conflict."""

    resource: Resource
    object: JsonObject


@dataclass(frozen=True, slots=True)
class Patch:
    """PATCH one object. A "json" patch is a list of operations, the other kinds are objects.

    `field_manager` and `force` belong to kind "apply" (server-side apply)."""

    resource: Resource
    namespace: str
    name: str
    patch: JsonObject | list[JsonValue]
    kind: PatchKind = "merge"
    subresource: str = ""
    field_manager: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE one object; `uid` is a precondition, `grace_s` None leaves the default grace period."""

    resource: Resource
    namespace: str
    name: str
    uid: str = ""
    grace_s: int | None = None
    propagation: Propagation = ""


@dataclass(frozen=True, slots=True)
class Emit:
    """Record a Kubernetes event about `object`; it never fails. The host counts equal ones instead of repeating them."""

    resource: Resource
    object: JsonObject
    type: EventType
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Again:
    """Queue `request` after `after_s` seconds; 0 is at once, behind what waits already."""

    after_s: float
    request: Request


@dataclass(frozen=True, slots=True)
class All:
    """Several effects in no order, at the same time; `Outcome.parts` answers them one by one."""

    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class MakeKeys:
    """Make a new RSA key pair of 2048 bits; `Outcome.keys` has it. It never fails: dice are the host's to throw."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """GET what a server that is not Kubernetes' has at `url`; `Outcome.body` has its answer, and the outcome is ok for status 200.

    `user` with `password` go out as basic authentication, else `token` as a bearer's. `verify` False: any certificate will do.
    Without an answer in time, or without any, `message` says why."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    verify: bool = True
    timeout_s: float = 30.0


Effect: TypeAlias = (
    Read | Create | Update | UpdateStatus | Patch | Delete | Emit | Again | MakeKeys | Fetch | All
)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """`private` is PEM as PKCS#1 has it, `public` one line of an authorized_keys file with its line end."""

    private: str
    public: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an effect.

    `object` is the server's answer, if there is one; when `ok` is False, `status` is the HTTP status (0: no answer),
    `reason` the Kubernetes reason (`NotFound`, `AlreadyExists`, `Conflict`, ...) and `message` the sentence.
    An `All` is ok when all its parts are."""

    ok: bool = True
    object: JsonObject | None = None
    status: int = 200
    reason: str = ""
    message: str = ""
    parts: tuple[Outcome, ...] = ()
    keys: KeyPair | None = None
    body: bytes = b""

    @property
    def why(self) -> str:
        """What went wrong, in the server's words where it has any."""
        return self.message or self.reason or str(self.status)

    @property
    def not_found(self) -> bool:
        """The object does not exist (any more)."""
        return not self.ok and self.status == 404

    @property
    def already_exists(self) -> bool:
        """A Create met an object of that name."""
        return not self.ok and self.reason == "AlreadyExists"

    @property
    def conflict(self) -> bool:
        """A write met a newer object, a failed precondition, or a field of another manager."""
        return not self.ok and self.status == 409 and self.reason != "AlreadyExists"


T = TypeVar("T")

Steps: TypeAlias = Generator[Effect, Outcome, T]
"""Part of a reconciler: effects on the way to a value."""

Effects: TypeAlias = Generator[Effect, Outcome, None]
"""What a reconciler returns."""


class ReconcileError(Exception):
    """This turn failed and must be tried again; `counts` tells whether it counts against `max_requeue`."""

    def __init__(self, message: str, counts: bool = True) -> None:
        super().__init__(message)
        self.counts = counts


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a mirrored object: `old` is None when it appeared, `new` is None when it went away."""

    resource: Resource
    old: JsonObject | None
    new: JsonObject | None

    @property
    def object(self) -> JsonObject:
        """The object as it is now, or as it was last seen."""
        found = self.old if self.new is None else self.new
        if found is None:
            raise ValueError("a change without an object")
        return found


def one_object_each(change: Change) -> tuple[Change, ...]:
    """The change itself; or, when an object was replaced by another one of its name, its end and the other's birth.

    A mirror sees that when the answer of a create overtakes the watch event of the deletion before it."""
    if change.old is None or change.new is None or _uid(change.old) == _uid(change.new):
        return (change,)
    return Change(change.resource, change.old, None), Change(change.resource, None, change.new)


def _uid(item: JsonObject) -> str:
    metadata = item.get("metadata")
    return str(metadata.get("uid")) if isinstance(metadata, dict) else ""


class Seen(Protocol):
    """The mirrors of the watched resources, read only.

    Objects are the host's: a controller must copy before it changes anything. Asking for a resource that no controller
    watches is a KeyError; `Read` fetches those."""

    def get(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        """One object by name; `namespace` is "" for cluster-scoped resources."""
        ...

    def list(self, resource: Resource, namespace: str | None = None) -> Sequence[JsonObject]:
        """All objects of a namespace (None: of all), ordered by namespace and name."""
        ...

    def owned(self, resource: Resource, owner_uid: str) -> Sequence[JsonObject]:
        """Objects whose ownerReferences name this uid, ordered by namespace and name."""
        ...


class Controller(Protocol):
    """One controller. `name` is what `--controllers` calls it; of fewer than 0 in `max_requeue` it never gives up."""

    max_requeue: int
    starts_anew: bool

    @property
    def name(self) -> str: ...

    @property
    def watches(self) -> tuple[Resource, ...]: ...

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """What a change asks for; `seen` holds the state after the change. Pure, cheap, called for every event."""
        ...

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Carry out one request; `now` is seconds since the epoch. Raises ReconcileError."""
        ...

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """What to do once when `max_requeue` retries of a request failed. Raises ReconcileError, then it is dropped."""
        ...


def expect(outcome: Outcome, doing: str, counts: bool = True) -> JsonObject:
    """The answer of a write that must succeed. Raises ReconcileError with what was being done."""
    if not outcome.ok:
        raise ReconcileError(f"{doing}: {outcome.why}", counts)
    return outcome.object if outcome.object is not None else {}


def must(outcome: Outcome, doing: str) -> JsonObject:
    """The same of a write that is tried until it succeeds: a refusal does not count."""
    return expect(outcome, doing, counts=False)
