"""What one process of a control plane is for, and the defaults that follow from it and from the release that it is part of.

Volcano runs each component as a program of its own; here all of them are one program that is told which to run (`only`).
Names of objects follow the release as in Volcano's chart (api-controllers.md 9): `R-scheduler-configmap`,
`R-controller-configmap`, `R-sharding-configmap`, `R-admission-service`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcray.errors import did_you_mean

SCHEDULER: Final = "scheduler"
AGENT_SCHEDULER: Final = "agent-scheduler"
CONTROLLERS: Final = "controllers"
ADMISSION: Final = "admission"
INTEGRATIONS: Final = "integrations"

COMPONENTS: Final = (SCHEDULER, AGENT_SCHEDULER, CONTROLLERS, INTEGRATIONS, ADMISSION)
"""What `only` may name."""

LEASES: Final[Mapping[str, str]] = {
    CONTROLLERS: "vc-controller-manager",
    AGENT_SCHEDULER: "vc-agent-scheduler",
    INTEGRATIONS: "vcray-integrations",
}
"""The Lease of a process that runs one component alone; any other holds the scheduler's."""


def unknown_component(only: tuple[str, ...]) -> str:
    """What is wrong with a list of components, empty when nothing is."""
    wrong = next((name for name in only if name not in COMPONENTS), None)
    return "" if wrong is None else f"there is no component '{wrong}'{did_you_mean(wrong, COMPONENTS)}"


def derived(
    given: Mapping[str, object], only: tuple[str, ...], namespace: str, release: str
) -> dict[str, object]:
    """Settings that follow from others where they are not `given`, and those that `only` decides in any case."""
    found: dict[str, object] = {}
    if "namespace" in given:
        places = ("lease_namespace", "release_namespace", "sharding_configmap_namespace")
        found |= dict.fromkeys(places, namespace)
    if release or "namespace" in given:
        found["controller_configmap"] = f"{namespace}/{release or 'volcano'}-controller-configmap"
    if len(only) == 1:
        found |= {"lease_name": LEASES[only[0]]} if only[0] in LEASES else {}
        found |= {"admission_unregister": False} if only[0] == ADMISSION else {}
    if release:
        found |= {"sharding_configmap": f"{release}-sharding-configmap", "admission_registration": "adopt"}
        if "scheduler_conf" not in given and (SCHEDULER in only or not only):
            found["scheduler_conf_configmap"] = f"{namespace}/{release}-scheduler-configmap"
        if "admission_url" not in given:
            found["admission_service"] = f"{namespace}/{release}-admission-service"
            found["admission_host"] = "0.0.0.0"
    found = {name: value for name, value in found.items() if name not in given}
    if only:
        found["admission"] = ADMISSION in only
        if AGENT_SCHEDULER not in only:
            found["agent_scheduler_names"] = ()
    return found
