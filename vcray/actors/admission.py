"""The admission actor: answers an API server's webhooks over HTTPS.

It serves before it registers itself, and registers only when it knows the queues. What a rule misses in the actor's view is
read from the API server and judged again; a refusal is judged again on fresh objects, so that a view that lags by an event
refuses nobody. Rules are those of `vcray.webhooks`; the actor keeps no other state than its view and the resource groups of its
configuration.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

from vcray.actors.admission_certificates import Credentials, Files
from vcray.actors.admission_groups import GroupsFile
from vcray.actors.admission_registration import Address, Manner, Registrar
from vcray.actors.admission_reviews import Question
from vcray.actors.admission_server import AdmissionServer
from vcray.actors.admission_view import WATCHED, Asked, Glance, Known, watched_for
from vcray.actors.messages import Message, ObjectChanges, Registered, Synced
from vcray.actors.room_asking import AskRoom
from vcray.actors.runtime import Time
from vcray.api.jsonview import dig_str
from vcray.api.resources import QUEUES, Resource
from vcray.cache.supposed import Wanted
from vcray.config.settings import Settings
from vcray.errors import ConfigError, Problem, VcrayError, did_you_mean
from vcray.integrations import growing
from vcray.integrations.admission import service
from vcray.integrations.base import Integration
from vcray.kube.certificates import LIFETIME
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound
from vcray.log import get_logger
from vcray.metrics import Metrics
from vcray.webhooks.base import Answer, Rules
from vcray.webhooks.resource_groups import ResourceGroup
from vcray.webhooks.services import PATHS, SERVICES, TENANT_SERVICES, Service

CHECK_EVERY_S = 60.0
"""How often registration and certificates are looked after."""
RETRY_S = 1.0
NEWBORN_S, POLL_S = 1.0, 0.05
"""How long a queue without a state is waited for: the queue controller opens a new one within milliseconds."""
MOST_READS = 8
"""Rounds of reading what a rule missed before its answer stands: a chain of parents has at most as many."""

ROOM_S = 1.0
"""How long the scheduler may think about what has room: well below what an API server waits for us."""

log = get_logger("admission")
_BY_NAME = {resource.full_name: resource for resource in WATCHED}


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """Where the actor listens, how it is reached, and what it serves."""

    host: str = "127.0.0.1"
    port: int = 0
    address: Address = field(default_factory=Address)
    services: tuple[Service, ...] = SERVICES
    rules: Rules = field(default_factory=Rules)
    conf: Path | None = None
    release_namespace: str = "volcano-system"
    files: Files | None = None
    unregister: bool = True
    lifetime: timedelta = LIFETIME
    linger_s: float = 0.3
    """How long to go on serving after the registration was taken back: API servers hear of that a little later."""
    manner: Manner = "own"
    shutdown_s: float = 30.0
    """How long a stop waits for questions that are being answered."""

    @classmethod
    def of(cls, settings: Settings, integrations: Sequence[Integration] = ()) -> AdmissionOptions:
        """From the settings of a control plane; pods of `integrations` are dressed. ConfigError VC0502 names a setting that
        cannot be used."""
        return cls(
            settings.admission_host,
            settings.admission_port,
            Address(settings.admission_url or "", _service(settings.admission_service)),
            (
                *_enabled(settings.enabled_admission),
                *(TENANT_SERVICES if settings.tenants else ()),
                *((service(integrations),) if integrations else ()),
                *growing.services(integrations),
            ),
            Rules(
                settings.scheduler_names[0],
                settings.max_queue_depth,
                settings.enable_queue_allocated_pods_check,
                settings.enable_root_queue_protection,
                settings.scheduler_names[1:],
                settings.scheduling_gates_queue_admission,
                release_namespace=settings.release_namespace,
                operators=settings.tenant_operators,
            ),
            settings.admission_conf,
            settings.release_namespace,
            _files(settings.admission_cert_file, settings.admission_key_file, settings.admission_ca_file),
            settings.admission_unregister,
            manner=settings.admission_registration,
            shutdown_s=settings.graceful_shutdown_time_s,
        )


class AdmissionActor:
    """Feed it the changes of what its options say that it watches; it does the rest from `start` on."""

    def __init__(
        self,
        client: KubeClient,
        options: AdmissionOptions,
        time: Time,
        metrics: Metrics,
        ask_room: AskRoom | None = None,
    ) -> None:
        self._client = client
        self._ask_room = ask_room
        self._options = options
        self._time = time
        self._metrics = metrics
        self._known = Known(time.now, watched_for(options.services))
        self._unsynced = {resource.full_name for resource in watched_for(options.services)}
        self._ready = asyncio.Event()
        self._server = AdmissionServer(options.services, self._judge, options.shutdown_s)
        self._credentials = Credentials(_hosts(options), options.files, options.lifetime)
        self._registrar: Registrar | None = None
        self._rules = options.rules
        self._groups = None if options.conf is None else GroupsFile(options.conf, time)
        self._following: asyncio.Task[None] | None = None
        self._keeping: asyncio.Task[None] | None = None
        self.registered = asyncio.Event()
        """Set when the API server has been told, for whoever must not create objects before."""

    @property
    def port(self) -> int:
        """The port listened on, 0 before `start`."""
        return self._server.port

    @property
    def watched(self) -> tuple[Resource, ...]:
        """What it is to be told of."""
        return watched_for(self._options.services)

    async def start(self) -> None:
        """Serve. ConfigError when the port, the given certificate or the configuration cannot be used."""
        options = self._options
        if self._groups is not None:
            self._rules = replace(options.rules, resource_groups=self._groups.read())
        await self._server.start(options.host, options.port, self._credentials.context(self._time.now()))
        address = options.address
        if address.service is None and not address.url:
            host = f"[{options.host}]" if ":" in options.host else options.host
            address = Address(f"https://{host}:{self._server.port}")
        namespace = options.release_namespace
        unvouched = options.files is not None and options.files.authority is None
        self._registrar = Registrar(
            self._client, options.services, address, namespace, options.rules, options.manner, unvouched
        )
        if self._groups is not None:
            self._following = asyncio.create_task(self._groups.follow(self._regroup), name="resource groups")
        self._keeping = asyncio.create_task(self._keep(self._registrar), name="admission registration")

    async def receive(self, message: Message) -> Message | None:
        """Take in what a watch saw; tell whether the webhooks are registered."""
        if isinstance(message, ObjectChanges):
            resource = _BY_NAME[message.resource]
            for change in message.changes:
                take = self._known.remove if change.type == "DELETED" else self._known.put
                take(resource, change.object)
        elif isinstance(message, Synced):
            self._unsynced.discard(message.resource)
            if not self._unsynced:
                self._ready.set()
        elif isinstance(message, Registered):
            return Registered(self.registered.is_set())
        return None

    async def stop(self) -> None:
        """Take the registration back, if so chosen, then stop serving."""
        tasks = [task for task in (self._keeping, self._following) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._registrar is not None and self._options.unregister and self.registered.is_set():
            try:
                await self._registrar.withdraw()
                await asyncio.sleep(self._options.linger_s)
            except VcrayError as error:
                log.warning("registration stays behind", error=error)
        await self._server.stop()

    # -- registration -----------------------------------------------------------------------------------------------

    async def _keep(self, registrar: Registrar) -> None:
        """Register as soon as the view is complete, then look after registration and certificates, for ever."""
        await self._ready.wait()
        told = False
        while True:
            try:
                renewed = self._credentials.renew(self._time.now())
                await registrar.register(self._credentials.bundle)
                if renewed:
                    self._credentials.show()
                self.registered.set()
                told = False
                pause = CHECK_EVERY_S
            except VcrayError as error:
                if not told:
                    log.warning("cannot register the webhooks", error=error)
                told, pause = True, RETRY_S
            await self._time.sleep(pause)

    def _regroup(self, groups: tuple[ResourceGroup, ...]) -> None:
        self._rules = replace(self._rules, resource_groups=groups)

    # -- judging ----------------------------------------------------------------------------------------------------

    async def _judge(self, service: Service, question: Question) -> Answer:
        begun = perf_counter()
        refusal = question.refusal(service)
        answer = Answer(refusal) if refusal else await self._decide(service, question)
        spent = (perf_counter() - begun) * 1000
        self._metrics.admission_latency.labels(webhook=service.entry).observe(spent)
        result = "allowed" if answer.allowed else "denied"
        self._metrics.admission_reviews.labels(webhook=service.entry, result=result).inc()
        return answer

    async def _decide(self, service: Service, question: Question) -> Answer:
        """The rule's answer; a job or group for a queue that is only just made is refused when that does not open soon."""
        until = self._time.now() + NEWBORN_S
        while True:
            answer, glance = await self._judged(service, question)
            if answer.allowed or service.resource == QUEUES or self._time.now() >= until:
                return answer
            if not any(self._is_newborn(each) for each in glance.asked):
                return answer
            await self._time.sleep(POLL_S)

    async def _judged(self, service: Service, question: Question) -> tuple[Answer, Glance]:
        """The rule's answer and what it saw, on fresh objects where the view misses one or where it would refuse."""
        fresh: set[Asked] = set()
        places: Sequence[int | None] | None = None
        for _ in range(MOST_READS):
            glance = Glance(self._known, places)
            answer = service.admit(question.about(glance, self._rules))
            if glance.wanted and places is None:
                places = await self._room(glance.wanted)
                continue
            missed = {each for each, found in glance.asked.items() if not found}
            doubtful = (set(glance.asked) if not answer.allowed else missed) - fresh
            if not doubtful:
                break
            await self._read(doubtful)
            fresh |= doubtful
        return answer, glance

    async def _room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        """What the scheduler says has room; empty where there is none, or where it does not answer in time."""
        if self._ask_room is None:
            return ()
        try:
            async with asyncio.timeout(ROOM_S):
                return await self._ask_room(wanted)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            why = "it stops"
        except Exception as error:  # the fence: without an answer the update passes as it is
            why = f"{type(error).__name__}: {error}".removesuffix(": ")
        log.warning("the scheduler does not say what has room", group=wanted[0].job, why=why)
        return ()

    def _is_newborn(self, asked: Asked) -> bool:
        """A queue that the queue controller has not given a state yet."""
        queue = self._known.get(*asked) if asked[0] == QUEUES else None
        return queue is not None and not dig_str(queue, "status", "state")

    async def _read(self, objects: Iterable[Asked]) -> None:
        """Take these objects as the API server has them now; one that cannot be read stays as last seen."""
        for resource, namespace, name in objects:
            try:
                self._known.put(resource, await self._client.get(resource, namespace or None, name))
            except NotFound:
                self._known.forget(resource, namespace, name)
            except VcrayError as error:
                log.warning("cannot read for a webhook", object=f"{resource.kind}/{name}", error=error)


