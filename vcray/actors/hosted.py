"""The controllers that the settings name, made ready."""

from __future__ import annotations

from vcray.config.controllers import is_enabled
from vcray.config.settings import Settings
from vcray.config.sharding import ShardingConfig, parse_scheduler_configs
from vcray.controllers.base import Controller
from vcray.controllers.cronjob.controller import CronJobController
from vcray.controllers.garbage import GarbageController
from vcray.controllers.job.controller import JobController
from vcray.controllers.jobflow.controller import JobFlowController
from vcray.controllers.jobtemplate import JobTemplateController
from vcray.controllers.podgroup import PodGroupController
from vcray.controllers.queue import QueueController
from vcray.controllers.sharding.controller import ShardingController


def controllers_of(settings: Settings) -> tuple[Controller, ...]:
    """All that are enabled."""
    given = ShardingConfig(
        parse_scheduler_configs(settings.scheduler_configs),
        settings.shard_sync_period_s,
        settings.enable_node_event_trigger,
    )
    made: tuple[Controller, ...] = (
        JobController(),
        GarbageController(),
        PodGroupController(settings.scheduler_names),
        QueueController(),
        JobFlowController(),
        JobTemplateController(),
        CronJobController(),
        ShardingController(given, settings.sharding_configmap_namespace, settings.sharding_configmap),
    )
    return tuple(each for each in made if is_enabled(each.name, settings.controllers))
