"""`vcray up` and `vcray down`: a cluster that serves, says so, and leaves nothing behind however it ends."""

import os
import shutil
import signal
import socket
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from tests.cli.up_process import Up, descendants, eventually, listening, refused, running
from vcray.cli.runtime_folder import RuntimeFolder
from vcray.cli.up import control_plane_command
from vcray.cluster.objects.persistence import Database
from vcray.cluster.server.kept import administrator_token, certificate_authority, signing_key
from vcray.errors import InputError
from vcray.kube.certificates import new_authority

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.embedded,
    pytest.mark.timeout(400),
]

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs"
GANG = yaml.safe_load((Path(__file__).parents[2] / "examples/gang.yaml").read_text())


def map_of(name):
    return {"metadata": {"name": name}, "data": {"key": "value"}}


PLAIN = {
    "metadata": {"name": "plain"},
    "spec": {
        "containers": [{"name": "main", "image": "nginx"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}
"""A pod that names no scheduler, with a claim that names no class."""
CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def test_a_gang_and_a_plain_pod_run_and_sigterm_leaves_nothing_behind(tmp_path):
    out = tmp_path / "kubeconfig"
    with Up(tmp_path, "--runtime", "local", "--nodes", "2", "--kubeconfig-out", out) as up:
        assert out.read_bytes() == (up.runtime / "kubeconfig").read_bytes()
        assert out.stat().st_mode & 0o077 == 0
        assert len(up.ask("/api/v1/nodes")["items"]) == 2
        up.ask(JOBS, GANG)
        up.ask("/api/v1/namespaces/default/persistentvolumeclaims", CLAIM)
        pods = "/api/v1/namespaces/default/pods"
        up.ask(pods, PLAIN)
        eventually(
            lambda: [pod["status"]["phase"] for pod in up.ask(pods)["items"]] == ["Running"] * 4,
            "four running pods",
        )
        assert up.ask("/apis/storage.k8s.io/v1/storageclasses")["items"][0]["metadata"]["name"] == "standard"
        children = up.children()

        assert up.stop() == 0

    assert len(children) == 1
    assert not running(children[0])
    assert not listening(up.port)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["errors"]
    assert up.errors.read_text() == ""


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (None, "agent-scheduler,default-scheduler"),
        ("quick, default-scheduler", "quick,default-scheduler"),
        ("", "default-scheduler"),
    ],
)
def test_the_control_plane_takes_pods_that_name_no_scheduler(monkeypatch, given, names):
    monkeypatch.delenv("VCRAY_AGENT_SCHEDULER_NAMES", raising=False)
    if given is not None:
        monkeypatch.setenv("VCRAY_AGENT_SCHEDULER_NAMES", given)

    command = control_plane_command({})

    assert command[command.index("--agent-scheduler-names") + 1] == names
    assert "--agent-scheduler-names" not in control_plane_command({}, default_scheduler=False)


def test_pods_have_accounts_where_that_is_wanted(tmp_path):
    pods = "/api/v1/namespaces/default/pods"
    with Up(tmp_path, "--cluster-only", "--service-accounts") as up:
        eventually(lambda: up.ask("/api/v1/namespaces/default/serviceaccounts")["items"], "the account")
        pod = up.ask(
            pods, {"metadata": {"name": "plain"}, "spec": {"containers": PLAIN["spec"]["containers"]}}
        )

    assert pod["spec"]["serviceAccountName"] == "default"
    assert [each["name"][:16] for each in pod["spec"]["volumes"]] == ["kube-api-access-"]


@pytest.mark.ray
def test_on_ray_a_gang_runs_and_down_leaves_no_process_port_or_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", short := tempfile.mkdtemp(prefix="vcray-t-"))
    try:
        with Up(tmp_path, "--nodes", "1", "--layout", "small") as up:
            up.ask(JOBS, GANG)
            pods = "/api/v1/namespaces/default/pods"
            eventually(
                lambda: [pod["status"]["phase"] for pod in up.ask(pods)["items"]] == ["Running"] * 3,
                "three running pods",
                120,
            )
            family = descendants(up.process.pid)

            assert up.command("down").returncode == 0
            assert up.process.wait(60) == 0

        assert len(family) > 2
        assert [pid for pid in family if running(pid)] == []
        assert not listening(up.port)
        assert os.listdir(short) == []
        assert not (tmp_path / "vcray").exists()
    finally:
        shutil.rmtree(short, ignore_errors=True)


def test_down_stops_it_and_says_so_when_nothing_runs(tmp_path):
    with Up(tmp_path, "--cluster-only", "--nodes", "0", "--name", "one") as up:
        stopped = up.command("down", "--name", "one")
        again = up.command("down", "--name", "one")

        assert (stopped.returncode, stopped.stdout) == (0, "vcray: cluster 'one' is stopped\n")
        assert (again.returncode, again.stdout) == (0, "vcray: no cluster 'one' runs\n")
        assert up.process.wait(10) == 0
    assert not listening(up.port)
    assert not (tmp_path / "vcray").exists()


def test_ctrl_c_before_it_is_ready_leaves_nothing_behind(tmp_path):
    with Up(tmp_path, "--cluster-only", ready=False) as up:
        eventually((tmp_path / "vcray" / "default" / "state.json").exists, "its folder")

        assert up.stop(signal.SIGINT) == 0

    assert not (tmp_path / "vcray").exists()


def test_a_second_one_of_the_same_name_is_refused_and_the_first_goes_on(tmp_path):
    with Up(tmp_path, "--cluster-only") as up:
        second = up.command("up", "--port", "0", "--cluster-only")

        assert second.returncode == 2
        assert second.stderr == (
            f"VC0601 cluster 'default': runs already (process {up.process.pid}, https://127.0.0.1:{up.port}); "
            "stop it with `vcray down`, or start another one with --name\n"
        )
        assert up.ask("/version")["major"] == "1"


def test_a_port_that_is_taken_is_one_sentence(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        code, sentence = refused(tmp_path, "--port", port, "--cluster-only")

    assert code == 2
    assert sentence == (
        f"VC0602 --port {port}: Address already in use; stop what listens there, or let --port 0 pick a free one"
    )


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("vcray.db", b"SQLite format 3\0", "was cut off; restore a copy of it or remove the folder"),
        ("photo.jpg", b"", "is no data directory of vcray: it holds photo.jpg; name an empty folder"),
    ],
)
def test_a_data_directory_that_cannot_be_used_is_one_sentence(tmp_path, file, content, sentence):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / file).write_bytes(content)

    code, said = refused(tmp_path, "--data-dir", folder, "--cluster-only")

    assert code == 2
    assert said.startswith("VC0603 ")
    assert said.endswith(sentence)
    assert [each.name for each in folder.iterdir()] == [file]


