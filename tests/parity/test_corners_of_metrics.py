"""Rules of metrics that no other test shows by itself."""

from __future__ import annotations

from tests.actors.test_gauges import Rounds
from tests.builders import node, pod, podgroup, queue


def rounds(*objects: object) -> Rounds:
    made = Rounds()
    made.see(node("n1", cpu="4"), queue("default"), *objects)
    made.run()
    return made


def test_pods_of_equal_shape_share_one_pass_so_stages_of_a_task_are_not_timed() -> None:
    made = rounds(podgroup("j", 1), pod("j-0", cpu="1", group="j"))

    for stage in ("Predicate", "Scoring"):
        assert not made.value("scheduling_stage_duration_milliseconds_count", stage=stage)


def test_jobs_of_one_name_in_two_namespaces_are_summed() -> None:
    lacking = [
        item
        for namespace, count in (("a", 2), ("b", 3))
        for item in (
            podgroup("big", count, namespace=namespace),
            *(pod(f"big-{i}", cpu="9", group="big", namespace=namespace) for i in range(count)),
        )
    ]

    assert rounds(*lacking).value("unschedule_task_count", job_id="big") == 5
