"""Which ConfigMap holds the device configuration: an argument of `deviceshare` names it."""

from __future__ import annotations

from typing import Final

from vcray.config.scheduler import load_scheduler_config
from vcray.errors import ConfigError

DEVICE_CONFIG: Final = "volcano-vgpu-device-config"
"""Its name when no argument names another."""


def device_config_name(conf: str) -> str:
    """The name in a volcano-scheduler.conf; it is read once, when the watches start."""
    try:
        config = load_scheduler_config(conf)
    except ConfigError:
        return DEVICE_CONFIG
    for tier in config.tiers:
        for entry in tier:
            if entry.name == "deviceshare":
                name = entry.arguments.get("deviceshare.KnownGeometriesCMName")
                return name if isinstance(name, str) and name else DEVICE_CONFIG
    return DEVICE_CONFIG
