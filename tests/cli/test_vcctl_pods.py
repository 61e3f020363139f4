"""`vcctl pod list`: which pods, in which order, how wide."""

import pytest

from vcray.cli.pod import pods_table

NOW = 1_700_000_185.0
RUNNING = {
    "phase": "Running",
    "containerStatuses": [
        {
            "name": "c",
            "ready": True,
            "restartCount": 3,
            "state": {"running": {}},
            "lastState": {"terminated": {"finishedAt": "2023-11-14T22:14:00Z"}},
        }
    ],
}


def pod(name, namespace="default", status=None):
    return {
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": "2023-11-14T22:13:20Z"},
        "spec": {"containers": [{"name": "c"}]},
        "status": status or {"phase": "Pending"},
    }


def names(out):
    return [line.split()[0] for line in out.splitlines()[1:]]


def test_a_column_is_two_wider_than_its_title_or_eight_wider_than_its_longest_cell():
    out = pods_table([pod("train-0", status=RUNNING), pod("a")], False, NOW)

    assert out == (
        "Name           Ready      Status         Restart  Age         \n"
        "a              0/1        Pending        0        3m5s        \n"
        "train-0        1/1        Running        3        3m5s        \n"
    )


def test_with_namespaces_pods_are_in_order_of_namespace_and_name():
    out = pods_table([pod("b", "ml"), pod("a", "ml"), pod("z", "default")], True, NOW)

    assert out == (
        "Namespace      Name     Ready      Status         Restart  Age         \n"
        "default        z        0/1        Pending        0        3m5s        \n"
        "ml             a        0/1        Pending        0        3m5s        \n"
        "ml             b        0/1        Pending        0        3m5s        \n"
    )


def test_only_pods_of_vcjobs_in_the_namespace_are_listed(cluster):
    cluster.create_pod("mine", "train")
    cluster.create_pod("other")
    cluster.create_pod("far", "train", "kube-system")

    code, out = cluster.vcctl("pod", "list")

    assert (code, names(out)) == (0, ["mine"])
    assert out.startswith("Name        Ready      Status ")


def test_pods_of_all_namespaces_have_theirs_in_front(cluster):
    cluster.create_pod("mine", "train")
    cluster.create_pod("far", "train", "kube-system")

    _, out = cluster.vcctl("pod", "list", "--all-namespaces")

    assert out.splitlines()[0].startswith("Namespace          Name        Ready ")
    assert names(out) == ["default", "kube-system"]


@pytest.mark.parametrize("namespace", ["default", "kube-system"])
def test_a_namespace_may_be_named(cluster, namespace):
    cluster.create_pod("one", "train")
    cluster.create_pod("two", "train", "kube-system")

    _, out = cluster.vcctl("pod", "list", "-n", namespace)

    assert names(out) == [{"default": "one", "kube-system": "two"}[namespace]]


def test_pods_of_one_job_are_those_with_its_label(cluster):
    cluster.create_pod("one", "train")
    cluster.create_pod("two", "tune")

    assert names(cluster.vcctl("pod", "list", "-j", "tune")[1]) == ["two"]


def test_a_queue_holds_all_pods_that_name_it_by_label_or_annotation(cluster):
    cluster.create_pod("labelled", "train", labels={"volcano.sh/queue-name": "big"})
    cluster.create_pod("noted", annotations={"scheduling.volcano.sh/queue-name": "big"})
    cluster.create_pod("elsewhere", "train", labels={"volcano.sh/queue-name": "small"})

    assert names(cluster.vcctl("pod", "list", "-q", "big")[1]) == ["labelled", "noted"]


def test_a_job_and_its_queue_list_the_pods_of_the_job(cluster):
    cluster.create_job("train", queue="big")
    cluster.create_pod("one", "train")

    assert names(cluster.vcctl("pod", "list", "-q", "big", "-j", "train")[1]) == ["one"]


def test_a_job_without_a_queue_is_in_the_default_one(cluster):
    cluster.create_job("train")
    cluster.create_pod("one", "train")

    assert names(cluster.vcctl("pod", "list", "-q", "default", "-j", "train")[1]) == ["one"]


def test_a_job_of_another_queue_is_an_error(cluster):
    cluster.create_job("train", queue="big")

    assert cluster.vcctl("pod", "list", "-q", "small", "-j", "train") == (
        255,
        "Failed to list pod: the input vcjob train does not match the queue small\n",
    )


def test_a_job_that_is_not_there_is_an_error_if_its_queue_is_asked_for(cluster):
    expected = (255, 'Failed to list pod: jobs.batch.volcano.sh "none" not found\n')

    assert cluster.vcctl("pod", "list", "-q", "small", "-j", "none") == expected
    assert cluster.vcctl("pod", "list", "-q", "small", "-j", "none", "--all-namespaces") == expected


def test_of_jobs_with_one_name_in_all_namespaces_those_in_the_queue_count(cluster):
    cluster.create_job("train", queue="big")
    cluster.create_job("train", queue="small", namespace="kube-system")
    cluster.create_pod("one", "train")
    cluster.create_pod("two", "train", "kube-system")

    _, out = cluster.vcctl("pod", "list", "-q", "small", "-j", "train", "--all-namespaces")

    assert names(out) == ["kube-system"]


@pytest.mark.parametrize("arguments", [[], ["-j", "none"], ["-q", "none"], ["--all-namespaces"]])
def test_no_pods_are_told_so(cluster, arguments):
    assert cluster.vcctl("pod", "list", *arguments) == (0, "No resources found\n")
