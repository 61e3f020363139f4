"""What the path of a request to an API server names, without knowing which resources there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_OF_NAMESPACES: Final = ("status", "finalize")
"""Subresources of a namespace; any other word there is a resource in it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A collection, one object of it where `name` is not empty, or a subresource of that."""

    collection: str
    name: str = ""
    subresource: str = ""

    @property
    def object_path(self) -> str:
        """The object itself."""
        return f"{self.collection}/{self.name}"

    @property
    def plural(self) -> str:
        """The resource with its subresource, whatever group and namespace: `jobs/status`."""
        return "/".join(filter(None, (self.collection.rpartition("/")[2], self.subresource)))

    @property
    def resource(self) -> str:
        """The same with group and version: what a right is about."""
        words = self.collection.split("/")
        return "/".join([*(words[1:3] if words[1] == "api" else words[1:4]), self.plural])


def target_of(path: str) -> Target | None:
    """What a path names; None for one that is not of a resource, or goes on behind a subresource."""
    words = path.partition("?")[0].strip("/").split("/")
    start = {"api": 2, "apis": 3}.get(words[0], len(words))
    head, rest = words[:start], words[start:]
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in _OF_NAMESPACES:
        head, rest = [*head, *rest[:2]], rest[2:]
    if not 1 <= len(rest) <= 3:
        return None
    return Target("/" + "/".join([*head, rest[0]]), *rest[1:])
