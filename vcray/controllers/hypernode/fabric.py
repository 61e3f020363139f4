"""What sources that ask a server of the network share: the question, and two tiers of HyperNodes from links.

Switches that have a node in common are one group, since whoever is on one of them reaches the others' nodes without going
higher; each group is a HyperNode of tier 1, and one of tier 2 holds all groups.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from vcray.api.meta import JsonObject, JsonValue
from vcray.controllers import raw
from vcray.controllers.base import Outcome
from vcray.controllers.hypernode.discovery import DiscoveryError, Found


@dataclass(frozen=True, slots=True)
class Server:
    """Where a source is asked, and the Secret with what it wants to know first."""

    endpoint: str
    secret_namespace: str
    secret_name: str
    verify: bool = True

    def url(self, path: str) -> str:
        """A page of it; https unless the endpoint says otherwise."""
        known = self.endpoint.startswith(("http://", "https://"))
        return f"{'' if known else 'https://'}{self.endpoint.rstrip('/')}{path}"


def credentials(outcome: Outcome, server: Server) -> dict[str, str]:
    """The texts of the Secret that was read. Raises DiscoveryError when it could not be."""
    place = f"Secret {server.secret_namespace}/{server.secret_name}"
    if not outcome.ok:
        raise DiscoveryError(f"{place}: {outcome.why}")
    found: dict[str, str] = {}
    for key, text in raw.texts(outcome.object or {}, "data").items():
        try:
            found[key] = base64.b64decode(text, validate=True).decode().rstrip("\r\n")
        except (binascii.Error, UnicodeDecodeError) as error:
            raise DiscoveryError(f"{place}: {key} is not text") from error
    return found


def listed(outcome: Outcome, url: str) -> list[JsonObject]:
    """The objects of a page that is a list of them. Raises DiscoveryError for any other."""
    if not outcome.ok:
        raise DiscoveryError(outcome.why)
    try:
        page: JsonValue = json.loads(outcome.body)
    except (ValueError, RecursionError) as error:
        raise DiscoveryError(f"{url} answered with no JSON") from error
    if not isinstance(page, list) or not all(isinstance(each, dict) for each in page):
        raise DiscoveryError(f"{url} answered with JSON that is no list of objects")
    return [each for each in page if isinstance(each, dict)]


def two_tiers(links: Iterable[tuple[str, str]], leaf: str, top: str) -> tuple[Found, ...]:
    """HyperNodes `LEAF-0`, `LEAF-1`, ... in the order of each group's first switch, and `TOP`; none without links.

    `links`: (switch, node)."""
    nodes: dict[str, set[str]] = {}
    switches: dict[str, set[str]] = {}
    for switch, node in links:
        nodes.setdefault(switch, set()).add(node)
        switches.setdefault(node, set()).add(switch)
    found: list[Found] = []
    done: set[str] = set()
    for first in sorted(nodes):
        if first in done:
            continue
        members: set[str] = set()
        ahead = deque([first])
        done.add(first)
        while ahead:
            for node in nodes[ahead.popleft()] - members:
                members.add(node)
                ahead.extend(switches[node] - done)
                done |= switches[node]
        found.append(Found(f"{leaf}-{len(found)}", 1, frozenset(members)))
    if found:
        found.append(Found(top, 2, frozenset(each.name for each in found)))
    return tuple(found)
