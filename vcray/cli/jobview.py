"""The long form of a vcjob that `vcctl job view` and `vjobs -n` print.

Two spaces a level; a label, one tab, the value. Labels are padded by hand, as in Volcano: scripts cut at these columns.
API Version and Kind come out empty, because Volcano's typed client drops them and its users see that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from vcray.api.jsontypes import JsonObject, JsonValue
from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.quantity import canonical
from vcray.cli.gotext import ZERO_TIME, age, go_time

_TEMPLATE_ANNOTATIONS = (
    ("Cri . Cci . Io / Container - Type:          ", "cri.cci.io/container-type"),
    ("Kubernetes . Io / Availablezone:            ", "kubernetes.io/availablezone"),
    ("Network . Alpha . Kubernetes . Io / Network:", "network.alpha.kubernetes.io/network"),
)
_COUNTS = (
    ("Succeeded:    ", "succeeded"),
    ("Pending:      ", "pending"),
    ("Running:      ", "running"),
    ("Failed:       ", "failed"),
    ("Terminating:  ", "terminating"),
    ("Unknown:      ", "unknown"),
    ("RetryCount:   ", "retryCount"),
    ("Min Available:", "minAvailable"),
    ("Version:      ", "version"),
)


def job_text(job: JsonObject, conditions: bool = True) -> str:
    """A job without its events; the block of conditions may be left out, as `vjobs` does."""
    parts = (_head, _metadata, _spec, _status, *([_conditions] if conditions else []))
    return "".join(f"{line}\n" for part in parts for line in part(job))


def events_text(events: Sequence[JsonObject], now: datetime | None = None) -> str:
    """A line for each event, in the given order; ages are counted to `now`, by default this moment."""
    if not events:
        return "Events: \t<none>\n"
    rows = [("Type", "Reason", "Age", "Form", "Message"), ("-------",) * 5]
    rows += [_event_row(event, now) for event in events]
    lines = (f"{a:<15}\t{b:<40}\t{c:<30}\t{d:<40}\t{e}\n" for a, b, c, d, e in rows)
    return "Events:\n" + "".join(lines)


def _event_row(event: JsonObject, now: datetime | None) -> tuple[str, str, str, str, str]:
    first, last = dig_str(event, "firstTimestamp"), dig_str(event, "lastTimestamp")
    count = dig_int(event, "count")
    since = f"{age(last, now)} (x{count} over {age(first, now)})" if count > 1 else age(first, now)
    source = [dig_str(event, "source", "component")]
    if host := dig_str(event, "source", "host"):
        source.append(host)
    message = dig_str(event, "message").strip()
    return dig_str(event, "type"), dig_str(event, "reason"), since, ", ".join(source), message


def _line(level: int, label: str, value: object = None) -> str:
    return "  " * level + (label if value is None else f"{label}\t{value}")


def _head(job: JsonObject) -> Iterator[str]:
    metadata = dig_object(job, "metadata")
    yield _line(0, "Name:       ", dig_str(metadata, "name"))
    yield _line(0, "Namespace:  ", dig_str(metadata, "namespace"))
    yield _line(0, "Labels:     ", _strings_text(dig_strings(metadata, "labels")))
    yield _line(0, "Annotations:", _strings_text(dig_strings(metadata, "annotations")))
    yield _line(0, "API Version:", "")
    yield _line(0, "Kind:       ", "")


def _strings_text(strings: dict[str, str]) -> str:
    if not strings:
        return "<none>"
    text = json.dumps(strings, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _metadata(job: JsonObject) -> Iterator[str]:
    metadata = dig_object(job, "metadata")
    yield _line(0, "Metadata:")
    yield _line(1, "Creation Timestamp:", go_time(dig_str(metadata, "creationTimestamp")))
    yield _line(1, "Generate Name:     ", dig_str(metadata, "generateName"))
    yield _line(1, "Generation:        ", dig_int(metadata, "generation"))
    yield _line(1, "Resource Version:  ", dig_str(metadata, "resourceVersion"))
    yield _line(1, "UID:               ", dig_str(metadata, "uid"))


def _spec(job: JsonObject) -> Iterator[str]:
    spec = dig_object(job, "spec")
    yield _line(0, "Spec:")
    yield _line(1, "Min Available:     ", dig_int(spec, "minAvailable"))
    yield _line(1, "Plugins:")
    yield _line(2, "Env:", _arguments(spec, "env"))
    yield _line(2, "Ssh:", _arguments(spec, "ssh"))
    yield _line(1, "Scheduler Name:    ", dig_str(spec, "schedulerName"))
    yield _line(1, "Tasks:")
    for task in dig_objects(spec, "tasks"):
        yield from _task(task)


def _arguments(spec: JsonObject, plugin: str) -> str:
    return f"[{' '.join(str(each) for each in dig_list(spec, 'plugins', plugin))}]"


def _task(task: JsonObject) -> Iterator[str]:
    template = dig_object(task, "template")
    yield _line(2, "Name:", dig_str(task, "name"))
    yield _line(2, "Replicas:", dig_int(task, "replicas"))
    yield _line(2, "Template:")
    yield _line(3, "Metadata:")
    yield _line(4, "Annotations:")
    annotations = dig_strings(template, "metadata", "annotations")
    for label, key in _TEMPLATE_ANNOTATIONS:
        yield _line(5, label, annotations.get(key, ""))
    created = dig_str(template, "metadata", "creationTimestamp")
    yield _line(4, "Creation Timestamp:", go_time(created) if created else ZERO_TIME)
    yield _line(3, "Spec:")
    yield _line(4, "Containers:")
    for container in dig_objects(template, "spec", "containers"):
        yield from _container(container)
    yield _line(4, "Image Pull Secrets:")
    for secret in dig_objects(template, "spec", "imagePullSecrets"):
        yield _line(5, "Name:     ", dig_str(secret, "name"))
    yield _line(4, "Restart Policy:   ", dig_str(template, "spec", "restartPolicy"))


def _container(container: JsonObject) -> Iterator[str]:
    yield _line(5, "Command:")
    for word in dig_list(container, "command"):
        yield _line(6, str(word))
    yield _line(5, "Image:", dig_str(container, "image"))
    yield _line(5, "Name: ", dig_str(container, "name"))
    yield _line(5, "Ports:")
    for port in dig_objects(container, "ports"):
        yield _line(6, "Container Port:", dig_int(port, "containerPort"))
        yield _line(6, "Name:          ", dig_str(port, "name"))
    yield _line(5, "Resources:")
    for title, key in (("Limits:", "limits"), ("Requests:", "requests")):
        yield _line(6, title)
        for label, resource in (("Cpu:   ", "cpu"), ("Memory:", "memory")):
            yield _line(7, label, _quantity(dig(container, "resources", key, resource)))
    yield _line(6, "Working Dir:", dig_str(container, "workingDir"))


def _quantity(value: JsonValue) -> str:
    return canonical(value) if isinstance(value, str | int | float) else "0"


def _status(job: JsonObject) -> Iterator[str]:
    status = dig_object(job, "status")
    yield _line(0, "Status:")
    for label, key in _COUNTS:
        if (count := dig_int(status, key)) > 0:
            yield _line(1, label, count)
    yield _line(1, "State:")
    yield _line(2, "Phase:", dig_str(status, "state", "phase"))
    if controlled := dig_strings(status, "controlledResources"):
        yield _line(1, "Controlled Resources:")
        for key, value in sorted(controlled.items()):
            yield _line(2, f"{key}: ", value)


def _conditions(job: JsonObject) -> Iterator[str]:
    if conditions := dig_objects(job, "status", "conditions"):
        yield _line(1, "Conditions:")
        yield _line(2, "Status", "TransitionTime")
        for condition in conditions:
            moment = go_time(dig_str(condition, "lastTransitionTime"))
            yield _line(2, f"{dig_str(condition, 'status')} ", f"{moment} ")
