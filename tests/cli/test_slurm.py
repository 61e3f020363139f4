"""What vsub, vjobs, vqueues, vcancel, vsuspend and vresume print and write, on the object store."""

import pytest

from tests.cli.cluster_server import write_kubeconfig
from vcray.api.resources import COMMANDS, JOBS, QUEUES
from vcray.cli.connection import opened

VARIABLES = ("VOLCANO_SCHEDULER_NAME", "VOLCANO_DEFAULT_IMAGE", "VOLCANO_DEFAULT_JOB_NAMESPACE")
TITLES = (
    "Name   Creation       Phase       JobType     Replicas    Min   Pending   Running   Succeeded   "
    "Failed    Unknown     RetryCount\n"
)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def test_vsub_makes_the_job_of_vcctl_job_run(cluster):
    flags = ["-m", "2", "-r", "3", "-L", "cpu=2", "-R", "cpu=500m"]

    assert cluster.program("vsub", "-n", "one", *flags) == (0, "run job one successfully\n")
    assert cluster.vcctl("job", "run", "-N", "two", *flags) == (0, "run job two successfully\n")

    one, two = (cluster.ask("get", JOBS, "default", name) for name in ("one", "two"))
    assert str(one["spec"]).replace("one", "two") == str(two["spec"])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("sleep 10", ["sleep", "10"]),
        ("sh -c 'echo \"a b\"; exit 1'", ["sh", "-c", 'echo "a b"; exit 1']),
        (r"echo a\ b", ["echo", "a b"]),
    ],
)
def test_vsub_splits_the_command_as_a_shell_does(cluster, command, words):
    cluster.program("vsub", "-n", "one", "-c", command)

    (task,) = cluster.ask("get", JOBS, "default", "one")["spec"]["tasks"]
    assert task["template"]["spec"]["containers"][0]["command"] == words


def test_without_a_command_the_images_own_runs(cluster):
    cluster.program("vsub", "-n", "one")

    (task,) = cluster.ask("get", JOBS, "default", "one")["spec"]["tasks"]
    (container,) = task["template"]["spec"]["containers"]
    assert "command" not in container
    assert container["image"] == "busybox"


def test_the_environment_stands_in_for_flags_that_are_not_given(cluster, monkeypatch):
    monkeypatch.setenv("VOLCANO_SCHEDULER_NAME", "mine")
    monkeypatch.setenv("VOLCANO_DEFAULT_IMAGE", "nginx")
    monkeypatch.setenv("VOLCANO_DEFAULT_JOB_NAMESPACE", "kube-system")

    cluster.program("vsub", "-n", "one")
    cluster.program("vsub", "-n", "two", "-S", "volcano", "-i", "alpine", "-N", "default")

    def seen(namespace, name):
        spec = cluster.ask("get", JOBS, namespace, name)["spec"]
        container = spec["tasks"][0]["template"]["spec"]["containers"][0]
        return spec["schedulerName"], container["image"]

    assert seen("kube-system", "one") == ("mine", "nginx")
    assert seen("default", "two") == ("volcano", "alpine")


@pytest.mark.parametrize(
    ("program", "arguments", "sentence"),
    [
        ("vsub", [], "job name cannot be left blank"),
        ("vsub", ["-n", "x", "-R", "cpu"], "invalid argument syntax cpu, expected <resource>=<value>"),
        ("vsub", ["-n", "x", "-c", "echo 'a"], "invalid command echo 'a: No closing quotation"),
        ("vjobs", ["-n", "x"], 'jobs.batch.volcano.sh "x" not found'),
        ("vqueues", ["-n", "x"], 'queues.scheduling.volcano.sh "x" not found'),
        ("vcancel", [], "job name is mandatory to cancel a particular job"),
        ("vcancel", ["-n", "x"], 'jobs.batch.volcano.sh "x" not found'),
        ("vsuspend", [], "job name is mandatory to suspend a particular job"),
        ("vsuspend", ["-n", "x"], 'jobs.batch.volcano.sh "x" not found'),
        ("vresume", [], "job name is mandatory to resume a particular job"),
        ("vresume", ["-n", "x"], 'jobs.batch.volcano.sh "x" not found'),
    ],
)
def test_a_failure_names_no_command(cluster, program, arguments, sentence):
    assert cluster.program(program, *arguments) == (255, f"Failed to: {sentence}\n")


