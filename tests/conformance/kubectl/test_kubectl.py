"""kubectl v1.36 at both servers: what people type all day answers alike."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.conformance.harness.base import Server, wait_until

Run = Callable[..., subprocess.CompletedProcess[str]]

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
        },
    },
}
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"color": "blue"},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "lonely"},
    "spec": {"containers": [{"name": "main", "image": "busybox"}]},
}
JOB = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "minAvailable": 1,
        "tasks": [
            {
                "name": "worker",
                "replicas": 1,
                "template": {"spec": {"containers": [{"name": "main", "image": "busybox"}]}},
            }
        ],
    },
}


@pytest.fixture(autouse=True)
def _program(kubectl: Path) -> None:
    """These tests need the program itself."""


@pytest.fixture
def run(volcano_apiserver: Server, namespace: str) -> Run:
    """kubectl in a namespace of its own; a failure is the test's unless `fails` says otherwise."""

    def call(*words: str, document: object = None, fails: bool = False) -> subprocess.CompletedProcess[str]:
        stdin = None if document is None else json.dumps(document)
        done = volcano_apiserver.kubectl("--namespace", namespace, *words, stdin=stdin)
        assert (done.returncode != 0) == fails, f"{words}: {done.stdout}{done.stderr}"
        return done

    return call


def test_apply_creates_leaves_alone_and_configures(run: Run) -> None:
    first = run("apply", "-f", "-", document=DEPLOYMENT)
    second = run("apply", "-f", "-", document=DEPLOYMENT)
    changed = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 2}}
    third = run("apply", "-f", "-", document=changed)

    assert first.stdout == "deployment.apps/web created\n"
    assert second.stdout == "deployment.apps/web unchanged\n"
    assert third.stdout == "deployment.apps/web configured\n"
    assert first.stderr == second.stderr == third.stderr == ""


def test_apply_takes_a_field_away_that_the_manifest_no_longer_has(run: Run) -> None:
    run("apply", "-f", "-", document={**CONFIG_MAP, "data": {"color": "blue", "size": "small"}})

    run("apply", "-f", "-", document=CONFIG_MAP)

    assert json.loads(run("get", "cm", "settings", "-o", "json").stdout)["data"] == {"color": "blue"}


def test_server_side_apply_owns_fields_and_names_conflicts(run: Run) -> None:
    run("apply", "--server-side", "--field-manager=one", "-f", "-", document=DEPLOYMENT)
    changed = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicas": 2}}

    refused = run("apply", "--server-side", "--field-manager=two", "-f", "-", document=changed, fails=True)
    forced = run(
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=two",
        "-f",
        "-",
        document=changed,
    )

    assert "error: Apply failed with 1 conflict: conflict with" in refused.stderr
    assert '"one"' in refused.stderr
    assert ".spec.replicas" in refused.stderr
    assert forced.stdout == "deployment.apps/web serverside-applied\n"


def test_get_prints_tables_wide_and_narrow(run: Run) -> None:
    run("create", "-f", "-", document=POD)

    narrow = run("get", "pods").stdout.splitlines()
    wide = run("get", "pods", "-o", "wide").stdout.splitlines()

    assert narrow[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert narrow[1].split()[:4] == ["lonely", "0/1", "Pending", "0"]
    assert wide[0].split() == [*narrow[0].split(), "IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES"]
    assert wide[1].split()[5:] == ["<none>"] * 4


def test_get_prints_yaml_and_paths(run: Run) -> None:
    run("create", "-f", "-", document=CONFIG_MAP)

    whole = yaml.safe_load(run("get", "cm", "settings", "-o", "yaml").stdout)
    part = run("get", "cm", "settings", "-o", "jsonpath={.data.color}").stdout
    name = run("get", "cm", "settings", "-o", "name").stdout

    assert whole["data"] == {"color": "blue"}
    assert "managedFields" not in whole["metadata"]
    assert part == "blue"
    assert name == "configmap/settings\n"


def test_get_of_nothing_says_so(run: Run, namespace: str) -> None:
    nothing = run("get", "pods")
    missing = run("get", "pod", "absent", fails=True)

    assert nothing.stderr == f"No resources found in {namespace} namespace.\n"
    assert missing.stderr == 'Error from server (NotFound): pods "absent" not found\n'


def test_get_watches(run: Run, volcano_apiserver: Server, namespace: str) -> None:
    run("create", "-f", "-", document=CONFIG_MAP)
    command = [volcano_apiserver.programs / "kubectl", "--kubeconfig", volcano_apiserver.kubeconfig]
    command += ["-n", namespace, "get", "cm", "settings", "-w", "-o", "jsonpath={.data.color}{'\\n'}"]

    with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        first = watching.stdout.readline()
        run("patch", "cm", "settings", "--type=merge", "-p", '{"data": {"color": "red"}}')
        second = watching.stdout.readline()
        watching.kill()

    assert (first, second) == ("blue\n", "red\n")


def test_describe_tells_a_pod_and_its_events(run: Run, namespace: str) -> None:
    run("create", "-f", "-", document=POD)
    uid = run("get", "pod", "lonely", "-o", "jsonpath={.metadata.uid}").stdout
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "lonely.1"},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "lonely", "uid": uid},
        "reason": "Waiting",
        "message": "no node is free",
        "type": "Warning",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }
    run("create", "-f", "-", document=event)

    told = run("describe", "pod", "lonely").stdout

    words = " ".join(told.split())
    assert words.startswith(f"Name: lonely Namespace: {namespace} Priority: 0 Node: <none>")
    assert "Status: Pending" in words
    assert "no node is free" in told


