"""One rule of `x-kubernetes-validations`: compiled once, evaluated on a value and on what it was before."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.cel.program import BudgetExceeded, CompileError, EvaluationError, Program, compiled
from vcray.cel.rewriting import names_of

_NAMES = ("self", "oldSelf")
_LONGEST_MESSAGE = 5 * 1024
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that does not hold. `broken` means the rule itself could not be judged; then no reason of its applies."""

    detail: str
    broken: bool = False
    last: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule as its author wrote it."""

    rule: str
    message: str
    message_expression: str
    field_path: str
    reason: str
    optional_old: bool
    uses_old: bool

    @property
    def told(self) -> str:
        """How errors name the rule: by its message, else by itself."""
        return (self.message or self.rule).strip()

    def judge(self, value: object, old: object, *, has_old: bool) -> Finding | None:
        """What is wrong with a value by this rule; None if nothing is, or if the rule has nothing to compare with."""
        if self.uses_old and not has_old and not self.optional_old:
            return None
        before = ([old] if has_old else []) if self.optional_old else old
        data = {"self": value, "oldSelf": before}
        try:
            program = _program(self.rule, self.optional_old)
            holds = program.evaluate(data)
        except CompileError as error:
            return Finding(f"rule compile error: compilation failed: {error}", broken=True)
        except BudgetExceeded as error:
            why = "no further validation rules will be run due to call cost exceeds limit for rule"
            return Finding(f"'{error}': {why}: {self.told}", broken=True, last=True)
        except EvaluationError as error:
            if str(error).startswith("no such overload"):
                why = (
                    "call arguments did not match a supported operator, function or macro signature for rule"
                )
                return Finding(f"'{error}': {why}: {self.told}", broken=True)
            return Finding(f"{error} evaluating rule: {self.told}", broken=True)
        return None if holds is True else Finding(self._message(data))

    def _message(self, data: dict[str, object]) -> str:
        if self.message_expression:
            try:
                said = _program(self.message_expression, self.optional_old).evaluate(data)
            except (CompileError, EvaluationError) as error:
                _log.debug("messageExpression evaluation failed: %s", error)
            else:
                told = said.strip() if isinstance(said, str) else ""
                if told and "\n" not in told and len(told.encode()) <= _LONGEST_MESSAGE:
                    return told
        return self.message.strip() if self.message else f"failed rule: {self.told}"


@lru_cache(maxsize=2048)
def _program(expression: str, optional_old: bool) -> Program:
    return compiled(expression, _NAMES, optional_old)


def rule_of(entry: JsonObject) -> Rule:
    """A rule from its entry in a schema."""
    rule = dig_str(entry, "rule")
    return Rule(
        rule=rule,
        message=dig_str(entry, "message"),
        message_expression=dig_str(entry, "messageExpression"),
        field_path=dig_str(entry, "fieldPath"),
        reason=dig_str(entry, "reason"),
        optional_old=entry.get("optionalOldSelf") is True,
        uses_old="oldSelf" in names_of(rule),
    )
