"""vcctl, the examples and the sentences about servers, against a real kube-apiserver."""

import pytest

from tests.conformance.harness.server import ControlPlane
from vcray.cli.demo import EXAMPLES
from vcray.cli.main import execute as vcray
from vcray.cli.program import execute as program_execute
from vcray.cli.slurm import PROGRAMS
from vcray.cli.vcctl import execute

BUS = "/apis/bus.volcano.sh/v1alpha1"
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


def actions(server, namespace):
    """What the Commands of a namespace ask for, in the order of their names."""
    return [each["action"] for each in server.client.get(f"{BUS}/namespaces/{namespace}/commands")["items"]]


def test_vcctl_runs_lists_views_suspends_resumes_and_deletes_a_job(vcctl, volcano_apiserver, namespace):
    where = ("-n", namespace)

    assert vcctl("job", "run", "-N", "one", "-r", "2", *where) == (0, "run job one successfully\n")
    _, listed = vcctl("job", "list", *where)
    _, viewed = vcctl("job", "view", "-N", "one", *where)
    suspended = vcctl("job", "suspend", "-N", "one", *where)
    resumed = vcctl("job", "resume", "-N", "one", *where)
    asked = actions(volcano_apiserver, namespace)
    deleted = vcctl("job", "delete", "-N", "one", *where)

    assert listed.splitlines()[1].split()[:1] == ["one"]
    assert viewed.startswith(f"Name:       \tone\nNamespace:  \t{namespace}\n")
    assert "  Scheduler Name:    \tvolcano\n" in viewed
    assert suspended == resumed == (0, "")
    assert asked == ["AbortJob", "ResumeJob"]
    assert deleted == (0, "delete job one successfully\n")
    assert vcctl("job", "list", *where) == (0, "No resources found\n")


def test_the_programs_like_slurms_submit_show_and_cancel_a_job(volcano_apiserver, namespace, capsys):
    def program(name, *arguments):
        code = program_execute(
            PROGRAMS[name], [*arguments, "-N", namespace, "-k", str(volcano_apiserver.kubeconfig)]
        )
        return code, capsys.readouterr().out

    assert program("vsub", "-n", "one", "-c", "sleep 60") == (0, "run job one successfully\n")
    _, listed = program("vjobs")
    _, viewed = program("vjobs", "-n", "one")

    assert listed.splitlines()[1].split()[:1] == ["one"]
    assert "          Command:\n            sleep\n            60\n" in viewed
    assert program("vcancel", "-n", "one") == (0, "cancel job one successfully\n")
    assert program("vjobs") == (0, "No resources found\n")


def test_vcctl_creates_lists_operates_and_deletes_a_queue(vcctl, volcano_apiserver):
    assert vcctl("queue", "create", "-n", "cli-queue", "-w", "3") == (0, "")
    _, listed = vcctl("queue", "list")
    updated = vcctl("queue", "operate", "-n", "cli-queue", "-a", "update", "-w", "5")
    closed = vcctl("queue", "operate", "-n", "cli-queue", "-a", "close")
    code, out = vcctl("queue", "get", "-n", "cli-queue")
    asked = actions(volcano_apiserver, "default")
    assert vcctl("queue", "delete", "-n", "cli-queue") == (0, "")

    assert updated == closed == (0, "")
    assert any(line.startswith("cli-queue                3       ") for line in listed.splitlines())
    assert code == 0
    assert out.splitlines()[1].startswith("cli-queue                5       ")
    assert "CloseQueue" in asked
    assert not volcano_apiserver.client.exists(f"{QUEUES}/cli-queue")


def test_vcray_podgroup_tells_of_a_group_its_pods_and_its_events(volcano_apiserver, namespace, capsys):
    """The server narrows events by what they are about; pods name their group."""
    group = {"metadata": {"name": "g"}, "spec": {"minMember": 1}, "status": {"phase": "Pending"}}
    annotations = {"scheduling.k8s.io/group-name": "g"}
    pod = {
        "metadata": {"name": "p", "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    head = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    client, core = volcano_apiserver.client, f"/api/v1/namespaces/{namespace}"
    client.create(f"/apis/{head['apiVersion']}/namespaces/{namespace}/podgroups", head | group)
    client.create(f"{core}/pods", {"apiVersion": "v1", "kind": "Pod"} | pod)
    for name in ("g", "other"):
        about = {"kind": "PodGroup", "name": name, "namespace": namespace}
        event = {"metadata": {"name": f"{name}.1"}, "involvedObject": about, "reason": f"Of{name}"}
        client.create(f"{core}/events", {"apiVersion": "v1", "kind": "Event"} | event)
    server = ["--kubeconfig", str(volcano_apiserver.kubeconfig), "-n", namespace]

    assert vcray(["podgroup", "describe", "g", *server]) == 0

    out = capsys.readouterr().out
    assert "\nPhase:           Pending\n" in out
    assert "\n  p      <none>   Pending   <none>\n" in out
    assert "Ofg" in out
    assert "Ofother" not in out


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
