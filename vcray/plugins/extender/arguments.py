"""Arguments of `extender`: where it is, what it is asked, and what an error means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, JsonValue

from vcray.api.duration import DurationError, duration_seconds
from vcray.core.plugin import Args
from vcray.errors import Problem


class ExtenderArgs(Args):
    """See docs/plugins/extender.md. A verb that is empty is not asked."""

    durations: ClassVar[tuple[str, ...]] = ("extender.httpTimeout",)

    url_prefix: str = Field("", alias="extender.urlPrefix")
    http_timeout: str = Field("1s", alias="extender.httpTimeout")
    ignorable: bool = Field(False, alias="extender.ignorable")
    managed_resources: JsonValue = Field(None, alias="extender.managedResources")
    session_open: str = Field("", alias="extender.onSessionOpenVerb")
    session_close: str = Field("", alias="extender.onSessionCloseVerb")
    predicate: str = Field("", alias="extender.predicateVerb")
    prioritize: str = Field("", alias="extender.prioritizeVerb")
    preemptable: str = Field("", alias="extender.preemptableVerb")
    reclaimable: str = Field("", alias="extender.reclaimableVerb")
    queue_overused: str = Field("", alias="extender.queueOverusedVerb")
    job_enqueueable: str = Field("", alias="extender.jobEnqueueableVerb")
    job_enqueued: str = Field("", alias="extender.jobEnqueuedVerb")
    job_ready: str = Field("", alias="extender.jobReadyVerb")
    allocate: str = Field("", alias="extender.allocateFuncVerb")
    deallocate: str = Field("", alias="extender.deallocateFuncVerb")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As `Args.read`; a list of resources that is none is told."""
        args, problems = super().read(given, where)
        listed = args.managed_resources
        if listed is not None and not (
            isinstance(listed, list) and all(isinstance(name, str) for name in listed)
        ):
            what = f"must be a list of resource names, got {listed!r}; it is taken as empty"
            problems.append(Problem("VC0108", f"{where}.extender.managedResources", what))
        return args, problems

    def managed(self) -> tuple[str, ...]:
        """Resources that make a pod the extender's business; empty for all pods."""
        listed = self.managed_resources
        if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
            return ()
        return tuple(str(name) for name in listed)

    def timeout_s(self) -> float:
        """Seconds for one call; a second for what is no duration above 0."""
        try:
            seconds = duration_seconds(self.http_timeout)
        except DurationError:
            return 1.0
        return seconds if seconds > 0 else 1.0

    def url(self, verb: str) -> str:
        """Where a verb is."""
        return f"{self.url_prefix.rstrip('/')}/{verb}"
