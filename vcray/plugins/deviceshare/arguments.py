"""Arguments of `deviceshare`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import Field, JsonValue

from vcray.core.plugin import Args
from vcray.errors import Problem, did_you_mean

BINPACK, SPREAD = POLICIES = ("binpack", "spread")


class DeviceShareArgs(Args):
    """Volcano's arguments. Kinds of cards are switched on one by one; two ways to share the same cards exclude each other."""

    gpu_sharing: bool = Field(False, alias="deviceshare.GPUSharingEnable")
    gpu_number: bool = Field(False, alias="deviceshare.GPUNumberEnable")
    vgpu: bool = Field(False, alias="deviceshare.VGPUEnable")
    mindcluster: bool = Field(False, alias="deviceshare.AscendMindClusterVNPUEnable")
    ascend: bool = Field(False, alias="deviceshare.AscendHAMiVNPUEnable")
    node_lock: bool = Field(False, alias="deviceshare.NodeLockEnable")
    policy: str = Field("", alias="deviceshare.SchedulePolicy")
    weight: int = Field(0, alias="deviceshare.ScheduleWeight")
    config_name: str = Field("volcano-vgpu-device-config", alias="deviceshare.KnownGeometriesCMName")
    config_namespace: str = Field("kube-system", alias="deviceshare.KnownGeometriesCMNamespace")
    exclusive: object = Field((), alias="deviceshare.GPUExclusiveRules")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As all arguments; what Volcano refuses to start with is a problem, and the later of two switches is off."""
        args, problems = super().read(given, where)
        taken = args.model_dump(by_alias=True)
        for first, second in _CONFLICTS:
            if taken[first] and taken[second]:
                what = f"cannot be used together with {first}; it is off"
                problems.append(Problem("VC0108", f"{where}.{second}", what))
                taken[second] = False
        if args.policy not in ("", *POLICIES):
            what = f"unknown policy '{args.policy}' has no effect{did_you_mean(args.policy, POLICIES)}"
            problems.append(Problem("VC0108", f"{where}.deviceshare.SchedulePolicy", what))
        if args.exclusive and not _is_rules(args.exclusive):
            what = "must be a list of maps of labels; it has no effect"
            problems.append(Problem("VC0108", f"{where}.deviceshare.GPUExclusiveRules", what))
        return cls.model_validate(taken), problems

    @property
    def rules(self) -> tuple[tuple[tuple[str, str], ...], ...]:
        """Exclusive rules: labels that a pod must have to match each."""
        if not isinstance(self.exclusive, list) or not _is_rules(self.exclusive):
            return ()
        return tuple(
            tuple(sorted((str(key), str(value)) for key, value in rule.items())) for rule in self.exclusive
        )

    @property
    def any_family(self) -> bool:
        """Is any kind of card switched on?"""
        return self.vgpu or self.gpu_sharing or self.gpu_number or self.mindcluster or self.ascend


_CONFLICTS = (
    ("deviceshare.VGPUEnable", "deviceshare.GPUSharingEnable"),
    ("deviceshare.VGPUEnable", "deviceshare.GPUNumberEnable"),
    ("deviceshare.GPUSharingEnable", "deviceshare.GPUNumberEnable"),
)


def _is_rules(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(rule, dict) and rule for rule in value)
