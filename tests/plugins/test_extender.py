"""extender: a program outside has a say over HTTP; errors mean what Volcano's mean."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from tests.builders import GPU, gang, node, pod, podgroup, queue
from tests.plugins.claims import chosen, claim_of
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.core.check import check_plugin
from vcray.core.hooks import Vote
from vcray.core.policy import Policy, policy_of
from vcray.core.remote import Call, RemoteError
from vcray.core.session import decide
from vcray.core.victims import ClaimKind
from vcray.kube.remote import LARGEST, HttpRemote
from vcray.plugins.extender import Extender
from vcray.plugins.extender.arguments import ExtenderArgs
from vcray.plugins.gang import Gang

Answer = Callable[[dict[str, Any]], object]


class Program:
    """An extender: an HTTP server in a thread. `answers` by verb; a number is a status, bytes go out as they are."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | object] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        program = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                assert self.headers["Content-Type"] == "application/json"
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                verb = self.path.removeprefix("/ext/")
                program.asked.append((verb, body))
                answer = program.answers.get(verb, {})
                said = answer(body) if callable(answer) else answer
                status, raw = (said, b"{}") if isinstance(said, int) else (200, said)
                raw = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # a client that gave up
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/ext/"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.asked]


@pytest.fixture
def program() -> Iterator[Program]:
    made = Program()
    yield made
    made.stop()


def arguments(program: Program, *verbs: str, **more: object) -> dict[str, object]:
    """The configuration of these verbs, each under its own name."""
    given: dict[str, object] = {f"extender.{verb}Verb": verb for verb in verbs}
    return {
        "extender.urlPrefix": program.url,
        **given,
        **{f"extender.{key}": value for key, value in more.items()},
    }


def opened(world: World, program: Program, *verbs: str, **more: object) -> Extender:
    plugin = Extender(ExtenderArgs.model_validate(arguments(program, *verbs, **more)))
    plugin.remote = HttpRemote()
    plugin.open(world.view)
    return plugin


def small(**of_pod: object) -> World:
    return World(
        node("n1", cpu=4, labels={"zone": "a"}),
        node("n2", cpu=4),
        podgroup("p", 1),
        pod("p", group="p", cpu=1, labels={"app": "web"}, **of_pod),
        pod("old", group="p", cpu=1, node="n2"),
    )


def accepted(world: World, plugin: Extender) -> list[str]:
    mask = plugin.node_filter(world.view, world.all_rows(), world.shape("p"))
    if mask is None:
        return list(world.snapshot.nodes.names)
    one = [
        bool(plugin.node_filter(world.view, world.one_row(name), world.shape("p"))) for name in ("n1", "n2")
    ]
    assert one == np.asarray(mask).tolist()
    return [name for name, fits in world.by_node(mask).items() if fits]


def reasons(world: World, plugin: Extender) -> dict[tuple[str, bool], list[str]]:
    return {
        (reject.reason, reject.curable): [name for name, hit in world.by_node(reject.where).items() if hit]
        for reject in plugin.why(world.view, world.shape("p"))
    }


# ---- predicate ----


@pytest.mark.parametrize(("code", "curable"), [(0, False), (1, False), (2, True), (3, False), (4, False)])
def test_a_message_refuses_a_node_and_its_code_says_whether_evictions_help(
    program: Program, code: int, curable: bool
) -> None:
    program.answers["predicate"] = lambda body: (
        {"status": "no licence", "code": code}
        if body["node"]["Name"] == "n1"
        else {"status": "", "code": code}
    )
    world = small()
    plugin = opened(world, program, "predicate")
    assert accepted(world, plugin) == ["n2"]
    assert reasons(world, plugin) == {("no licence", curable): ["n1"]}


