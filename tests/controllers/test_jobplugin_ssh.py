"""The ssh plugin: keys that are made once, who sees them, and a configuration that knows every host."""

from __future__ import annotations

import base64

import pytest

from tests.controllers.dressing import a_role, container, made, spec_of
from tests.controllers.world import World
from vcray.api.meta import JsonObject
from vcray.api.resources import COMMANDS, JOBS, PODS, SECRETS
from vcray.controllers import raw
from vcray.controllers.base import Create, MakeKeys, Patch
from vcray.controllers.job.controller import JobController

HEAD = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"


def hosts(*pairs: tuple[str, str], port: int = 22) -> str:
    return HEAD + "".join(f"Host {name}\n  HostName {address}\n  Port {port}\n" for name, address in pairs)


def secret(w: World) -> JsonObject:
    return w.get(SECRETS, "ns", "j-ssh") or {}


def files(w: World) -> dict[str, str]:
    data = raw.table(secret(w), "data")
    return {key: base64.b64decode(str(value)).decode() for key, value in data.items()}


def restarting(event: str, action: str) -> World:
    """A running job of two tasks that restarts on an event."""
    w = World([JobController()])
    policies = [{"event": event, "action": action}]
    w.running(plugins={"ssh": []}, tasks=[a_role("a", 1), a_role("b", 1)], policies=policies)
    return w


def test_secret_holds_keys_and_the_hosts_of_all_tasks():
    w = made({"ssh": []}, a_role("master"), a_role("worker", 2))

    assert files(w) == {
        "id_rsa": "private 1",
        "id_rsa.pub": "public 1\n",
        "authorized_keys": "public 1\n",
        "config": hosts(
            ("j-master-0", "j-master-0.j"), ("j-worker-0", "j-worker-0.j"), ("j-worker-1", "j-worker-1.j")
        ),
    }
    assert raw.controlled_by(secret(w), raw.uid(w.job()))
    assert w.status()["controlledResources"] == {"plugin-ssh": "ssh"}


