"""What a request path of the API means: collection, namespace, name, subresource."""

from __future__ import annotations

from dataclasses import dataclass

_OF_NAMESPACES = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Target:
    """`collection` is the path of all objects of the resource, whatever their namespace. Parts may be empty."""

    collection: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def path(self) -> str:
        """The path of the object itself."""
        root, _, plural = self.collection.rpartition("/")
        inside = f"{root}/namespaces/{self.namespace}" if self.namespace else root
        return f"{inside}/{plural}/{self.name}"


def target_of(path: str) -> Target | None:
    """The target of a path below /api or /apis; None for any other."""
    parts = path.strip("/").split("/")
    head = {"api": 2, "apis": 3}.get(parts[0], len(parts))
    root, rest = "/" + "/".join(parts[:head]), parts[head:]
    if not rest:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "")[:3]
    return Target(f"{root}/{plural}", namespace, name, subresource)
