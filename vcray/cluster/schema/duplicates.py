"""Fields that stand twice in the text of a body: the last one counts, and Strict validation refuses them.

Decoded objects do not tell, so the text is asked. Repeated fields are rare and looking for them costs ten times as much as
decoding, so the text is first compared with what it would be without any: as many quotation marks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec
import yaml

from vcray.api.meta import JsonValue
from vcray.cluster.kinds.faults import Where, spoken
from vcray.cluster.objects.write import Write
from vcray.kube.client import PatchType
from vcray.kube.errors import BadRequest

_PROTOBUF = "application/vnd.kubernetes.protobuf"


class _Pairs(list[tuple[str, object]]):
    """An object as its fields in order, repetitions included."""


YAML_LINE = "line "


def told(repeated: Sequence[str]) -> list[str]:
    """The repetitions as an error tells them: those of a YAML text are one fault."""
    lines = [fault for fault in repeated if fault.startswith(YAML_LINE)]
    whole = "\n  ".join(["yaml: unmarshal errors:", *lines])
    return [whole, *(fault for fault in repeated if fault not in lines)] if lines else list(repeated)


def note_repeated(write: Write, body: bytes, decoded: JsonValue, media_type: str) -> None:
    """Note in `write.repeated` what a body of `media_type` says twice, and what operations of a JSON patch do not have."""
    if write.validation == "Ignore" or media_type in (PatchType.APPLY, _PROTOBUF):
        return
    found = repeated_fields(body, decoded, is_yaml="yaml" in media_type)
    if media_type == PatchType.JSON:
        unknown = [
            f'unknown field "[{index}].{name}"'
            for index, step in enumerate(decoded if isinstance(decoded, list) else [])
            for name in (step if isinstance(step, dict) else ())
            if name not in ("op", "path", "from", "value")
        ]
        found = [f"json patch {fault}" for fault in (*found, *unknown)]
    write.repeated.extend(found)


def check_applied(write: Write, body: bytes) -> None:
    """Refuse (BadRequest) or warn of what the text of an apply says twice, by the validation that was asked for."""
    lines = _in_yaml(body) if write.validation != "Ignore" else []
    if not lines:
        return
    fault = f"error converting YAML to JSON: {told(lines)[0]}"
    if write.validation == "Strict":
        raise BadRequest(f"error strict decoding YAML: {fault}")
    write.warnings.append(fault)


def repeated_fields(body: bytes, decoded: JsonValue, is_yaml: bool) -> list[str]:
    """What the server says of the repeated fields of a body that was decoded as `decoded`."""
    if is_yaml:
        return _in_yaml(body)
    if b"\\u0022" not in body and body.count(b'"') == msgspec.json.encode(decoded).count(b'"'):
        return []
    try:
        tree = json.loads(body, object_pairs_hook=_Pairs)
    except ValueError:
        return []
    found: list[str] = []
    _walk(tree, None, found)
    return [f'duplicate field "{name}"' for name in dict.fromkeys(found)]


def _walk(value: object, where: Where, found: list[str]) -> None:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for name, item in value:
            if name in seen:
                found.append(spoken((where, name)))
            seen.add(name)
            _walk(item, (where, name), found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _walk(item, (where, index), found)


def _in_yaml(body: bytes) -> list[str]:
    try:
        node = yaml.compose(body, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return []
    found: list[str] = []
    _walk_node(node, found)
    return found


def _walk_node(node: yaml.Node | None, found: list[str]) -> None:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                found.append(f'line {key.start_mark.line + 1}: key "{name}" already set in map')
            seen.add(name)
            _walk_node(value, found)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _walk_node(item, found)
