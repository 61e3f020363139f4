"""Base class of a policy: one class in one file of `vcray.plugins`, hooks as methods.

A plugin's arguments are a frozen pydantic model; `__init__` stores them and nothing else. A new object is made for every
session; `open` may compute session state (attributes that end in `_`). A method that looks like a hook but is not
one is refused when the class is defined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from vcray.api.duration import is_duration
from vcray.core.combine import COMBINE
from vcray.core.remote import NO_REMOTE, Remote
from vcray.errors import ConfigError, Problem, did_you_mean

if TYPE_CHECKING:
    from vcray.core.view import View


class Args(BaseModel):
    """Arguments of a plugin: field aliases are the keys of `volcano-scheduler.conf`.

    `families`: prefixes of keys that end in a free name, such as `binpack.resources.`, with the type of their values.
    `durations`: keys of Go durations above 0; `minimums`: key or prefix -> the least number that counts; `moved`: key of
    older versions of Volcano -> the plugin and key that have its effect now."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)
    families: ClassVar[Mapping[str, type]] = {}
    durations: ClassVar[tuple[str, ...]] = ()
    minimums: ClassVar[Mapping[str, float]] = {}
    moved: ClassVar[Mapping[str, tuple[str, str]]] = {}

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """The arguments as Volcano's getters take them, and what is wrong with them (VC0108).

        A value of the wrong type keeps the default: an int must be a YAML int (neither `"10"` nor `10.0`), a float may be
        an int, a bool may be spelled as Go's ParseBool reads it; other types are taken as they come. Keys that the plugin does not know have no effect."""
        known = {
            field.alias or name: field.annotation if field.annotation in _SPOKEN else object
            for name, field in cls.model_fields.items()
        }
        taken: dict[str, object] = {}
        problems: list[Problem] = []
        for key, value in given.items():
            family = "" if key in known else next(filter(key.startswith, cls.families), "")
            kind = cls.families[family] if family else known.get(key)
            least = cls.minimums.get(family or key)
            if kind is None:
                what = f"unknown argument '{key}' has no effect{cls._instead(key, known)}"
                problems.append(Problem("VC0108", f"{where}.{key}", what))
                continue
            accepted = value if kind is object else _accept(kind, value)
            if accepted is None:
                what = f"must be {_SPOKEN.get(kind, 'something')}, got {value!r}; the default is kept"
                problems.append(Problem("VC0108", f"{where}.{key}", what))
            elif key in cls.durations and not is_duration(str(accepted)):
                what = f"must be a duration above 0, such as 30s or 5m, got {value!r}; the default is kept"
                problems.append(Problem("VC0108", f"{where}.{key}", what))
            elif least is not None and isinstance(accepted, int | float) and accepted < least:
                what = f"must be at least {least:g}, got {value!r}; the default is kept"
                problems.append(Problem("VC0108", f"{where}.{key}", what))
            else:
                taken[key] = accepted
        return cls._validated(taken, where, problems), problems

    @classmethod
    def _instead(cls, key: str, known: Iterable[str]) -> str:
        """What to write in place of an unknown key."""
        if key in cls.moved:
            plugin, now = cls.moved[key]
            return f"; it is `{now}` of the plugin {plugin} now"
        return did_you_mean(key, [*known, *_members(key, cls.families)])

    @classmethod
    def _validated(cls, taken: dict[str, object], where: str, problems: list[Problem]) -> Self:
        """The model of what its own rules allow; the rest is told and left out."""
        while True:
            try:
                return cls.model_validate(taken)
            except ValidationError as error:
                wrong = {str(each["loc"][0]): each["msg"] for each in error.errors() if each["loc"]}
                refused = {key: what for key, what in wrong.items() if key in taken}
                if not refused:  # the defaults themselves break the model's rules
                    what = f"its arguments cannot be made: {error.errors()[0]['msg']}"
                    raise ConfigError(Problem("VC0110", cls.__qualname__, what)) from error
                for key, what in refused.items():
                    said = f"{what[:1].lower()}{what[1:]}, got {taken.pop(key)!r}; the default is kept"
                    problems.append(Problem("VC0108", f"{where}.{key}", said))
            except Exception as error:  # a rule of a user's model
                what = f"its arguments cannot be made: {type(error).__name__}: {error}"
                raise ConfigError(Problem("VC0110", cls.__qualname__, what)) from error


