"""The `authorizer` of policies: what a user, or a service account, would be allowed to do.

An authorizer, a check and a decision are carried as JSON texts that say so far what is asked. Who decides is named for the time
of an evaluation by `deciding`; without anybody everything is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from vcray.cel.functions import Function, member

Decide = Callable[[Mapping[str, str]], bool]
"""Whether a wish is granted. Its keys: user, account (for `namespace:name`), verb, path, group, resource, subresource, namespace,
name; those not asked about are missing."""

_decide: ContextVar[Decide | None] = ContextVar("decide", default=None)


@contextmanager
def deciding(decide: Decide | None) -> Iterator[None]:
    """Let `decide` answer the checks of evaluations within."""
    token = _decide.set(decide)
    try:
        yield
    finally:
        _decide.reset(token)


def _with(field: str) -> Callable[[str, str], str]:
    return lambda wish, value: json.dumps({**json.loads(wish or "{}"), field: value})


def _account(wish: str, namespace: str, name: str) -> str:
    return json.dumps({**json.loads(wish or "{}"), "account": f"{namespace}:{name}"})


def _check(wish: str, verb: str) -> str:
    decide = _decide.get()
    asked = {**json.loads(wish or "{}"), "verb": verb}
    return "allowed" if decide is None or decide(asked) else "denied"


FUNCTIONS: tuple[Function, ...] = (
    member("path", "Authorizer string", "PathCheck", _with("path")),
    member("group", "Authorizer string", "GroupCheck", _with("group")),
    member("serviceAccount", "Authorizer string string", "Authorizer", _account),
    member("resource", "GroupCheck string", "ResourceCheck", _with("resource")),
    member("subresource", "ResourceCheck string", "ResourceCheck", _with("subresource")),
    member("namespace", "ResourceCheck string", "ResourceCheck", _with("namespace")),
    member("name", "ResourceCheck string", "ResourceCheck", _with("name")),
    member("fieldSelector", "ResourceCheck string", "ResourceCheck", lambda wish, _: wish),
    member("labelSelector", "ResourceCheck string", "ResourceCheck", lambda wish, _: wish),
    member("check", "ResourceCheck string", "Decision", _check),
    member("check", "PathCheck string", "Decision", _check),
    member("allowed", "Decision", "bool", lambda decision: decision == "allowed"),
    member("reason", "Decision", "string", lambda decision: ""),
    member("errored", "Decision", "bool", lambda decision: False),
    member("error", "Decision", "string", lambda decision: ""),
)