def test_what_it_is_told_of_a_pod_and_a_node_has_volcanos_field_names(program: Program) -> None:
    world = small(gpu=1, role="worker", priority=7, annotations={"volcano.sh/preemptable": "false"})
    opened(world, program, "predicate").node_filter(world.view, world.one_row("n2"), world.shape("p"))
    ((verb, body),) = program.asked
    assert (verb, sorted(body)) == ("predicate", ["node", "task"])
    task, there = body["task"], body["node"]
    assert {
        key: task[key] for key in ("UID", "Job", "Name", "Namespace", "TaskRole", "NodeName", "Status")
    } == {
        "UID": "uid-pod-default-p",
        "Job": "default/p",
        "Name": "p",
        "Namespace": "default",
        "TaskRole": "worker",
        "NodeName": "",
        "Status": 1,
    }
    assert (task["Priority"], task["Preemptable"], task["BestEffort"], task["SchGated"]) == (
        7,
        False,
        False,
        False,
    )
    wanted = {
        "MilliCPU": 1000.0,
        "Memory": 0.0,
        "ScalarResources": {GPU: 1000.0, "pods": 1.0},
        "MaxTaskNum": 1,
    }
    assert task["Resreq"] == task["InitResreq"] == wanted
    assert task["Pod"]["metadata"]["labels"] == {"app": "web"}
    assert task["Pod"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", GPU: "1"}
    assert (there["Name"], there["Idle"]["MilliCPU"], there["Used"]["MilliCPU"]) == ("n2", 3000.0, 1000.0)
    assert there["Allocatable"]["ScalarResources"]["pods"] == 110.0


def test_a_pod_without_a_managed_resource_is_not_its_business(program: Program) -> None:
    world = small()
    plugin = opened(
        world, program, "predicate", "prioritize", "preemptable", "allocateFunc", managedResources=[GPU]
    )
    assert plugin.node_filter(world.view, world.all_rows(), world.shape("p")) is None
    assert plugin.node_score(world.view, world.all_rows(), world.shape("p")) is None
    assert chosen(world, plugin.preemptable, claim_of(world, "p"), ["old"]) is None
    assert not plugin.reserves(world.view, world.shape("p"))
    assert program.asked == []
    gpus = small(gpu=1)
    assert opened(gpus, program, "predicate", managedResources=[GPU]).reserves(gpus.view, gpus.shape("p"))


@pytest.mark.parametrize("answer", [500, 404, b"<html>", b"[]"])
def test_an_error_refuses_all_nodes_unless_it_can_be_ignored(program: Program, answer: object) -> None:
    program.answers["predicate"] = answer
    world = small()
    assert accepted(world, opened(world, program, "predicate")) == []
    ((_, curable),) = reasons(world, opened(world, program, "predicate"))
    assert not curable
    assert accepted(world, opened(world, program, "predicate", ignorable=True)) == ["n1", "n2"]


def test_no_answer_in_time_is_an_error_and_is_not_waited_for(program: Program) -> None:
    gate = threading.Event()
    program.answers["predicate"] = lambda _: gate.wait(5) and {}
    world = small()
    started = time.monotonic()
    assert accepted(world, opened(world, program, "predicate", httpTimeout="50ms", ignorable=True)) == [
        "n1",
        "n2",
    ]
    assert time.monotonic() - started < 2
    gate.set()
    (said,) = HttpRemote().post([Call("http://127.0.0.1:9/x", b"{}", 1.0)])
    assert isinstance(said, RemoteError)


def test_an_answer_that_is_too_large_is_an_error(program: Program) -> None:
    program.answers["big"] = b"x" * (LARGEST + 1)
    program.answers["full"] = b"x" * LARGEST
    big, full = HttpRemote().post([Call(program.url + verb, b"{}", 5.0) for verb in ("big", "full")])
    assert isinstance(big, RemoteError)
    assert isinstance(full, bytes)


def test_equal_questions_are_asked_once_and_changed_nodes_anew(program: Program) -> None:
    world = small()
    plugin = opened(world, program, "predicate")
    accepted(world, plugin)
    accepted(world, plugin)
    assert len(program.asked) == 2
    world.place("p", "n1")
    accepted(world, plugin)
    assert len(program.asked) == 4, "the pod has changed, and so has n1"


# ---- prioritize ----


def test_its_scores_count_as_they_are(program: Program) -> None:
    program.answers["prioritize"] = {"nodeScore": {"n1": 3.5}}
    world = small()
    plugin = opened(world, program, "prioritize")
    scores = plugin.node_score(world.view, world.all_rows(), world.shape("p"))
    assert world.by_node(scores) == {"n1": 3.5, "n2": 0.0}
    assert [each["Name"] for each in program.asked[0][1]["nodes"]] == ["n1", "n2"]


@pytest.mark.parametrize("answer", [500, {}, {"nodeScore": {"n1": 1}, "errorMessage": "ill"}])
def test_without_scores_no_node_is_chosen_unless_errors_are_ignored(program: Program, answer: object) -> None:
    program.answers["prioritize"] = answer
    world = small()
    assert accepted(world, opened(world, program, "prioritize")) == []
    tolerant = opened(world, program, "prioritize", ignorable=True)
    assert accepted(world, tolerant) == ["n1", "n2"]
    scores = tolerant.node_score(world.view, world.all_rows(), world.shape("p"))
    assert world.by_node(scores) == {"n1": 0.0, "n2": 0.0}


# ---- victims ----


def running() -> World:
    old = [pod(name, group="old", node=on, cpu=1) for name, on in (("a", "n1"), ("b", "n1"), ("c", "n2"))]
    return World(
        node("n1"), node("n2"), podgroup("old", 0), old, podgroup("p", 1), pod("p", group="p", cpu=1)
    )


def victims(program: Program, answer: object, **more: object) -> list[str] | None:
    program.answers["preemptable"] = program.answers["reclaimable"] = answer
    world = running()
    plugin = opened(world, program, "preemptable", "reclaimable", **more)
    found = chosen(world, plugin.preemptable, claim_of(world, "p"), ["a", "b"], ["c"])
    reclaim = claim_of(world, "p", ClaimKind.RECLAIM)
    assert found == chosen(world, plugin.reclaimable, reclaim, ["a", "b"], ["c"])
    return found


def test_it_names_victims_node_by_node(program: Program) -> None:
    def first(body: dict[str, Any]) -> object:
        assert body["evictor"]["Name"] == "p"
        return {"status": 1, "victims": body["evictees"][:1]}

    assert victims(program, first) == ["a", "c"]
    assert [each["Name"] for each in program.asked[0][1]["evictees"]] in (["a", "b"], ["c"])


def test_a_vote_of_zero_abstains_and_a_rejection_names_nobody(program: Program) -> None:
    assert victims(program, {"status": 0, "victims": []}) is None
    assert victims(program, {"status": -1, "victims": None}) == []


@pytest.mark.parametrize("ignorable", [True, False])
def test_an_error_names_nobody(program: Program, ignorable: bool) -> None:
    assert victims(program, 500, ignorable=ignorable) == []


# ---- queues and jobs ----


def test_queue_verbs(program: Program) -> None:
    world = World(node("n1"), queue("q", weight=3, capability={"cpu": 4}), podgroup("p", 1, queue="q"))
    program.answers["queueOverused"] = {"overused": True}
    plugin = opened(world, program, "queueOverused", managedResources=[GPU])
    assert plugin.queue_overused(world.view, world.queue("q"))
    told = program.asked[0][1]["queue"]
    assert (told["UID"], told["Weight"], told["Queue"]["spec"]["capability"]) == ("q", 3, {"cpu": "4"})
    program.answers["queueOverused"] = 500
    assert opened(world, program, "queueOverused").queue_overused(world.view, 0)
    assert not opened(world, program, "queueOverused", ignorable=True).queue_overused(world.view, 0)
    assert not opened(world, program).queue_overused(world.view, 0)


@pytest.mark.parametrize(
    ("answer", "ignorable", "vote"),
    [
        ({"status": 1}, False, Vote.PERMIT),
        ({"status": 0}, False, Vote.ABSTAIN),
        ({"status": -1}, True, Vote.REJECT),
        (500, True, Vote.PERMIT),
        (500, False, Vote.REJECT),
    ],
)
def test_it_votes_on_jobs_that_ask_to_be_let_in(
    program: Program, answer: object, ignorable: bool, vote: Vote
) -> None:
    program.answers["jobEnqueueable"] = answer
    world = small()
    plugin = opened(world, program, "jobEnqueueable", "jobEnqueued", ignorable=ignorable)
    assert plugin.job_enqueueable(world.view, 0).vote is vote
    plugin.job_enqueued(world.view, 0)
    assert program.verbs() == ["jobEnqueueable", "jobEnqueued"]
    job = program.asked[0][1]["job"]
    assert (job["UID"], job["MinAvailable"], job["Queue"]) == ("default/p", 1, "default")
    assert {task["Name"]: task["NodeName"] for task in job["Tasks"].values()} == {"p": "", "old": "n2"}
    assert sorted(job["TaskStatusIndex"]) == ["1", "32"]
    assert job["Allocated"]["MilliCPU"] == 1000.0
    assert job["TotalRequest"]["MilliCPU"] == 2000.0


@pytest.mark.parametrize(
    ("answer", "ignorable", "ready"),
    [
        ({"status": True}, False, True),
        ({"status": False}, False, False),
        (500, False, True),
        (500, True, False),
    ],
)
def test_it_says_whether_a_job_is_ready_and_an_error_that_counts_means_yes(
    program: Program, answer: object, ignorable: bool, ready: bool
) -> None:
    program.answers["jobReady"] = answer
    world = small()
    assert opened(world, program, "jobReady", ignorable=ignorable).job_ready(world.view, 0) is ready


# ---- events and sessions ----


def test_it_hears_of_placements_and_of_what_is_undone(program: Program) -> None:
    world = small()
    plugin = opened(world, program, "allocateFunc", "deallocateFunc")
    undo = plugin.reserve(world.view, world.task("p"), world.node("n1"), promised=False)
    assert callable(undo)
    undo()
    back = plugin.release(world.view, world.task("old"), world.node("n2"))
    back()
    assert [(verb, body["task"]["Name"], body["task"]["NodeName"]) for verb, body in program.asked] == [
        ("allocateFunc", "p", "n1"),
        ("deallocateFunc", "p", "n1"),
        ("deallocateFunc", "old", "n2"),
        ("allocateFunc", "old", "n2"),
    ]


@pytest.mark.parametrize(
    ("answer", "ignorable", "refused"),
    [({"errorMessage": "full"}, True, "full"), ({}, False, ""), (500, True, ""), (500, False, "status 500")],
)
def test_it_can_refuse_a_placement(program: Program, answer: object, ignorable: bool, refused: str) -> None:
    program.answers["allocateFunc"] = answer
    world = small()
    plugin = opened(world, program, "allocateFunc", ignorable=ignorable)
    said = plugin.reserve(world.view, world.task("p"), 0, promised=False)
    assert refused in said if isinstance(said, str) else not refused


def test_a_session_that_could_not_be_opened_leaves_it_without_a_say_but_is_closed(program: Program) -> None:
    program.answers |= {"onSessionOpen": 500, "predicate": {"status": "no", "code": 2}}
    world = small()
    plugin = opened(world, program, "onSessionOpen", "onSessionClose", "predicate")
    assert accepted(world, plugin) == ["n1", "n2"]
    plugin.close(world.view, None)
    assert program.verbs() == ["onSessionOpen", "onSessionClose"]
    tolerant = opened(world, program, "onSessionOpen", "predicate", ignorable=True)
    assert accepted(world, tolerant) == []


def test_a_session_begins_with_all_jobs_nodes_and_queues(program: Program) -> None:
    opened(small(), program, "onSessionOpen")
    body = program.asked[0][1]
    assert (sorted(body["Jobs"]), sorted(body["Nodes"]), sorted(body["Queues"])) == (
        ["default/p"],
        ["n1", "n2"],
        ["default"],
    )
    assert body["NodeList"] == ["n1", "n2"]


# ---- whole rounds ----


def outside(policy: Policy) -> Policy:
    return replace(policy, remote=HttpRemote())


def test_a_round_goes_by_its_answers(program: Program) -> None:
    program.answers["predicate"] = lambda body: {
        "status": "" if body["node"]["Name"] != "n2" else "no",
        "code": 2,
    }
    program.answers["prioritize"] = lambda body: {
        "nodeScore": {each["Name"]: each["Idle"]["MilliCPU"] for each in body["nodes"]}
    }
    world = World([node(f"n{i}", cpu=4) for i in (1, 2, 3)], gang("g", 4, cpu=1))
    given = arguments(program, "predicate", "prioritize", "allocateFunc", "onSessionClose")
    policy = outside(policy_of([Allocate({})], [[(Gang, {}), (Extender, given)]]))
    (commit,) = decide(world.snapshot, policy).commits
    assert sorted(bind.node for bind in commit.binds) == ["n1", "n1", "n3", "n3"]
    assert program.verbs().count("allocateFunc") == 4
    assert program.verbs()[-1] == "onSessionClose"


def test_it_keeps_the_laws_of_row_hooks(program: Program) -> None:
    program.answers["prioritize"] = lambda body: {
        "nodeScore": {each["Name"]: each["Used"]["MilliCPU"] / 7 for each in body["nodes"]}
    }
    program.answers["predicate"] = lambda body: {
        "status": "full" if body["node"]["Idle"]["MilliCPU"] < 1500 else "",
        "code": 2,
    }
    Extender.remote = HttpRemote()
    try:
        args = ExtenderArgs.model_validate(arguments(program, "predicate", "prioritize"))
        assert check_plugin(Extender, args, small().snapshot) == []
    finally:
        del Extender.remote


def test_arguments_that_do_not_hold_are_told(program: Program) -> None:
    given: Mapping[str, Any] = {
        "extender.managedResources": "gpu",
        "extender.httpTimeout": 5,
        "extender.predicateVerb": 1,
    }
    args, problems = ExtenderArgs.read(given, "here")
    assert (args.managed(), args.timeout_s(), args.predicate) == ((), 1.0, "")
    assert sorted(problem.where for problem in problems) == [
        "here.extender.httpTimeout",
        "here.extender.managedResources",
        "here.extender.predicateVerb",
    ]
    assert ExtenderArgs.model_validate({"extender.urlPrefix": "http://x/"}).url("a") == "http://x/a"


async def test_it_can_be_asked_from_a_thread_that_runs_a_loop(program: Program) -> None:
    program.answers["x"] = {"a": 1}
    assert HttpRemote().post([Call(program.url + "x", b"{}", 5.0)]) == [b'{"a": 1}']
