"""The HTTPS server of the admission actor: a path a webhook, and `/healthz`.

Like Volcano's it reads at most 3 MiB, answers nothing to a content type other than JSON, and says of a body that it cannot
read why it refuses. Which answer it is, the `judge` decides.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable, Iterable

from aiohttp import web

from vcray.actors.admission_reviews import Question, Unreadable, read_question, write_answer
from vcray.errors import ConfigError, Problem
from vcray.webhooks.base import Answer
from vcray.webhooks.services import Service

LONGEST_BODY = 3 * 1024 * 1024

Judge = Callable[[Service, Question], Awaitable[Answer]]


class AdmissionServer:
    """Listens while started. `port` tells which port it got."""

    def __init__(self, services: Iterable[Service], judge: Judge, shutdown_s: float = 30.0) -> None:
        self._services = tuple(services)
        self._judge = judge
        self._shutdown_s = shutdown_s
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, host: str, port: int, context: ssl.SSLContext) -> None:
        """Listen; port 0 picks a free one. ConfigError when the port cannot be had."""
        app = web.Application(client_max_size=LONGEST_BODY)
        app.router.add_get("/healthz", _healthy)
        for service in self._services:
            app.router.add_post(service.path, self._handler(service))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=self._shutdown_s)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port, ssl_context=context).start()
        except OSError as error:
            await self.stop()
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            what = f"cannot listen on {host}:{port}: {why}; choose another"
            raise ConfigError(Problem("VC0502", "--admission-port", what)) from error
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening, and answer what has been asked."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _handler(self, service: Service) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            try:
                body = await request.read()
            except web.HTTPRequestEntityTooLarge:
                return web.Response(status=413, text="request body too large\n")
            if request.content_type != "application/json":
                return web.Response()
            try:
                question = read_question(body)
            except Unreadable as error:
                return _json(write_answer("", Answer(str(error))))
            return _json(write_answer(question.uid, await self._judge(service, question)))

        return answer


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json")
