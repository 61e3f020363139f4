"""The long form of a job, written out by hand as Volcano prints it."""

from datetime import UTC, datetime

import pytest

from vcray.cli.gotext import age
from vcray.cli.jobview import events_text, job_text

JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {
        "name": "train",
        "namespace": "ml",
        "labels": {"b": "2", "a": "<1>"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "generateName": "tr",
        "generation": 3,
        "resourceVersion": "42",
        "uid": "u-1",
    },
    "spec": {
        "minAvailable": 3,
        "schedulerName": "volcano",
        "plugins": {"env": [], "ssh": ["--no-root", "x"]},
        "tasks": [
            {
                "name": "worker",
                "replicas": 2,
                "template": {
                    "metadata": {"annotations": {"cri.cci.io/container-type": "secure"}},
                    "spec": {
                        "containers": [
                            {
                                "name": "main",
                                "image": "busybox",
                                "command": ["sh", "-c"],
                                "workingDir": "/data",
                                "ports": [{"containerPort": 2222, "name": "ssh"}],
                                "resources": {"requests": {"cpu": "1000m", "memory": "100Mi"}},
                            }
                        ],
                        "imagePullSecrets": [{"name": "pull"}],
                        "restartPolicy": "OnFailure",
                    },
                },
            }
        ],
    },
    "status": {
        "state": {"phase": "Running"},
        "running": 2,
        "minAvailable": 3,
        "version": 1,
        "controlledResources": {"plugin-ssh": "ssh", "plugin-env": "env"},
        "conditions": [{"status": "Pending", "lastTransitionTime": "2026-01-02T03:04:06Z"}],
    },
}

TEXT = """\
Name:       \ttrain
Namespace:  \tml
Labels:     \t{"a":"\\u003c1\\u003e","b":"2"}
Annotations:\t<none>
API Version:\t
Kind:       \t
Metadata:
  Creation Timestamp:\t2026-01-02 03:04:05 +0000 UTC
  Generate Name:     \ttr
  Generation:        \t3
  Resource Version:  \t42
  UID:               \tu-1
Spec:
  Min Available:     \t3
  Plugins:
    Env:\t[]
    Ssh:\t[--no-root x]
  Scheduler Name:    \tvolcano
  Tasks:
    Name:\tworker
    Replicas:\t2
    Template:
      Metadata:
        Annotations:
          Cri . Cci . Io / Container - Type:          \tsecure
          Kubernetes . Io / Availablezone:            \t
          Network . Alpha . Kubernetes . Io / Network:\t
        Creation Timestamp:\t0001-01-01 00:00:00 +0000 UTC
      Spec:
        Containers:
          Command:
            sh
            -c
          Image:\tbusybox
          Name: \tmain
          Ports:
            Container Port:\t2222
            Name:          \tssh
          Resources:
            Limits:
              Cpu:   \t0
              Memory:\t0
            Requests:
              Cpu:   \t1
              Memory:\t100Mi
            Working Dir:\t/data
        Image Pull Secrets:
          Name:     \tpull
        Restart Policy:   \tOnFailure
Status:
  Running:      \t2
  Min Available:\t3
  Version:      \t1
  State:
    Phase:\tRunning
  Controlled Resources:
    plugin-env: \tenv
    plugin-ssh: \tssh
  Conditions:
    Status\tTransitionTime
    Pending \t2026-01-02 03:04:06 +0000 UTC\x20
"""


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_the_layout_of_a_whole_job_is_volcanos():
    assert job_text(JOB) == TEXT


def test_counts_of_zero_and_absent_parts_are_not_shown():
    text = job_text({"metadata": {"name": "x"}, "spec": {}, "status": {}})

    assert text.endswith("  Tasks:\nStatus:\n  State:\n    Phase:\t\n")


def test_events_have_padded_columns_with_tabs_between():
    events = [
        {
            "type": "Warning",
            "reason": "Unschedulable",
            "count": 4,
            "firstTimestamp": "2026-01-02T03:00:00Z",
            "lastTimestamp": "2026-01-02T03:09:00Z",
            "source": {"component": "volcano", "host": "n1"},
            "message": " no room\n",
        },
        {"type": "Normal", "reason": "Started", "source": {"component": "kubelet"}, "message": "up"},
    ]

    text = events_text(events, datetime(2026, 1, 2, 3, 10, tzinfo=UTC))

    assert text.splitlines() == [
        "Events:",
        "\t".join(["Type".ljust(15), "Reason".ljust(40), "Age".ljust(30), "Form".ljust(40), "Message"]),
        "\t".join(
            ["-------".ljust(15), "-------".ljust(40), "-------".ljust(30), "-------".ljust(40), "-------"]
        ),
        "\t".join(
            [
                "Warning".ljust(15),
                "Unschedulable".ljust(40),
                "60s (x4 over 10m)".ljust(30),
                "volcano, n1".ljust(40),
                "no room",
            ]
        ),
        "\t".join(
            ["Normal".ljust(15), "Started".ljust(40), "<unknown>".ljust(30), "kubelet".ljust(40), "up"]
        ),
    ]


def test_no_events_are_told_in_one_line():
    assert events_text([]) == "Events: \t<none>\n"


def test_an_age_without_a_time_is_unknown():
    assert age("") == "<unknown>"
