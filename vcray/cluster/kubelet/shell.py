"""A small shell in virtual time: a script becomes the seconds it sleeps, what it prints, and its exit code.

The run is a generator of waiting times, so whoever drives it owns the clock; `math.inf` means that nothing more will happen.
Programs are looked up in `vcray.cluster.kubelet.programs`; nothing is ever executed on this machine.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress

from vcray.cluster.kubelet import programs
from vcray.cluster.kubelet.expansion import arithmetic, expand
from vcray.cluster.kubelet.surroundings import Surroundings
from vcray.cluster.kubelet.syntax import (
    Background,
    Both,
    For,
    Function,
    If,
    Loop,
    Node,
    Pipeline,
    Script,
    Simple,
    Subshell,
    SyntaxFault,
    parse,
)

Run = Generator[float, None, int]
"""Yields seconds to wait, returns an exit code."""

MOST_COMMANDS = 20_000
"""Commands without a pause after which a script counts as one that never ends."""
_OUTPUT_LIMIT = 4096


class _Exit(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Break(Exception):
    """`break`."""


class _Continue(Exception):
    """`continue`."""


class Shell:
    """One container's process: its first program and everything that this starts."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.around = surroundings
        self.output = ""
        self.trap: str | None = None
        """What SIGTERM runs; None when the process does not react to it."""
        self.serving = False
        """Whether a program runs that ends at once on SIGTERM."""
        self._code = 0
        self._commands = 0
        self._functions: dict[str, Node] = {}
        self._background = 0.0
        self._errexit = False
        self._in_shell = False
        self._captured: list[list[str]] = []

    def run(self, argv: Sequence[str]) -> Run:
        """Run a command line to its end."""
        try:
            return (yield from self._program(list(argv)))
        except _Exit as end:
            return end.code

    def terminated(self) -> Run:
        """Run the trap of SIGTERM."""
        try:
            yield from self._node(parse(self.trap or ""))
        except _Exit as end:
            return end.code
        except SyntaxFault:
            return 0
        yield math.inf  # the script goes on after its trap
        return 0

    def say(self, text: str) -> None:
        """Print."""
        if self._captured:
            self._captured[-1].append(text)
        elif len(self.output) < _OUTPUT_LIMIT:
            self.output = (self.output + text)[:_OUTPUT_LIMIT]

    # -- tree -------------------------------------------------------------------------------------------------

    def script(self, text: str) -> Run:
        """Run a script; one that cannot be understood runs for ever."""
        try:
            tree = parse(text)
        except SyntaxFault:
            yield math.inf
            return 0
        return (yield from self._node(tree))

    def _node(self, node: Node) -> Run:
        match node:
            case Simple():
                self._code = yield from self._simple(node)
            case Script():
                yield from self._sequence(node)
            case Both():
                yield from self._node(node.left)
                if bool(self._code) == node.otherwise:
                    yield from self._node(node.right)
            case Pipeline():
                yield from self._pipeline(node)
            case If():
                yield from self._if(node)
            case Loop() | For():
                yield from self._loop(node)
            case Subshell():
                yield from self._subshell(node)
            case Background():
                self._background = max(self._background, self._aside(node.body))
                self._code = 0
            case Function():
                self._functions[node.name] = node.body
        return self._code

    def _sequence(self, node: Script) -> Run:
        self._code = 0 if not node.parts else self._code
        for part in node.parts:
            yield from self._node(part)
            if self._errexit and self._code and isinstance(part, Simple | Pipeline | Subshell):
                raise _Exit(self._code)
        return self._code

    def _pipeline(self, node: Pipeline) -> Run:
        for part in node.parts[:-1]:
            yield from self._quietly(part)
        yield from self._node(node.parts[-1])
        self._code = int(not self._code) if node.negated else self._code
        return self._code

    def _quietly(self, node: Node) -> Run:
        self._captured.append([])
        try:
            yield from self._node(node)
        finally:
            self._captured.pop()
        return self._code

    def _aside(self, node: Node) -> float:
        """The seconds of what `&` starts; its effects happen now."""
        total = 0.0
        with suppress(_Exit):
            for seconds in self._node(node):
                total += seconds
                if total == math.inf:
                    break
        return total

    def _if(self, node: If) -> Run:
        for condition, body in node.branches:
            yield from self._node(condition)
            if not self._code:
                return (yield from self._node(body))
        self._code = 0
        return (yield from self._node(node.otherwise))

    def _loop(self, node: Loop | For) -> Run:
        try:
            if isinstance(node, For):
                for word in [field for raw in node.words for field in expand(raw, self.around, self.capture)]:
                    self.around.assign(node.name, word)
                    yield from self._body(node.body)
            else:
                yield from self._node(node.condition)
                while bool(self._code) == node.negated:
                    yield from self._body(node.body)
                    yield from self._node(node.condition)
        except _Break:
            pass
        self._code = 0
        return 0

    def _body(self, body: Node) -> Run:
        with suppress(_Continue):
            yield from self._node(body)
        return self._code

    def _subshell(self, node: Subshell) -> Run:
        before = self.around.copy_variables()
        try:
            yield from self._node(node.body)
        except _Exit as end:
            self._code = end.code
        finally:
            self.around.restore(before)
        return self._code

    # -- commands ---------------------------------------------------------------------------------------------

    def _simple(self, node: Simple) -> Run:
        self._commands += 1
        if self._commands > MOST_COMMANDS:
            yield math.inf
        self.around.assign("?", str(self._code))
        for name, raw in node.assignments:
            self._code = 0
            self.around.assign(name, " ".join(expand(raw, self.around, self.capture)))
        argv = [field for raw in node.words for field in expand(raw, self.around, self.capture)]
        if not node.outputs:
            return (yield from self._program(argv)) if argv else self._code
        self._captured.append([])
        try:
            code = (yield from self._program(argv)) if argv else 0
        finally:
            text = "".join(self._captured.pop())
        for raw, append in node.outputs:
            path = "".join(expand(raw, self.around, self.capture))
            if path in ("/dev/stdout", "/dev/stderr", "/proc/1/fd/1"):
                self.say(text)
            else:
                self.around.write(path, text, append)
        return code

    def _program(self, argv: list[str]) -> Run:
        name = argv[0].rsplit("/", 1)[-1] if argv else ""
        if name in self._functions:
            return (yield from self._node(self._functions[name]))
        if instant := _INSTANT.get(name):
            return instant(self, argv[1:])
        if pausing := _PAUSING.get(name):
            return (yield from pausing(self, argv[1:]))
        if name in programs.SHELLS:
            return (yield from self._shell(argv[1:]))
        if name in programs.WRAPPERS:
            inner = programs.unwrapped(name, argv[1:])
            return (yield from self._program(inner)) if inner else 0
        answer = programs.run(name, argv, self.around)
        if answer.seconds:
            self._commands = 0
        self.say(answer.output)
        if answer.seconds:
            self.serving = answer.serves and not self._in_shell
            yield answer.seconds
            self.serving = False
        return answer.code

    def _shell(self, arguments: list[str]) -> Run:
        self._in_shell = True
        while arguments and arguments[0].startswith("-"):
            flag = arguments.pop(0)
            self._errexit = self._errexit or (not flag.startswith("--") and "e" in flag)
            if not flag.startswith("--") and "c" in flag:
                return (yield from self.script(arguments[0])) if arguments else 2
            if flag == "-o" and arguments:
                arguments.pop(0)
        if not arguments:
            return 0  # a shell without a terminal reads the end of its input
        content = self.around.read(arguments[0])
        if content is not None:
            return (yield from self.script(content))
        yield math.inf
        return 0

    def capture(self, script: str) -> str:
        """What a command substitution prints; its pauses do not count."""
        self._captured.append([])
        try:
            for seconds in self.script(script):
                if seconds == math.inf:
                    break
        except _Exit as end:
            self._code = end.code
        finally:
            text = "".join(self._captured.pop())
        return text.rstrip("\n")

    # -- built-in commands ------------------------------------------------------------------------------------

    def _now_exit(self, arguments: list[str]) -> int:
        raise _Exit(
            int(arguments[0]) & 255 if arguments and arguments[0].lstrip("-").isdigit() else self._code
        )

    def _do_exec(self, arguments: list[str]) -> Run:
        if not arguments:
            return 0
        self.trap, self._in_shell = None, False
        raise _Exit((yield from self._program(arguments)))

    def _now_break(self, _: list[str]) -> int:
        raise _Break

    def _now_continue(self, _: list[str]) -> int:
        raise _Continue

    def _now_return(self, arguments: list[str]) -> int:
        return int(arguments[0]) if arguments and arguments[0].isdigit() else self._code

    def _now_set(self, arguments: list[str]) -> int:
        for flag in arguments:
            if re.fullmatch(r"[-+][a-z]*e[a-z]*", flag):
                self._errexit = flag[0] == "-"
        return 0

    def _now_export(self, arguments: list[str]) -> int:
        for word in arguments:
            name, equals, value = word.partition("=")
            if equals:
                self.around.assign(name, value)
        return 0

    def _now_trap(self, arguments: list[str]) -> int:
        signals = {word.removeprefix("SIG") for word in arguments[1:]}
        if signals & {"TERM", "15"}:
            self.trap = arguments[0] or None
        return 0

    def _do_wait(self, _: list[str]) -> Run:
        seconds, self._background = self._background, 0.0
        if seconds:
            yield seconds
        return 0

    def _now_let(self, arguments: list[str]) -> int:
        value = 0
        for word in arguments:
            value = arithmetic(word, self.around)
        return int(value == 0)

    def _do_eval(self, arguments: list[str]) -> Run:
        return (yield from self.script(" ".join(arguments)))


_INSTANT: dict[str, Callable[[Shell, list[str]], int]] = {
    "exit": Shell._now_exit,
    "break": Shell._now_break,
    "continue": Shell._now_continue,
    "return": Shell._now_return,
    "set": Shell._now_set,
    "export": Shell._now_export,
    "trap": Shell._now_trap,
    "let": Shell._now_let,
}
_PAUSING: dict[str, Callable[[Shell, list[str]], Run]] = {
    "exec": Shell._do_exec,
    "wait": Shell._do_wait,
    "eval": Shell._do_eval,
}
