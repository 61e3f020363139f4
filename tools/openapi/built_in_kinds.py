"""Write vcray/cluster/data/kinds.json: what a Kubernetes API server knows of its own kinds.

The embedded cluster must know types, list types, merge keys and defaults of the built-in kinds as the real server does,
and answer discovery with the same rows. This script starts a real kube-apiserver, reads its discovery and its OpenAPI v3
documents, and adds what only the Go sources tell (tools/openapi/go_types.py). The layout of the file is described in
vcray/cluster/kinds/data.py.

    python -m tools.openapi.built_in_kinds            (after tools/kubernetes/build.py)
    python -m tools.openapi.built_in_kinds --check    exit code 1 if the file differs from what the server says

Descriptions are left out: they are Kubernetes' text and three quarters of the size.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.conformance.harness.client import Client
from tests.conformance.harness.server import ControlPlane
from tools.kubernetes.build import kubernetes_version, programs_folder, why_unavailable
from tools.openapi.go_types import MODULES, GoField, fields_of, spoken_type
from vcray.api.meta import JsonObject, JsonValue

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "vcray" / "cluster" / "data" / "kinds.json"
REFERENCE = "#/components/schemas/"
KINDS_OF_TYPE = "x-kubernetes-group-version-kind"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {value!r}")
    return value


def compact(schema: JsonObject) -> JsonObject:
    """A schema without descriptions, in which a reference is the bare name of the type beside its siblings."""
    result: JsonObject = {}
    for key, value in schema.items():
        match key:
            case "description":
                continue
            case "allOf":
                assert isinstance(value, list)
                assert len(value) == 1
                result |= compact(_object(value[0]))
            case "$ref":
                result[key] = str(value).removeprefix(REFERENCE)
            case "items" | "additionalProperties" if isinstance(value, dict):
                result[key] = compact(value)
            case "properties":
                result[key] = {name: compact(_object(part)) for name, part in _object(value).items()}
            case _:
                result[key] = value
    return result


def with_go_facts(name: str, types: JsonObject, version: str) -> JsonObject:
    """A type with its properties in Go's order, each with its Go type and whether it is written when zero."""
    schema = _object(types[name])
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return schema
    ordered: JsonObject = {}
    for field in fields_of(name, version):
        facts: JsonObject = {"go": spoken_type(name, field.go_type)}
        if _keeps_zero(field, _object(properties[field.name])):
            facts["zero"] = True
        ordered[field.name] = {**_object(properties[field.name]), **facts}
    if set(ordered) != set(properties):
        raise ValueError(f"{name}: OpenAPI and Go name different fields: {set(ordered) ^ set(properties)}")
    return {**schema, "properties": ordered}


def _keeps_zero(field: GoField, schema: JsonObject) -> bool:
    """`omitempty` never leaves out a struct; OpenAPI refers to a type by name where Go has one."""
    is_struct = "$ref" in schema and not field.go_type.startswith("*")
    return not ("omitzero" in field.options or ("omitempty" in field.options and not is_struct))


def read_types(client: Client, version: str) -> JsonObject:
    """Every type of every OpenAPI v3 document, by name."""
    found: JsonObject = {}
    for path in client.get("/openapi/v3")["paths"]:
        schemas = client.get(f"/openapi/v3/{path}").get("components", {}).get("schemas", {})
        for name, schema in schemas.items():
            if not name.startswith(tuple(MODULES)):
                continue  # a type of a definition that somebody installed
            small = compact(schema)
            if name in found and _without_kinds(_object(found[name])) != _without_kinds(small):
                raise ValueError(f"{name} has two forms")
            kinds = [*_kinds(_object(found.get(name, {}))), *_kinds(small)]
            if kinds:
                small[KINDS_OF_TYPE] = sorted(
                    {json.dumps(kind): kind for kind in kinds}.values(), key=json.dumps
                )
            found[name] = small
    return {name: with_go_facts(name, found, version) for name in sorted(found)}


def _kinds(schema: JsonObject) -> list[JsonValue]:
    kinds = schema.get(KINDS_OF_TYPE)
    return kinds if isinstance(kinds, list) else []


def _without_kinds(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key != KINDS_OF_TYPE}


def read_groups(client: Client) -> list[JsonValue]:
    """Kubernetes' own groups in the server's order, each version with the rows of its discovery."""
    groups: list[JsonValue] = []
    for root in ("/api", "/apis"):
        for item in json.loads(client.raw("GET", root, accept=DISCOVERY)[0])["items"]:
            group = item["metadata"].get("name", "")
            if "." in group and not group.endswith(".k8s.io"):
                continue  # a definition's
            versions: list[JsonValue] = []
            for version in item["versions"]:
                path = f"/apis/{group}/{version['version']}" if group else f"/api/{version['version']}"
                versions.append({"version": version["version"], "resources": client.get(path)["resources"]})
            groups.append({"group": group, "versions": versions})
    return groups


def content(client: Client, version: str) -> JsonObject:
    """The whole file. `version` is Kubernetes' (1.36.1)."""
    staging = f"v0.{version.partition('.')[2]}"
    return {
        "kubernetes": f"v{version}",
        "groups": read_groups(client),
        "types": read_types(client, staging),
    }


def render(data: JsonObject) -> str:
    """The text of the file: one group version's row and one type a line, so that two versions can be compared."""
    groups, types = data["groups"], _object(data["types"])
    assert isinstance(groups, list)
    lines = ["{", f'"kubernetes":{_line(data["kubernetes"])},', '"groups":[']
    lines += [_line(group) + ("," if index + 1 < len(groups) else "") for index, group in enumerate(groups)]
    lines += ["],", '"types":{']
    rows = [f"{json.dumps(name)}:{_line(schema)}" for name, schema in types.items()]
    return "\n".join([*lines, ",\n".join(rows), "}", "}"]) + "\n"


def _line(value: JsonValue) -> str:
    return json.dumps(value, separators=(",", ":"))


def main() -> int:
    """Write or check the file; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write vcray/cluster/data/kinds.json from a kube-apiserver.")
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 on a difference")
    arguments = parser.parse_args()
    reason = why_unavailable(programs_folder(), ("etcd", "kube-apiserver"))
    if reason is not None:
        print(reason, file=sys.stderr)
        return 3
    with ControlPlane(programs_folder()) as server:
        text = render(content(server.client, kubernetes_version()))
    if arguments.check:
        same = OUTPUT.exists() and OUTPUT.read_text() == text
        print(f"{OUTPUT.relative_to(ROOT)}: {'up to date' if same else 'differs from the server'}")
        return 0 if same else 1
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(text)
    print(f"{OUTPUT.relative_to(ROOT)}: {len(text.encode()) / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
