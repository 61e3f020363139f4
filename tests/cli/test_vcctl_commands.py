"""What vcctl's commands print and write, on the in-memory store through the same client as over HTTP."""

import io

import pytest

from vcray.api.resources import COMMANDS, EVENTS, JOBS, PODGROUPS, QUEUES
from vcray.cli.vcctl import execute
from vcray.kube.errors import NOT_INSTALLED, ResourceMissing


def test_job_run_from_flags_makes_volcanos_job(cluster):
    code, out = cluster.vcctl(
        "job", "run", "-N", "one", "-m", "2", "-r", "3", "-i", "nginx", "-L", "cpu=2000m"
    )

    job = cluster.ask("get", JOBS, "default", "one")
    assert (code, out) == (0, "run job one successfully\n")
    assert job["spec"]["minAvailable"] == 2
    assert job["spec"]["schedulerName"] == "volcano"
    (task,) = job["spec"]["tasks"]
    assert task["replicas"] == 3
    assert task["template"]["metadata"] == {"name": "one", "labels": {"job.volcano.sh": "one"}}
    assert task["template"]["spec"]["restartPolicy"] == "Never"
    (container,) = task["template"]["spec"]["containers"]
    assert container["name"] == "one"
    assert container["image"] == "nginx"
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["resources"] == {
        "limits": {"cpu": "2"},
        "requests": {"cpu": "1", "memory": "100Mi"},
    }


def test_job_run_sends_a_file_as_it_is(cluster, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: filed}\n"
        "spec: {tasks: [{name: a, replicas: 4, template: {spec: {containers: [{name: c, image: i}]}}}]}\n"
    )

    code, out = cluster.vcctl("job", "run", "-f", str(file))

    assert (code, out) == (0, "run job filed successfully\n")
    assert cluster.ask("get", JOBS, "default", "filed")["spec"]["tasks"][0]["replicas"] == 4


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["job", "run"], "Failed to run job: job name cannot be left blank"),
        (["job", "run", "-f", "job.json"], "Failed to run job: only support yaml file"),
        (
            ["job", "run", "-N", "x", "-R", "cpu"],
            "Failed to run job: invalid argument syntax cpu, expected <resource>=<value>",
        ),
        (
            ["job", "view"],
            "Failed to view job: job name (specified by --name or -N) is mandatory to view a particular job",
        ),
        (["job", "suspend"], "Failed to suspend job: job name is mandatory to suspend a particular job"),
        (["job", "resume"], "Failed to resume job: job name is mandatory to resume a particular job"),
        (["job", "delete"], "Failed to delete job: job name is mandatory to delete a particular job"),
        (["job", "view", "-N", "x"], 'Failed to view job: jobs.batch.volcano.sh "x" not found'),
        (["job", "suspend", "-N", "x"], 'Failed to suspend job: jobs.batch.volcano.sh "x" not found'),
        (["job", "delete", "-N", "x"], 'Failed to delete job: jobs.batch.volcano.sh "x" not found'),
        (["queue", "get"], "Failed to get queue: name is mandatory to get the particular queue details"),
        (["queue", "delete"], "Failed to delete queue: queue name must be specified"),
        (["queue", "operate"], "Failed to operate queue: queue name must be specified"),
        (["queue", "operate", "-n", "q"], "Failed to operate queue: action can not be null"),
        (
            ["queue", "operate", "-n", "q", "-a", "pause"],
            "Failed to operate queue: action pause invalid, valid actions are open, close and update",
        ),
        (
            ["queue", "operate", "-n", "q", "-a", "update"],
            "Failed to operate queue: when update queue q, weight must be specified, "
            "the value must be greater than 0",
        ),
        (["queue", "get", "-n", "q"], 'Failed to get queue: queues.scheduling.volcano.sh "q" not found'),
    ],
)
def test_a_failure_is_volcanos_sentence_on_standard_output_with_code_255(cluster, arguments, sentence):
    assert cluster.vcctl(*arguments) == (255, sentence + "\n")


def test_negative_replicas_are_refused_in_the_servers_words(cluster):
    code, out = cluster.vcctl("job", "run", "-N", "bad", "-r", "-1")

    assert code == 255
    assert out.startswith('Failed to run job: Job.batch.volcano.sh "bad" is invalid: ')
    assert "spec.tasks[0].replicas: Invalid value: -1" in out
    assert out.count("\n") == 1


def test_job_list_pads_every_column_as_volcano_does(cluster):
    cluster.create_job(
        "first",
        {
            "state": {"phase": "Running"},
            "minAvailable": 1,
            "pending": 1,
            "running": 2,
            "succeeded": 3,
            "failed": 4,
            "unknown": 5,
            "retryCount": 6,
        },
    )
    cluster.create_job("second-job")

    code, out = cluster.vcctl("job", "list")

    assert code == 0
    assert out == (
        "Name         Creation       Phase       JobType     Replicas    Min   Pending   Running   Succeeded   "
        "Failed    Unknown     RetryCount\n"
        "first        2023-11-14     Running     Batch       2           1     1         2         3           "
        "4         5           6         \n"
        "second-job   2023-11-14                 Batch       2           0     0         0         0           "
        "0         0           0         \n"
    )


