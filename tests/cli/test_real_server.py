"""vcctl, the examples and the sentences about servers, against a real kube-apiserver."""

import pytest

from tests.conformance.harness.server import ControlPlane
from vcray.cli.demo import EXAMPLES
from vcray.cli.vcctl import execute

JOBS = "/apis/batch.volcano.sh/v1alpha1"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


@pytest.fixture
def vcctl(volcano_apiserver: ControlPlane, capsys):
    """Run vcctl against the server: exit code and standard output."""

    def call(*arguments, kubeconfig=None):
        code = execute([*arguments, "-k", str(kubeconfig or volcano_apiserver.kubeconfig)])
        return code, capsys.readouterr().out

    return call


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.name)
def test_kubectl_applies_every_example_without_a_warning(volcano_apiserver, namespace, file):
    done = volcano_apiserver.kubectl("apply", "-n", namespace, "-f", file)

    assert done.returncode == 0
    assert done.stderr == ""
    assert all(line.endswith(("created", "unchanged")) for line in done.stdout.splitlines())


def test_vcctl_runs_lists_views_suspends_and_deletes_a_job(vcctl, volcano_apiserver, namespace):
    where = ("-n", namespace)

    assert vcctl("job", "run", "-N", "one", "-r", "2", *where) == (0, "run job one successfully\n")
    _, listed = vcctl("job", "list", *where)
    _, viewed = vcctl("job", "view", "-N", "one", *where)
    suspended = vcctl("job", "suspend", "-N", "one", *where)
    commands = volcano_apiserver.client.get(f"/apis/bus.volcano.sh/v1alpha1/namespaces/{namespace}/commands")
    deleted = vcctl("job", "delete", "-N", "one", *where)

    assert listed.splitlines()[1].split()[:1] == ["one"]
    assert viewed.startswith(f"Name:       \tone\nNamespace:  \t{namespace}\n")
    assert "  Scheduler Name:    \tvolcano\n" in viewed
    assert suspended == (0, "")
    assert [each["action"] for each in commands["items"]] == ["AbortJob"]
    assert deleted == (0, "delete job one successfully\n")
    assert vcctl("job", "list", *where) == (0, "No resources found\n")


def test_vcctl_creates_lists_and_deletes_a_queue(vcctl, volcano_apiserver):
    assert vcctl("queue", "create", "-n", "cli-queue", "-w", "3") == (0, "")
    code, out = vcctl("queue", "get", "-n", "cli-queue")
    assert vcctl("queue", "delete", "-n", "cli-queue") == (0, "")

    assert code == 0
    assert out.splitlines()[1].startswith("cli-queue                3       ")
    assert not volcano_apiserver.client.exists(f"{QUEUES}/cli-queue")


def test_negative_replicas_come_back_in_the_servers_own_sentence(vcctl, volcano_apiserver, namespace):
    code, out = vcctl("job", "run", "-N", "negative", "-r", "-1", "-n", namespace)

    assert code == 255
    assert out == (
        'Failed to run job: Job.batch.volcano.sh "negative" is invalid: spec.tasks[0].replicas: '
        "Invalid value: -1: spec.tasks[0].replicas in body should be greater than or equal to 0\n"
    )
    assert not volcano_apiserver.client.exists(f"{JOBS}/namespaces/{namespace}/jobs/negative")


def test_a_wrong_token_is_one_sentence(vcctl, volcano_apiserver, tmp_path):
    wrong = tmp_path / "kubeconfig"
    text = volcano_apiserver.kubeconfig.read_text()
    token = next(line.split()[-1].strip("\"'") for line in text.splitlines() if "token" in line)
    wrong.write_text(text.replace(token, "nobody"))

    code, out = vcctl("job", "list", kubeconfig=wrong)

    assert code == 255
    assert out == (
        f"Failed to list job: VC0402 {volcano_apiserver.url}: "
        "the API server refused the credentials; check the token or certificate\n"
    )
