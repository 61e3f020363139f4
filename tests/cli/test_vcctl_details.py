"""Details of vcctl's commands that scripts rest on: defaults, namespaces, sums, orders, texts of refusals (api-controllers.md 6)."""

import io
import time
from datetime import UTC, datetime

import pytest

from vcray.api.resources import COMMANDS, EVENTS, JOBS, PODGROUPS, QUEUES
from vcray.cli.jobview import events_text, job_text
from vcray.cli.queue import queues_table
from vcray.cli.vcctl import execute
from vcray.kube.errors import Forbidden

JOB_FILE = (
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: filed{more}}}\n"
    "spec: {{tasks: [{{name: a, replicas: 4, template: {{spec: {{containers: [{{name: c, image: i}}]}}}}}}]}}\n"
)


def test_job_run_has_volcanos_defaults(cluster):
    assert cluster.vcctl("job", "run", "-N", "one") == (0, "run job one successfully\n")

    spec = cluster.ask("get", JOBS, "default", "one")["spec"]
    (task,) = spec["tasks"]
    (container,) = task["template"]["spec"]["containers"]
    sizes = {"cpu": "1", "memory": "100Mi"}
    assert (spec["minAvailable"], task["replicas"], spec["schedulerName"]) == (1, 1, "volcano")
    assert container["image"] == "busybox"
    assert container["resources"] == {"limits": sizes, "requests": sizes}
    assert "name" not in task


def test_job_run_takes_namespace_and_scheduler(cluster):
    cluster.vcctl("job", "run", "-N", "one", "-n", "kube-system", "-S", "mine")

    job = cluster.ask("get", JOBS, "kube-system", "one")
    assert job["metadata"]["namespace"] == "kube-system"
    assert job["spec"]["schedulerName"] == "mine"


@pytest.mark.parametrize("file", ["job.yaml", "job.yml", "job.yaml.orig"])
def test_a_file_whose_name_contains_the_ending_goes_to_the_namespace_of_the_flag(cluster, tmp_path, file):
    path = tmp_path / file
    path.write_text(JOB_FILE.format(more=""))

    assert cluster.vcctl(
        "job", "run", "-f", str(path), "-n", "kube-system", "-i", "other", "-N", "other"
    ) == (
        0,
        "run job filed successfully\n",
    )

    (task,) = cluster.ask("get", JOBS, "kube-system", "filed")["spec"]["tasks"]
    assert task["template"]["spec"]["containers"][0]["image"] == "i"