def test_describe_tells_a_volcano_job(run: Run) -> None:
    run("create", "-f", "-", document=JOB)

    told = run("describe", "vcjob", "train").stdout

    assert "Kind:         Job" in told
    assert "Min Available:  1" in told


def test_events_lists_events(run: Run, namespace: str) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "some.1"},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "some"},
        "reason": "Waiting",
        "message": "no node is free",
        "type": "Warning",
    }
    run("create", "-f", "-", document=event)

    listed = run("events").stdout

    assert "Waiting" in listed
    assert "pod/some" in listed.lower()


def test_delete_ends_an_object_and_waits_for_it(run: Run) -> None:
    run("create", "-f", "-", document=CONFIG_MAP)

    gone = run("delete", "cm", "settings")

    assert gone.stdout.startswith('configmap "settings" deleted')
    run("get", "cm", "settings", fails=True)


def test_delete_all_of_a_label(run: Run) -> None:
    for name in ("one", "two"):
        run(
            "create",
            "-f",
            "-",
            document={**CONFIG_MAP, "metadata": {"name": name, "labels": {"kind": "old"}}},
        )

    gone = run("delete", "cm", "-l", "kind=old")

    assert len(gone.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("how", "patch"),
    [
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:2"}]}}}}'),
        ("merge", '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:2"}]}}}}'),
        ("json", '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"nginx:2"}]'),
    ],
)
def test_patch_changes_an_image(run: Run, how: str, patch: str) -> None:
    run("create", "-f", "-", document=DEPLOYMENT)

    patched = run("patch", "deployment", "web", f"--type={how}", "-p", patch)

    image = run("get", "deploy", "web", "-o", "jsonpath={.spec.template.spec.containers[*].image}").stdout
    assert patched.stdout == "deployment.apps/web patched\n"
    assert image == "nginx:2"


def test_label_and_annotate(run: Run) -> None:
    run("create", "-f", "-", document=CONFIG_MAP)

    labelled = run("label", "cm", "settings", "team=ml")
    annotated = run("annotate", "cm", "settings", "note=hello")
    again = run("label", "cm", "settings", "team=web", fails=True)
    listed = run("get", "cm", "-l", "team=ml", "-o", "name").stdout

    assert labelled.stdout == "configmap/settings labeled\n"
    assert annotated.stdout == "configmap/settings annotated\n"
    assert "already has a value (ml)" in again.stderr
    assert listed == "configmap/settings\n"


def test_scale_sets_replicas(run: Run) -> None:
    run("create", "-f", "-", document=DEPLOYMENT)

    scaled = run("scale", "deployment", "web", "--replicas=5")
    refused = run("scale", "deployment", "web", "--current-replicas=3", "--replicas=4", fails=True)

    assert scaled.stdout == "deployment.apps/web scaled\n"
    assert run("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}").stdout == "5"
    assert "Expected replicas to be 3, was 5" in refused.stderr


def test_edit_by_script(run: Run, volcano_apiserver: Server, namespace: str, tmp_path: Path) -> None:
    run("create", "-f", "-", document=CONFIG_MAP)
    editor = tmp_path / "editor.sh"
    editor.write_text("#!/bin/sh\nsed -i 's/color: blue/color: green/' \"$1\"\n")
    editor.chmod(0o755)
    command = [volcano_apiserver.programs / "kubectl", "--kubeconfig", volcano_apiserver.kubeconfig]
    command += ["-n", namespace, "edit", "cm", "settings"]

    edited = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, "EDITOR": str(editor), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert edited.stdout == "configmap/settings edited\n", edited.stderr
    assert run("get", "cm", "settings", "-o", "jsonpath={.data.color}").stdout == "green"


def test_explain_tells_a_volcano_job(run: Run) -> None:
    told = run("explain", "vcjob").stdout
    deeper = run("explain", "vcjob.spec.tasks.replicas").stdout
    built_in = run("explain", "deployment.spec.replicas").stdout

    assert told.startswith("GROUP:      batch.volcano.sh\nKIND:       Job\nVERSION:    v1alpha1\n")
    assert "spec\t<Object>" in told
    assert "FIELD: replicas <integer>" in deeper
    assert "FIELD: replicas <integer>" in built_in


