"""`vcctl jobflow ...` and `vcctl jobtemplate ...`: what they print and write, and files with many documents."""

import io
import json
import time

import pytest
import yaml

from vcray.api.resources import JOBFLOWS, JOBTEMPLATES
from vcray.cli.flow import flows_table
from vcray.cli.vcctl import execute
from vcray.errors import Problem, ServerError

KINDS = {"jobflow": JOBFLOWS, "jobtemplate": JOBTEMPLATES}
BOTH = pytest.mark.parametrize("group", KINDS)
TWO = """\
# The first has a namespace, the second none.
apiVersion: flow.volcano.sh/v1alpha1
kind: {kind}
metadata:
  name: one
  namespace: kube-system
---
apiVersion: flow.volcano.sh/v1alpha1
kind: {kind}
metadata: {{name: two}}
---
"""
FAULTY = """\
metadata: {name: first}
---
metadata: {name: bad
---
just words
---
kind: Job
metadata: {name: job}
---
kind: JobFlow
metadata: {name: first}
---
metadata: {name: last}
"""


def create(cluster, group, name, namespace="default", **status):
    resource = KINDS[group]
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
    made = cluster.ask("create", resource, namespace, body)
    if status:
        made = cluster.ask("patch", resource, namespace, name, {"status": status}, subresource="status")
    return made


def stored(cluster, group, namespace=None):
    found = cluster.ask("list", KINDS[group], namespace).items
    return [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found]


def file_of(tmp_path, text):
    file = tmp_path / "flows.yaml"
    file.write_text(text)
    return str(file)


@BOTH
def test_a_file_creates_each_document_in_its_namespace_or_the_default_one(cluster, group, tmp_path):
    kind = KINDS[group].kind
    file = file_of(tmp_path, TWO.format(kind=kind))

    assert cluster.vcctl(group, "create", "-f", file) == (
        0,
        f"Created {kind}: kube-system/one\nCreated {kind}: default/two\n",
    )
    assert stored(cluster, group) == [("default", "two"), ("kube-system", "one")]


@BOTH
def test_a_file_deletes_what_its_documents_name(cluster, group, tmp_path):
    kind = KINDS[group].kind
    create(cluster, group, "one", "kube-system")
    create(cluster, group, "two")
    create(cluster, group, "three")
    file = file_of(tmp_path, TWO.format(kind=kind))

    assert cluster.vcctl(group, "delete", "--file", file) == (
        0,
        f"Deleted {kind}: kube-system/one\nDeleted {kind}: default/two\n",
    )
    assert stored(cluster, group) == [("default", "three")]


def test_the_fault_of_one_document_is_told_and_the_others_are_created(cluster, tmp_path):
    file = file_of(tmp_path, FAULTY)

    code, out = cluster.vcctl("jobflow", "create", "-f", file)

    assert code == 0
    first, bad, words, job, again, last = out.splitlines()
    assert first == "Created JobFlow: default/first"
    assert bad.startswith(f"Failed to create JobFlow: VC0201 {file}:")
    assert words == f"Failed to create JobFlow: VC0202 {file}:4: an object is a map"
    assert job == f"Failed to create JobFlow: VC0202 {file}:6: kind is Job, but must be JobFlow"
    assert again == 'Failed to create JobFlow: jobflows.flow.volcano.sh "first" already exists'
    assert last == "Created JobFlow: default/last"


def test_the_fault_of_one_document_is_told_and_the_others_are_deleted(cluster, tmp_path):
    create(cluster, "jobflow", "first")
    create(cluster, "jobflow", "last")
    file = file_of(tmp_path, "metadata: {}\n---\n" + FAULTY)

    code, out = cluster.vcctl("jobflow", "delete", "-f", file)

    assert code == 0
    lines = out.splitlines()
    assert lines[0] == f"Failed to delete JobFlow: VC0202 {file}:1: metadata.name must be given"
    assert lines[1] == "Deleted JobFlow: default/first"
    assert lines[-2] == 'Failed to delete JobFlow: jobflows.flow.volcano.sh "first" not found'
    assert lines[-1] == "Deleted JobFlow: default/last"


@pytest.mark.parametrize("verb", ["create", "delete"])
def test_a_file_that_is_missing_or_empty_fails_the_command(cluster, tmp_path, verb):
    empty, missing = file_of(tmp_path, "---\n# nothing\n---\n"), tmp_path / "none.yaml"

    assert cluster.vcctl("jobflow", verb, "-f", empty) == (
        255,
        f"Failed to {verb} jobflow: VC0202 {empty}: the file holds no object\n",
    )
    assert cluster.vcctl("jobflow", verb, "-f", str(missing)) == (
        255,
        f"Failed to {verb} jobflow: VC0503 {missing}: cannot be read: No such file or directory\n",
    )


def test_a_server_that_is_gone_fails_the_command_at_the_first_document(tmp_path):
    class Gone:
        async def create(self, *_):
            raise ServerError(Problem("VC0401", "http://nowhere", "cannot connect"))

        async def close(self):
            pass

    async def connect():
        return Gone()

    out = io.StringIO()
    code = execute(["jobflow", "create", "-f", file_of(tmp_path, TWO.format(kind="JobFlow"))], connect, out)

    assert (code, out.getvalue()) == (
        255,
        "Failed to create jobflow: VC0401 http://nowhere: cannot connect\n",
    )


def test_hyphens_inside_a_value_do_not_divide_a_document(cluster, tmp_path):
    file = file_of(tmp_path, "metadata:\n  name: one\n  annotations: {rule: a---b}\n")

    assert cluster.vcctl("jobtemplate", "create", "-f", file) == (0, "Created JobTemplate: default/one\n")
    made = cluster.ask("get", JOBTEMPLATES, "default", "one")
    assert made["metadata"]["annotations"] == {"rule": "a---b"}


