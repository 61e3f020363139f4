"""`vcray podgroup` against a server: which groups, which namespace, which form, and how it fails."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.cluster_server import ClusterServer, write_kubeconfig
from vcray.api.resources import EVENTS, PODGROUPS, PODS
from vcray.cli.main import execute
from vcray.clock import ManualClock


def create_group(server, name, namespace="default", queue="default", phase=""):
    spec = {"queue": queue, "minMember": 1}
    body = {"metadata": {"name": name}, "spec": spec, "status": {"phase": phase} if phase else {}}
    server.ask("create", PODGROUPS, namespace, body)


@pytest.fixture(scope="module")
def server():
    """Three groups; nothing is written by the tests."""
    with ClusterServer(ManualClock(1_700_000_000.0)) as running:
        create_group(running, "train", phase="Pending")
        create_group(running, "serve", queue="prod", phase="Running")
        create_group(running, "far", namespace="kube-system")
        pod = {
            "metadata": {"name": "train-0", "annotations": {"scheduling.k8s.io/group-name": "train"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        running.ask("create", PODS, "default", pod)
        for name in ("train", "serve"):
            event = {
                "metadata": {"name": f"{name}.1", "namespace": "default"},
                "involvedObject": {"kind": "PodGroup", "name": name, "namespace": "default"},
                "reason": f"Told{name}",
                "type": "Normal",
            }
            running.ask("create", EVENTS, "default", event)
        yield running


@pytest.fixture
def podgroup(server, tmp_path, capsys):
    """Run a command on the server: exit code, standard output, standard error."""

    def call(*arguments, kubeconfig=None):
        code = execute(
            ["podgroup", *arguments, "--kubeconfig", str(kubeconfig or server.kubeconfig(tmp_path))]
        )
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def names(out, column=0):
    return [line.split()[column] for line in out.splitlines()[1:]]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ([], ["serve", "train"]),
        (["-q", "prod"], ["serve"]),
        (["--phase", "Pending"], ["train"]),
        (["--phase", "Pending", "-q", "prod"], []),
        (["-n", "kube-system"], ["far"]),
    ],
)
def test_list_takes_one_namespace_a_queue_and_a_phase(podgroup, flags, expected):
    code, out, err = podgroup("list", *flags)

    assert (code, names(out)) == (0, expected)
    assert err == ("" if expected else "No resources found\n")


def test_list_of_all_namespaces_is_in_order_of_namespace_and_name(podgroup):
    _, out, _ = podgroup("list", "-A")

    assert out.split()[:4] == ["NAMESPACE", "NAME", "QUEUE", "PHASE"]
    assert list(zip(names(out), names(out, 1), strict=True)) == [
        ("default", "serve"), ("default", "train"), ("kube-system", "far"),
    ]  # fmt: skip


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_every_command_answers_as_data(podgroup, form, read):
    listed, one, described = (
        read(podgroup(*words, "-o", form)[1]) for words in (["list"], ["get", "train"], ["describe", "train"])
    )

    assert [each["metadata"]["name"] for each in listed] == ["serve", "train"]
    assert listed[1] == one == described["podGroup"]
    assert one["kind"] == "PodGroup"
    assert "managedFields" not in one["metadata"]
    assert [each["name"] for each in described["pods"]] == ["train-0"]


def test_a_list_without_groups_is_empty_data(podgroup):
    assert podgroup("list", "-q", "none", "-o", "json") == (0, "[]\n", "")


def test_get_prints_the_groups_own_line_of_the_list(podgroup):
    code, out, _ = podgroup("get", "train")

    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        line.split() for line in podgroup("list")[1].splitlines() if "serve" not in line
    ]


def test_describe_tells_the_groups_pods_and_events_alone(podgroup):
    code, out, err = podgroup("describe", "train")

    assert (code, err) == (0, "")
    assert out.startswith("Name:            train\nNamespace:       default\n")
    assert "\n  train-0   <none>   Pending   <none>\n" in out
    assert "Toldtrain" in out
    assert "Toldserve" not in out


def test_the_namespace_is_that_of_the_context_unless_one_is_named(podgroup, server, tmp_path):
    document = yaml.safe_load(Path(server.kubeconfig(tmp_path)).read_text())
    document["contexts"] += [
        {"name": "far", "context": {**document["contexts"][0]["context"], "namespace": "kube-system"}}
    ]
    kubeconfig = tmp_path / "two-contexts"
    kubeconfig.write_text(yaml.safe_dump(document))

    assert names(podgroup("list", kubeconfig=kubeconfig)[1]) == ["serve", "train"]
    assert names(podgroup("list", "--context", "far", kubeconfig=kubeconfig)[1]) == ["far"]
    assert names(
        podgroup("list", "--context", "far", "-n", "default", "-q", "prod", kubeconfig=kubeconfig)[1]
    ) == ["serve"]


@pytest.mark.parametrize("verb", ["get", "describe"])
def test_a_group_that_is_not_there_is_one_sentence_with_code_1(podgroup, verb):
    code, out, err = podgroup(verb, "none")

    assert (code, out) == (1, "")
    assert err.startswith("VC0501 ")
    assert err.endswith('podgroups.scheduling.volcano.sh "none" not found\n')
    assert err.count("\n") == 1


def test_a_server_that_is_away_is_one_sentence_with_code_3(podgroup, tmp_path):
    code, _, err = podgroup("list", kubeconfig=write_kubeconfig(tmp_path, 9))

    assert code == 3
    assert err.startswith("VC0401 http://127.0.0.1:9: ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["get"], "Missing argument 'NAME'."),
        (["list", "--phase", "Lost"], "'Lost' is not one of 'Pending', 'Inqueue', 'Running'"),
        (["list", "-o", "wide"], "'wide' is not one of 'table', 'json', 'yaml'."),
        (["list", "--que", "x"], "No such option"),
        (["fly"], "No such command 'fly'."),
    ],
)
def test_a_wrong_command_line_exits_2(podgroup, arguments, sentence):
    code, out, err = podgroup(*arguments)

    assert (code, out) == (2, "")
    assert sentence in err
