"""What simulated programs do: how long they run, what they print, how they end. Unknown ones serve for ever.

The table covers what containers of tests and examples call: a program that ends at once, one that computes for a while, or
a server. Shell built-ins that change the shell itself stand in `vcray.cluster.kubelet.shell`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vcray.cluster.kubelet.expansion import arithmetic
from vcray.cluster.kubelet.surroundings import Surroundings

COMPUTE_S = 5.0
"""How long a program that computes runs."""

SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
WRAPPERS = frozenset(
    {"env", "nohup", "time", "tini", "dumb-init", "nice", "sudo", "stdbuf", "timeout", "command", "catatonit"}
)
COMPUTING = frozenset(
    {"python", "python3", "mpiexec", "mpirun", "torchrun", "perl", "java", "julia", "Rscript", "deepspeed"}
)
_QUICK_NAMES = (
    "true : date hostname id whoami uname chmod chown ln sync ls pwd df free ps cp mv sort tr cut grep sed awk head wc "
    "base64 basename dirname mount umount ulimit umask shift read local readonly declare unset source . nproc which "
    "kill pkill killall mkfifo stat find xargs tee dd sysctl ssh-keygen ssh-keyscan ip ping nslookup dig shuf"
)
QUICK = frozenset(_QUICK_NAMES.split(" "))
"""Programs that end at once with 0; those that print, print nothing."""

SHELL_IMAGES = frozenset({"busybox", "alpine", "ubuntu", "debian", "bash", "centos", "hello-world", "fedora"})
"""Images whose own command is a shell, or ends at once as one does without a terminal."""

MISSING = re.compile(r"xx+|foo|bar|.*(non-?exist|no-?such|not-?exist|not-?found|invalid|bad-?c).*")
"""Names that say themselves that there is no such program."""
_NO_IMAGE = re.compile(r".*(:404|non-?exist|no-?such|not-?exist|not-?found|invalid).*")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program does: it runs that many seconds, prints and ends; `serves`: SIGTERM ends it at once."""

    code: int = 0
    seconds: float = 0.0
    output: str = ""
    serves: bool = False


FOREVER = Answer(seconds=math.inf, serves=True)


def image_ends(image: str) -> bool:
    """Whether an image without a command ends at once."""
    name = image.split("@")[0].rsplit("/", 1)[-1].split(":")[0]
    return name in SHELL_IMAGES


def image_missing(image: str) -> bool:
    """Whether an image says itself that it cannot be pulled."""
    return _NO_IMAGE.fullmatch(image) is not None


def run(name: str, argv: Sequence[str], around: Surroundings) -> Answer:
    """The answer of a program; `argv[0]` is how it was called."""
    arguments = list(argv[1:])
    if name in _OWN:
        return _OWN[name](arguments, around)
    if name in QUICK:
        return Answer()
    if name in COMPUTING:
        return _compute(arguments, around)
    if MISSING.fullmatch(name):
        return Answer(127, output=f"sh: {argv[0]}: not found\n")
    return FOREVER


def unwrapped(name: str, arguments: Sequence[str]) -> list[str]:
    """The command line within a wrapper such as `env A=1 program`."""
    rest = list(arguments)
    while rest and (rest[0].startswith("-") or (name == "env" and "=" in rest[0])):
        rest.pop(0)
    if name == "timeout" and rest:
        rest.pop(0)
    return rest


def _compute(arguments: list[str], around: Surroundings) -> Answer:
    """A training program: a while, then success. Parameter servers serve."""
    words = " ".join(arguments)
    serves = re.search(r"job_name[= ]ps\b", words) or '"type":"ps"' in around.variable("TF_CONFIG").replace(
        " ", ""
    )
    if serves or "http.server" in words:
        return FOREVER
    found = re.search(r"time\.sleep\((\d+(?:\.\d+)?)\)", words)
    code = re.search(r"sys\.exit\((\d+)\)", words)
    return Answer(int(code[1]) if code else 0, float(found[1]) if found else 0.0 if code else COMPUTE_S)


def _sleep(arguments: list[str], _: Surroundings) -> Answer:
    units = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    total = 0.0
    for word in arguments:
        if word in ("infinity", "inf"):
            return Answer(seconds=math.inf)
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smhd]?)", word)
        if not found:
            return Answer(1, output=f"sleep: invalid time interval '{word}'\n")
        total += float(found[1]) * units.get(found[2], 1.0)
    return Answer(0 if arguments else 1, total)


def _echo(arguments: list[str], _: Surroundings) -> Answer:
    end = "\n"
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        end = "" if "n" in arguments.pop(0) else end
    return Answer(output=" ".join(arguments) + end)


def _printf(arguments: list[str], _: Surroundings) -> Answer:
    if not arguments:
        return Answer(2)
    values = iter(arguments[1:])
    text = re.sub(r"%[sd]", lambda _: next(values, ""), arguments[0])
    return Answer(output=text.replace("\\n", "\n").replace("\\t", "\t").replace("%%", "%"))