def test_job_list_of_all_namespaces_begins_with_the_namespace(cluster):
    cluster.create_job("first")

    _, out = cluster.vcctl("job", "list", "--all-namespaces")

    assert out.startswith("Namespace   Name    Creation ")
    assert "\ndefault     first   2023-11-14 " in out


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["-q", "big"], ["a-big"]),
        (["-S", "other"], ["b-other"]),
        (["--selector", "-big"], ["a-big"]),
        (["--selector", "o"], ["b-other"]),
        (["-n", "elsewhere"], []),
        (["-q", "none"], []),
    ],
)
def test_job_list_filters_by_queue_scheduler_and_part_of_the_name(cluster, arguments, names):
    cluster.create_job("a-big", queue="big")
    cluster.create_job("b-other", schedulerName="other")

    _, out = cluster.vcctl("job", "list", *arguments)

    listed = [line.split()[0] for line in out.splitlines()[1:]]
    assert listed == names
    assert names or out == "No resources found\n"


@pytest.mark.parametrize(("verb", "action"), [("suspend", "AbortJob"), ("resume", "ResumeJob")])
def test_suspend_and_resume_leave_a_command_owned_by_the_job(cluster, verb, action):
    job = cluster.create_job("one")

    assert cluster.vcctl("job", verb, "-N", "one") == (0, "")

    (command,) = cluster.ask("list", COMMANDS, "default").items
    reference = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "one",
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert command["action"] == action
    assert command["target"] == reference
    assert command["metadata"]["ownerReferences"] == [reference]
    assert command["metadata"]["name"].startswith(f"one-{action.lower()}-")


def test_job_delete_deletes(cluster):
    cluster.create_job("one")

    assert cluster.vcctl("job", "delete", "-N", "one") == (0, "delete job one successfully\n")
    assert cluster.ask("list", JOBS, "default").items == []


def test_queue_create_sends_no_word_back_and_the_state_is_dropped(cluster):
    assert cluster.vcctl("queue", "create", "-n", "research", "-w", "4", "-S", "Closed") == (0, "")

    queue = cluster.ask("get", QUEUES, None, "research")
    assert queue["spec"]["weight"] == 4
    assert (queue.get("status") or {}).get("state") != "Closed"


def test_queue_list_counts_podgroups_by_phase(cluster):
    cluster.create_queue("alpha", weight=2, parent="root")
    cluster.create_queue("beta", weight=1)
    cluster.ask("patch", QUEUES, None, "alpha", {"status": {"state": "Open"}}, subresource="status")
    for number, phase in enumerate(["Running", "Running", "Pending", "Inqueue", "Completed", "Unknown"]):
        body = {
            "metadata": {"name": f"g{number}", "namespace": "default"},
            "spec": {"queue": "alpha", "minMember": 1},
            "status": {"phase": phase},
        }
        cluster.ask("create", PODGROUPS, "default", body)

    code, out = cluster.vcctl("queue", "list")

    header = "Name                     Weight  State   Parent  Inqueue Pending Running Unknown Completed\n"
    alpha = "alpha                    2       Open    root    1       1       2       1       1       \n"
    lines = out.splitlines(keepends=True)
    assert code == 0
    assert lines[0] == header
    assert lines[1] == alpha
    assert lines[2].startswith("beta                     1       ")
    assert lines[2].endswith("0       0       0       0       0       \n")
    assert cluster.vcctl("queue", "get", "-n", "alpha") == (0, header + alpha)


def test_queue_list_without_queues_says_so(cluster):
    assert cluster.vcctl("queue", "list") == (0, "No resources found\n")


def test_queue_delete_deletes_without_a_word(cluster):
    cluster.create_queue("alpha", weight=1)

    assert cluster.vcctl("queue", "delete", "-n", "alpha") == (0, "")
    assert cluster.ask("list", QUEUES).items == []


def test_queue_operate_updates_the_weight_or_leaves_a_command(cluster):
    queue = cluster.create_queue("alpha", weight=1)

    assert cluster.vcctl("queue", "operate", "-n", "alpha", "-a", "update", "-w", "7") == (0, "")
    assert cluster.vcctl("queue", "operate", "-n", "alpha", "-a", "close") == (0, "")

    (command,) = cluster.ask("list", COMMANDS, "default").items
    assert cluster.ask("get", QUEUES, None, "alpha")["spec"]["weight"] == 7
    assert command["action"] == "CloseQueue"
    assert command["metadata"]["name"].startswith("alpha-closequeue-")
    assert command["target"]["uid"] == queue["metadata"]["uid"]


def test_job_view_shows_the_job_and_events_of_its_name(cluster):
    """api-controllers.md 10.56."""
    cluster.create_job("one", {"state": {"phase": "Pending"}, "pending": 2})
    for name, reason in (("one.1", "PodGroupPending"), ("one-t-0.1", "NotMine"), ("onemore.1", "NotMine")):
        body = {
            "metadata": {"name": name, "namespace": "default"},
            "involvedObject": {"kind": "Job", "name": "one", "namespace": "default"},
            "reason": reason,
            "message": "waiting",
            "type": "Warning",
        }
        cluster.ask("create", EVENTS, "default", body)

    code, out = cluster.vcctl("job", "view", "-N", "one")

    assert code == 0
    assert out.startswith("Name:       \tone\nNamespace:  \tdefault\nLabels:     \t<none>\n")
    assert "Status:\n  Pending:      \t2\n  State:\n    Phase:\tPending\n" in out
    assert "PodGroupPending" in out
    assert "NotMine" not in out


def test_a_server_without_the_definitions_is_told_in_our_words():
    class Bare:
        async def list(self, *_, **__):
            raise ResourceMissing("404 page not found", where="GET /apis/batch.volcano.sh/v1alpha1/jobs")

        async def close(self):
            pass

    async def connect():
        return Bare()

    out = io.StringIO()
    code = execute(["job", "list"], connect, out, io.StringIO())

    assert code == 255
    assert out.getvalue() == f"Failed to list job: VC0404 {NOT_INSTALLED}\n"
