"""A cluster without a server: Volcano's programs run on an object store, through the same client as over HTTP."""

import asyncio
import io

from vcray.api.resources import JOBS, PODS, QUEUES
from vcray.cli.program import execute
from vcray.cli.slurm import PROGRAMS
from vcray.cli.vcctl import ROOT
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient

CREATED = 1_700_000_000.0
"""When every object is created: 2023-11-14."""


class Cluster:
    """A store, the programs on it, and a client to look behind it."""

    def __init__(self):
        self.store = Store(clock=ManualClock(CREATED))

    def client(self):
        return KubeClient(InProcessTransport(self.store))

    def vcctl(self, *arguments):
        """Exit code and standard output."""
        return self._execute(ROOT, arguments)

    def program(self, name, *arguments):
        """Exit code and standard output of `vsub` and the like."""
        return self._execute(PROGRAMS[name], arguments)

    def _execute(self, root, arguments):
        async def connect():
            return self.client()

        out, err = io.StringIO(), io.StringIO()
        code = execute(root, arguments, connect, out, err)
        assert err.getvalue() == ""
        return code, out.getvalue()

    def ask(self, method, *arguments, **options):
        return asyncio.run(getattr(self.client(), method)(*arguments, **options))

    def create_job(self, name, status=None, namespace="default", **spec):
        task = {
            "name": "t",
            "replicas": 2,
            "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
        }
        body = {
            "apiVersion": JOBS.api_version,
            "kind": "Job",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"minAvailable": 1, "tasks": [task], **spec},
        }
        made = self.ask("create", JOBS, namespace, body)
        if status:
            made = self.ask("patch", JOBS, namespace, name, {"status": status}, subresource="status")
        return made

    def create_queue(self, name, **spec):
        return self.ask("create", QUEUES, None, {"metadata": {"name": name}, "spec": spec})

    def create_pod(self, name, job="", namespace="default", status=None, **metadata):
        labels = {"volcano.sh/job-name": job} if job else {}
        body = {
            "metadata": {"name": name, **metadata, "labels": {**labels, **metadata.get("labels", {})}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        made = self.ask("create", PODS, namespace, body)
        if status:
            made = self.ask("patch", PODS, namespace, name, {"status": status}, subresource="status")
        return made
