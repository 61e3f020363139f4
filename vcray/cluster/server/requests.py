"""One request as the server's rules see it, whichever way it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vcray.cluster.objects.review import User
from vcray.kube.errors import ApiError, BadRequest

JSON = "application/json"
YAML = "application/yaml"

PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")
"""Clients in front of which somebody sits: their answers are indented."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request: `query` holds the first value of each parameter, `agent` the whole User-Agent header."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = ""
    agent: str = ""
    user: User = field(default_factory=User)
    match: str = ""
    """The If-None-Match header."""

    @property
    def pretty(self) -> bool:
        """Whether JSON is to be indented."""
        asked = self.query.get("pretty", "")
        return asked in ("1", "true") if asked else self.agent.startswith(PRETTY_AGENTS)

    def flag(self, name: str) -> bool:
        """A boolean parameter as Go reads one: empty means true where it is present."""
        value = self.query.get(name)
        return value is not None and value not in ("0", "false", "f", "F", "False", "FALSE")

    @property
    def watches(self) -> bool:
        """Whether it asks for a stream of changes."""
        return self.method == "GET" and (self.flag("watch") or _is_watch_path(self.path))


def _is_watch_path(path: str) -> bool:
    """Whether a path is one of the old ones that watch by themselves (`/api/v1/watch/...`)."""
    if "/watch/" not in path:
        return False
    parts = path.split("/", 5)
    return "watch" in (parts[3:4] if parts[1] == "api" else parts[4:5])


class NotAcceptable(ApiError):
    """406: no representation that the client accepts."""

    code, reason = 406, "NotAcceptable"


class NothingFits(NotAcceptable):
    """406 for a media type that nobody knows, as opposed to a wish that does not fit this request."""


def number(query: Mapping[str, str], name: str) -> int | None:
    """A whole number of the query; None without one. BadRequest if it is none."""
    value = query.get(name, "")
    if not value:
        return None
    try:
        return int(value)
    except ValueError as error:
        raise BadRequest(f'strconv.ParseInt: parsing "{value}": invalid syntax') from error
