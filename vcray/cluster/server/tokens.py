"""Who a bearer token stands for: a table as in kube-apiserver's `--token-auth-file`."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Mapping

from vcray.cluster.objects.review import User

AUTHENTICATED = "system:authenticated"
MASTERS = "system:masters"

ANONYMOUS = User("system:anonymous", "", ("system:unauthenticated",))
ADMIN = User("admin", "admin", (MASTERS, AUTHENTICATED))


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
    """The static tokens of one server."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = dict(users)

    def user_of(self, authorization: str) -> User | None:
        """Whose `Authorization` header this is; None if nobody's."""
        scheme, _, token = authorization.partition(" ")
        return self._users.get(token.strip()) if scheme.lower() == "bearer" else None
