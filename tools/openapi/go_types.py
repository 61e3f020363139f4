"""What OpenAPI does not tell of a type, read from the tags of the Go structs in the module cache.

The order of the fields (in which the server writes them), which of them are pointers, which are left out when they are
zero. A struct field is one line of the form

    Name  [*|[]|map[..]]Type  `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`

and an inlined field (`json:",inline"`) stands for the fields of its type.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

MODULES = {
    "io.k8s.api.": "k8s.io/api",
    "io.k8s.apimachinery.pkg.": "k8s.io/apimachinery/pkg",
    "io.k8s.apiextensions-apiserver.pkg.": "k8s.io/apiextensions-apiserver/pkg",
    "io.k8s.kube-aggregator.pkg.": "k8s.io/kube-aggregator/pkg",
}
"""The beginning of a type's name in OpenAPI -> the beginning of its Go package."""

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\t(?:(\w+)\s+)?([*\w.\[\]]+)\s+`([^`]*)`", re.MULTILINE)
_NAMED = re.compile(r"^type (\w+) (\w+)$", re.MULTILINE)
_TAG = re.compile(r'(\w+):"([^"]*)"')


@dataclass(frozen=True, slots=True)
class GoField:
    """One field of a struct: its name in JSON, its type as written, and what is left out: `omitempty`, `omitzero`."""

    name: str
    go_type: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GoPackage:
    """The structs of one package, and its named plain types (`type PodPhase string`)."""

    structs: dict[str, str]
    plain: dict[str, str]


def package_of(type_name: str) -> tuple[str, str]:
    """The Go import path and the name of a type that OpenAPI calls `type_name`. KeyError for another project's."""
    for prefix, path in MODULES.items():
        if type_name.startswith(prefix):
            *folders, name = type_name.removeprefix(prefix).split(".")
            return "/".join((path, *folders)), name
    raise KeyError(type_name)


@cache
def module_cache() -> Path:
    """The folder of downloaded Go modules. Raises CalledProcessError or FileNotFoundError where Go is missing."""
    told = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True)
    return Path(told.stdout.strip())


@cache
def read_package(path: str, version: str) -> GoPackage:
    """The types of the package `path`, of a staging module at `version` (v0.36.1)."""
    root, _, rest = path.removeprefix("k8s.io/").partition("/")
    folder = module_cache() / "k8s.io" / f"{root}@{version}" / rest
    structs: dict[str, str] = {}
    plain: dict[str, str] = {}
    for file in sorted(folder.glob("*.go")):
        if file.name.endswith("_test.go") or file.name.startswith(("zz_", "generated")):
            continue
        text = re.sub(r"//[^\n`]*$", "", file.read_text(), flags=re.MULTILINE)
        structs |= dict(_STRUCT.findall(text))
        plain |= dict(_NAMED.findall(text))
    return GoPackage(structs, plain)


def fields_of(type_name: str, version: str) -> list[GoField]:
    """The fields of a struct in Go's order, those of inlined structs in their place; empty if it is no struct."""
    path, name = package_of(type_name)
    return _fields(path, name, version)


def _fields(path: str, name: str, version: str) -> list[GoField]:
    package = read_package(path, version)
    found: list[GoField] = []
    for _, go_type, tags in _FIELD.findall(package.structs.get(name, "")):
        told = dict(_TAG.findall(tags))
        json_name, *options = told.get("json", "-").split(",")
        if "inline" in options or (not json_name and "json" in told):
            found += _inlined(path, go_type, version)
        elif json_name != "-":
            found.append(GoField(json_name, go_type, tuple(options)))
    return found


def _inlined(path: str, go_type: str, version: str) -> list[GoField]:
    package, _, name = go_type.rpartition(".")
    inside = {
        "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1",
        "v1": "k8s.io/api/core/v1",
        "": path,
    }.get(package.lstrip("*"), path)
    return _fields(inside, name.lstrip("*"), version)


_OWN_NAMES = {
    "metav1": "v1",
    "corev1": "v1",
    "apiv1": "v1",
    "rbacv1": "v1",
    "autoscalingv1": "v1",
    "authenticationv1": "v1",
}
"""How sources call an imported package, and its own name, which messages use."""

_PLAIN = re.compile(r"u?int\d*|bool|string|float\d+|byte|any|interface\{\}")


def spoken_type(owner: str, written: str) -> str:
    """What Go's messages call the type of a field of `owner`: `*int64`, `[]v1.Container`, `map[string]string`."""
    for mark in ("*", "[]"):
        if written.startswith(mark):
            return mark + spoken_type(owner, written.removeprefix(mark))
    if written.startswith("map["):
        key, _, value = written.removeprefix("map[").partition("]")
        return f"map[{spoken_type(owner, key)}]{spoken_type(owner, value)}"
    if _PLAIN.fullmatch(written):
        return {"byte": "uint8"}.get(written, written)
    package, _, name = written.rpartition(".")
    if not package:
        package = package_of(owner)[0].rpartition("/")[2]
    return f"{_OWN_NAMES.get(package, package)}.{name}"
