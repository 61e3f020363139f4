"""Where the device configuration is."""

from __future__ import annotations

from vcray.config.deviceconfig import DEVICE_CONFIG, device_config_place


def test_arguments_of_deviceshare_say_where_the_device_configuration_is() -> None:
    conf = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: deviceshare, arguments: {%s}}]}]"
    name, namespace = (
        "deviceshare.KnownGeometriesCMName: cards",
        "deviceshare.KnownGeometriesCMNamespace: gpus",
    )
    assert device_config_place(conf % f"{name}, {namespace}") == ("gpus", "cards")
    assert device_config_place(conf % name) == ("kube-system", "cards")
    assert device_config_place(conf % "") == DEVICE_CONFIG
    assert device_config_place("actions: allocate\ntiers: [{plugins: [{name: gang}]}]") == DEVICE_CONFIG
    assert device_config_place("actions: [") == DEVICE_CONFIG
