"""Help texts of vcctl as Volcano prints them, written out by hand: scripts compare them as text."""

import io

import pytest

from vcray.cli.vcctl import ROOT as VCCTL
from vcray.cli.vcctl import execute

GLOBAL = """\
Global Flags:
      --log-flush-frequency duration   Maximum number of seconds between log flushes (default 5s)
  -v, --v Level                        number for the log level verbosity
      --vmodule moduleSpec             comma-separated list of pattern=N settings for file-filtered logging (only works for the default text log format)
"""

JOB = f"""\
vcctl command line operation job

Usage:
  vcctl job [command]

Available Commands:
  delete      delete a job
  list        list job information
  resume      resume a job
  run         run job by parameters from the command line
  suspend     abort a job
  view        show job information

Flags:
  -h, --help   help for job

{GLOBAL}
Use "vcctl job [command] --help" for more information about a command.
"""

JOB_RUN = f"""\
run job by parameters from the command line

Usage:
  vcctl job run [flags]

Flags:
  -f, --filename string     the yaml file of job
  -h, --help                help for run
  -i, --image string        the container image of job (default "busybox")
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -L, --limits string       the resource limit of the task (default "cpu=1000m,memory=100Mi")
  -s, --master string       the address of apiserver
  -m, --min int             the minimal available tasks of job (default 1)
  -N, --name string         the name of job
  -n, --namespace string    the namespace of job (default "default")
  -r, --replicas int        the total tasks of job (default 1)
  -R, --requests string     the resource request of the task (default "cpu=1000m,memory=100Mi")
  -S, --scheduler string    the scheduler for this job (default "volcano")

{GLOBAL}"""

JOB_LIST = f"""\
list job information

Usage:
  vcctl job list [flags]

Flags:
      --all-namespaces      list jobs in all namespaces
  -h, --help                help for list
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --namespace string    the namespace of job (default "default")
  -q, --queue string        list job with specified queue name
  -S, --scheduler string    list job with specified scheduler name
      --selector string     fuzzy matching jobName

{GLOBAL}"""


def on_one_job(verb, short):
    return f"""\
{short}

Usage:
  vcctl job {verb} [flags]

Flags:
  -h, --help                help for {verb}
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -N, --name string         the name of job
  -n, --namespace string    the namespace of job (default "default")

{GLOBAL}"""


QUEUE = f"""\
Queue Operations

Usage:
  vcctl queue [command]

Available Commands:
  create      creates queue
  delete      delete queue
  get         get a queue
  list        lists all the queue
  operate     operate queue

Flags:
  -h, --help   help for queue

{GLOBAL}
Use "vcctl queue [command] --help" for more information about a command.
"""

QUEUE_CREATE = f"""\
creates queue

Usage:
  vcctl queue create [flags]

Flags:
  -h, --help                help for create
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --name string         the name of queue (default "test")
  -S, --state string        the state of queue (default "Open")
  -w, --weight int32        the weight of the queue (default 1)

{GLOBAL}"""

QUEUE_OPERATE = f"""\
operate queue

Usage:
  vcctl queue operate [flags]

Flags:
  -a, --action string       operate action to queue, valid actions are open, close, update
  -h, --help                help for operate
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --name string         the name of queue
  -w, --weight int32        the weight of the queue

{GLOBAL}"""

QUEUE_LIST = f"""\
lists all the queue

Usage:
  vcctl queue list [flags]

Flags:
  -h, --help                help for list
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver

{GLOBAL}"""


def on_one_queue(verb, short):
    return f"""\
{short}

Usage:
  vcctl queue {verb} [flags]

Flags:
  -h, --help                help for {verb}
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --name string         the name of queue

{GLOBAL}"""


POD = f"""\
vcctl command line operation pod

Usage:
  vcctl pod [command]

Available Commands:
  list        list pod information created by vcjob

Flags:
  -h, --help   help for pod

{GLOBAL}
Use "vcctl pod [command] --help" for more information about a command.
"""

POD_LIST = f"""\
list pod information created by vcjob

Usage:
  vcctl pod list [flags]

Flags:
      --all-namespaces      list pods in all namespaces
  -h, --help                help for list
  -j, --job string          list pod with specified job name
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --namespace string    the namespace of pod (default "default")
  -q, --queue string        list pod with specified queue name

{GLOBAL}"""


def of_flows(group, of):
    """The group, and its commands but the list, which differ in what the flags call the kind."""
    return {
        group: f"""\
vcctl command line operation {group}

Usage:
  vcctl {group} [command]

Available Commands:
  create      create a {group}
  delete      delete a {group}
  describe    describe a {group}
  get         get a {group}
  list        list {group}s

Flags:
  -h, --help   help for {group}

{GLOBAL}
Use "vcctl {group} [command] --help" for more information about a command.
""",
        f"{group} create": f"""\
create a {group}

Usage:
  vcctl {group} create [flags]

Flags:
  -f, --file string         the path to the YAML file containing the {of}
  -h, --help                help for create
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver

{GLOBAL}""",
        f"{group} delete": f"""\
delete a {group}

Usage:
  vcctl {group} delete [flags]

Flags:
  -f, --file string         the path to the YAML file containing the {of}
  -h, --help                help for delete
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -N, --name string         the name of {of}
  -n, --namespace string    the namespace of {of} (default "default")

{GLOBAL}""",
        f"{group} describe": f"""\
describe a {group}

Usage:
  vcctl {group} describe [flags]

Flags:
  -o, --format string       the format of output (default "yaml")
  -h, --help                help for describe
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -N, --name string         the name of {of}
  -n, --namespace string    the namespace of {of} (default "default")

{GLOBAL}""",
        f"{group} get": f"""\
get a {group}

Usage:
  vcctl {group} get [flags]

Flags:
  -h, --help                help for get
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -N, --name string         the name of {of}
  -n, --namespace string    the namespace of {of} (default "default")

{GLOBAL}""",
    }


