"""Rules of writes to the API that no other test shows by itself."""

from __future__ import annotations

from tests.actors.test_binder import LIMITS, Bench
from vcray.api.jsonview import dig_list, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, PODGROUPS, PODS
from vcray.core.decisions import Decisions, GroupUpdate, Waiting
from vcray.core.tables import GroupStatus, Phase


async def test_a_status_of_a_podgroup_that_changed_meanwhile_is_left_to_the_next_round() -> None:
    bench = Bench()
    await bench.prepare()
    head = bench.head(await bench.plain.get(PODGROUPS, "default", "train"))
    touched: JsonObject = {"metadata": {"labels": {"touched": "yes"}}}
    await bench.plain.patch(PODGROUPS, "default", "train", touched)
    status = GroupStatus(Phase.RUNNING, 2, 0, 0, ())

    def write(version: object) -> Decisions:
        return Decisions(1, groups=(GroupUpdate("default/train", str(head["uid"]), str(version), status),))

    await bench.execute(write(head["resourceVersion"]), LIMITS)
    stale = await bench.plain.get(PODGROUPS, "default", "train")
    await bench.execute(write(bench.head(stale)["resourceVersion"]), LIMITS)
    fresh = await bench.plain.get(PODGROUPS, "default", "train")

    assert dig_str(stale, "status", "phase") != "Running"
    assert dig_str(fresh, "status", "phase") == "Running"


async def test_a_nominated_node_is_written_with_the_condition_and_never_cleared() -> None:
    bench = Bench()
    await bench.prepare()
    name = min(bench.uids)

    def waits(text: str, node: str) -> Decisions:
        said = Waiting("default/train", ((name, bench.uids[name]),), "Unschedulable", text, node)
        return Decisions(1, waiting=(said,))

    seen = []
    for text, node in (("soon", "n1"), ("later", "")):
        await bench.execute(waits(text, node), LIMITS)
        pod = await bench.plain.get(PODS, "default", name.partition("/")[2])
        told = [dig_str(each, "message") for each in dig_list(pod, "status", "conditions")]
        seen.append((dig_str(pod, "status", "nominatedNodeName"), told[-1]))

    assert seen == [("n1", "soon"), ("n1", "later")]
    events = [dig_str(event, "reason") for event in (await bench.plain.list(EVENTS)).items]
    assert events == ["FailedScheduling", "FailedScheduling"]


async def test_conditions_of_pods_are_written_although_the_group_could_not_be() -> None:
    bench = Bench()
    await bench.prepare()
    name = min(bench.uids)
    uid = str(bench.head(await bench.plain.get(PODGROUPS, "default", "train"))["uid"])
    status = GroupStatus(Phase.RUNNING, 2, 0, 0, ())
    said = Waiting("default/train", ((name, bench.uids[name]),), "Unschedulable", "no room")
    stale = GroupUpdate("default/train", uid, "1", status)

    await bench.execute(Decisions(1, groups=(stale,), waiting=(said,)), LIMITS)

    pod = await bench.plain.get(PODS, "default", name.partition("/")[2])
    told = [dig_str(each, "message") for each in dig_list(pod, "status", "conditions")]
    group = await bench.plain.get(PODGROUPS, "default", "train")
    assert (told, dig_str(group, "status", "phase") == "Running") == (["no room"], False)
