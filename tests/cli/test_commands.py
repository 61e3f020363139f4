"""check, sim, crds, bench and version: output, forms and exit codes."""

import io
import json

import pytest
import yaml

from tests.cli.cluster_server import write_kubeconfig
from vcray.api.crds import MODELS
from vcray.cli.check import examined
from vcray.cli.main import execute
from vcray.cli.output import plain_table, print_table

GOOD = """\
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: gang
    enablePreemptable: false
  - name: binpack
    arguments: {binpack.weight: 5}
  - name: predicates
"""
HOLDS = """\
name: one_pod_is_bound
given:
  nodes: {n1: 4c/8Gi}
  groups: {g: 1}
  pods: {p: {size: 1c, group: g}}
expect:
  bound: {g: 1}
"""


@pytest.fixture
def vcray(capsys):
    """Run vcray here: exit code, standard output, standard error."""

    def call(*arguments):
        code = execute(list(map(str, arguments)))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def conf(tmp_path):
    """Write a scheduler configuration and return its path."""

    def write(text):
        file = tmp_path / "volcano-scheduler.conf"
        file.write_text(text)
        return file

    return write


def test_a_good_configuration_has_no_problems(vcray, conf):
    file = conf(GOOD)

    assert vcray("check", file) == (0, f"{file}: no problems found\n", "")


def test_verbose_check_prints_what_was_read(vcray, conf):
    code, out, _ = vcray("check", "-v", conf(GOOD))

    assert code == 0
    assert out.splitlines()[:4] == [
        "actions: enqueue, allocate",
        "TIER   PLUGIN       SETTINGS",
        "0      gang         enablePreemptable: false",
        "0      binpack      binpack.weight: 5",
    ]


def test_check_tells_every_problem_on_a_line_of_its_own(vcray, conf):
    text = GOOD.replace("name: gang", "name: gagn").replace(
        "binpack.weight: 5", "binpack.wieght: 5, binpack.cpu: x"
    )

    code, out, err = vcray("check", conf(text))

    assert (code, err) == (1, "")
    assert [line.split()[0] for line in out.splitlines()] == ["VC0107", "VC0108", "VC0108"]
    assert "did you mean 'gang'?" in out
    assert "did you mean 'binpack.weight'?" in out


def test_check_tells_an_unknown_plugin_beside_an_unknown_action(vcray, conf):
    text = GOOD.replace("name: gang", "name: gagn").replace("allocate", "alocate")

    code, out, _ = vcray("check", conf(text))

    assert code == 1
    assert [line.split()[0] for line in out.splitlines()] == ["VC0105", "VC0107"]


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_check_answers_as_data(vcray, conf, form, read):
    code, out, _ = vcray("check", "-o", form, conf(GOOD.replace("name: gang", "name: gagn")))

    found = read(out)
    assert code == 1
    assert found["valid"] is False
    assert found["problems"] == [
        {
            "code": "VC0107",
            "where": "tiers[0].plugins[0]",
            "what": "unknown plugin 'gagn'; did you mean 'gang'?",
            "line": 4,
        }
    ]
    assert found["actions"] == ["enqueue", "allocate"]


def test_warnings_are_told_and_fail_only_a_strict_check(vcray, conf):
    file = conf(GOOD.replace("predicates", "capacity"))

    code, out, err = vcray("check", file)
    strict, told, _ = vcray("check", "--strict", "-o", "json", file)
    _, table, _ = vcray("check", "-o", "table", file)

    assert (code, strict, err) == (0, 1, "")
    assert out.splitlines()[0].startswith("warning VC0115 actions[1]: allocate looks at no selector")
    assert out.endswith(": no problems found, 1 warning\n")
    assert [each["line"] for each in json.loads(told)["warnings"]] == [1]
    assert table.splitlines()[1].split()[:4] == ["warning", "VC0115", "1", "actions[1]"]


