"""Who sends a request: bearer tokens of a table as in kube-apiserver's `--token-auth-file`, or of service accounts; and
whom the sender speaks for, where it impersonates somebody."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterable, Mapping

from vcray.cluster.objects.review import User
from vcray.cluster.server.accounts import Accounts

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"

ANONYMOUS = User("system:anonymous", "", (UNAUTHENTICATED,))
ADMIN = User("admin", "admin", (MASTERS, AUTHENTICATED))

_EXTRA = "impersonate-extra-"


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def read_tokens(text: str) -> dict[str, User]:
    """The users of a token file: one `token,user,uid[,"group,group"]` a line. ValueError for a line without these."""
    users: dict[str, User] = {}
    for row in csv.reader(io.StringIO(text)):
        if not row:
            continue
        if len(row) < 3:
            raise ValueError("a line of a token file has at least a token, a user's name and a uid")
        groups = tuple(group.strip() for group in row[3].split(",") if group.strip()) if len(row) > 3 else ()
        users[row[0]] = User(row[1], row[2], (*groups, AUTHENTICATED))
    return users


class Tokens:
    """The tokens of one server."""

    def __init__(self, users: Mapping[str, User], accounts: Accounts | None = None) -> None:
        self._users = dict(users)
        self._accounts = accounts

    def user_of(self, authorization: str) -> User | None:
        """Whose `Authorization` header this is; None if nobody's."""
        scheme, _, token = authorization.partition(" ")
        return self.holder(token.strip()) if scheme.lower() == "bearer" else None

    def holder(self, token: str) -> User | None:
        """Whose token this is; None if nobody's."""
        user = self._users.get(token)
        if user is None and self._accounts is not None and token.count(".") == 2:
            user = self._accounts.user_of(token)
        return user


def impersonated(headers: Iterable[tuple[str, str]]) -> User | None:
    """The user whom the sender of these headers wants to be; None if nobody else."""
    name, uid = "", ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    for header, value in headers:
        match header.lower():
            case "impersonate-user":
                name = value
            case "impersonate-uid":
                uid = value
            case "impersonate-group":
                groups.append(value)
            case key if key.startswith(_EXTRA):
                extra.setdefault(key.removeprefix(_EXTRA), []).append(value)
    if not name:
        return None
    if AUTHENTICATED not in groups and name != ANONYMOUS.name:
        groups.append(AUTHENTICATED)
    return User(name, uid, tuple(groups), extra)