def test_all_containers_mount_it_as_roots_folder():
    w = made({"ssh": []}, a_role("t", 1, container(), container("side"), initContainers=[container("init")]))

    mount = {"name": "j-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}
    assert spec_of(w, "j-t-0") == {
        "containers": [container(volumeMounts=[mount]), container("side", volumeMounts=[mount])],
        "initContainers": [container("init", volumeMounts=[mount])],
        "volumes": [
            {
                "name": "j-ssh",
                "secret": {
                    "secretName": "j-ssh",
                    "items": [
                        {"key": "id_rsa", "path": ".ssh/id_rsa"},
                        {"key": "id_rsa.pub", "path": ".ssh/id_rsa.pub"},
                        {"key": "authorized_keys", "path": ".ssh/authorized_keys"},
                        {"key": "config", "path": ".ssh/config"},
                    ],
                    "defaultMode": 0o600,
                },
            }
        ],
        "schedulerName": "volcano",
    }


def test_elsewhere_the_files_are_readable_by_all():
    w = made({"ssh": ["--ssh-key-file-path=/home/me/.ssh"]}, a_role("t"))

    spec = spec_of(w, "j-t-0")
    assert raw.tables(spec, "volumes")[0]["secret"]["defaultMode"] == 0o644
    assert raw.tables(spec, "containers")[0]["volumeMounts"] == [
        {"name": "j-ssh", "mountPath": "/home/me/.ssh", "subPath": ".ssh"}
    ]


def test_keys_of_the_user_are_taken_as_they_are():
    w = made({"ssh": ["--ssh-private-key=mine", "--ssh-public-key", "ours"]}, a_role("t"))

    assert files(w) == {
        "id_rsa": "mine",
        "id_rsa.pub": "ours",
        "authorized_keys": "ours",
        "config": hosts(("j-t-0", "j-t-0.j")),
    }
    assert w.did(MakeKeys) == []


def test_private_key_of_the_user_alone_leaves_the_public_files_empty():
    w = made({"ssh": ["--ssh-private-key=mine"]}, a_role("t"))

    assert [files(w)[name] for name in ("id_rsa", "id_rsa.pub", "authorized_keys")] == ["mine", "", ""]


def test_public_key_of_the_user_alone_counts_for_nothing():
    w = made({"ssh": ["--ssh-public-key=ours"]}, a_role("t"))

    assert files(w)["authorized_keys"] == "public 1\n"


@pytest.mark.parametrize(
    ("arguments", "port"),
    [
        (["--ssh-port=2222"], 2222),
        (["--ssh-port=65535"], 65535),
        (["--ssh-port=65536"], 22),
        (["--ssh-port=0"], 22),
        (["--ssh-port=-1"], 22),
        (["--ssh-port=many"], 22),
        (["--no-root", "--ssh-port=2222"], 22),
    ],
)
def test_port_that_is_none_is_22(arguments, port):
    w = made({"ssh": arguments}, a_role("t"))

    assert files(w)["config"] == hosts(("j-t-0", "j-t-0.j"), port=port)


def test_fixed_host_name_is_listed_once():
    w = made({"ssh": []}, a_role("t", 3, hostname="h", subdomain="s"))

    assert files(w)["config"] == hosts(("h", "h.s"))


def test_scaling_up_does_not_rewrite_the_secret():
    w = made({"ssh": []}, a_role("t"))
    w.pod_phase("Running")
    before = secret(w)

    w.change_tasks(t=2)

    assert w.pods() == ["j-t-0", "j-t-1"]
    assert secret(w) == before


@pytest.mark.parametrize("action", ["RestartJob", "RestartTask", "RestartPod"])
def test_keys_outlive_a_restart(action):
    w = restarting("PodFailed", action)
    before = secret(w)

    w.pod_phase("Failed", "j-a-0", code=1)
    w.admit()
    w.pod_phase("Running")

    assert (w.phase(), w.status()["retryCount"], w.pods()) == ("Running", 1, ["j-a-0", "j-b-0"])
    assert secret(w) == before
    assert len(w.did(MakeKeys)) == 1
    assert w.status()["controlledResources"] == {"plugin-ssh": "ssh"}


def test_restart_brings_the_hosts_up_to_date_and_keeps_the_keys():
    w = restarting("PodFailed", "RestartJob")
    w.change_tasks(b=2)
    before = files(w)

    w.pod_phase("Failed", "j-a-0", code=1)

    assert files(w) == {
        **before,
        "config": hosts(("j-a-0", "j-a-0.j"), ("j-b-0", "j-b-0.j"), ("j-b-1", "j-b-1.j")),
    }
    assert len(w.did(Patch, SECRETS)) == 1


def test_restart_makes_a_secret_that_is_missing():
    w = restarting("PodFailed", "RestartJob")
    w.remove(SECRETS, "ns", "j-ssh")

    w.pod_phase("Failed", "j-a-0", code=1)

    assert files(w)["id_rsa"] == "private 2"


def test_last_failed_restart_takes_the_secret_away():
    w = World([JobController()])
    policies = [{"event": "PodFailed", "action": "RestartJob"}]
    w.running(plugins={"ssh": []}, tasks=[a_role("t")], policies=policies, maxRetry=1)

    w.pod_phase("Failed", code=1)

    assert w.phase() == "Failed"
    assert secret(w) == {}
    assert "controlledResources" not in w.status()


def test_aborted_job_has_no_secret_and_gets_new_keys_when_it_is_resumed():
    w = restarting("PodFailed", "AbortJob")
    w.pod_phase("Failed", "j-a-0", code=1)
    aborted = (w.phase(), secret(w))

    target = {"kind": "Job", "name": "j", "apiVersion": "batch.volcano.sh/v1alpha1"}
    w.put(COMMANDS, {"metadata": {"name": "c", "namespace": "ns"}, "target": target, "action": "ResumeJob"})
    w.settle()

    assert aborted == ("Aborted", {})
    assert files(w)["id_rsa"] == "private 2"


def test_secret_goes_when_the_job_ends():
    w = made({"ssh": []}, a_role("t"))
    w.pod_phase("Running")

    w.pod_phase("Succeeded")

    assert w.phase() == "Completed"
    assert secret(w) == {}
    assert "controlledResources" not in w.status()


def test_turn_that_was_cut_short_takes_the_keys_it_finds():
    w = World([JobController()])
    job = w.submit(plugins={}, tasks=[a_role("t")])
    reference = raw.owner_reference("batch.volcano.sh/v1alpha1", "Job", job)
    config = base64.b64encode(hosts(("j-t-0", "j-t-0.j")).encode()).decode()
    metadata: JsonObject = {"name": "j-ssh", "namespace": "ns", "ownerReferences": [reference]}
    stored = w.put(SECRETS, {"metadata": metadata, "data": {"id_rsa": "eA==", "config": config}})

    w.change(JOBS, "ns", "j", spec__plugins={"ssh": []})
    w.settle()

    assert secret(w) == stored
    assert w.did(MakeKeys) == w.did(Create, SECRETS) == w.did(Patch, SECRETS) == []
    assert w.status()["controlledResources"] == {"plugin-ssh": "ssh"}


def test_secret_of_somebody_else_is_never_touched_and_the_job_waits_o_063():
    w = World([JobController()])
    foreign = w.put(SECRETS, {"metadata": {"name": "j-ssh", "namespace": "ns"}, "data": {"config": ""}})

    w.submit(plugins={"ssh": []}, tasks=[a_role("t")])
    w.advance(30)

    assert secret(w) == foreign
    assert (w.phase(), w.list(PODS), w.did(MakeKeys)) == ("Pending", [], [])
    assert any(reason == "PluginError" and "j-ssh" in message for reason, message in w.events)
