"""What users and administrators get wrong, on a real server: one clear sentence each, and nothing lost."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.base import STRANGER_TOKEN, wait_until
from tests.conformance.harness.process import free_port
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.program import Program, call

GOOD = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: nodeorder
"""
UNKNOWN_PLUGIN = GOOD.replace("nodeorder", "nodeoder")
UNKNOWN_ACTION = GOOD.replace("allocate", "alocate")
NO_YAML = "actions: [\n"


@pytest.fixture(scope="module")
def bare_server(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """A server without vcray's definitions."""
    with ControlPlane(kubernetes_programs) as made:
        yield made


@pytest.fixture
def kubeconfig(server: ControlPlane, tmp_path: Path) -> Callable[..., Path]:
    """A kubeconfig like the server's with another token or address."""

    def make(token: str | None = None, address: str | None = None) -> Path:
        config = json.loads(server.kubeconfig.read_text())
        if token is not None:
            config["users"][0]["user"] = {"token": token} if token else {}
        if address is not None:
            config["clusters"][0]["cluster"]["server"] = address
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(config))
        return file

    return make


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """A volcano-scheduler.conf that is good."""
    file = tmp_path / "volcano-scheduler.conf"
    file.write_text(GOOD)
    return file


@pytest.fixture
def started(server: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts `vcray run` with flags; each ends with the test and must not have logged a traceback."""
    made: list[Program] = []

    def start(*flags: str | Path) -> Program:
        made.append(Program(server.kubeconfig, tmp_path / "vcray.log", *flags).ready())
        return made[-1]

    yield start
    for program in made:
        program.stop()
        assert "Traceback" not in program.output()


def run(kubeconfig: Path, *flags: str | Path) -> subprocess.CompletedProcess[str]:
    return call("run", "--kubeconfig", kubeconfig, "--metrics-port", "-1", *flags)


def the_sentence(said: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed command says."""
    assert said.returncode != 0
    assert "Traceback" not in said.stdout + said.stderr
    lines = [line for line in (said.stdout + said.stderr).splitlines() if line.startswith("VC")]
    assert len(lines) == 1, said.stdout + said.stderr
    return lines[0]


def configuration_events(server: ControlPlane, reason: str = "SchedulerConfiguration") -> list[str]:
    """What was said about the configuration, on the root queue."""
    return [
        each["message"]
        for each in server.client.get("/api/v1/namespaces/default/events")["items"]
        if each["reason"] == reason
        and (each["involvedObject"]["kind"], each["involvedObject"]["name"]) == ("Queue", "root")
        and each["type"] == "Warning"
    ]


def test_a_wrong_token_is_one_sentence(kubeconfig: Callable[..., Path], server: ControlPlane) -> None:
    said = run(kubeconfig(token="wrong-token"))

    assert said.returncode == 3
    assert the_sentence(said).startswith(f"VC0402 {server.url}: ")


@pytest.mark.parametrize(("token", "user"), [(STRANGER_TOKEN, "stranger"), ("", "system:anonymous")])
def test_a_user_without_rights_is_one_sentence_that_names_the_right(
    kubeconfig: Callable[..., Path], token: str, user: str
) -> None:
    sentence = the_sentence(run(kubeconfig(token=token)))

    assert f'User "{user}" cannot create resource "queues"' in sentence


def test_an_unreachable_server_is_one_sentence(kubeconfig: Callable[..., Path]) -> None:
    address = f"https://127.0.0.1:{free_port()}"

    said = run(kubeconfig(address=address))

    assert said.returncode == 3
    assert the_sentence(said).startswith(f"VC0401 {address}: cannot connect to the API server")


def test_missing_definitions_are_one_sentence_that_says_what_to_do(bare_server: ControlPlane) -> None:
    said = run(bare_server.kubeconfig)

    assert said.returncode == 3
    sentence = the_sentence(said)
    assert sentence.startswith("VC0404")
    assert "vcray crds" in sentence


def test_the_definitions_that_the_sentence_speaks_of_are_accepted(bare_server: ControlPlane) -> None:
    printed = call("crds")
    applied = bare_server.kubectl("apply", "-f", "-", stdin=printed.stdout)

    assert applied.returncode == 0, applied.stderr
    assert "customresourcedefinition.apiextensions.k8s.io/jobs.batch.volcano.sh created" in applied.stdout


def test_an_unknown_plugin_is_skipped_with_an_event_and_a_metric(
    started: Callable[..., Program], conf: Path, arena: Arena, server: ControlPlane
) -> None:
    conf.write_text(UNKNOWN_PLUGIN)
    arena.node("n1")

    program = started("--scheduler-conf", conf)

    wait_until(
        lambda: any("'nodeoder'" in text for text in configuration_events(server)),
        "the event on the root queue",
    )
    assert program.metrics()['vcray_config_problems_total{code="VC0107"}'] >= 1
    arena.apply(arena.job("runs", arena.task(replicas=2)))
    arena.wait_bound(2)


@pytest.mark.parametrize(
    ("text", "code"),
    [(UNKNOWN_PLUGIN, "VC0107"), (UNKNOWN_ACTION, "VC0105"), (NO_YAML, "VC0101")],
    ids=["plugin", "action", "yaml"],
)
def test_a_strict_run_refuses_a_faulty_configuration(
    server: ControlPlane, conf: Path, text: str, code: str
) -> None:
    conf.write_text(text)

    said = run(server.kubeconfig, "--scheduler-conf", conf, "--strict")

    assert said.returncode == 2
    assert the_sentence(said).startswith(code)


@pytest.mark.parametrize(("text", "code"), [(UNKNOWN_ACTION, "VC0105"), (NO_YAML, "VC0101")])
def test_an_unusable_configuration_is_refused_at_the_start_without_strict_too(
    server: ControlPlane, conf: Path, text: str, code: str
) -> None:
    conf.write_text(text)

    said = run(server.kubeconfig, "--scheduler-conf", conf)

    assert said.returncode == 2
    assert the_sentence(said).startswith(code)


def test_a_lease_that_cannot_be_taken_is_told_and_waited_for(
    server: ControlPlane, tmp_path: Path, arena: Arena
) -> None:
    missing = f"{arena.namespace}-system"
    program = Program(server.kubeconfig, tmp_path / "log", "--leader-elect", "--lease-namespace", missing)
    try:
        wait_until(lambda: "waiting for the lease" in program.output(), "the sentence")
        assert missing in program.output()
        assert "not found" in program.output()

        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": missing}}
        server.client.create("/api/v1/namespaces", namespace)

        program.ready()
    finally:
        program.stop()


def test_a_configuration_that_is_not_there_is_one_sentence(server: ControlPlane, tmp_path: Path) -> None:
    said = run(server.kubeconfig, "--scheduler-conf", tmp_path / "nowhere.conf")

    assert said.returncode == 2
    assert "nowhere.conf: cannot be read: No such file or directory" in the_sentence(said)


@pytest.mark.parametrize(
    ("bad", "code"), [(UNKNOWN_ACTION, "VC0105"), (NO_YAML, "VC0101")], ids=["action", "yaml"]
)
def test_a_bad_configuration_at_run_time_leaves_the_last_good_one_in_force(
    started: Callable[..., Program], conf: Path, arena: Arena, server: ControlPlane, bad: str, code: str
) -> None:
    arena.node("n1")
    program = started("--scheduler-conf", conf)
    before = len(configuration_events(server))

    conf.write_text(bad)

    sample = f'vcray_config_problems_total{{code="{code}"}}'
    wait_until(lambda: program.metrics().get(sample, 0) >= 1, "the metric of the refused configuration")
    wait_until(lambda: len(configuration_events(server)) > before, "the event of the refused configuration")
    arena.apply(arena.job("still", arena.task(replicas=2)))
    arena.wait_bound(2)
    assert program.running


def test_a_better_configuration_after_a_bad_one_is_taken(
    started: Callable[..., Program], conf: Path, arena: Arena
) -> None:
    arena.node("n1")
    program = started("--scheduler-conf", conf)
    conf.write_text(UNKNOWN_ACTION)
    wait_until(lambda: "configuration refused" in program.output(), "the refusal in the log")

    conf.write_text(GOOD.replace("enqueue, ", ""))

    wait_until(lambda: "configuration in force" in program.output(), "the new configuration")
    arena.apply(arena.job("still", arena.task(replicas=2)))
    arena.wait_bound(2)


def test_a_job_that_the_schema_refuses_changes_nothing(arena: Arena, server: ControlPlane) -> None:
    job = arena.job("bad", arena.task())
    job["spec"]["tasks"][0]["replicas"] = -3
    job["spec"]["minAvailable"] = 1
    good = arena.job("good", arena.task())

    said = server.kubectl("apply", "-f", "-", stdin=f"{json.dumps(good)}\n---\n{json.dumps(job)}")

    assert said.returncode == 1
    assert (
        "Invalid value: -3: spec.tasks[0].replicas in body should be greater than or equal to 0"
        in said.stderr
    )
    assert [each["metadata"]["name"] for each in arena.client.get(arena.jobs)["items"]] == ["good"]


def test_a_manifest_that_is_no_yaml_is_refused_by_both_programs(
    arena: Arena, server: ControlPlane, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("kind: Job\n  bad: [")

    assert server.kubectl("apply", "-f", file).returncode == 1
    said = call("sim", file)

    assert said.returncode == 2
    assert "Traceback" not in said.stderr
    assert "VC0301" in said.stderr + said.stdout