def _hosts(options: AdmissionOptions) -> tuple[str, ...]:
    """Names and addresses that the certificate is made for."""
    hosts = [options.host, "localhost", "127.0.0.1"]
    if options.address.url:
        hosts.insert(0, urlsplit(options.address.url).hostname or "")
    if options.address.service is not None:
        namespace, name = options.address.service
        hosts = [f"{name}.{namespace}.svc", f"{name}.{namespace}", name, *hosts]
    return tuple(dict.fromkeys(host for host in hosts if host not in ("", "0.0.0.0", "::")))


def _enabled(paths: Iterable[str]) -> tuple[Service, ...]:
    """The services of these paths, each once; none is a choice too."""
    known = {service.path: service for service in SERVICES}
    wrong = next((path for path in paths if path not in known), None)
    if wrong is not None:
        hint = did_you_mean(wrong, PATHS)
        raise ConfigError(
            Problem("VC0502", "--enabled-admission", f"no webhook is served at '{wrong}'{hint}")
        )
    return tuple(known[path] for path in dict.fromkeys(paths))


def _service(reference: str | None) -> tuple[str, str] | None:
    if not reference:
        return None
    namespace, slash, name = reference.partition("/")
    if not (namespace and slash and name):
        what = f"must be namespace/name of a Service, got '{reference}'"
        raise ConfigError(Problem("VC0502", "--admission-service", what))
    return namespace, name


def _files(certificate: Path | None, key: Path | None, authority: Path | None) -> Files | None:
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        flag = "--admission-cert-file" if certificate is None else "--admission-key-file"
        raise ConfigError(Problem("VC0502", flag, "a certificate file and its key file go together"))
    return Files(certificate, key, authority)
