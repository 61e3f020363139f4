"""`/metrics` for Prometheus, `/healthz` and `/readyz`, over HTTP on loopback unless told otherwise."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from vcray.errors import ConfigError, Problem
from vcray.metrics import CONTENT_TYPE


class MetricsServer:
    """Serves what `expose` gives (None: health alone). `refresh` is called before each answer, `healthy` says why not (empty:
    all well), `ready` why it cannot be asked for anything yet, `flag` is the one that set the port."""

    def __init__(
        self,
        expose: Callable[[], bytes] | None,
        refresh: Callable[[], None],
        healthy: Callable[[], str],
        flag: str = "--metrics-port",
        ready: Callable[[], str] = lambda: "",
    ) -> None:
        self._expose = expose
        self._refresh = refresh
        self._healthy = healthy
        self._ready = ready
        self._flag = flag
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, address: str, port: int, context: ssl.SSLContext | None = None) -> None:
        """Listen, over TLS with a context; port 0 picks a free one (`self.port` tells). ConfigError when the port cannot be had."""
        app = web.Application()
        if self._expose is not None:
            app.router.add_get("/metrics", self._answer_metrics)
        app.router.add_get("/healthz", self._answer_health)
        app.router.add_get("/readyz", self._answer_readiness)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, address, port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise ConfigError(
                Problem("VC0502", self._flag, f"cannot listen on {address}:{port}: {why}; choose another")
            ) from error
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the port."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer_metrics(self, _: web.Request) -> web.Response:
        self._refresh()
        body = b"" if self._expose is None else self._expose()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def _answer_health(self, _: web.Request) -> web.Response:
        why = self._healthy()
        return web.Response(text=why or "ok", status=500 if why else 200)

    async def _answer_readiness(self, _: web.Request) -> web.Response:
        why = self._healthy() or self._ready()
        return web.Response(text=why or "ok", status=503 if why else 200)


def tls_context(certificate: Path, key: Path, authority: Path) -> ssl.SSLContext:
    """For a port whose clients may show a certificate, which must then be vouched for. ConfigError VC0502."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_OPTIONAL
    try:
        context.load_verify_locations(authority)
    except (OSError, ssl.SSLError) as error:
        raise _unusable("--health-ca-file", str(authority), error) from error
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise _unusable("--health-cert-file", f"{certificate} with {key}", error) from error
    return context


def _unusable(flag: str, what: str, error: OSError) -> ConfigError:
    why = error.strerror or str(error)
    return ConfigError(Problem("VC0502", flag, f"{what} cannot be used: {why}"))
