"""Help texts of vsub, vjobs and the like as Volcano prints them, written out by hand: one block of flags, the long text first."""

import io
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from vcray.cli.program import execute
from vcray.cli.slurm import PROGRAMS

REPOSITORY = Path(__file__).parents[2]

VSUB = """\
submit a job with specified name and arguments. yaml/json file is not accepted, you may refer to kubectl.

Usage:
  vsub [flags]

Flags:
  -c, --command string                 the command of job
  -h, --help                           help for vsub
  -i, --image string                   the container image of job, overwrite the value of 'VOLCANO_DEFAULT_IMAGE' (default "busybox")
  -k, --kubeconfig string              (optional) absolute path to the kubeconfig file
  -L, --limits string                  the resource limit of the task (default "cpu=1000m,memory=100Mi")
      --log-flush-frequency duration   Maximum number of seconds between log flushes (default 5s)
  -s, --master string                  the address of apiserver
  -m, --min int                        the minimal available tasks of job (default 1)
  -n, --name string                    the name of job
  -N, --namespace string               the namespace of job, overwrite the value of 'VOLCANO_DEFAULT_JOB_NAMESPACE' (default "default")
  -r, --replicas int                   the total tasks of job (default 1)
  -R, --requests string                the resource request of the task (default "cpu=1000m,memory=100Mi")
  -S, --scheduler string               the scheduler for this job, overwrite the value of 'VOLCANO_SCHEDULER_NAME' (default "volcano")
  -v, --v Level                        number for the log level verbosity
      --vmodule moduleSpec             comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log format)
"""

VJOBS = """\
view information of a job with specified name or jobs from the same namespace

Usage:
  vjobs [flags]

Flags:
      --all-namespaces                 list jobs in all namespaces
  -h, --help                           help for vjobs
  -k, --kubeconfig string              (optional) absolute path to the kubeconfig file
      --log-flush-frequency duration   Maximum number of seconds between log flushes (default 5s)
  -s, --master string                  the address of apiserver
  -n, --name string                    the name of job
  -N, --namespace string               the namespace of job (default "default")
  -S, --scheduler string               list job with specified scheduler name
      --selector string                fuzzy matching jobName
  -v, --v Level                        number for the log level verbosity
      --vmodule moduleSpec             comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log format)
"""

VQUEUES = """\
view information of a queue with specified name or queues from the same namespace

Usage:
  vqueues [flags]

Flags:
  -h, --help                           help for vqueues
  -k, --kubeconfig string              (optional) absolute path to the kubeconfig file
      --log-flush-frequency duration   Maximum number of seconds between log flushes (default 5s)
  -s, --master string                  the address of apiserver
  -n, --name string                    the name of queue
  -v, --v Level                        number for the log level verbosity
      --vmodule moduleSpec             comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log format)
"""


def on_one_job(program, long):
    return f"""\
{long}

Usage:
  {program} [flags]

Flags:
  -h, --help                           help for {program}
  -k, --kubeconfig string              (optional) absolute path to the kubeconfig file
      --log-flush-frequency duration   Maximum number of seconds between log flushes (default 5s)
  -s, --master string                  the address of apiserver
  -n, --name string                    the name of job
  -N, --namespace string               the namespace of job (default "default")
  -v, --v Level                        number for the log level verbosity
      --vmodule moduleSpec             comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log format)
"""


TEXTS = {
    "vsub": VSUB,
    "vjobs": VJOBS,
    "vqueues": VQUEUES,
    "vcancel": on_one_job(
        "vcancel",
        "cancel a running, pending, or aborted job with specified name in default or specified namespace",
    ),
    "vsuspend": on_one_job(
        "vsuspend", "suspend a running or pending job with specified name in default or specified namespace"
    ),
    "vresume": on_one_job(
        "vresume", "resume an aborted job with specified name in default or specified namespace"
    ),
}


def run(program, *arguments):
    out, err = io.StringIO(), io.StringIO()
    code = execute(PROGRAMS[program], arguments, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def entry(program):
    """The function that the package's metadata names for a program."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"][program].partition(":")
    return getattr(import_module(module), function)


def test_every_program_has_its_text_here():
    assert set(TEXTS) == set(PROGRAMS)


@pytest.mark.parametrize("program", TEXTS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_volcanos_byte_for_byte(program, flag):
    assert run(program, flag) == (0, TEXTS[program], "")


@pytest.mark.parametrize(("program", "short"), [
    ("vsub", "submit a job"), ("vjobs", "view job information"), ("vqueues", "view queue information"),
    ("vcancel", "cancel a job"), ("vsuspend", "suspend a job"), ("vresume", "resume a job"),
])  # fmt: skip
def test_programs_have_volcanos_short_texts_too(program, short):
    assert PROGRAMS[program].short == short


@pytest.mark.parametrize("program", TEXTS)
def test_the_help_does_not_depend_on_the_environment(program, monkeypatch):
    monkeypatch.setenv("VOLCANO_DEFAULT_IMAGE", "mine")

    assert run(program, "-h")[1] == TEXTS[program]


@pytest.mark.parametrize("program", TEXTS)
def test_the_package_installs_each_program(program, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [program, "--help"])

    with pytest.raises(SystemExit) as ended:
        entry(program)()

    assert ended.value.code == 0
    assert capsys.readouterr().out == TEXTS[program]


@pytest.mark.parametrize(
    ("program", "arguments", "sentence"),
    [
        ("vsub", ["--x"], "unknown flag: --x"),
        ("vsub", ["-f", "job.yaml"], "unknown shorthand flag: 'f' in -f"),
        ("vjobs", ["-q", "big"], "unknown shorthand flag: 'q' in -q"),
        ("vqueues", ["-N", "x"], "unknown shorthand flag: 'N' in -N"),
        ("vcancel", ["-n"], "flag needs an argument: 'n' in -n"),
        (
            "vsub",
            ["--min", "x"],
            'invalid argument "x" for "-m, --min" flag: strconv.ParseInt: parsing "x": invalid syntax',
        ),
    ],
)
def test_a_wrong_flag_is_one_line_on_standard_error(program, arguments, sentence):
    assert run(program, *arguments) == (1, "", f"Error: {sentence}\n")
