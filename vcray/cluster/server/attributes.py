"""What a request wants to do, in the words of authorization, of fairness and of audit: from its path alone."""

from __future__ import annotations

from dataclasses import dataclass

from vcray.cluster.server.requests import Request

_VERBS = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "GET": "get",
    "HEAD": "get",
}


@dataclass(frozen=True, slots=True)
class Attributes:
    """One wish. `resource` is empty for a path that names no resource; `verb` then is the method in lower case."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def full_resource(self) -> str:
        """`resource/subresource`, as RBAC rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(request: Request) -> Attributes:
    """The wish behind a request."""
    parts = [part for part in request.path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return Attributes(request.method.lower(), request.path)
    verb = _VERBS.get(request.method, request.method.lower())
    if rest[0] == "watch" and len(rest) > 1:
        verb, rest = "watch", rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    if verb == "get" and not name:
        verb = "watch" if request.watches else "list"
    elif verb == "delete" and not name:
        verb = "deletecollection"
    return Attributes(verb, request.path, group, version, resource, subresource, namespace, name)
