"""Which ConfigMap holds the device configuration: arguments of `deviceshare` name it."""

from __future__ import annotations

from typing import Final

from vcray.config.scheduler import load_scheduler_config
from vcray.errors import ConfigError

DEVICE_CONFIG: Final = ("kube-system", "volcano-vgpu-device-config")
"""Its namespace and name when no arguments say otherwise."""
ARGUMENTS: Final = ("deviceshare.KnownGeometriesCMNamespace", "deviceshare.KnownGeometriesCMName")


def device_config_place(conf: str) -> tuple[str, str]:
    """Namespace and name in a volcano-scheduler.conf; they are read once, when the watches start."""
    try:
        config = load_scheduler_config(conf)
    except ConfigError:
        return DEVICE_CONFIG
    for entry in config.plugins("deviceshare"):
        said = [entry.arguments.get(argument) for argument in ARGUMENTS]
        namespace, name = (
            value if isinstance(value, str) and value else otherwise
            for value, otherwise in zip(said, DEVICE_CONFIG, strict=True)
        )
        return namespace, name
    return DEVICE_CONFIG
