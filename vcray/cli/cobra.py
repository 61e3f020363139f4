"""Command lines as the Go library cobra makes them: the same parsing, the same help, byte for byte.

Scripts and tests of Volcano compare `vcctl --help` as text, and no Python library for command lines can be bent to that
layout (docs/decisions/0003-cobra-help.md). Commands are data; what they do is named by module and function and imported
only when the command runs, so that help costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Value = str | int | bool


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag. `kind` is the word after its name in the help (`string`, `int`, ...), or `bool`, which shows none."""

    name: str
    usage: str
    kind: str = "string"
    short: str = ""
    default: Value = ""

    @property
    def is_switch(self) -> bool:
        """Does the flag stand alone, without a value?"""
        return self.kind == "bool"

    def head(self) -> str:
        """Names and kind: the left column of the help."""
        names = f"  -{self.short}, --{self.name}" if self.short else f"      --{self.name}"
        return names if self.is_switch else f"{names} {self.kind}"

    def tail(self) -> str:
        """Usage and default: the right column. A default that is the kind's zero is not told."""
        if not self.default:
            return self.usage
        told = str(self.default).lower() if isinstance(self.default, bool) else str(self.default)
        shown = f'"{told}"' if self.kind == "string" else told
        return f"{self.usage} (default {shown})"