def _cat(arguments: list[str], around: Surroundings) -> Answer:
    found = [around.read(path) for path in arguments if not path.startswith("-")]
    missing = any(content is None for content in found) and not all(
        path.startswith(("/etc", "/proc", "/sys", "/var/run")) for path in arguments
    )
    return Answer(int(missing), output="".join(content or "" for content in found))


def _touch(arguments: list[str], around: Surroundings) -> Answer:
    for path in arguments:
        if not path.startswith("-") and around.read(path) is None:
            around.write(path, "")
    return Answer()


def _mkdir(arguments: list[str], around: Surroundings) -> Answer:
    existing = [path for path in arguments if not path.startswith("-") and around.exists(path)]
    if existing and "-p" not in arguments:
        return Answer(1, output=f"mkdir: can't create directory '{existing[0]}': File exists\n")
    for path in arguments:
        if not path.startswith("-") and path not in existing:
            around.write(path.rstrip("/") + "/.", "")
    return Answer()


def _rm(arguments: list[str], around: Surroundings) -> Answer:
    for path in arguments:
        if not path.startswith("-"):
            around.remove(path)
    return Answer()


def _tail(arguments: list[str], _: Surroundings) -> Answer:
    return Answer(seconds=math.inf) if any(re.match(r"-\w*[fF]", word) for word in arguments) else Answer()


def _nc(arguments: list[str], _: Surroundings) -> Answer:
    """A look at a port finds somebody there: nothing listens here, and who waits for it would wait for ever."""
    looks = any(re.match(r"-\w*z", word) for word in arguments)
    return Answer() if looks else FOREVER


def _seq(arguments: list[str], _: Surroundings) -> Answer:
    numbers = [int(word) for word in arguments if re.fullmatch(r"-?\d+", word)]
    if not numbers or len(numbers) > 3:
        return Answer(1)
    first, step, last = {1: (1, 1, numbers[-1]), 2: (numbers[0], 1, numbers[-1])}.get(
        len(numbers), (numbers[0], numbers[1] if len(numbers) > 1 else 1, numbers[-1])
    )
    if not step:
        return Answer(1)
    count = range(first, last + (1 if step > 0 else -1), step)[:10_000]
    return Answer(output="".join(f"{number}\n" for number in count))


def _test(arguments: list[str], around: Surroundings) -> Answer:
    if arguments and arguments[-1] in ("]", "]]"):
        arguments = arguments[:-1]
    return Answer(int(not _holds(arguments, around)))


_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "-eq": lambda a, b: _int(a) == _int(b),
    "-ne": lambda a, b: _int(a) != _int(b),
    "-lt": lambda a, b: _int(a) < _int(b),
    "-le": lambda a, b: _int(a) <= _int(b),
    "-gt": lambda a, b: _int(a) > _int(b),
    "-ge": lambda a, b: _int(a) >= _int(b),
}


def _int(text: str) -> int:
    return int(text) if re.fullmatch(r"\s*-?\d+\s*", text) else 0


def _holds(words: list[str], around: Surroundings) -> bool:
    for joint, both in (("-o", any), ("-a", all)):
        if joint in words:
            at = words.index(joint)
            return both((_holds(words[:at], around), _holds(words[at + 1 :], around)))
    match words:
        case ["!", *rest]:
            return not _holds(rest, around)
        case [left, sign, right] if sign in _COMPARISONS:
            return _COMPARISONS[sign](left, right)
        case ["-z", text]:
            return not text
        case ["-n", text]:
            return bool(text)
        case ["-s", path]:
            return bool(around.read(path))
        case [flag, path] if re.fullmatch(r"-[defrwxhL]", flag):
            return around.exists(path)
        case [text]:
            return bool(text)
    return False


def _expr(arguments: list[str], around: Surroundings) -> Answer:
    value = arithmetic(" ".join(arguments).replace("\\*", "*"), around)
    return Answer(int(not value), output=f"{value}\n")


def _server(flag: str) -> Callable[[list[str], Surroundings], Answer]:
    """A daemon that goes to the background, unless a flag keeps it in front."""
    return lambda arguments, _: FOREVER if flag in arguments else Answer()


def _ray(arguments: list[str], _: Surroundings) -> Answer:
    if arguments[:1] == ["start"]:
        return FOREVER if "--block" in arguments else Answer()
    return Answer(seconds=COMPUTE_S) if arguments[:2] == ["job", "submit"] else Answer()


_OWN: dict[str, Callable[[list[str], Surroundings], Answer]] = {
    "sleep": _sleep,
    "usleep": lambda arguments, _: Answer(seconds=_int(arguments[0]) / 1e6 if arguments else 0.0),
    "echo": _echo,
    "printf": _printf,
    "false": lambda _a, _b: Answer(1),
    "cat": _cat,
    "touch": _touch,
    "mkdir": _mkdir,
    "rm": _rm,
    "tail": _tail,
    "nc": _nc,
    "seq": _seq,
    "expr": _expr,
    "test": _test,
    "[": _test,
    "[[": _test,
    "sshd": _server("-D"),
    "ray": _ray,
    "printenv": lambda arguments, around: Answer(
        output="".join(f"{around.variable(n)}\n" for n in arguments)
    ),
}