@BOTH
def test_delete_by_name(cluster, group):
    create(cluster, group, "one", "kube-system")

    kind = KINDS[group].kind
    assert cluster.vcctl(group, "delete", "-N", "one", "-n", "kube-system") == (
        0,
        f"Deleted {kind}: kube-system/one\n",
    )
    assert stored(cluster, group) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["jobflow", "create"], "create jobflow: VC0503 --file: must name the YAML file with the jobflow"),
        (
            ["jobtemplate", "create"],
            "create jobtemplate: VC0503 --file: must name the YAML file with the job template",
        ),
        (["jobflow", "delete"], "delete jobflow: jobflow name must be specified"),
        (["jobtemplate", "delete"], "delete jobtemplate: job template name must be specified"),
        (["jobflow", "get"], "get jobflow: name is mandatory to get the particular jobflow details"),
        (
            ["jobtemplate", "get"],
            "get jobtemplate: name is mandatory to get the particular job template details",
        ),
        (["jobflow", "get", "-N", "x"], 'get jobflow: jobflows.flow.volcano.sh "x" not found'),
        (["jobflow", "delete", "-N", "x"], 'delete jobflow: jobflows.flow.volcano.sh "x" not found'),
        (["jobflow", "describe", "-N", "x"], 'describe jobflow: jobflows.flow.volcano.sh "x" not found'),
        (["jobflow", "describe", "-o", "toml"], "describe jobflow: Unsupported format: toml"),
        (
            ["jobtemplate", "describe", "-N", "x"],
            'describe jobtemplate: jobtemplates.flow.volcano.sh "x" not found',
        ),
    ],
)
def test_a_failure_is_one_sentence_with_code_255(cluster, arguments, sentence):
    assert cluster.vcctl(*arguments) == (255, f"Failed to {sentence}\n")


def test_columns_are_four_wider_than_their_longest_cell():
    flow = {
        "metadata": {"name": "f", "namespace": "default", "creationTimestamp": "2023-11-14T22:13:20Z"},
        "status": {"state": {"phase": "Running"}},
    }
    titles = ("Name", "Namespace", "Phase", "Age")

    assert flows_table([flow, {"metadata": {"name": "longer"}}], titles, 1_700_000_185.0) == (
        "Name      Namespace    Phase      Age          \n"
        "f         default      Running    3m5s         \n"
        "longer                            <unknown>    \n"
    )


def test_jobflows_are_listed_with_phase_and_age(cluster, monkeypatch):
    create(cluster, "jobflow", "one", state={"phase": "Succeed"})
    create(cluster, "jobflow", "two", "kube-system")
    monkeypatch.setattr(time, "time", lambda: 1_700_000_185.0)

    head = "Name    Namespace    Phase      Age     \n"
    one = "one     default      Succeed    3m5s    \n"
    assert cluster.vcctl("jobflow", "list") == (0, head + one)
    assert cluster.vcctl("jobflow", "get", "-N", "one") == (0, head + one)
    assert cluster.vcctl("jobflow", "list", "--all-namespaces") == (
        0,
        "Name    Namespace      Phase      Age     \n"
        "one     default        Succeed    3m5s    \n"
        "two     kube-system               3m5s    \n",
    )


def test_jobtemplates_are_listed_by_name_and_namespace(cluster):
    create(cluster, "jobtemplate", "one")
    create(cluster, "jobtemplate", "two", "kube-system")

    head, one = "Name    Namespace    \n", "one     default      \n"
    assert cluster.vcctl("jobtemplate", "list") == (0, head + one)
    assert cluster.vcctl("jobtemplate", "get", "-N", "one") == (0, head + one)
    assert cluster.vcctl("jobtemplate", "list", "-n", "kube-system") == (
        0,
        "Name    Namespace      \ntwo     kube-system    \n",
    )


@BOTH
@pytest.mark.parametrize("verb", ["list", "describe"])
def test_an_empty_namespace_is_told_so(cluster, group, verb):
    create(cluster, group, "one", "kube-system")

    assert cluster.vcctl(group, verb) == (0, "No resources found\n")


def test_describe_prints_yaml_in_order_of_keys_without_managed_fields(cluster):
    create(cluster, "jobtemplate", "one")

    code, out = cluster.vcctl("jobtemplate", "describe", "-N", "one")

    made = cluster.ask("get", JOBTEMPLATES, "default", "one")
    made["metadata"].pop("managedFields", None)
    assert code == 0
    assert out.startswith("apiVersion: flow.volcano.sh/v1alpha1\nkind: JobTemplate\nmetadata:\n  creation")
    assert "managedFields" not in out
    assert yaml.safe_load(out) == made


@BOTH
def test_describe_without_a_name_prints_all_with_a_blank_line_between(cluster, group):
    create(cluster, group, "one")
    create(cluster, group, "two")

    _, out = cluster.vcctl(group, "describe")

    first, second = out.split("\n\n")
    assert [yaml.safe_load(each)["metadata"]["name"] for each in (first, second)] == ["one", "two"]


def test_describe_prints_json(cluster):
    create(cluster, "jobflow", "one")

    _, out = cluster.vcctl("jobflow", "describe", "-N", "one", "-o", "json")

    assert json.loads(out)["metadata"]["name"] == "one"
    assert out.startswith('{\n  "apiVersion": "flow.volcano.sh/v1alpha1",\n  "kind": "JobFlow",\n')
