"""Structured logs: one line an event, key=value, to standard error.

`get_logger("binder").warning("binding refused", job="default/j", node="n1")` prints
`2026-01-02T03:04:05Z WARNING binder binding refused job=default/j node=n1`.
Users see sentences elsewhere; these lines are for operators.
"""

from __future__ import annotations

import logging
import sys
import time

ROOT = "vcray"


class Logger:
    """A logger whose extra facts are keyword arguments."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"{ROOT}.{name}")

    def debug(self, event: str, **facts: object) -> None:
        self._log(logging.DEBUG, event, facts)

    def info(self, event: str, **facts: object) -> None:
        self._log(logging.INFO, event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._log(logging.WARNING, event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._log(logging.ERROR, event, facts)

    def exception(self, event: str, **facts: object) -> None:
        """An error with the traceback of the exception being handled."""
        self._log(logging.ERROR, event, facts, with_traceback=True)

    def _log(self, level: int, event: str, facts: dict[str, object], with_traceback: bool = False) -> None:
        if self._logger.isEnabledFor(level):
            text = " ".join([event, *(f"{key}={_quote(value)}" for key, value in facts.items())])
            self._logger.log(level, "%s", text, exc_info=with_traceback)


def _quote(value: object) -> str:
    text = str(value)
    return repr(text) if not text or any(c in text for c in ' "\n=') else text


class _Format(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(area)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return time.strftime(datefmt or "", time.gmtime(record.created))

    def format(self, record: logging.LogRecord) -> str:
        record.area = record.name.removeprefix(f"{ROOT}.")
        return super().format(record)


def get_logger(area: str) -> Logger:
    """The logger of an area: a module's or an actor's short name."""
    return Logger(area)


def configure(level: str = "INFO", handler: logging.Handler | None = None) -> None:
    """Send our own lines to standard error, or to a handler; other libraries' loggers stay as they are."""
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Format())
    root = logging.getLogger(ROOT)
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
