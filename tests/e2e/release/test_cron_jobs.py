"""A CronJob on a whole cluster (Volcano's suite `cronjob`).

Its schedule is `@every 2s`, so no minute passes here; what takes minutes stands in tests/scenarios/x_cron_job*.yaml.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.e2e.arena import JOBS
from tests.e2e.release.context import Context

Object = dict[str, Any]
SCHEDULED = "volcano.sh/cronjob-scheduled-timestamp"


def cron_job(context: Context, name: str, script: str, **spec: Any) -> str:
    """A CronJob whose jobs run a shell command, one each two seconds; its path."""
    template = context.job("", context.shell(script))["spec"]
    body = {"schedule": "@every 2s", "jobTemplate": {"spec": template}, **spec}
    path = f"{JOBS}/namespaces/{context.namespace}/cronjobs"
    head = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "CronJob", "metadata": {"name": name}}
    context.client.create(path, {**head, "spec": body})
    return f"{path}/{name}"


def jobs(context: Context) -> list[Object]:
    """All jobs of the namespace."""
    found: list[Object] = context.client.get(context.jobs)["items"]
    return found


def test_a_cron_job_starts_a_job_and_takes_in_its_end(context: Context) -> None:
    began = datetime.now(UTC).replace(microsecond=0)
    path = cron_job(context, "beats", "echo done")

    def status() -> Object:
        found: Object = context.client.get(path).get("status") or {}
        return found

    context.wait(lambda: bool(status().get("active")), "a job to be active")
    first = jobs(context)[0]
    assert first["metadata"]["name"].startswith("beats-")
    owner = first["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("CronJob", "beats", True)
    assert datetime.fromisoformat(first["metadata"]["annotations"][SCHEDULED]) >= began
    context.wait(lambda: "lastSuccessfulTime" in status(), "its success to be noted")
    uid = first["metadata"]["uid"]
    assert uid not in [each["uid"] for each in status().get("active") or []]
    context.client.delete(path)


@pytest.mark.full
def test_a_suspended_cron_job_starts_one_job_when_it_goes_on(context: Context) -> None:
    path = cron_job(context, "rests", "sleep 60", suspend=True, concurrencyPolicy="Forbid")
    context.stays(lambda: not jobs(context), "no job", 5.0)

    context.client.patch(path, {"spec": {"suspend": False}})

    context.wait(lambda: len(jobs(context)) == 1, "a job")
    context.stays(lambda: len(jobs(context)) == 1, "one job", 3.0)
    context.client.delete(path)
