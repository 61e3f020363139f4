"""Forms of an answer that a client may ask for: JSON, YAML or protobuf, as it is, as a table or as metadata alone.

An Accept header is a list of wishes, the best first; the first that can be met is. Objects of custom kinds have no protobuf
form, tables have none either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vcray.cluster.objects.catalog import Kind
from vcray.cluster.protobuf.codec import PROTOBUF
from vcray.cluster.server.requests import JSON, YAML, NotAcceptable, NothingFits, Request

TABLE, PARTIAL, PARTIAL_LIST = "Table", "PartialObjectMetadata", "PartialObjectMetadataList"
META = "meta.k8s.io"
_NOTHING_FITS = (
    "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)


@dataclass(frozen=True, slots=True)
class Form:
    """One form: media type, the kind the object is to be shown as (empty for its own), that kind's version."""

    media: str = JSON
    as_kind: str = ""
    version: str = "v1"

    @property
    def plain(self) -> bool:
        """Whether it is the form in which objects are stored."""
        return self.media == JSON and not self.as_kind

    @property
    def content_type(self) -> str:
        """The header of an answer in this form."""
        return self.media


PLAIN = Form()


def form_of(request: Request, kind: Kind, as_kinds: Iterable[str] = ()) -> Form:
    """The form that a client wants an answer in; `as_kinds` are those that make sense for the request. NotAcceptable."""
    accept = request.accept
    if accept in ("", "*/*", JSON):
        return PLAIN
    media_types = [JSON, YAML] if kind.custom else [JSON, YAML, PROTOBUF]
    offered = tuple(each for each in as_kinds if each != TABLE or "get" in kind.verbs)
    wishes = _wishes(accept)
    if not kind.custom and not any(wish[0] in (*media_types, "*/*", "application/*") for wish in wishes):
        raise NothingFits(_NOTHING_FITS)
    for wish in wishes:
        found = _met(wish, media_types, offered)
        if found is not None:
            return found
    raise NotAcceptable(f"only the following media types are accepted: {', '.join(media_types)}")


def _wishes(accept: str) -> list[list[str]]:
    """The wishes of a header, best first, each as its media type and its parameters."""
    found = []
    for index, clause in enumerate(accept.split(",")):
        media, *parameters = (part.strip() for part in clause.split(";"))
        weight = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        found.append((-_number(weight), index, [media, *parameters]))
    return [wish for _, _, wish in sorted(found, key=lambda each: each[:2])]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _met(wish: list[str], media_types: list[str], as_kinds: tuple[str, ...]) -> Form | None:
    media, *parameters = wish
    if media in ("*/*", "application/*"):
        media = JSON
    if media not in media_types:
        return None
    if media == PROTOBUF:
        as_kinds = tuple(each for each in as_kinds if each != TABLE)
    told = dict(part.partition("=")[::2] for part in parameters)
    wanted = told.get("as", "")
    if not wanted:
        return Form(media)
    known = told.get("g") == META and told.get("v") in ("v1", "v1beta1")
    if not known or wanted not in as_kinds:
        return None
    return Form(media, wanted, told["v"])