@dataclass(frozen=True, slots=True)
class Command:
    """A command or, with `children`, a group. `run` is `module:function`; flags of the root hold everywhere.

    `use` is what stands for the name in usage lines, such as `help [command]`. A `local` command asks no server: its
    function is called with the invocation and the output alone."""

    name: str
    short: str = ""
    long: str = ""
    example: str = ""
    flags: tuple[Flag, ...] = ()
    children: tuple[Command, ...] = ()
    run: str = ""
    use: str = ""
    local: bool = False

    def child(self, name: str) -> Command | None:
        """The subcommand of that name."""
        return next((each for each in self.children if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command as called: its path from the root, every flag's value, and what was not a flag.

    `given` has the texts of the flags that were there, in order."""

    path: tuple[Command, ...]
    flags: Mapping[str, Value] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    help_wanted: bool = False
    given: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def command(self) -> Command:
        """The command itself: the end of the path."""
        return self.path[-1]

    def text(self, name: str) -> str:
        """A flag's value as text."""
        return str(self.flags[name])

    def number(self, name: str) -> int:
        """The value of a flag that is a number or a switch."""
        return int(self.flags[name])


class UsageError(Exception):
    """The command line itself is wrong; the text is cobra's."""


class CommandError(Exception):
    """A command cannot do what its flags say; the text is the command's own."""


def help_text(path: Sequence[Command]) -> str:
    """The help of the last command of a path from the root, with a line break at its end."""
    command = path[-1]
    text = (command.long or command.short).rstrip()
    return "\n\n".join([*([text] if text else []), *_usage_blocks(path)]) + "\n"


def usage_text(path: Sequence[Command]) -> str:
    """The help without the text that describes the command."""
    return "\n\n".join(_usage_blocks(path)) + "\n"


def _usage_blocks(path: Sequence[Command]) -> Iterator[str]:
    root, command = path[0], path[-1]
    words = " ".join([*(each.name for each in path[:-1]), command.use or command.name])
    yield f"Usage:\n  {words} {'[command]' if command.children else '[flags]'}"
    if command.example:
        yield f"Examples:\n{command.example}"
    if command.children:
        listed = sorted(command.children, key=lambda each: each.name)
        width = max(11, *(len(each.name) for each in listed))
        yield "\n".join(["Available Commands:", *(f"  {each.name:<{width}} {each.short}" for each in listed)])
    yield _flags_block("Flags", [*command.flags, _help_flag(command)])
    if len(path) > 1 and root.flags:
        yield _flags_block("Global Flags", root.flags)
    if command.children:
        yield f'Use "{words} [command] --help" for more information about a command.'


def _help_flag(command: Command) -> Flag:
    return Flag("help", f"help for {command.name}", "bool", "h", False)


def _flags_block(title: str, flags: Sequence[Flag]) -> str:
    ordered = sorted(flags, key=lambda flag: flag.name)
    width = max(len(flag.head()) for flag in ordered)
    return "\n".join([f"{title}:", *(f"{flag.head():<{width}}   {flag.tail()}" for flag in ordered)])


def parse(root: Command, arguments: Sequence[str]) -> Invocation:
    """Find the command and read its flags. UsageError with cobra's sentence when that fails.

    A group, called without or with an unknown subcommand, asks for help; so does `--help` anywhere. A program without
    commands takes any words and leaves them be, as cobra's do."""
    path, rest = _find(root, arguments)
    if path == [root] and root.children and (words := _words(root, rest)):
        raise UsageError(f'unknown command "{words[0]}" for "{root.name}"')
    command = path[-1]
    known = [*command.flags, _help_flag(command), *(root.flags if command is not root else ())]
    read = _Read({flag.name: flag.default for flag in known})
    plain = _read_flags(known, rest, read)
    wanted = bool(read.values.pop("help")) or not command.run
    given = {name: tuple(texts) for name, texts in read.given.items()}
    return Invocation(tuple(path), read.values, tuple(plain), wanted, given)


@dataclass(frozen=True, slots=True)
class _Read:
    """What has been read: values by the names of flags, and the texts that they came from."""

    values: dict[str, Value]
    given: dict[str, list[str]] = field(default_factory=dict)

    def take(self, flag: Flag, text: str) -> None:
        self.values[flag.name] = _value(flag, text)
        self.given.setdefault(flag.name, []).append(text)


def _find(root: Command, arguments: Sequence[str]) -> tuple[list[Command], list[str]]:
    """Walk down by the words that are no flags; what remains still holds all flags."""
    path, rest = [root], list(arguments)
    while path[-1].children:
        words = _words(path[-1], rest)
        child = path[-1].child(words[0]) if words else None
        if child is None:
            break
        rest.remove(child.name)
        path.append(child)
    return path, rest


def _words(command: Command, arguments: Sequence[str]) -> list[str]:
    """Arguments that are neither flags nor values of flags. An unknown flag is taken to have a value."""
    switches = {"-h", "--help"}
    for flag in command.flags:
        if flag.is_switch:
            switches |= {f"--{flag.name}", f"-{flag.short}"}
    found, remaining = [], list(arguments)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            break
        takes_next = "=" not in word and word not in switches and (word.startswith("--") or len(word) == 2)
        if word.startswith("-") and takes_next:
            remaining[:1] = []
        elif word and not word.startswith("-"):
            found.append(word)
    return found


def _read_flags(known: Sequence[Flag], arguments: Sequence[str], read: _Read) -> list[str]:
    """Take the flags in; what is none comes back."""
    by_name = {flag.name.replace("_", "-"): flag for flag in known}
    by_short = {flag.short: flag for flag in known if flag.short}
    plain: list[str] = []
    remaining = list(arguments)
    while remaining:
        word = remaining.pop(0)
        if word == "--":
            plain += remaining
            break
        if word.startswith("--"):
            _read_long(word, by_name, remaining, read)
        elif word.startswith("-") and word != "-":
            _read_short(word, by_short, remaining, read)
        else:
            plain.append(word)
    return plain


def _read_long(word: str, known: Mapping[str, Flag], remaining: list[str], read: _Read) -> None:
    name, has_value, text = word[2:].partition("=")
    if not name or name.startswith("-"):
        raise UsageError(f"bad flag syntax: {word}")
    flag = known.get(name.replace("_", "-"))  # Kubernetes' programs take both
    if flag is None:
        raise UsageError(f"unknown flag: --{name}")
    if not has_value:
        if flag.is_switch:
            text = "true"
        elif remaining:
            text = remaining.pop(0)
        else:
            raise UsageError(f"flag needs an argument: --{name}")
    read.take(flag, text)


def _read_short(word: str, known: Mapping[str, Flag], remaining: list[str], read: _Read) -> None:
    """`-n x`, `-nx`, `-n=x`, and switches run together."""
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        flag = known.get(letter)
        if flag is None:
            raise UsageError(f"unknown shorthand flag: '{letter}' in {word}")
        if letters.startswith("="):
            text, letters = letters[1:], ""
        elif flag.is_switch:
            text = "true"
        elif letters:
            text, letters = letters, ""
        elif remaining:
            text = remaining.pop(0)
        else:
            raise UsageError(f"flag needs an argument: '{letter}' in {word}")
        read.take(flag, text)


_BITS = {"int": 64, "int32": 32, "Level": 32}
_DECIMAL = frozenset({"Level"})
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _value(flag: Flag, text: str) -> Value:
    """The value of a flag's text; a wrong one is told as Go tells it."""
    names = f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"
    head = f'invalid argument "{text}" for "{names}" flag'
    if flag.is_switch:
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        raise UsageError(f'{head}: strconv.ParseBool: parsing "{text}": invalid syntax')
    if flag.kind == "duration":
        return _duration(text, head)
    if flag.kind not in _BITS:
        return text
    prefixed = text.lstrip("+-").lower().startswith(("0x", "0b", "0o")) and flag.kind not in _DECIMAL
    try:
        number = int(text, 0 if prefixed else 10)
    except ValueError as error:
        raise UsageError(f'{head}: strconv.ParseInt: parsing "{text}": invalid syntax') from error
    limit = 2 ** (_BITS[flag.kind] - 1)
    if not -limit <= number < limit:
        raise UsageError(f'{head}: strconv.ParseInt: parsing "{text}": value out of range')
    return number


def _duration(text: str, head: str) -> str:
    from vcray.api.duration import DurationError, parse_duration

    try:
        parse_duration(text)
    except DurationError as error:
        raise UsageError(f'{head}: time: invalid duration "{text}"') from error
    return text
