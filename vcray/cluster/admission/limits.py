"""LimitRange admission: defaults for containers that say nothing, and bounds for containers, pods and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, PODS, Resource
from vcray.cluster.admission.pods import quality_of_service
from vcray.cluster.admission.usage import Amount, amount_of, amounts_of, pod_amounts
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.record import section
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import ResourceMissing

_ANNOTATION = "kubernetes.io/limit-ranger"
_LISTS = (("containers", "container"), ("initContainers", "init container"))

Amounts = Mapping[str, Amount]


class LimitGate:
    """Applies the LimitRanges of a namespace to what is created there."""

    def __init__(self, storage: Storage, catalog: Catalog) -> None:
        self._storage = storage
        self._ranges: Resource | None = None
        with suppress(ResourceMissing):
            self._ranges = catalog.at("", "v1", "limitranges").stored

    def mutate(self, review: Review) -> JsonObject | None:
        """A pod with the defaults of its namespace's ranges."""
        if review.resource != PODS or review.operation != "CREATE" or review.subresource:
            return None
        changed = False
        for limits in self._limits(review.namespace):
            changed = _fill(review.obj or {}, limits) or changed
        if not changed or review.obj is None:
            return None
        section(review.obj, "status")["qosClass"] = quality_of_service(review.obj)
        return review.obj

    def validate(self, review: Review) -> None:
        """Refuse (Forbidden) what is out of bounds, all reasons of one range together."""
        obj = review.obj
        if obj is None or not review.namespace or review.subresource not in ("", "resize"):
            return
        claims = review.resource == PERSISTENTVOLUMECLAIMS
        pods = review.resource == PODS and (review.operation == "CREATE" or review.subresource == "resize")
        if not claims and not pods:
            return
        for limits in self._limits(review.namespace):
            wrong = list(dict.fromkeys(_claim_errors(obj, limits) if claims else _pod_errors(obj, limits)))
            if wrong:
                why = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
                raise refusals.forbidden(review.resource, review.name, why)

    def charge(self, review: Review) -> None:
        """Ranges count nothing."""

    def _limits(self, namespace: str) -> Iterator[list[JsonObject]]:
        if self._ranges is not None:
            for record in self._storage.scan(self._ranges, namespace):
                yield dig_objects(record.decode(), "spec", "limits")


def _fill(pod: JsonObject, limits: list[JsonObject]) -> bool:
    """Give containers the defaults that they lack, in place, and say so in an annotation. True if any was given."""
    requests, ceilings = dict[str, str](), dict[str, str]()
    for limit in limits:
        if dig_str(limit, "type") == "Container":
            requests |= {name: str(value) for name, value in dig_object(limit, "defaultRequest").items()}
            ceilings |= {name: str(value) for name, value in dig_object(limit, "default").items()}
    told: list[str] = []
    for list_name, words in _LISTS:
        for container in dig_objects(pod, "spec", list_name):
            for kind, defaults in (("request", requests), ("limit", ceilings)):
                given = _given(container, f"{kind}s", defaults)
                if given:
                    told.append(f"{', '.join(sorted(given))} {kind} for {words} {dig_str(container, 'name')}")
    if told:
        annotations = section(section(pod, "metadata"), "annotations")
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(told)}"
    return bool(told)


def _given(container: JsonObject, kind: str, defaults: Mapping[str, str]) -> list[str]:
    present = dig_object(container, "resources", kind)
    lacking = [name for name in defaults if name not in present]
    if lacking:
        target = section(section(container, "resources"), kind)
        target |= {name: defaults[name] for name in lacking}
    return lacking


def _pod_errors(pod: JsonObject, limits: list[JsonObject]) -> Iterator[str]:
    for limit in limits:
        kind = dig_str(limit, "type")
        if kind == "Container":
            for list_name, _ in _LISTS:
                for container in dig_objects(pod, "spec", list_name):
                    requests = amounts_of(dig(container, "resources", "requests"))
                    yield from _errors(limit, requests, amounts_of(dig(container, "resources", "limits")))
        elif kind == "Pod":
            yield from _errors(limit, pod_amounts(pod, "requests"), pod_amounts(pod, "limits"))


def _claim_errors(claim: JsonObject, limits: list[JsonObject]) -> Iterator[str]:
    requests = amounts_of(dig(claim, "spec", "resources", "requests"))
    for limit in limits:
        if dig_str(limit, "type") != "PersistentVolumeClaim":
            continue
        for name, least in sorted(amounts_of(limit.get("min")).items()):
            yield from _too_small(name, "PersistentVolumeClaim", least, requests, {})
        for name, most in sorted(amounts_of(limit.get("max")).items()):
            opening = f"maximum {name} usage per PersistentVolumeClaim is {most}"
            if name not in requests:
                yield f"{opening}.  No request is specified"
            elif requests[name].nanos > most.nanos:
                yield f"{opening}, but request is {requests[name]}"


def _errors(limit: JsonObject, requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = dig_str(limit, "type")
    for name, least in sorted(amounts_of(limit.get("min")).items()):
        yield from _too_small(name, kind, least, requests, limits)
    for name, most in sorted(amounts_of(limit.get("max")).items()):
        opening = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            yield f"{opening}.  No limit is specified"
        elif limits[name].nanos > most.nanos:
            yield f"{opening}, but limit is {limits[name]}"
        elif name in requests and requests[name].nanos > most.nanos:
            yield f"{opening}, but request is {requests[name]}"
    for name, text in sorted(dig_object(limit, "maxLimitRequestRatio").items()):
        yield from _too_far(name, kind, amount_of(text), requests, limits)


def _too_small(name: str, kind: str, least: Amount, requests: Amounts, limits: Amounts) -> Iterator[str]:
    opening = f"minimum {name} usage per {kind} is {least}"
    if name not in requests:
        yield f"{opening}.  No request is specified"
    elif requests[name].nanos < least.nanos:
        yield f"{opening}, but request is {requests[name]}"
    elif name in limits and limits[name].nanos < least.nanos:
        yield f"{opening}, but limit is {limits[name]}"


def _too_far(name: str, kind: str, ratio: Amount, requests: Amounts, limits: Amounts) -> Iterator[str]:
    opening = f"{name} max limit to request ratio per {kind} is {ratio}"
    if name not in requests or not requests[name].nanos:
        yield f"{opening}, but no request is specified or request is 0"
    elif name not in limits or not limits[name].nanos:
        yield f"{opening}, but no limit is specified or limit is 0"
    elif limits[name].nanos * 10**9 > ratio.nanos * requests[name].nanos:
        yield f"{opening}, but provided ratio is {limits[name].nanos / requests[name].nanos:f}"