def _members(key: str, families: Iterable[str]) -> Iterator[str]:
    """What a key would be in each family whose prefix it nearly has."""
    for prefix in families:
        *head, name = key.split(".", prefix.count("."))
        if get_close_matches(".".join([*head, ""]), [prefix]):
            yield prefix + name


_SPOKEN: dict[type | None, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
}
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _accept(kind: type | None, value: JsonValue) -> bool | int | float | str | None:
    """The value if Volcano's getter of that kind takes it, else None."""
    if kind is bool:
        if isinstance(value, bool):
            return value
        if not isinstance(value, str):
            return None
        return True if value in _TRUE else False if value in _FALSE else None
    if isinstance(value, bool):
        return None
    if kind is int:
        return value if isinstance(value, int) else None
    if kind is float:
        return float(value) if isinstance(value, int | float) else None
    return value if isinstance(value, str) else None


A = TypeVar("A", bound=Args)

HOOKS = frozenset(COMBINE)
"""Names of all hooks; `vcray.core.hooks` and `vcray.core.parthooks` have their signatures."""


class Plugin(Generic[A]):
    """A policy. `name` is the name in the configuration: the module's, with - for _.

    `unbuilt`: flags that Volcano gives this plugin and that have no effect here yet, with what to know; `vcray check` tells."""

    name: ClassVar[str]
    vetoes: ClassVar[bool] = False
    """Victims that it refuses are not taken, whatever its tier: share plugins (volcano-sh/volcano#5896) and protection."""
    keeps: ClassVar[bool] = False
    """Of victims it says only whom it keeps: where nobody else in its tier answers, preempt takes none of the rest either."""
    ranks: ClassVar[bool] = False
    """Its `preemptable` gives what less valuable jobs hold to more valuable ones, by priority."""
    particular: ClassVar[bool] = False
    """What it reserves depends on the very pod (its claims), not only on shape, annotations and labels of pods."""
    by_counts: ClassVar[bool] = False
    """Its `gang_need`, `job_ready` and `job_pipelined` read of a job without parts only how many tasks of which status and role it
    has, and its minimums: jobs with equal ones are answered alike. Not inherited."""
    steady: ClassVar[bool] = False
    """As long as no action evicts, it answers the same while nothing differs but these: whether a pod that holds its node is being
    bound, is bound or runs, and since when; words in the status of a PodGroup or a queue, the phase apart; `now`, until the moment
    that `wakes_at` named. Its `close` judges each PodGroup by itself, its pods, nodes and specs of queues: of a snapshot it may
    see only the groups that changed (`core/repeat`). Not inherited."""
    calls_out: ClassVar[bool] = False
    """Its answers come from a program outside, by way of `remote`."""
    remote: Remote = NO_REMOTE
    observes: ClassVar[bool] = False
    """Its `reserve` only takes note and never refuses: no flag switches it off, and pods need not come one by one for it."""
    rekeys: bool = False
    """A charge of one queue may put another one, which waits, further to the front: `queue_order` is asked of all each time."""
    unbuilt: ClassVar[Mapping[str, str]] = {}
    flags: ClassVar[tuple[str, ...]] = ()
    """Flags of its entry, such as `enableHierarchy`, that the plugin reads: they come among its arguments."""
    args_model: ClassVar[type[Args]] = Args

    def __init__(self, args: A) -> None:
        self.args = args

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = cls.__module__.rpartition(".")[2].replace("_", "-")
        cls.by_counts = vars(cls).get("by_counts", False)
        cls.steady = vars(cls).get("steady", False)
        for attribute, value in vars(cls).items():
            if (
                attribute.startswith("_")
                or not callable(value)
                or attribute in HOOKS
                or isinstance(value, type)
            ):
                continue
            raise ConfigError(
                Problem(
                    "VC0110",
                    f"{cls.__qualname__}.{attribute}",
                    f"'{attribute}' is not a hook{did_you_mean(attribute, HOOKS)} "
                    "(private helpers start with an underscore)",
                )
            )

    def open(self, view: View) -> None:
        """Called once when a session opens, in policy order; may set attributes that end in `_`."""
