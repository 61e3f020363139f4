"""Lets the pods of a job reach each other by ssh without a password.

A Secret `<job>-ssh` holds a key pair and a client configuration that knows every host of the job; all containers mount it
as their `.ssh` folder. The pair is made once and outlives restarts: a pod that is restarted alone must still get into
those that stay, which mounted theirs by subPath and never see another (volcano-sh/volcano#1420). So the configuration is
brought up to date when the job restarts, and only then.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import SECRETS
from vcray.controllers import raw
from vcray.controllers.base import KeyPair, MakeKeys, Patch, ReconcileError, Steps, expect
from vcray.controllers.job.view import JobView, TaskView
from vcray.controllers.jobplugins.base import (
    JobPlugin,
    containers_of,
    drop_objects,
    find_object,
    hosts,
    keep_object,
    own_object,
)

ROOTS_FOLDER = "/root/.ssh"
PRIVATE_KEY, PUBLIC_KEY, AUTHORIZED_KEYS, CONFIG = "id_rsa", "id_rsa.pub", "authorized_keys", "config"
DEFAULT_PORT = 22
_FOLDER = ".ssh"
_HIGHEST_PORT = 65535


class SshPlugin(JobPlugin):
    """Secret with keys and configuration, mounted at `--ssh-key-file-path`; a pair of the user's own is taken as it is.

    The files are their owner's alone under root's folder, and readable by everybody elsewhere."""

    flags: ClassVar[Mapping[str, str | int | bool]] = {
        "ssh-key-file-path": ROOTS_FOLDER,
        "ssh-private-key": "",
        "ssh-public-key": "",
        "ssh-port": DEFAULT_PORT,
    }

    @property
    def port(self) -> int:
        """Where the job's ssh servers listen; 22 where the argument is no port."""
        port = int(self.options["ssh-port"])
        return port if 0 < port <= _HIGHEST_PORT else DEFAULT_PORT

    def on_pod(self, job: JobView, task: TaskView, index: int, pod: JsonObject) -> JsonObject:
        name, path = _secret_name(job), self.options["ssh-key-file-path"]
        files = (PRIVATE_KEY, PUBLIC_KEY, AUTHORIZED_KEYS, CONFIG)
        secret: JsonObject = {
            "secretName": name,
            "items": [{"key": file, "path": f"{_FOLDER}/{file}"} for file in files],
            "defaultMode": 0o600 if path == ROOTS_FOLDER else 0o644,
        }
        raw.append(raw.table(pod, "spec"), "volumes", {"name": name, "secret": secret})
        for container in containers_of(pod):
            mount: JsonObject = {"name": name, "mountPath": path, "subPath": _FOLDER}
            raw.append(container, "volumeMounts", mount)
        return pod

    def on_job_add(self, job: JobView) -> Steps[None]:
        name, config = _secret_name(job), _encoded(ssh_config(job, self.port))
        stored = yield from find_object(job, SECRETS, name)
        if stored is None:
            yield from self._create(job, config)
        elif raw.text(stored, "data", CONFIG) != config:
            outcome = yield Patch(SECRETS, job.namespace, name, {"data": {CONFIG: config}})
            expect(outcome, f"update Secret {job.namespace}/{name}")

    def on_job_delete(self, job: JobView) -> Steps[None]:
        yield from drop_objects(job, [(SECRETS, _secret_name(job))])

    def on_job_restart(self, job: JobView) -> Steps[bool]:
        yield from self.on_job_add(job)
        return True

    def _create(self, job: JobView, config: str) -> Steps[None]:
        keys = yield from self._keys()
        data: JsonObject = {
            PRIVATE_KEY: _encoded(keys.private),
            PUBLIC_KEY: _encoded(keys.public),
            AUTHORIZED_KEYS: _encoded(keys.public),
            CONFIG: config,
        }
        yield from keep_object(job, SECRETS, {**own_object(job, SECRETS, _secret_name(job)), "data": data})

    def _keys(self) -> Steps[KeyPair]:
        private, public = self.options["ssh-private-key"], self.options["ssh-public-key"]
        if private:
            return KeyPair(str(private), str(public))
        outcome = yield MakeKeys()
        if outcome.keys is None:
            raise ReconcileError("the host made no keys")
        return outcome.keys


def ssh_config(job: JobView, port: int) -> str:
    """The client's configuration: hosts of all tasks by their short names, strangers' keys taken without a question."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    for task in job.tasks:
        for each in hosts(job, task):
            lines += [f"Host {each.name}", f"  HostName {each.address}", f"  Port {port}"]
    return "".join(f"{line}\n" for line in lines)


def _secret_name(job: JobView) -> str:
    return f"{job.name}-ssh"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