async def test_what_a_program_writes_is_managed_under_its_name(tmp_path):
    kubeconfig = write_kubeconfig(tmp_path, 9)

    async with opened(str(kubeconfig), program="vsub") as open_client:
        assert (await open_client()).field_manager == "vsub"


def test_words_that_are_no_flags_are_left_be(cluster):
    assert cluster.program("vjobs", "help") == (0, "No resources found\n")


def test_vjobs_lists_as_vcctl_job_list_does(cluster):
    cluster.create_job(
        "one", {"state": {"phase": "Running"}, "minAvailable": 1, "running": 2}, schedulerName="volcano"
    )
    cluster.create_job("far", namespace="kube-system")

    for flags in ([], ["--all-namespaces"], ["-S", "volcano"], ["--selector", "o"]):
        assert cluster.program("vjobs", *flags) == cluster.vcctl("job", "list", *flags)
    assert cluster.program("vjobs", "-N", "kube-system") == cluster.vcctl("job", "list", "-n", "kube-system")


def test_vjobs_prints_the_titles_alone_where_no_job_passes(cluster):
    cluster.create_job("one")

    assert cluster.program("vjobs", "--selector", "x") == (0, TITLES)
    assert cluster.program("vjobs", "-S", "other", "--all-namespaces")[1].startswith("Namespace   Name   Cr")
    assert cluster.program("vjobs", "-N", "kube-system") == (0, "No resources found\n")


def test_vjobs_with_a_name_is_the_view_without_conditions(cluster):
    condition = {"status": "Pending", "lastTransitionTime": "2023-11-14T22:13:20Z"}
    cluster.create_job("one", {"state": {"phase": "Pending"}, "pending": 2, "conditions": [condition]})

    code, whole = cluster.vcctl("job", "view", "-N", "one")
    block = "  Conditions:\n    Status\tTransitionTime\n    Pending \t2023-11-14 22:13:20 +0000 UTC \n"

    assert block in whole
    assert cluster.program("vjobs", "-n", "one") == (code, whole.replace(block, ""))


def test_vqueues_shows_the_counts_of_the_status_which_nobody_writes(cluster):
    cluster.create_queue("alpha", weight=2, parent="root")
    cluster.create_queue("beta", weight=1)
    status = {"state": "Open", "running": 3}
    cluster.ask("patch", QUEUES, None, "alpha", {"status": status}, subresource="status")

    head = "Name                     Weight  State   Inqueue Pending Running Unknown \n"
    alpha = "alpha                    2       Open    0       0       3       0       \n"
    code, out = cluster.program("vqueues")

    assert code == 0
    assert out.startswith(head + alpha + "beta                     1       ")
    assert out.endswith("0       0       0       0       \n")
    assert cluster.program("vqueues", "-n", "alpha") == (0, head + alpha)


def test_vqueues_without_queues_says_so(cluster):
    assert cluster.program("vqueues") == (0, "No resources found\n")


def test_vcancel_deletes(cluster):
    cluster.create_job("one")
    cluster.create_job("far", namespace="kube-system")

    assert cluster.program("vcancel", "-n", "one") == (0, "cancel job one successfully\n")
    assert cluster.program("vcancel", "-n", "far", "-N", "kube-system") == (
        0,
        "cancel job far successfully\n",
    )
    assert cluster.ask("list", JOBS).items == []


@pytest.mark.parametrize(("program", "action"), [("vsuspend", "AbortJob"), ("vresume", "ResumeJob")])
def test_vsuspend_and_vresume_leave_a_command_in_the_jobs_namespace(cluster, program, action):
    job = cluster.create_job("one", namespace="kube-system")

    assert cluster.program(program, "-n", "one", "-N", "kube-system") == (0, "")

    (command,) = cluster.ask("list", COMMANDS, "kube-system").items
    assert command["action"] == action
    assert command["target"]["uid"] == job["metadata"]["uid"]
    assert command["metadata"]["name"].startswith(f"one-{action.lower()}-")
