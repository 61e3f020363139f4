"""Whole runs on the in-process back end: every step, cycles, what is told when something does not hold."""

from __future__ import annotations

from textwrap import dedent

import pytest

from vcray.app import in_process
from vcray.sim.reading import parse
from vcray.sim.runner import Result, run_scenario


async def results(text: str) -> list[Result]:
    (scenario,) = parse(dedent(text), "f.yaml")
    return await run_scenario(scenario, in_process)


async def failures(text: str) -> list[str]:
    return [sentence for result in await results(text) for sentence in result.failures]


async def test_every_step_does_what_it_says() -> None:
    assert (
        await failures(
            """
            name: steps
            config: KA
            given: {nodes: {n1..n2: 4c}, queues: {q: {weight: 2}}}
            steps:
              - cordon: n2
              - create: {jobs: {j: {queue: q, tasks: {t: 2 x 1c}}}}
              - settle
              - expect: {nodes: {n1: 2, n2: 0}, running: {j/t: 2}}
              - uncordon: n2
              - node_down: n1
              - create: {pods: {p: 1c}}
              - settle
              - expect: {nodes: {n2: [p]}}
              - node_up: n1
              - expect: {objects: [{kind: Node, name: n1, fields: {spec: {taints: null}}}]}
              - patch: {kind: Queue, name: q, patch: {spec: {weight: 3}}}
              - overwrite: {kind: Queue, name: q, patch: {spec: {weight: -1}}}
              - expect: {objects: [{kind: q, name: q, fields: {spec: {weight: -1}}}]}
              - finish: {pods: j/t, code: 1}
              - settle
              - expect: {phases: {job/j: Failed}, failed: {j: 2}}
              - delete: {kind: Pod, name: 'p*'}
              - cycles: 1
              - advance: 1m
              - restart: all
              - stop: scheduler
              - create: {pods: {late: 1c}}
              - cycles: 2
              - expect: {bound: {late: 0}, pods: {p: 0}}
              - start: scheduler
              - cycles: 1
            expect: {bound: {late: 1}, evicted: 0, metrics: {vcray_rounds_total: '>3'}}
            """
        )
        == []
    )


async def test_node_that_goes_leaves_its_pods_known() -> None:
    assert (
        await failures(
            """
            name: node_gone
            config: KA
            given: {nodes: {n1: 8c}, pods: {old: {size: 1c, node: n1}, gone: {size: 3c, node: n2}}}
            steps:
              - create: {nodes: {n2: 4c}}
              - cycles: 2
              - delete: {kind: Node, name: n2}
              - create: {pods: {new: 1c}}
              - settle
            expect: {running: {old: 1, new: 1, gone: 1}, nodes: {n1: [new, old]}}
            """
        )
        == []
    )


async def test_held_events_are_not_seen_until_released() -> None:
    assert (
        await failures(
            """
            name: held
            config: KA
            given: {nodes: {n1: {size: 4c, cordoned: true}}}
            steps:
              - create: {pods: {p: 1c}}
              - cycles: 1
              - hold: {kind: Node, name: n1}
              - uncordon: n1
              - cycles: 2
              - expect: {bound: {p: 0}}
              - release: {kind: Node, name: n1}
              - cycles: 1
            expect: {bound: {p: 1}}
            """
        )
        == []
    )


async def test_release_reaches_what_is_gone_by_now() -> None:
    assert (
        await failures(
            """
            name: held_and_gone
            config: KA
            given: {nodes: {n1: 4c}, jobs: {j: {tasks: {t: 2 x 1c}}}}
            steps:
              - settle
              - hold: {kind: Pod, name: j-*}
              - delete: {kind: vcjob, name: j}
              - create: {pods: {p: 4c}}
              - cycles: 2
              - expect: {pods: {j: 0}, bound: {p: 0}}
              - release: {kind: Pod, name: j-*}
              - disconnect
              - cycles: 1
            expect: {bound: {p: 1}}
            """
        )
        == []
    )


