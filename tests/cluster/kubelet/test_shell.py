"""Scripts in virtual time: how long they take, what they print, how they end."""

import math

import pytest

from vcray.cluster.kubelet.shell import Shell
from vcray.cluster.kubelet.surroundings import Surroundings


def play(
    *argv: str, variables: dict[str, str] | None = None, files: dict[str, str] | None = None
) -> tuple[float, int, str]:
    """Seconds, exit code and output; infinite seconds for a program that never ends."""
    shell = Shell(Surroundings(variables or {}, mounts=[("/data", files if files is not None else {})]))
    run, total = shell.run(argv), 0.0
    try:
        for _ in range(500):
            total += next(run)
            if total == math.inf:
                break
        return math.inf, 0, shell.output
    except StopIteration as end:
        return total, end.value, shell.output


@pytest.mark.parametrize(
    ("script", "seconds", "code", "output"),
    [
        ("sleep 5; exit 3", 5, 3, ""),
        ("sleep 1m 30s", 90, 0, ""),
        ("true && echo yes || echo no", 0, 0, "yes\n"),
        ("false && echo yes || echo no", 0, 0, "no\n"),
        ("! false", 0, 0, ""),
        ("(exit 3); echo $?", 0, 0, "3\n"),
        ("exit $(( (7 + 1) / 2 % 3 ))", 0, 1, ""),
        ("for i in 1 2 3; do echo -n $i; sleep 2; done", 6, 0, "123"),
        ("i=0; while [ $i -lt 4 ]; do i=$((i+1)); sleep 1; done; echo $i", 4, 0, "4\n"),
        ("until [ -f /tmp/x ]; do sleep 3; touch /tmp/x; done", 3, 0, ""),
        ("if [[ -r /data/x ]]; then exit 0; else touch /data/x; exit 1; fi", 0, 1, ""),
        ("echo hi > /tmp/x; cat /tmp/x", 0, 0, "hi\n"),
        ('A=one; B="$A two"; echo \'$A\' "$B" ${C:-three}', 0, 0, "$A one two three\n"),
        ("name=job-7; echo ${name##*-} ${name%-*}", 0, 0, "7 job\n"),
        ("echo $(echo in; sleep 9) `echo out`", 0, 0, "in out\n"),
        ("set -e; false; sleep 100", 0, 1, ""),
        ("sleep 9 & sleep 1; wait; exit 4", 10, 4, ""),
        ("greet() { echo hello $1; }; greet; exit 2", 0, 2, "hello\n"),
        ("exec sleep 7", 7, 0, ""),
        ("if [ $(expr 3 % 2) -ne 0 ]; then exit 6; fi", 0, 6, ""),
        ("until nc -z -w 2 j-master-0.j 23456; do sleep 2; done; exit 3", 0, 3, ""),
        ("sleep 2 && xxx", 2, 127, "sh: xxx: not found\n"),
        ("cat /data/none || exit 5", 0, 5, ""),
        ("python train.py --epochs 3", 5, 0, ""),
        ("/usr/sbin/sshd; mpiexec -np 2 hello", 5, 0, ""),
    ],
)
def test_script_takes_its_time_and_ends(script: str, seconds: float, code: int, output: str) -> None:
    assert play("sh", "-c", script) == (seconds, code, output)


@pytest.mark.parametrize(
    "argv",
    [
        ("sh", "-c", "while true; do sleep 1; done"),
        ("sh", "-c", "while :; do :; done"),
        ("sh", "-c", "/usr/sbin/sshd -D"),
        ("sh", "-c", "case $x in a) exit 1;; esac"),
        ("sh", "-c", "python run.py --job_name=ps"),
        ("tail", "-f", "/dev/null"),
        ("sleep", "infinity"),
        ("nginx", "-g", "daemon off;"),
        ("/my/own/program",),
        ("nc", "-l", "-p", "80"),
    ],
)
def test_servers_endless_loops_and_what_nobody_knows_run_for_ever(argv: tuple[str, ...]) -> None:
    assert play(*argv)[0] == math.inf


def test_variables_come_from_the_container() -> None:
    assert play("sh", "-c", "exit $CODE", variables={"CODE": "9"}) == (0, 9, "")


def test_files_of_a_volume_outlive_the_container() -> None:
    files: dict[str, str] = {}
    script = "if [ -f /data/seen ]; then exit 0; fi; touch /data/seen; exit 1"

    first = play("sh", "-c", script, files=files)
    second = play("sh", "-c", script, files=files)

    assert (first[1], second[1]) == (1, 0)


def test_trap_says_how_a_script_ends_on_sigterm() -> None:
    shell = Shell(Surroundings({}))
    run = shell.run(("sh", "-c", "trap 'sleep 2; exit 7' TERM; while true; do sleep 1; done"))
    for _ in range(5):
        next(run)

    handler = shell.terminated()

    assert next(handler) == 2
    with pytest.raises(StopIteration) as ended:
        next(handler)
    assert ended.value.value == 7
