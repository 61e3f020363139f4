"""What the store asks others before it commits: one question a stage, answered by webhooks over HTTPS.

The verbs of the store are generators. Each yields a `Review` where a kube-apiserver calls its admission webhooks; whoever
drives the verb sends back the object to go on with (`None` for "as it is"), or throws the `ApiError` of a refusal. A driver
that has nobody to ask uses `settled`. The object may have changed meanwhile: a verb that was really kept waiting looks
again before it commits and raises `Moved`, upon which the driver begins the request anew from its bytes.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from vcray.api.meta import JsonObject
from vcray.api.resources import Resource

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
    """One question. `operation` is CREATE, UPDATE, DELETE or CONNECT; `obj` is None for a deletion, `old` for a creation."""

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