def test_a_file_for_another_namespace_than_the_flags_is_refused_by_the_server(cluster, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text(JOB_FILE.format(more=", namespace: elsewhere"))

    code, out = cluster.vcctl("job", "run", "-f", str(path))

    assert code == 255
    assert out.startswith("Failed to run job: the namespace of the provided object does not match")


@pytest.mark.parametrize(
    ("flag", "pairs", "sentence"),
    [
        ("-L", "cpu", "invalid argument syntax cpu, expected <resource>=<value>"),
        ("-R", "cpu=1=2", "invalid argument syntax cpu=1=2, expected <resource>=<value>"),
        ("-R", "cpu=1,", "invalid argument syntax , expected <resource>=<value>"),
        (
            "-L",
            "cpu=much",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_resources_that_cannot_be_read_are_refused_before_anything_is_created(cluster, flag, pairs, sentence):
    assert cluster.vcctl("job", "run", "-N", "one", flag, pairs) == (255, f"Failed to run job: {sentence}\n")
    assert cluster.ask("list", JOBS).items == []


def test_a_line_has_the_label_of_the_jobs_kind_and_the_sum_of_its_tasks(cluster):
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    tasks = [{"name": name, "replicas": 3, "template": template} for name in ("a", "b")]
    cluster.create_job("one", {"minAvailable": 4, "state": {"phase": "Aborted"}}, minAvailable=5, tasks=tasks)
    labels = {"metadata": {"labels": {"volcano.sh/job-type": "Service"}}}
    cluster.ask("patch", JOBS, "default", "one", labels)

    cells = cluster.vcctl("job", "list")[1].splitlines()[1].split()

    assert cells[:6] == ["one", "2023-11-14", "Aborted", "Service", "6", "4"]


def test_a_cell_that_is_too_long_pushes_the_rest_of_its_line(cluster):
    name = "a-queue-of-more-than-25-letters"

    line = queues_table([{"metadata": {"name": name}, "spec": {"weight": 1}}], []).splitlines()[1]

    assert line.startswith(f"{name}1       ")


@pytest.mark.parametrize(("verb", "action"), [("suspend", "AbortJob"), ("resume", "ResumeJob")])
def test_a_command_stands_in_the_jobs_namespace(cluster, verb, action):
    cluster.create_job("one", namespace="kube-system")

    assert cluster.vcctl("job", verb, "-N", "one", "-n", "kube-system") == (0, "")

    (command,) = cluster.ask("list", COMMANDS, "kube-system").items
    assert command["action"] == action


def test_delete_and_view_take_a_namespace(cluster):
    cluster.create_job("one")
    cluster.create_job("one", namespace="kube-system")

    _, viewed = cluster.vcctl("job", "view", "-N", "one", "-n", "kube-system")
    cluster.vcctl("job", "delete", "-N", "one", "-n", "kube-system")

    assert "Namespace:  \tkube-system\n" in viewed
    assert [each["metadata"]["namespace"] for each in cluster.ask("list", JOBS).items] == ["default"]


def test_who_may_not_list_events_sees_the_job_without_them(cluster, capsys):
    cluster.create_job("one")
    client = cluster.client()
    reads = client.list

    async def list_(resource, *arguments, **options):
        if resource == EVENTS:
            raise Forbidden("events is forbidden: no right")
        return await reads(resource, *arguments, **options)

    async def connect():
        client.list = list_
        return client

    out = io.StringIO()
    code = execute(["job", "view", "-N", "one"], connect, out, io.StringIO())

    assert code == 0
    assert out.getvalue().endswith("Events: \t<none>\n")
    assert capsys.readouterr().err == "Failed to list events: events is forbidden: no right\n"


def test_queue_create_has_volcanos_defaults(cluster):
    assert cluster.vcctl("queue", "create") == (0, "")

    (queue,) = cluster.ask("list", QUEUES).items
    assert (queue["metadata"]["name"], queue["spec"]["weight"]) == ("test", 1)


@pytest.mark.parametrize(("action", "wanted"), [("open", "OpenQueue"), ("close", "CloseQueue")])
def test_a_command_on_a_queue_stands_in_default_and_is_owned_by_the_queue(cluster, action, wanted):
    queue = cluster.create_queue("alpha", weight=1)

    assert cluster.vcctl("queue", "operate", "-n", "alpha", "-a", action) == (0, "")

    (command,) = cluster.ask("list", COMMANDS, "default").items
    reference = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "name": "alpha",
        "uid": queue["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert command["action"] == wanted
    assert command["target"] == reference
    assert command["metadata"]["ownerReferences"] == [reference]
    assert command["metadata"]["name"].startswith(f"alpha-{wanted.lower()}-")


def test_a_new_weight_leaves_the_rest_of_the_queue_alone(cluster):
    cluster.create_queue("alpha", weight=1, capability={"cpu": "4"}, reclaimable=False)

    cluster.vcctl("queue", "operate", "-n", "alpha", "-a", "update", "-w", "3")

    spec = cluster.ask("get", QUEUES, None, "alpha")["spec"]
    assert (spec["weight"], spec["capability"], spec["reclaimable"]) == (3, {"cpu": "4"}, False)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["-n", "q", "-a", "update", "-w", "-1"],
            "when update queue q, weight must be specified, the value must be greater than 0",
        ),
        (["-n", "q", "-a", "close"], 'queues.scheduling.volcano.sh "q" not found'),
        (["-n", "q", "-a", "update", "-w", "2"], 'queues.scheduling.volcano.sh "q" not found'),
    ],
)
def test_what_cannot_be_done_to_a_queue_is_told_and_nothing_is_written(cluster, arguments, sentence):
    assert cluster.vcctl("queue", "operate", *arguments) == (255, f"Failed to operate queue: {sentence}\n")
    assert cluster.ask("list", COMMANDS).items == []


def test_a_queue_counts_podgroups_of_all_namespaces(cluster):
    cluster.create_queue("alpha", weight=1)
    for namespace in ("default", "kube-system"):
        body = {
            "metadata": {"name": "g"},
            "spec": {"queue": "alpha", "minMember": 1},
            "status": {"phase": "Running"},
        }
        cluster.ask("create", PODGROUPS, namespace, body)

    assert cluster.vcctl("queue", "get", "-n", "alpha")[1].splitlines()[1].split()[-3:] == ["2", "0", "0"]


def test_times_of_a_job_are_in_the_zone_of_the_machine(monkeypatch):
    job = {"metadata": {"name": "x", "creationTimestamp": "2026-01-02T20:04:05Z"}}
    try:
        monkeypatch.setenv("TZ", "Asia/Shanghai")
        time.tzset()
        assert "  Creation Timestamp:\t2026-01-03 04:04:05 +0800 CST\n" in job_text(job)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_job_of_two_tasks_and_two_containers_shows_each():
    container = {"image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    template = {"spec": {"containers": [{"name": "a", **container}, {"name": "b", **container}]}}
    tasks = [{"name": name, "replicas": 1, "template": template} for name in ("ps", "worker")]

    text = job_text({"metadata": {"name": "x"}, "spec": {"tasks": tasks}})

    named = [line.split("\t")[1] for line in text.splitlines() if "Name:" in line and "\t" in line]
    assert named == ["x", "", "", "ps", "a", "b", "worker", "a", "b"]
    assert "gpu" not in text
    assert text.count("              Cpu:   \t0\n              Memory:\t0\n") == 8


def test_an_event_that_happened_once_has_one_age():
    event = {"count": 1, "firstTimestamp": "2026-01-02T03:00:00Z", "lastTimestamp": "2026-01-02T03:09:00Z"}

    row = events_text([event], datetime(2026, 1, 2, 3, 10, tzinfo=UTC)).splitlines()[-1]

    assert row.split("\t")[2].strip() == "10m"