def test_the_manifest_of_a_configmap_stands_for_the_configuration_in_it(vcray, conf):
    data = {"volcano-scheduler.conf": GOOD.replace("name: gang", "name: gagn")}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}

    code, out, _ = vcray("check", conf(yaml.safe_dump(manifest)))
    empty, _, err = vcray("check", conf(yaml.safe_dump({**manifest, "data": {}})))

    assert (code, out) == (1, "VC0107 tiers[0].plugins[0]: unknown plugin 'gagn'; did you mean 'gang'?\n")
    assert empty == 2
    assert err.endswith("cannot be read: the ConfigMap has no key volcano-scheduler.conf\n")


def test_check_wants_something_to_look_at(vcray):
    code, _, err = vcray("check")

    assert code == 2
    assert "name a volcano-scheduler.conf, or a plugin with --plugin" in err


@pytest.mark.parametrize("text", ["", "actions: [a", "actions: 3\n", "- 1\n"])
def test_a_configuration_that_would_be_refused_fails_the_check(vcray, conf, text):
    code, out, err = vcray("check", conf(text))

    assert (code, err) == (1, "")
    assert out.startswith("VC01")


def test_a_scenario_that_holds_exits_0_with_a_table(vcray, tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(HOLDS)

    code, out, err = vcray("sim", "--repeat", "2", "-v", file)

    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["SCENARIO", "RUNS", "CYCLES", "RESULT"]
    assert lines[1][:2] == ["one_pod_is_bound", "2"]
    assert lines[1][-1] == "holds"
    assert [line[:2] for line in lines[2:]] == [["order", "0"], ["order", "1"]]


def test_a_scenario_that_does_not_hold_exits_1_and_says_where(vcray, tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(HOLDS.replace("bound: {g: 1}", "bound: {g: 2}"))

    code, out, err = vcray("sim", file)

    assert code == 1
    assert out.splitlines()[1].endswith("fails")
    assert err.startswith(f"VC0304 {file}: one_pod_is_bound, order 0: expect.bound.g: expected 2, found 1")


def test_one_scenario_that_fails_does_not_keep_the_others_from_running(vcray, tmp_path):
    (tmp_path / "a.yaml").write_text(HOLDS.replace("bound: {g: 1}", "bound: {g: 2}"))
    (tmp_path / "b.yaml").write_text(HOLDS)

    code, out, _ = vcray("sim", "-o", "json", tmp_path)

    found = json.loads(out)
    assert code == 1
    assert [(each["ok"], len(each["runs"])) for each in found] == [(False, 1), (True, 1)]
    assert found[0]["runs"][0]["failures"][0].startswith("expect.bound.g: expected 2, found 1")


def test_a_folder_without_scenarios_is_one_sentence(vcray, tmp_path):
    assert vcray("sim", tmp_path) == (2, "", f"VC0503 {tmp_path}: the folder holds no .yaml file\n")


def test_scenarios_run_one_after_the_other_on_the_embedded_server(vcray, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(HOLDS)

    code, out, err = vcray("sim", "--backend", "embedded", "-o", "json", tmp_path)

    assert (code, err) == (0, "")
    assert [(each["ok"], len(each["runs"])) for each in json.loads(out)] == [(True, 1), (True, 1)]


def test_a_server_of_scenarios_that_is_away_is_one_sentence(vcray, tmp_path):
    file = tmp_path / "s.yaml"
    file.write_text(HOLDS)
    kubeconfig = write_kubeconfig(tmp_path, 1)

    code, _, err = vcray("sim", "--backend", "kubeconfig", "--kubeconfig", kubeconfig, file)

    assert code == 1
    assert err.startswith(f"VC0401 {file}: one_pod_is_bound, order 0: start: ")
    assert err.count("\n") == 1


def test_crds_are_printed_as_one_stream_of_documents(vcray):
    code, out, _ = vcray("crds")

    documents = list(yaml.load_all(out, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    assert code == 0
    assert {each["kind"] for each in documents} == {"CustomResourceDefinition"}
    assert {each["spec"]["names"]["kind"] for each in documents} == {model.resource.kind for model in MODELS}


def test_crds_are_written_one_file_each(vcray, tmp_path):
    code, out, _ = vcray("crds", "--write", tmp_path / "crds")

    assert code == 0
    assert sorted(map(str, (tmp_path / "crds").iterdir())) == sorted(out.splitlines())
    assert len(out.splitlines()) == len(MODELS)


def test_crds_that_cannot_be_written_are_one_sentence(vcray, tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("")

    code, _, err = vcray("crds", "--write", blocker / "below")

    assert code == 2
    assert err == f"VC0503 {blocker / 'below'}: cannot be written: Not a directory\n"


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_the_last_line_of_a_benchmark_is_one_json_object(vcray, flags):
    code, out, _ = vcray(
        "bench", "allocate", "--nodes", 20, "--pods", 40, "--gang", 16, "--shapes", 3, *flags
    )

    lines = out.splitlines()
    figures = json.loads(lines[-1])
    assert code == 0
    assert {"pods_per_s", "gang_p50_us", "gang_p99_us", "cpu_us_per_pod", "peak_rss_mib"} <= set(figures)
    assert figures["placed"] == 40
    assert (len(lines) == 1) == bool(flags)


def test_version_names_vcray_and_python(vcray):
    code, out, _ = vcray("version")

    assert code == 0
    assert out.startswith("vcray 0.")
    assert "(Python 3." in out


def test_help_of_the_program_lists_commands_without_importing_them(vcray):
    code, out, _ = vcray("--help")

    assert code == 0
    assert "  sim         Run scenario files and tell whether their expectations hold.\n" in out


@pytest.mark.parametrize(
    "arguments", [["fly"], ["check"], ["sim", "--loud"], ["bench", "allocate", "--pods", "0"]]
)
def test_a_wrong_command_line_exits_2_with_a_pointer_to_help(vcray, arguments):
    code, out, err = vcray(*arguments)

    assert (code, out) == (2, "")
    assert "Error: " in err
    assert "--help" in err or "-h" in err


def test_plain_tables_are_aligned_without_trailing_spaces():
    assert plain_table(["name", "n"], [["a", "1"], ["longer", ""]]) == "NAME     N\na        1\nlonger\n"


def test_a_terminal_gets_a_table_with_colours():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()

    print_table(["name", "result"], [["a", "fails"]], out)

    assert "\x1b[" in out.getvalue()
    assert "NAME" in out.getvalue()


def test_a_place_is_that_of_the_file_even_behind_an_unknown_plugin():
    text = """\
actions: allocate
tiers:
- plugins:
  - name: nobody
  - name: binpack
    arguments: {binpack.weight: heavy}
"""
    problems = examined(text).problems

    assert [each.where for each in problems] == [
        "tiers[0].plugins[0]",
        "tiers[0].plugins[1].arguments.binpack.weight",
    ]


def test_the_version_is_a_flag_too(vcray):
    assert vcray("--version") == vcray("version")


def test_sim_refuses_a_configuration_before_it_runs_and_tells_what_it_skips(tmp_path, capsys):
    refused, skipped = tmp_path / "refused.yaml", tmp_path / "skipped.yaml"
    refused.write_text('name: refused\nconfig: {actions: "alocate"}\n')
    skipped.write_text("name: skipped\nconfig: {actions: allocate, tiers: [{plugins: [{name: nobody}]}]}\n")

    assert execute(["sim", str(refused)]) == 2
    assert "refused: config.actions[0]: unknown action 'alocate'" in capsys.readouterr().err

    assert execute(["sim", str(skipped)]) == 0
    assert "skipped: config.tiers[0].plugins[0]: unknown plugin" in capsys.readouterr().err
