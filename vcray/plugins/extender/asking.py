"""Calls to the extender and how its answers are read. Equal questions of a session are asked once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from vcray.api.meta import JsonObject, JsonValue
from vcray.core.remote import Call, Remote, RemoteError
from vcray.plugins.extender.arguments import ExtenderArgs


@dataclass(slots=True)
class Asking:
    """One session's way to the extender."""

    args: ExtenderArgs
    remote: Remote
    known: dict[tuple[str, bytes], JsonObject | RemoteError] = field(default_factory=dict)

    def tell(self, verb: str, body: JsonObject) -> RemoteError | None:
        """An event without an answer to read."""
        (said,) = self.remote.post([self._call(verb, _bytes(body))])
        return said if isinstance(said, RemoteError) else None

    def event(self, verb: str, body: JsonObject) -> str:
        """An event with an answer: empty, or the sentence that refuses it. An error refuses unless it can be ignored."""
        (said,) = self._read(self.remote.post([self._call(verb, _bytes(body))]))
        if isinstance(said, RemoteError):
            return "" if self.args.ignorable else str(said)
        return str(said.get("errorMessage") or "")

    def ask(self, verb: str, body: JsonObject) -> JsonObject | RemoteError:
        """One question whose answer may change in a session, such as whether a job is ready."""
        (said,) = self._read(self.remote.post([self._call(verb, _bytes(body))]))
        return said

    def ask_all(self, verb: str, bodies: Sequence[JsonObject]) -> list[JsonObject | RemoteError]:
        """Questions whose answers rest on their bodies alone, several at a time."""
        keys = [(verb, _bytes(body)) for body in bodies]
        fresh = [key for key in dict.fromkeys(keys) if key not in self.known]
        if fresh:
            answers = self._read(self.remote.post([self._call(*key) for key in fresh]))
            self.known.update(zip(fresh, answers, strict=True))
        return [self.known[key] for key in keys]

    def _call(self, verb: str, body: bytes) -> Call:
        return Call(self.args.url(verb), body, self.args.timeout_s())

    @staticmethod
    def _read(answers: Sequence[bytes | RemoteError]) -> list[JsonObject | RemoteError]:
        return [answer if isinstance(answer, RemoteError) else _object(answer) for answer in answers]


def _bytes(body: JsonObject) -> bytes:
    return json.dumps(body, separators=(",", ":"), sort_keys=True).encode()


def _object(answer: bytes) -> JsonObject | RemoteError:
    try:
        value: JsonValue = json.loads(answer)
    except ValueError:
        return RemoteError("the extender answered with no JSON")
    return (
        value if isinstance(value, dict) else RemoteError("the extender answered with JSON that is no object")
    )
