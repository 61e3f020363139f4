"""The PodGroup of LWS's volcano provider, with its own arithmetic: it reads requests and no limits."""

from __future__ import annotations

from collections.abc import Mapping

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.cluster.operators.amounts import requests_of
from vcray.controllers import raw
from vcray.controllers.podusage import add_usage, usage_json


def podgroup(lws: JsonObject, name: str, labels: Mapping[str, str]) -> JsonObject:
    """A replica's group, without its owner."""
    both = raw.table(lws, "spec", "leaderWorkerTemplate")
    pods = max(1, raw.number(both, "size", default=1))
    worker = raw.table(both, "workerTemplate")
    total = dict(requests_of(raw.table(raw.table(both, "leaderTemplate") or worker, "spec")))
    add_usage(total, requests_of(raw.table(worker, "spec")), pods - 1)
    alone = raw.text(lws, "spec", "startupPolicy") == "LeaderReady"
    spec: JsonObject = {"minMember": 1 if alone else pods, "minResources": usage_json(total)}
    queue = raw.annotation(lws, names.POD_QUEUE_NAME)
    if queue:
        spec["queue"] = queue
    notes = {key: note for key, note in raw.annotations_of(lws).items() if key.startswith("volcano.sh/")}
    metadata: JsonObject = {
        "name": name,
        "labels": raw.strings(labels),
        "annotations": raw.strings(notes),
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
