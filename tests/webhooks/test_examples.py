"""What we show to users passes the webhooks."""

from __future__ import annotations

from pathlib import Path

import jsonpatch
import pytest
import yaml

from tests.webhooks.seen import Seen, ask
from vcray.api.meta import JsonObject
from vcray.webhooks.base import Answer
from vcray.webhooks.services import SERVICES

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
KINDS = {(service.resource.api_version, service.resource.kind) for service in SERVICES}


def opened(queue: JsonObject) -> JsonObject:
    return {**queue, "status": {"state": "Open"}}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_admitted(path: Path) -> None:
    documents = [each for each in yaml.safe_load_all(path.read_text()) if each]
    ours = [each for each in documents if (each["apiVersion"], each["kind"]) in KINDS]
    default: JsonObject = {"metadata": {"name": "default"}}
    seen = Seen([opened(each) for each in (default, *ours) if each is default or each["kind"] == "Queue"])

    problems = {each["metadata"]["name"]: admitted(each, seen) for each in ours}

    assert {name: answer.problem for name, answer in problems.items() if not answer.allowed} == {}


def admitted(obj: JsonObject, seen: Seen) -> Answer:
    """The last answer to a new object: the first refusal, or that of validation."""
    obj = {**obj, "spec": {"queue": "default", **obj.get("spec", {})}}  # type: ignore[dict-item]
    answer = Answer()
    for service in sorted(SERVICES, key=lambda each: not each.mutates):
        if (service.resource.api_version, service.resource.kind) == (obj["apiVersion"], obj["kind"]):
            answer = service.admit(ask("CREATE", obj, seen=seen))
            if not answer.allowed:
                return answer
            obj = jsonpatch.apply_patch(obj, list(answer.patch or ()))
    return answer
