"""A client for tests that is deliberately not vcray's: a few lines on the standard library's HTTP.

Tests use it to prepare objects and to look at results, so that a fault of vcray's own client cannot hide itself.
"""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PATIENCE, PAUSE_S = 50, 0.1  # how often and after how long a 429 is tried again


class ApiError(Exception):
    """The server answered with a failure; `status` is the Status object that it sent."""

    def __init__(self, method: str, path: str, code: int, status: dict[str, Any]) -> None:
        super().__init__(f"{method} {path}: {code} {status.get('message', '')}")
        self.code = code
        self.status = status
        self.reason = str(status.get("reason", ""))
        self.message = str(status.get("message", ""))


@dataclass(frozen=True)
class Client:
    """Requests to one server with one bearer token."""

    url: str
    token: str
    certificate_authority: Path
    timeout_s: float = 30.0

    def raw(
        self,
        method: str,
        path: str,
        body: object = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> tuple[bytes, dict[str, str]]:
        """The body and the headers of the answer (names in lower case). Raises ApiError.

        A server that asks for patience (429, as while the storage of a new kind starts) is asked again for a while.
        """
        for _ in range(PATIENCE):
            try:
                return self._once(method, path, body, content_type, accept)
            except ApiError as error:
                if error.code != 429:
                    raise
            time.sleep(PAUSE_S)
        return self._once(method, path, body, content_type, accept)

    def _once(
        self, method: str, path: str, body: object, content_type: str, accept: str
    ) -> tuple[bytes, dict[str, str]]:
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Accept", accept)
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            request.add_header("Content-Type", content_type)
        context = ssl.create_default_context(cafile=str(self.certificate_authority))
        try:
            with urllib.request.urlopen(
                request, data=data, timeout=self.timeout_s, context=context
            ) as answer:
                headers = {name.lower(): value for name, value in answer.headers.items()}
                return answer.read(), headers
        except urllib.error.HTTPError as failure:
            text = failure.read()
            try:
                status = json.loads(text)
            except json.JSONDecodeError:
                status = {"message": text.decode(errors="replace")}
            raise ApiError(method, path, failure.code, status) from None

    def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """The JSON object that the server answers. Raises ApiError."""
        answer, _ = self.raw(method, path, body, content_type)
        decoded: dict[str, Any] = json.loads(answer)
        return decoded

    def get(self, path: str) -> dict[str, Any]:
        """Read `path`."""
        return self.request("GET", path)

    def table(self, path: str) -> dict[str, Any]:
        """Read `path` in the form that kubectl prints."""
        answer, _ = self.raw("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        decoded: dict[str, Any] = json.loads(answer)
        return decoded

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST `body` to the collection `path`."""
        return self.request("POST", path, body)

    def replace(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """PUT `body` at `path`."""
        return self.request("PUT", path, body)

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Merge `body` into the object at `path`."""
        return self.request("PATCH", path, body, MERGE_PATCH)

    def apply(self, path: str, body: dict[str, Any], manager: str = "tests") -> dict[str, Any]:
        """Server-side apply `body` at `path`, with force."""
        return self.request("PATCH", f"{path}?fieldManager={manager}&force=true", body, APPLY_PATCH)

    def delete(self, path: str, policy: str = "Background", grace_s: int | None = None) -> dict[str, Any]:
        """Delete the object at `path` with the propagation `policy`.

        A bound pod goes at once only with `grace_s` 0, for there is no kubelet to confirm its end.
        """
        options: dict[str, Any] = {"propagationPolicy": policy}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        return self.request("DELETE", path, options)

    def exists(self, path: str) -> bool:
        """True unless the server says that `path` is not there."""
        try:
            self.get(path)
        except ApiError as error:
            if error.code == 404:
                return False
            raise
        return True
