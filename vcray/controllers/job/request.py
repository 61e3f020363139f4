"""What the job controller can be asked to do. Frozen values: equal requests wait in the queue once."""

from __future__ import annotations

from dataclasses import dataclass

from vcray.api.batch import JobEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """Something happened to a job, or to a pod of it.

    `uid`, `task`, `pod`, `pod_uid`, `partition`, `exit_code` and `version` (the pod's job-version) are empty or 0 where
    the event does not tell; `action` is set by a command and goes before any policy; `timer` names a delayed action
    that is due."""

    namespace: str
    job: str
    uid: str = ""
    event: str = JobEvent.OUT_OF_SYNC.value
    action: str = ""
    task: str = ""
    pod: str = ""
    pod_uid: str = ""
    partition: str = ""
    exit_code: int = 0
    version: int = 0
    timer: int = 0

    @property
    def key(self) -> str:
        """One job is handled by one turn at a time."""
        return f"{self.namespace}/{self.job}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRequest:
    """A Command object that names a job."""

    namespace: str
    job: str
    command: str
    command_uid: str
    action: str

    @property
    def key(self) -> str:
        """Commands wait in line with what else happens to the job."""
        return f"{self.namespace}/{self.job}"
