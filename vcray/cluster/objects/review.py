"""What the store asks others before it commits: one question a stage, answered by webhooks over HTTPS.

The verbs of the store are generators. Each yields a `Review` where a kube-apiserver calls its admission webhooks; whoever
drives the verb sends back the object to go on with (`None` for "as it is"), or throws the `ApiError` of a refusal. A driver
that has nobody to ask uses `settled`. The object may have changed meanwhile: a verb that was really kept waiting looks
again before it commits and raises `Moved`, upon which the driver begins the request anew from its bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.kube.errors import ApiError, Conflict

Result = TypeVar("Result")


class Stage(StrEnum):
    """The two times that webhooks are asked: before the object's schema is checked, and after."""

    MUTATE = "mutate"
    VALIDATE = "validate"


@dataclass(frozen=True, slots=True)
class User:
    """Who sent the request, as an AdmissionReview and a SelfSubjectReview name them."""

    name: str = "system:admin"
    uid: str = ""
    groups: tuple[str, ...] = ("system:masters", "system:authenticated")
    extra: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Review:
    """One question. `operation` is CREATE, UPDATE, DELETE or CONNECT; `obj` is None for a deletion, `old` for a creation.

    `again` says that gates are asked once more about an object that webhooks changed.
    """

    stage: Stage
    operation: str
    resource: Resource
    namespace: str
    name: str
    obj: JsonObject | None
    old: JsonObject | None
    options: JsonObject
    subresource: str = ""
    dry_run: bool = False
    user: User = User()
    warnings: list[str] = field(default_factory=list)
    again: bool = False


class Gate(Protocol):
    """Admission within the process: asked by the verbs themselves, without waiting, with or without webhooks.

    The order is kube-apiserver's: every gate's `mutate`, mutating webhooks, the checks of the schema and of the kind, every
    gate's `validate`, validating webhooks, every gate's `charge`, the commit. Gates are asked in the order of
    `Store.gates`. Each method raises the `ApiError` of a refusal and may append to `review.warnings`.
    """

    def mutate(self, review: Review) -> JsonObject | None:
        """The object to go on with; None for "as it is". May alter `review.obj` in place and return it."""

    def validate(self, review: Review) -> None:
        """Refuse what may not be. Alters nothing."""

    def charge(self, review: Review) -> None:
        """The last word, just before the commit (not in a dry run): what counts against a limit is counted here."""


class Moved(Exception):
    """The object changed while its reviewers were thinking: begin the request again."""


Steps = Generator[Review, JsonObject | None, Result]


def settled(steps: Steps[Result]) -> Result:
    """Run a verb to its end with nobody to ask."""
    try:
        next(steps)
        while True:
            steps.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result


Reviewer = Callable[[Review], Awaitable[JsonObject | None]]
"""Who answers the reviews of a request while it waits: the caller of the webhooks. Raises the ApiError of a refusal."""

_ATTEMPTS = 8


async def driven(begin: Callable[[], Steps[Result]], reviewer: Reviewer | None) -> Result:
    """Run a request to its end, asking `reviewer`; it is begun anew when its object moved meanwhile. Conflict in the end."""
    if reviewer is None:
        return settled(begin())
    for _ in range(_ATTEMPTS):
        try:
            return await _once(begin(), reviewer)
        except Moved:
            continue
    raise Conflict("the object kept changing while its admission webhooks were asked; please try again")


async def _once(steps: Steps[Result], reviewer: Reviewer) -> Result:
    try:
        review = next(steps)
        while True:
            try:
                answer = await reviewer(review)
            except ApiError as refusal:
                review = steps.throw(refusal)
            else:
                review = steps.send(answer)
    except StopIteration as end:
        result: Result = end.value
        return result
