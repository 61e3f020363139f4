"""The controllers and integrations that the settings name, made ready."""

from __future__ import annotations

from collections.abc import Sequence

from vcray.config.controllers import is_enabled
from vcray.config.language import unknown_name
from vcray.config.settings import Settings
from vcray.config.sharding import ShardingConfig, parse_scheduler_configs
from vcray.controllers.base import Controller
from vcray.controllers.colocation import ColocationController
from vcray.controllers.cronjob.controller import CronJobController
from vcray.controllers.garbage import GarbageController
from vcray.controllers.hypernode.controller import HyperNodeController
from vcray.controllers.job.controller import JobController
from vcray.controllers.jobflow.controller import JobFlowController
from vcray.controllers.jobtemplate import JobTemplateController
from vcray.controllers.podgroup import PodGroupController
from vcray.controllers.queue import QueueController
from vcray.controllers.sharding.controller import ShardingController
from vcray.controllers.unreliable import UnreliableNodeController
from vcray.errors import ConfigError, Problem
from vcray.integrations.base import Integration
from vcray.integrations.known import made
from vcray.integrations.podmarks import PodMarks
from vcray.registry import INTEGRATIONS, Registry


def controllers_of(settings: Settings, integrations: Sequence[Integration] = ()) -> tuple[Controller, ...]:
    """All that are enabled. Pods of `integrations` are left to those for a while."""
    given = ShardingConfig(
        parse_scheduler_configs(settings.scheduler_configs),
        settings.shard_sync_period_s,
        settings.enable_node_event_trigger,
    )
    tries = settings.max_requeue_num
    made: tuple[Controller, ...] = (
        JobController(tries),
        GarbageController(tries),
        PodGroupController(
            settings.scheduler_names,
            settings.inherit_owner_annotations,
            tries,
            PodMarks.of(integrations).bears,
            settings.reservation_timeout_s,
        ),
        QueueController(tries),
        JobFlowController(tries),
        JobTemplateController(tries),
        CronJobController(tries),
        HyperNodeController(_of_hypernodes(settings)),
        ShardingController(given, settings.sharding_configmap_namespace, settings.sharding_configmap),
        ColocationController(),
        UnreliableNodeController(tries),
    )
    return tuple(each for each in made if is_enabled(each.name, settings.controllers))


def integrations_of(settings: Settings, registry: Registry) -> tuple[Integration, ...]:
    """All integrations that are enabled, by name. ConfigError VC0502 for a choice that there is none of."""
    known = registry.offered(INTEGRATIONS)
    for each in settings.integrations:
        name = each.lstrip("+-")
        if name not in (*known, "*"):
            what = unknown_name("integration", name, known)
            raise ConfigError(Problem("VC0502", "--integrations", what))
    return made(registry, (name for name in known if is_enabled(name, settings.integrations)))


def configmaps_of(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Namespaces and names of the ConfigMaps that those read which are enabled, each once."""
    found = {
        HyperNodeController.name: _of_hypernodes(settings),
        ShardingController.name: (settings.sharding_configmap_namespace, settings.sharding_configmap),
    }
    read = (place for name, place in found.items() if place[1] and is_enabled(name, settings.controllers))
    return tuple(dict.fromkeys(read))


def reads_names_alone(settings: Settings) -> bool:
    """Is all that is read of nodes their names and labels? Who makes shards reads what they can hold, who looks
    for unreliable ones their conditions."""
    readers = (ShardingController.name, UnreliableNodeController.name)
    return not any(is_enabled(name, settings.controllers) for name in readers)


def _of_hypernodes(settings: Settings) -> tuple[str, str]:
    namespace, _, name = settings.controller_configmap.partition("/")
    return namespace, name