@pytest.mark.parametrize("file", ["ca.crt", "ca.key", "accounts.key", "token"])
@pytest.mark.parametrize("left", [0, 10])
def test_a_key_of_a_data_directory_that_is_cut_off_is_one_sentence_and_stays_as_it_is(tmp_path, file, left):
    folder = tmp_path / "data"
    Database(folder).close()
    certificate_authority(folder)
    signing_key(folder)
    administrator_token(folder)
    cut = (folder / file).read_bytes()[:left]
    (folder / file).write_bytes(cut)

    code, said = refused(tmp_path, "--data-dir", folder, "--cluster-only")

    assert code == 2
    assert said == f"VC0603 {folder}/{file}: is broken or cut off; restore a copy of it or remove the folder"
    assert (folder / file).read_bytes() == cut


def test_an_authority_whose_key_is_gone_is_not_replaced_in_silence(tmp_path):
    folder = tmp_path / "data"
    certificate_authority(folder)
    (folder / "ca.key").unlink()

    with pytest.raises(InputError, match=r"VC0603 .*/ca.key: cannot be read: No such file or directory"):
        certificate_authority(folder)


def test_an_authority_that_has_ended_is_told(tmp_path):
    (tmp_path / "ca.crt").write_bytes((old := new_authority(lifetime=timedelta(seconds=-1))).certificate)
    (tmp_path / "ca.key").write_bytes(old.key)

    with pytest.raises(InputError, match=r"VC0603 .*/ca.crt: ended on .*; remove it and ca.key"):
        certificate_authority(tmp_path)


def test_a_kubeconfig_that_cannot_be_written_is_one_sentence(tmp_path):
    code, said = refused(tmp_path, "--kubeconfig-out", tmp_path / "none" / "config", "--cluster-only")

    assert code == 2
    assert said == (
        f"VC0503 --kubeconfig-out {tmp_path}/none/config: cannot be written: No such file or directory; "
        "name a file in a folder of yours"
    )


