"""Write vcray/cluster/data/protobuf.json: the field numbers of Kubernetes' messages, from the Go module cache.

    python -m tools.openapi.protobuf_fields

The numbers and wire types come from the generated.proto files that the modules bring, the JSON names from the tags of the
Go structs (`json:"$ref" protobuf:"bytes,3,opt,name=ref"`); a field whose JSON is inlined has the name "". Only messages
that a served type of kinds.json reaches are written. See vcray/cluster/protobuf/fields.py for the form.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tools.openapi.go_types import module_cache, package_of, read_package
from vcray.cluster.kinds.data import kinds_data

TARGET = Path(__file__).resolve().parents[2] / "vcray" / "cluster" / "data" / "protobuf.json"
EXTRA = (
    "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
    "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadataList",
    "io.k8s.apimachinery.pkg.apis.meta.v1.CreateOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.UpdateOptions",
    "io.k8s.apimachinery.pkg.apis.meta.v1.PatchOptions",
)
"""Messages that clients send or ask for although OpenAPI does not name them."""

_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (?:(optional|repeated) )?(map<string, ([\w.]+)>|[\w.]+) (\w+) = (\d+)", re.MULTILINE)
_GO_FIELD = re.compile(r"^\t(?:\w+\s+)?[*\w.\[\]]+\s+`([^`]*)`", re.MULTILINE)
_SCALARS = {
    "string": "s",
    "bool": "b",
    "int32": "i",
    "int64": "i",
    "uint32": "i",
    "bytes": "y",
    "double": "d",
}
Row = tuple[str, int, str, str]


def proto_name(type_name: str) -> str:
    """The message of a type that OpenAPI calls `type_name`."""
    return type_name.replace("io.k8s.", "k8s.io.", 1).replace("-", "_")


def open_name(message: str) -> str:
    """The type of a message, the other way round."""
    return (
        message.replace("k8s.io.", "io.k8s.", 1)
        .replace("apiextensions_apiserver", "apiextensions-apiserver")
        .replace("kube_aggregator", "kube-aggregator")
    )


def messages(version: str) -> dict[str, tuple[str, str]]:
    """Every message of the modules: full name -> package and body."""
    found = {}
    for module in ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator"):
        for file in sorted((module_cache() / "k8s.io" / f"{module}@{version}").rglob("generated.proto")):
            text = re.sub(r"//[^\n]*", "", file.read_text())
            package = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
            if package is None:
                continue
            for name, body in _MESSAGE.findall(text):
                found[f"{package.group(1)}.{name}"] = (package.group(1), body)
    return found


def json_names(type_name: str, version: str) -> dict[int, str]:
    """Field number -> name in JSON, from the tags of the struct; empty for a type without tags."""
    path, name = package_of(type_name)
    body = read_package(path, version).structs.get(name, "")
    found = {}
    for tags in _GO_FIELD.findall(body):
        number = re.search(r'protobuf:"\w+,(\d+)', tags)
        written = re.search(r'json:"([^",]*)', tags)
        if number is not None and written is not None:
            found[int(number.group(1))] = written.group(1)
    return found


def rows(type_name: str, package: str, body: str, version: str) -> list[Row]:
    """The fields of one message."""
    names = json_names(type_name, version)
    found = []
    for label, written, value, name, number in _FIELD.findall(body):
        kind = value or written
        shape = "{}" if value else "[]" if label == "repeated" else ""
        if kind not in _SCALARS and "." not in kind:
            kind = f"{package}.{kind}"
        target = _SCALARS.get(kind) or open_name(kind.removeprefix("."))
        found.append((names.get(int(number), name), int(number), shape, target))
    return found


def main() -> int:
    version = kinds_data().kubernetes.replace("v1.", "v0.", 1)
    known = messages(version)
    waiting = [*kinds_data().types, *EXTRA]
    written: dict[str, list[Row]] = {}
    while waiting:
        name = waiting.pop()
        if name in written or proto_name(name) not in known:
            continue
        package, body = known[proto_name(name)]
        written[name] = rows(name, package, body, version)
        waiting += [target for _, _, _, target in written[name] if len(target) > 1]
    lines = [
        f"{json.dumps(name)}:{json.dumps(written[name], separators=(',', ':'))}" for name in sorted(written)
    ]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(written)} messages, {TARGET.stat().st_size} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
