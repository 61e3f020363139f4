"""How a write is meant: by whom, for real or not, through which endpoint."""

from __future__ import annotations

from dataclasses import dataclass, field

from vcray.api.meta import JsonObject
from vcray.cluster.objects.review import User


@dataclass(frozen=True, slots=True)
class Write:
    """One write: field manager, dry run, force of an apply, subresource, user, how unknown fields are met.

    `validation` is Strict, Warn or Ignore (`fieldValidation`); `options` is what an AdmissionReview tells of the request;
    `warnings` collects what the client is to be warned of, `repeated` what the body's text said twice.
    """

    manager: str = "unknown"
    dry_run: bool = False
    force: bool = False
    subresource: str = ""
    user: User = field(default_factory=User)
    validation: str = "Ignore"
    options: JsonObject = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)


PLAIN = Write()