JOBFLOW_LIST = f"""\
list jobflows

Usage:
  vcctl jobflow list [flags]

Flags:
      --all-namespaces      list jobflows in all namespaces
  -h, --help                help for list
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --namespace string    the namespace of jobflow (default "default")

{GLOBAL}"""

JOBTEMPLATE_LIST = f"""\
list jobtemplates

Usage:
  vcctl jobtemplate list [flags]

Flags:
  -h, --help                help for list
  -k, --kubeconfig string   (optional) absolute path to the kubeconfig file
  -s, --master string       the address of apiserver
  -n, --namespace string    the namespace of job template (default "default")

{GLOBAL}"""

VERSION = f"""\
Print the version information

Usage:
  vcctl version [flags]

Examples:
vcctl version

Flags:
  -h, --help   help for version

{GLOBAL}"""

TEXTS = {
    "job": JOB,
    "job run": JOB_RUN,
    "job list": JOB_LIST,
    "job view": on_one_job("view", "show job information"),
    "job suspend": on_one_job("suspend", "abort a job"),
    "job resume": on_one_job("resume", "resume a job"),
    "job delete": on_one_job("delete", "delete a job"),
    "queue": QUEUE,
    "queue create": QUEUE_CREATE,
    "queue list": QUEUE_LIST,
    "queue get": on_one_queue("get", "get a queue"),
    "queue delete": on_one_queue("delete", "delete queue"),
    "queue operate": QUEUE_OPERATE,
    "pod": POD,
    "pod list": POD_LIST,
    **of_flows("jobflow", "jobflow"),
    "jobflow list": JOBFLOW_LIST,
    **of_flows("jobtemplate", "job template"),
    "jobtemplate list": JOBTEMPLATE_LIST,
    "version": VERSION,
}

ROOT = f"""\
Usage:
  vcctl [command]

Available Commands:
  help        Help about any command
  job         vcctl command line operation job
  jobflow     vcctl command line operation jobflow
  jobtemplate vcctl command line operation jobtemplate
  pod         vcctl command line operation pod
  queue       Queue Operations
  version     Print the version information

Flags:
  -h, --help                           help for vcctl
{GLOBAL.removeprefix("Global Flags:" + chr(10))}
Use "vcctl [command] --help" for more information about a command.
"""


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    code = execute(arguments, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def test_every_command_has_its_text_here():
    found = {each.name: each for each in VCCTL.children}
    leaves = {f"{each.name} {child.name}" for each in found.values() for child in each.children}

    assert leaves | set(found) - {"help"} == set(TEXTS)


@pytest.mark.parametrize(("words", "expected"), TEXTS.items(), ids=list(TEXTS))
@pytest.mark.parametrize("form", ["{} --help", "{} -h", "help {}"])
def test_help_is_volcanos_byte_for_byte(words, expected, form):
    assert run(*form.format(words).split()) == (0, expected, "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["help"]])
def test_help_of_the_root_lists_all_groups(arguments):
    assert run(*arguments) == (0, ROOT, "")


@pytest.mark.parametrize(
    "arguments", [["job"], ["job", "fly"], ["queue", "fly"], ["pod"], ["jobflow", "run"]]
)
def test_a_group_without_a_command_of_its_own_prints_help_and_succeeds(arguments):
    assert run(*arguments) == (0, TEXTS[arguments[0]], "")


def test_an_unknown_command_is_one_line_on_standard_error():
    assert run("jobs") == (1, "", 'Error: unknown command "jobs" for "vcctl"\n')


def test_an_unknown_flag_is_one_line_on_standard_error():
    assert run("job", "list", "--x") == (1, "", "Error: unknown flag: --x\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pod", "list", "-x"], "unknown shorthand flag: 'x' in -x"),
        (["pod", "list", "-j"], "flag needs an argument: 'j' in -j"),
        (["jobtemplate", "list", "--all-namespaces"], "unknown flag: --all-namespaces"),
        (["jobflow", "create", "-n", "x"], "unknown shorthand flag: 'n' in -n"),
        (["jobflow", "describe", "--output", "json"], "unknown flag: --output"),
        (
            ["job", "run", "-r", "two"],
            'invalid argument "two" for "-r, --replicas" flag: strconv.ParseInt: parsing "two": invalid syntax',
        ),
        (
            ["job", "list", "-v", "loud"],
            'invalid argument "loud" for "-v, --v" flag: strconv.ParseInt: parsing "loud": invalid syntax',
        ),
    ],
)
def test_a_wrong_flag_is_one_line_on_standard_error(arguments, sentence):
    assert run(*arguments) == (1, "", f"Error: {sentence}\n")


def test_help_for_an_unknown_topic_shows_the_usage_on_standard_error():
    code, out, err = run("help", "fly")

    assert (code, out) == (0, "")
    assert err.startswith("Unknown help topic [`fly`]\nUsage:\n  vcctl [command]\n")


def test_version_has_volcanos_lines():
    code, out, _ = run("version")

    assert code == 0
    assert [line.split(": ")[0] for line in out.splitlines()] == [
        "API Version",
        "Version",
        "Git SHA",
        "Built At",
        "Go Version",
        "Go OS/Arch",
    ]
    assert out.startswith("API Version: v1alpha1\n")
