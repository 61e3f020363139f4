"""What users do wrong, through the programs themselves: one clear sentence, a code, no traceback, nothing changed."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.cluster_server import ClusterServer, write_kubeconfig
from vcray.api.resources import JOBS
from vcray.cli.main import execute as vcray
from vcray.cli.vcctl import execute as vcctl
from vcray.clock import WallClock

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server():
    with ClusterServer(WallClock()) as running:
        yield running


@pytest.fixture
def closed_port():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a program's main function here: exit code, standard output, standard error."""
    monkeypatch.delenv("KUBECONFIG", raising=False)

    def call(program, *arguments):
        code = {"vcray": vcray, "vcctl": vcctl}[program](list(map(str, arguments)))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def run_apart(program, *arguments):
    """Run a program as a user does: in a process of its own."""
    module = {"vcray": "vcray.cli.main", "vcctl": "vcray.cli.vcctl"}[program]
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr + done.stdout
    return done.returncode, done.stdout, done.stderr


def one_sentence(text, code):
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert code in lines[0]
    return lines[0]


def test_a_manifest_that_is_not_yaml_is_told_by_file_and_line(server, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text("metadata:\n  name: j\n spec: [\n")

    code, out, err = run_apart("vcctl", "job", "run", "-f", file, "-k", server.kubeconfig(tmp_path))

    assert (code, err) == (255, "")
    assert one_sentence(out, "VC0201").startswith(f"Failed to run job: VC0201 {file}:3: not YAML: ")


def test_a_scenario_that_is_not_yaml_is_told_by_file_and_line(tmp_path, run):
    file = tmp_path / "s.yaml"
    file.write_text("name: x\n given: [\n")

    code, out, err = run("vcray", "sim", file)

    assert (code, out) == (2, "")
    assert one_sentence(err, "VC0301").startswith(f"VC0301 {file}:2: ")


def test_a_scenario_with_an_unknown_key_is_told_with_the_nearest_one(tmp_path, run):
    file = tmp_path / "s.yaml"
    file.write_text("name: x\ngivn: {}\n")

    code, out, err = run("vcray", "sim", file)

    assert (code, out) == (2, "")
    assert one_sentence(err, "VC0302").endswith("unknown key 'givn'; did you mean 'given'?")


def test_an_unknown_plugin_fails_the_check_and_strict_runs(tmp_path, server, run):
    conf = tmp_path / "c.conf"
    conf.write_text('actions: "allocate"\ntiers:\n- plugins:\n  - name: gagn\n  - name: predicates\n')
    sentence = "VC0107 tiers[0].plugins[0]: unknown plugin 'gagn'; did you mean 'gang'?\n"

    checked = run_apart("vcray", "check", conf)
    strict = run(
        "vcray", "run", "--strict", "--scheduler-conf", conf, "--kubeconfig", server.kubeconfig(tmp_path)
    )

    assert checked == (1, sentence, "")
    assert strict == (2, "", sentence)


def test_an_unknown_action_is_refused(tmp_path, server, run):
    conf = tmp_path / "c.conf"
    conf.write_text('actions: "enqueue, alocate"\n')
    sentence = "VC0105 actions[1]: unknown action 'alocate'; did you mean 'allocate'?\n"

    assert run_apart("vcray", "check", conf) == (1, sentence, "")
    running = run("vcray", "run", "--scheduler-conf", conf, "--kubeconfig", server.kubeconfig(tmp_path))
    assert running == (2, "", sentence)


def test_a_configuration_that_is_missing_is_told_by_name(tmp_path, run):
    missing = tmp_path / "none.conf"

    code, out, err = run("vcray", "check", missing)

    assert (code, out, err) == (2, "", f"VC0503 {missing}: cannot be read: No such file or directory\n")


def test_negative_replicas_are_refused_in_the_servers_sentence_and_nothing_is_created(server, tmp_path, run):
    kubeconfig = server.kubeconfig(tmp_path)

    code, out, err = run("vcctl", "job", "run", "-N", "negative", "-r", "-3", "-k", kubeconfig)

    assert (code, err) == (255, "")
    sentence = one_sentence(out, 'Failed to run job: Job.batch.volcano.sh "negative" is invalid: ')
    assert "spec.tasks[0].replicas: Invalid value: -3" in sentence
    assert server.ask("list", JOBS).items == []


@pytest.mark.parametrize(
    ("program", "arguments", "expected"),
    [("vcctl", ["job", "list", "-k"], 255), ("vcray", ["run", "--metrics-port", "-1", "--kubeconfig"], 3)],
)
def test_a_server_that_is_not_there_is_one_sentence(program, arguments, expected, closed_port, tmp_path):
    code, out, err = run_apart(program, *arguments, write_kubeconfig(tmp_path, closed_port))

    assert code == expected
    sentence = one_sentence(out + err, "VC0401")
    assert f"http://127.0.0.1:{closed_port}: cannot connect to the API server" in sentence


@pytest.mark.parametrize(
    ("program", "arguments", "expected"),
    [("vcctl", ["job", "list", "-k"], 255), ("vcray", ["run", "--metrics-port", "-1", "--kubeconfig"], 3)],
)
def test_a_wrong_token_is_one_sentence(program, arguments, expected, server, tmp_path, run):
    code, out, err = run(program, *arguments, server.kubeconfig(tmp_path, "wrong"))

    assert code == expected
    sentence = one_sentence(out + err, "VC0402")
    assert "the API server refused the credentials; check the token or certificate" in sentence


@pytest.mark.parametrize("program", ["vcctl", "vcray"])
def test_a_kubeconfig_that_is_missing_is_one_sentence(program, tmp_path, run):
    missing = tmp_path / "none"
    arguments = ["job", "list", "-k"] if program == "vcctl" else ["run", "--kubeconfig"]

    code, out, err = run(program, *arguments, missing)

    assert code == {"vcctl": 255, "vcray": 3}[program]
    assert f"{missing}: the kubeconfig cannot be used: " in one_sentence(out + err, "VC0403")


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["--pools", "0"], "--pools: must be at least 1, got '0'"),
        (["--pools", "many"], "--pools: must be a whole number, got 'many'"),
        (["--log-level", "LOUD"], "--log-level: must be one of DEBUG, INFO, WARNING, ERROR, got 'LOUD'"),
        (["--coalesce-ms", "-1"], "--coalesce-ms: must be at least 0, got '-1'"),
        (["--scheduler-names", "volcano,"], "--scheduler-names: must not be empty, got ''"),
    ],
)
def test_a_setting_that_cannot_be_used_is_told_by_its_flag(arguments, name, run):
    code, out, err = run("vcray", "run", *arguments)

    assert (code, out) == (2, "")
    assert one_sentence(err, "VC0502") == f"VC0502 {name}"