def test_a_configuration_that_cannot_be_used_is_told_in_the_control_planes_own_sentences(tmp_path):
    conf = tmp_path / "conf"
    conf.write_text("actions: alocate, backfil")

    code, said = refused(tmp_path, "--runtime", "local", "--scheduler-conf", conf)

    assert code == 2
    assert said.splitlines() == [
        "VC0105 actions[0]: unknown action 'alocate'; did you mean 'allocate'?",
        "VC0105 actions[1]: unknown action 'backfil'; did you mean 'backfill'?",
    ]


def test_a_ray_address_where_nobody_is_is_one_sentence(tmp_path):
    code, said = refused(tmp_path, "--runtime", "ray", "--ray-address", "127.0.0.1:1")

    assert code == 3
    assert said == (
        "VC0605 --ray-address 127.0.0.1:1: no Ray cluster answers there (Connection refused); "
        "start it with `ray start --head`, or leave the flag out"
    )


def test_an_amount_that_is_none_is_one_sentence(tmp_path):
    code, said = refused(tmp_path, "--node-memory", "much")

    assert code == 2
    assert said == "VC0502 --node-memory: must be an amount such as 8 or 16Gi, got 'much'"


def test_a_control_plane_that_dies_is_started_again_and_a_line_tells(tmp_path):
    with Up(tmp_path, "--runtime", "local", "--nodes", "1") as up:
        (first,) = up.children()
        os.kill(first, signal.SIGKILL)
        eventually(lambda: "runs again" in up.errors.read_text(), "a new control plane", 120)
        (second,) = up.children()
        up.ask(JOBS, GANG)

        assert second != first
        assert up.errors.read_text().splitlines() == [
            "vcray: the control plane was ended by signal 9; it starts again in 0.5 s",
            "vcray: the control plane runs again",
        ]
        assert up.stop() == 0


def test_a_data_directory_keeps_objects_token_and_certificate_over_kill_9(tmp_path):
    data = tmp_path / "data"
    with Up(tmp_path, "--cluster-only", "--nodes", "1", "--data-dir", data) as up:
        made = up.ask("/api/v1/namespaces/default/configmaps", map_of("kept"))
        before = up.kubeconfig()
        up.stop(signal.SIGKILL)

    with Up(tmp_path, "--cluster-only", "--nodes", "1", "--data-dir", data) as up:
        assert up.ask("/api/v1/namespaces/default/configmaps/kept") == made
        after = up.kubeconfig()
        assert after["users"] == before["users"]
        assert (
            after["clusters"][0]["cluster"]["certificate-authority-data"]
            == before["clusters"][0]["cluster"]["certificate-authority-data"]
        )
        assert up.stop() == 0
    assert not (tmp_path / "vcray").exists()


def test_a_data_directory_with_webhooks_of_a_killed_control_plane_comes_up_again(tmp_path):
    data = tmp_path / "data"
    with Up(tmp_path, "--runtime", "local", "--nodes", "1", "--data-dir", data) as up:
        up.ask(JOBS, GANG)
        up.stop(signal.SIGKILL)

    with Up(tmp_path, "--runtime", "local", "--nodes", "1", "--data-dir", data) as up:
        assert [job["metadata"]["name"] for job in up.ask(JOBS)["items"]] == [GANG["metadata"]["name"]]
        assert up.stop() == 0


def test_what_a_killed_one_left_is_swept_away_and_its_child_ends(tmp_path):
    with Up(tmp_path, "--runtime", "local", "--nodes", "0") as up:
        (child,) = up.children()
        up.stop(signal.SIGKILL)
        eventually(lambda: not running(child), "the end of its child")
        assert (up.runtime / "kubeconfig").exists()

        swept = up.command("down")

    assert swept.stdout == "vcray: no cluster 'default' runs\n"
    assert not (tmp_path / "vcray").exists()


def test_a_folder_that_others_may_write_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "vcray").mkdir()
    (tmp_path / "vcray").chmod(0o777)

    with pytest.raises(Exception, match=r"VC0503 .*others may write to it"):
        RuntimeFolder().acquire()


@pytest.mark.parametrize("name", ["", "Big", "a/b", "..", "x" * 33, "-a"])
def test_a_name_that_cannot_be_one_is_refused(name):
    with pytest.raises(Exception, match="VC0502 --name"):
        RuntimeFolder(name)
