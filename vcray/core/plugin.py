"""Base class of a policy: one class in one file of `vcray.plugins`, hooks as methods.

A plugin's arguments are a frozen pydantic model; `__init__` stores them and nothing else. A new object is made for every
session; `open` may compute session state (attributes that end in `_`). A method that looks like a hook but is not
one is refused when the class is defined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from vcray.errors import ConfigError, Problem, did_you_mean

if TYPE_CHECKING:
    from vcray.core.view import View


class Args(BaseModel):
    """Arguments of a plugin: field aliases are the keys of `volcano-scheduler.conf`."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


A = TypeVar("A", bound=Args)

HOOKS = frozenset(
    {
        "node_static",
        "node_filter",
        "node_score",
        "node_preference",
        "domain_terms",
        "moves_itself",
        "valid_prefix",
        "class_key",
        "gang_need",
        "job_valid",
        "job_ready",
        "job_pipelined",
        "job_starving",
        "job_enqueueable",
        "job_enqueued",
        "job_order",
        "task_order",
        "queue_order",
        "queue_overused",
        "queue_allows",
        "why",
        "open",
        "close",
    }
)
"""Names of all hooks; `vcray.core.hooks` has their signatures."""


class Plugin(Generic[A]):
    """A policy. `name` is the name in the configuration: the module's, with - for _."""

    name: ClassVar[str]
    args_model: ClassVar[type[Args]] = Args

    def __init__(self, args: A) -> None:
        self.args = args

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = cls.__module__.rpartition(".")[2].replace("_", "-")
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