async def test_server_must_refuse_what_is_said_to_be_refused() -> None:
    told = await failures(
        """
        name: refused
        steps:
          - refused: {create: {queues: {q: {weight: -1}}}, message: '*spec.weight*'}
          - refused: {create: {queues: {q: {weight: -1}}}, message: 'no'}
          - refused: {create: {queues: {q: {weight: 1}}}}
          - refused: {delete: {kind: Queue, name: q}}
        """
    )

    assert [sentence[:46] for sentence in told] == [
        "steps[1].refused: expected 'no', the server sa",
        "steps[2].refused: the server accepted it",
        "steps[3].refused: the server accepted it",
    ]


async def test_creating_what_exists_changes_it() -> None:
    assert (
        await failures(
            """
            name: again
            given: {groups: {g: 1}}
            steps:
              - create: {groups: {g: {min: 3, annotations: {a: b}}}}
            expect:
              objects:
                - {kind: PodGroup, name: g, fields: {spec: {minMember: 3}, metadata: {annotations: {a: b}}}}
            """
        )
        == []
    )


async def test_what_must_never_be_is_looked_at_after_every_cycle() -> None:
    (result,) = await results(
        """
        name: never
        config: KA
        given: {nodes: {n1: 4c}, pods: {p: 1c}}
        steps: [{cycles: 3}]
        never: {running: {p: 1}, conditions: {'pod/p:PodScheduled': 'False'}}
        """
    )

    assert result.failures == [
        "steps[0].cycles, cycle 2: never.running.p held",
        "steps[0].cycles, cycle 3: never.running.p held",
    ]
    assert (result.cycles, result.ok) == (3, False)


async def test_settling_that_does_not_end_is_a_failure() -> None:
    told = await failures(
        """
        name: restless
        config: KA
        given:
          nodes: {n1: 4c}
          jobs: {j: {maxRetry: 100, tasks: {t: 1c}, policies: [{event: PodFailed, action: RestartJob}]}}
        steps:
          - kubelet: {pods: '*', stop_cycles: 30}
          - cycles: 3
          - delete: {kind: Pod, name: j-*}
          - settle
        expect: {pods: {j: 1}}
        """
    )

    assert told in ([], ["steps[3].settle: still changing after 20 cycles"])


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (
            "finish: {pods: nobody}",
            "VC0303 steps[0].finish: no pod on a node that has not ended matches 'nobody'",
        ),
        ("delete: {kind: Pod, name: 'x-*'}", "VC0303 steps[0].delete: there is no Pod 'x-*' to delete"),
        ("start: scheduler", "VC0303 steps[0].start: the component 'scheduler' runs already"),
        ("cordon: n9", "VC0501 steps[0].cordon: "),
        ("create: {queues: {q: {weight: -1}}}", "VC0203 steps[0].create: "),
    ],
)
async def test_step_that_cannot_be_done_ends_the_run_with_a_code(step: str, sentence: str) -> None:
    told = await failures(f"{{name: s, steps: [{{{step}}}, settle], expect: {{pods: {{x: 9}}}}}}")

    assert len(told) == 1
    assert told[0].startswith(sentence)


async def test_stopping_twice_is_told() -> None:
    told = await failures("{name: s, steps: [{stop: controllers}, {restart: all}]}")

    assert told == ["VC0303 steps[1].restart: the component 'controllers' does not run"]


async def test_configuration_that_cannot_be_used_fails_the_run() -> None:
    told = await failures("{name: s, config: {actions: alocate}}")

    assert told == ["VC0105 start: actions[0]: unknown action 'alocate'; did you mean 'allocate'?"]


async def test_gang_that_recovery_takes_back_counts_as_evicted_and_its_pods_wait_again() -> None:
    (result,) = await results(
        """
        name: half_bound
        config: KA
        given:
          nodes: {n1: 3c}
          groups: {g: 4}
          pods: {on: {count: 2, size: 1c, group: g, node: n1}, off: {count: 2, size: 1c, group: g}}
        steps: [{kubelet: {pods: '*', start: false}}, settle]
        expect: {evicted: {g: 2, on-*: 2}, bound: {g: 0}, pending: {g: 4}}
        """
    )

    assert result.failures == []
    assert sorted(result.evicted) == [("on-0", "g"), ("on-1", "g")]


async def test_scenario_runs_in_as_many_orders_as_it_says() -> None:
    found = await results("{name: s, repeat: 3, steps: [{cycles: 1}]}")

    assert [(result.name, result.order, result.ok) for result in found] == [
        ("s", 0, True),
        ("s", 1, True),
        ("s", 2, True),
    ]