def test_the_command_line_of_volcanos_deployment_is_taken(closed_port, tmp_path):
    conf = tmp_path / "volcano-scheduler.conf"
    conf.write_text("actions: allocate\n")
    usual = (
        "--logtostderr --enable-healthz=true --enable-metrics=true --leader-elect=false --kube-api-qps=2000"
    )
    usual += " --kube-api-burst=2000 --schedule-period=1s --node-worker-threads=20 --priority-class=true -v=3"
    usual += " --feature-gates=NodeSwap=true,QueueCommandSync=true"
    usual += " --scheduler-name=volcano --scheduler-name other --healthz-address 127.0.0.1:0 --listen_address=127.0.0.1:0"
    where = ["--kubeconfig", write_kubeconfig(tmp_path, closed_port), f"--scheduler-conf={conf}"]

    code, out, err = run_apart("vcray", "run", *usual.split(), *where)

    assert (code, out) == (3, "")
    assert "flag without effect flag=--node-worker-threads" in err
    assert "feature gate without effect gate=NodeSwap why='Volcano has no gate of that name, " in err
    assert f"http://127.0.0.1:{closed_port}: cannot connect to the API server" in err.splitlines()[-1]


def test_a_setting_from_the_environment_is_told_by_its_variable(run, monkeypatch):
    monkeypatch.setenv("VCRAY_STRICT", "maybe")

    code, _, err = run("vcray", "run")

    assert code == 2
    assert one_sentence(err, "VC0502") == "VC0502 VCRAY_STRICT: must be true or false, got 'maybe'"


def test_a_benchmark_that_cannot_fit_is_one_sentence(run):
    code, out, err = run("vcray", "bench", "allocate", "--nodes", "1", "--pods", "1000")

    assert (code, out) == (2, "")
    assert one_sentence(err, "VC0502").endswith("use fewer pods or more nodes")
