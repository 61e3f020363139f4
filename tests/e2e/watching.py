"""Watches with the standard library alone, so that what the tests see does not pass through vcray's own client."""

from __future__ import annotations

import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from tests.conformance.harness.client import Client

Object = dict[str, Any]

SPELL_S = 5  # one watch request; it is opened again from where it ended, or the thread ends


class Watching:
    """Lists a collection, then tells `heard(type, object)` of every change, in a thread, until closed.

    `listed` is called once when the first list has been told (as ADDED).
    """

    def __init__(self, client: Client, path: str, heard: Callable[[str, Object], None]) -> None:
        self._client = client
        self._path = path
        self._heard = heard
        self._closed = threading.Event()
        self.listed = threading.Event()
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"watch {path}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop telling; the thread ends with its next line or time-out."""
        self._closed.set()

    def _run(self) -> None:
        try:
            version = self._list()
            self.listed.set()
            while not self._closed.is_set():
                version = self._spell(version)
        except BaseException as error:
            self.failure = error
        finally:
            self.listed.set()

    def _list(self) -> str:
        answer = self._client.get(self._path)
        for item in answer["items"]:
            self._heard("ADDED", item)
        return str(answer["metadata"]["resourceVersion"])

    def _spell(self, version: str) -> str:
        for event in _lines(self._client, self._path, version):
            if self._closed.is_set():
                return version
            if event["type"] == "ERROR":
                raise RuntimeError(f"the watch of {self._path} was refused: {event['object'].get('message')}")
            version = str(event["object"]["metadata"]["resourceVersion"])
            if event["type"] != "BOOKMARK":
                self._heard(event["type"], event["object"])
        return version


def _lines(client: Client, path: str, version: str) -> Iterator[Object]:
    query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={SPELL_S}&resourceVersion={version}"
    request = urllib.request.Request(f"{client.url}{path}{'&' if '?' in path else '?'}{query}")
    request.add_header("Authorization", f"Bearer {client.token}")
    context = ssl.create_default_context(cafile=str(client.certificate_authority))
    try:
        answer = urllib.request.urlopen(request, timeout=SPELL_S + 10, context=context)
    except urllib.error.HTTPError as refused:
        with refused:
            raise RuntimeError(f"the watch of {path} was refused: {refused.code}") from None
    with closing(answer):
        for line in answer:
            yield json.loads(line)