def test_api_resources_and_versions(run: Run) -> None:
    resources = run("api-resources").stdout.splitlines()
    short = run("api-resources", "--api-group=batch.volcano.sh", "--no-headers").stdout
    versions = run("api-versions").stdout.split()

    assert resources[0].split() == ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
    assert ["pods", "po", "v1", "true", "Pod"] in [line.split() for line in resources]
    assert "vcjob,vj" in short
    assert {"v1", "apps/v1", "batch/v1", "batch.volcano.sh/v1alpha1", "apiextensions.k8s.io/v1"} <= set(
        versions
    )


def test_wait_for_a_condition_a_path_and_an_end(run: Run) -> None:
    run("create", "-f", "-", document=CONFIG_MAP)

    met = run("wait", "--for=condition=Established", "crd/queues.scheduling.volcano.sh", "--timeout=10s")
    path = run("wait", "--for=jsonpath={.data.color}=blue", "cm/settings", "--timeout=10s")
    late = run("wait", "--for=delete", "cm/settings", "--timeout=1s", fails=True)
    run("delete", "cm", "settings")
    gone = run("wait", "--for=delete", "cm/settings", "--timeout=10s")

    assert (
        met.stdout
        == "customresourcedefinition.apiextensions.k8s.io/queues.scheduling.volcano.sh condition met\n"
    )
    assert path.stdout == "configmap/settings condition met\n"
    assert "timed out waiting for the condition" in late.stderr
    assert gone.returncode == 0


def test_a_dry_run_on_the_server_checks_and_keeps_nothing(run: Run) -> None:
    dry = run("create", "--dry-run=server", "-f", "-", document=CONFIG_MAP)
    wrong = run(
        "create",
        "--dry-run=server",
        "-f",
        "-",
        document={**JOB, "spec": {**JOB["spec"], "minAvailable": "many"}},
        fails=True,
    )

    assert dry.stdout == "configmap/settings created (server dry run)\n"
    assert "spec.minAvailable" in wrong.stderr
    run("get", "cm", "settings", fails=True)


def test_diff_shows_what_an_apply_would_change(run: Run) -> None:
    run("apply", "-f", "-", document=CONFIG_MAP)

    same = run("diff", "-f", "-", document=CONFIG_MAP)
    other = run("diff", "-f", "-", document={**CONFIG_MAP, "data": {"color": "red"}}, fails=True)

    assert same.stdout == ""
    assert other.returncode == 1, other.stderr
    assert "-  color: blue\n+  color: red\n" in other.stdout


def test_whoami_names_the_user(run: Run) -> None:
    me = json.loads(run("auth", "whoami", "-o", "json").stdout)["status"]["userInfo"]

    assert me["username"] == "admin"
    assert "system:masters" in me["groups"]


def test_may_i_do_this(run: Run) -> None:
    assert run("auth", "can-i", "create", "pods").stdout == "yes\n"


def test_an_unknown_field_is_refused_by_name(run: Run) -> None:
    wrong = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replica": 2}}

    refused = run("apply", "-f", "-", document=wrong, fails=True)

    assert 'strict decoding error: unknown field "spec.replica"' in refused.stderr


def test_replace_and_rollout_history(run: Run) -> None:
    run("create", "-f", "-", document=CONFIG_MAP)

    replaced = run("replace", "-f", "-", document={**CONFIG_MAP, "data": {"color": "red"}})

    assert replaced.stdout == "configmap/settings replaced\n"


def test_generators_create_what_they_name(run: Run) -> None:
    run("create", "configmap", "made", "--from-literal=a=b")
    run("create", "secret", "generic", "hidden", "--from-literal=password=x")
    run("create", "serviceaccount", "robot")
    run("create", "quota", "small", "--hard=pods=2")
    run("run", "runner", "--image=nginx")
    run("create", "deployment", "site", "--image=nginx")
    run("expose", "deployment", "site", "--port=80")
    run("create", "job", "once", "--image=busybox")
    run("create", "cronjob", "daily", "--image=busybox", "--schedule=0 0 * * *")
    run("create", "role", "reader", "--verb=get", "--resource=pods")
    run("create", "rolebinding", "readers", "--role=reader", "--serviceaccount=default:robot")

    listed = run("get", "cm,secret,sa,quota,pod,deploy,svc,job,cronjob,role,rolebinding", "-o", "name").stdout

    assert {
        "configmap/made",
        "secret/hidden",
        "serviceaccount/robot",
        "resourcequota/small",
        "pod/runner",
        "deployment.apps/site",
        "service/site",
        "job.batch/once",
        "cronjob.batch/daily",
        "role.rbac.authorization.k8s.io/reader",
        "rolebinding.rbac.authorization.k8s.io/readers",
    } <= set(listed.split())


def test_rollout_status_and_restart_reach_the_server(run: Run) -> None:
    run("create", "deployment", "site", "--image=nginx")

    restarted = run("rollout", "restart", "deployment/site")

    assert restarted.stdout == "deployment.apps/site restarted\n"
    note = "jsonpath={.spec.template.metadata.annotations.kubectl\\.kubernetes\\.io/restartedAt}"
    wait_until(lambda: bool(run("get", "deploy", "site", "-o", note).stdout), "the restart's mark")
