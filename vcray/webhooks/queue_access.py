"""Who may use a queue, as annotations on the Queue say.

    vcray.io/allowed-namespaces: team-a, ml-*
    vcray.io/allowed-users: alice, oidc:*
    vcray.io/allowed-groups: physics
    vcray.io/allowed-service-accounts: ci/runner, ci/*

One match of any kind admits. A queue with none of these annotations is as the queue above it; where none up to the root has any,
it serves everybody, as Volcano's queues do. An empty annotation admits nobody by its kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from vcray.api import names
from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.webhooks.base import Look, Request, annotations_of, name_of

PERSONAL: Final = (names.ALLOWED_USERS, names.ALLOWED_GROUPS, names.ALLOWED_SERVICE_ACCOUNTS)
ALLOWED: Final = (names.ALLOWED_NAMESPACES, *PERSONAL)
_ACCOUNT: Final = "system:serviceaccount:"


def queue_problem(request: Request, name: str, accounts: frozenset[str], for_pods: bool = False) -> str:
    """Why the queue is not for this request; empty when it is, or when there is no such queue (others say so).

    `accounts` are the ServiceAccounts, namespace/name, that the pods run as. `for_pods`: the request is a controller's, for pods
    that have been judged by persons and accounts that it does not know, so only namespaces are held against it."""
    queue = _gate(name, request.look)
    if queue is None:
        return ""
    lists = annotations_of(queue)
    if for_pods and any(key in lists for key in PERSONAL):
        return ""
    user = request.user
    own = _own_account(user.name)
    admitted = (
        _matches(lists, names.ALLOWED_NAMESPACES, (request.namespace,))
        or _matches(lists, names.ALLOWED_USERS, (user.name,))
        or _matches(lists, names.ALLOWED_GROUPS, user.groups)
        or _matches(lists, names.ALLOWED_SERVICE_ACCOUNTS, (own,) if own else ())
        or (
            bool(accounts)
            and all(_matches(lists, names.ALLOWED_SERVICE_ACCOUNTS, (each,)) for each in accounts)
        )
    )
    if admitted:
        return ""
    inherited = "" if name_of(queue) == name else f", which it has from queue {name_of(queue)}"
    listed = ", ".join(key for key in ALLOWED if key in lists)
    return (
        f"queue {name} does not serve namespace {request.namespace} or user {user.name or '-'}: see its annotations {listed}{inherited}; "
        "choose another queue, or ask who administers this one"
    )


def accounts_of(namespace: str, pods: Iterable[JsonObject]) -> frozenset[str]:
    """The ServiceAccounts that these pods, or pods of these templates, run as."""
    return frozenset(f"{namespace}/{dig_str(pod, 'spec', 'serviceAccountName') or 'default'}" for pod in pods)


def _gate(name: str, look: Look) -> JsonObject | None:
    """The queue, or the nearest one above, that says whom it serves; None when all are served."""
    met: set[str] = set()
    while name and name not in met:
        met.add(name)
        queue = look.queue(name)
        if queue is None:
            return None
        if any(key in annotations_of(queue) for key in ALLOWED):
            return queue
        name = dig_str(queue, "spec", "parent")
    return None


def _matches(lists: dict[str, str], key: str, found: Iterable[str]) -> bool:
    patterns = [each.strip() for each in lists.get(key, "").split(",")]
    return any(pattern and fnmatchcase(each, pattern) for each in found for pattern in patterns)


def _own_account(user: str) -> str:
    """namespace/name of a user that is a ServiceAccount."""
    return user.removeprefix(_ACCOUNT).replace(":", "/", 1) if user.startswith(_ACCOUNT) else ""
