"""bus.volcano.sh/v1alpha1: Command, a request to act on a job or queue once."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vcray.api.meta import OwnerReference
from vcray.api.objects import KubeObject
from vcray.api.resources import COMMANDS, Resource


class Command(KubeObject):
    """Asks a controller to act on one object; it is deleted once it is taken up."""

    resource: ClassVar[Resource] = COMMANDS

    action: str = Field("", description="What to do, for example AbortJob.")
    target: OwnerReference | None = Field(None, description="The object to act on.")
    reason: str = Field("", description="Why, as one word.")
    message: str = Field("", description="Why, in a sentence.")
