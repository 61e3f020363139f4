"""What of a local cluster lives in the process of `vcray up`: API server, definitions, workload controllers, simulated nodes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress

from vcray.api.crds import all_crds
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, STORAGECLASSES
from vcray.cli.fasttime import FastTime
from vcray.cli.hosting import ClusterOptions
from vcray.cluster.kubelet import Fleet, NodeShape
from vcray.cluster.objects.persistence import Database
from vcray.cluster.objects.review import User
from vcray.cluster.objects.store import Store
from vcray.cluster.server.https import EmbeddedServer, ServerOptions
from vcray.cluster.server.kept import administrator_token
from vcray.cluster.server.tokens import ADMIN
from vcray.cluster.storageclasses import default_class
from vcray.cluster.workloads.manager import Workloads
from vcray.cluster.workloads.volumes.provisioning import default_storage_class
from vcray.errors import InputError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.errors import AlreadyExists

"""The file of a data directory that keeps the administrator's token."""


class Embedded:
    """The parts of one cluster that live here; `stack` is given what ends them, in the right order.

    `fail` hears why the cluster cannot go on.
    """

    def __init__(self, options: ClusterOptions, stack: AsyncExitStack, fail: Callable[[str], None]) -> None:
        self._options = options
        self._stack = stack
        self._fail = fail
        self._server: EmbeddedServer
        self._fleet: Fleet | None = None

    async def start_server(self) -> EmbeddedServer:
        """The API server with Volcano's definitions, on what the data directory keeps if there is one.

        InputError VC0602 for a port that is taken, VC0603 for a directory that cannot be used."""
        options, database = self._options, None
        tokens: dict[str, User] = {}
        if options.data_dir is not None:
            database = Database(options.data_dir, self._fail)
            self._stack.callback(database.close)
            tokens[administrator_token(options.data_dir)] = ADMIN
        self._server = EmbeddedServer(
            ServerOptions(
                port=options.port,
                store=Store(seed=secrets.randbits(62), database=database),
                folder=options.data_dir,
                tokens=tokens,
                read_log=self._log,
                service_accounts=options.service_accounts,
            )
        )
        self._stack.push_async_callback(self._server.stop)
        try:
            await self._server.start()
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            what = f"{reason}; stop what listens there, or let --port 0 pick a free one"
            raise InputError(Problem("VC0602", f"--port {options.port}", what)) from error
        await install_definitions(KubeClient(self._server.transport, "vcray"))
        return self._server

    async def start_workloads(self) -> None:
        """The controllers of Kubernetes' own workloads, and a storage class for claims that name none."""
        await _install_storage_class(KubeClient(self._server.transport, "vcray"))
        workloads = Workloads(
            self._server.transport,
            certificate_authority=self._server.ca.decode(),
            default_scheduler=self._options.default_scheduler,
        )
        await workloads.start()
        self._stack.push_async_callback(workloads.stop)

    async def start_operators(self) -> None:
        """The stand-ins for other operators, with the definitions of their kinds."""
        from vcray.actors.timekeeping import WallTime
        from vcray.sim.operating import Operating, install

        await install(self._server.transport, self._options.operators)
        operating = Operating(self._server.transport, self._options.operators, WallTime(), workloads=False)
        await operating.start()
        self._stack.push_async_callback(operating.stop)

    async def start_nodes(self) -> None:
        """The simulated nodes."""
        options = self._options
        shape = NodeShape(options.node_cpu, options.node_memory, options.node_pods, options.node_gpu)
        time = FastTime(options.speed) if options.speed != 1.0 else None
        self._fleet = Fleet(self._server.transport, options.nodes, shape, time=time)
        self._stack.push_async_callback(self._fleet.stop)
        await self._fleet.start()

    def _log(self, namespace: str, name: str, container: str, options: Mapping[str, str]) -> bytes | None:
        """What a container has printed, as the node would be asked for it; `tailLines` is obeyed."""
        text = None if self._fleet is None else self._fleet.log(namespace, name, container)
        if text is None:
            return None
        lines, last = text.splitlines(keepends=True), options.get("tailLines", "")
        kept = lines[len(lines) - int(last) :] if last.isdigit() and int(last) < len(lines) else lines
        return "".join(kept).encode()


async def _install_storage_class(client: KubeClient) -> None:
    """The default class, unless there is one, which may have been marked by the user."""
    classes = (await client.list(STORAGECLASSES)).items
    if not default_class(classes):
        with suppress(AlreadyExists):
            await client.create(STORAGECLASSES, None, default_storage_class())


async def install_definitions(client: KubeClient) -> None:
    """Volcano's definitions; those of an earlier run are brought up to date."""
    for definition in all_crds():
        try:
            await client.create(CUSTOMRESOURCEDEFINITIONS, None, definition)
        except AlreadyExists:
            metadata = definition["metadata"]
            assert isinstance(metadata, dict)
            patch = {"spec": definition["spec"]}
            await client.patch(CUSTOMRESOURCEDEFINITIONS, None, str(metadata["name"]), patch)
