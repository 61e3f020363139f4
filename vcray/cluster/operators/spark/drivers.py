"""Drivers of spark-submit, no operator near: a driver pod that runs makes its executors, and takes them along when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, Resource
from vcray.cluster.operators.base import Follow, Operator, phase
from vcray.controllers import raw
from vcray.controllers.base import Change, Effects, Request, Seen, Steps
from vcray.integrations.spark import _pods as spark

EXECUTORS: Final = "vcray.io/spark-executors"
"""Annotation of a driver: what `spark.executor.instances` would say, for nobody reads Spark's own file here."""


class SparkDrivers(Operator):
    """Executors ask for what their driver does. In client mode, or with VolcanoFeatureStep, write what that makes yourself."""

    resource: ClassVar[Resource] = PODS
    owns: ClassVar[tuple[Resource, ...]] = ()

    @property
    def name(self) -> str:
        return "spark-driver"

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """A driver; the driver of an executor, also of one that is gone: it asks for another then."""
        pod = change.object
        name = raw.name(pod)
        if spark.role(pod) == spark.EXECUTOR:
            name = raw.text(raw.controller(pod), "name")
        return (Follow(raw.namespace(pod), name),)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a driver."""
        if spark.role(obj) != spark.DRIVER or spark.OPERATOR_APP in raw.labels_of(obj):
            return
        executors = self.owned(PODS, obj, seen)
        if phase(obj) in ("Succeeded", "Failed"):
            yield from self.remove(PODS, executors)
        elif phase(obj) == "Running":
            yield from self._executors(obj, executors)

    def _executors(self, driver: JsonObject, there: list[JsonObject]) -> Steps[None]:
        taken = {raw.name(each) for each in there}
        spelled = raw.annotation(driver, EXECUTORS)
        for number in range(1, 1 + int(spelled if spelled.isdecimal() else 2)):
            name = f"{raw.name(driver).removesuffix('-driver')}-exec-{number}"
            if name not in taken:
                yield from self.make(PODS, driver, _executor(driver, name, number))


def _executor(driver: JsonObject, name: str, number: int) -> JsonObject:
    labels = {
        spark.APP_ID: raw.labels_of(driver).get(spark.APP_ID, ""),
        spark.ROLE: spark.EXECUTOR,
        "spark-exec-id": str(number),
    }
    stored = raw.annotations_of(driver)
    kept = (names.POD_QUEUE_NAME,)
    container = raw.tables(driver, "spec", "containers")[0]
    spec: JsonObject = {
        "containers": [{key: container[key] for key in ("name", "image", "resources") if key in container}],
        "restartPolicy": "Never",
    }
    if raw.text(driver, "spec", "schedulerName"):
        spec["schedulerName"] = raw.text(driver, "spec", "schedulerName")
    annotations: JsonObject = {key: stored[key] for key in kept if key in stored}
    return {
        "metadata": {"name": name, "labels": raw.strings(labels), "annotations": annotations},
        "spec": spec,
    }
