"""The data file of built-in kinds is complete in itself."""

from vcray.cluster.kinds.data import kinds_data, type_name


def references(schema):
    """Every type that a schema refers to."""
    if "$ref" in schema:
        yield schema["$ref"]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from references(schema[key])
    for part in schema.get("properties", {}).values():
        yield from references(part)


def test_every_reference_leads_to_a_type():
    types = kinds_data().types

    assert {name for schema in types.values() for name in references(schema)} <= set(types)


def test_every_stored_resource_has_a_type():
    missing = [
        row["name"]
        for group in kinds_data().groups
        for version in group.versions
        for row in version.resources
        if "storageVersionHash" in row
        and not type_name(f"{group.group}/{version.version}".lstrip("/"), row["kind"])
    ]

    assert missing == []


def test_fields_stand_in_the_order_in_which_the_server_writes_them():
    pod = kinds_data().types["io.k8s.api.core.v1.Pod"]

    assert list(pod["properties"]) == ["kind", "apiVersion", "metadata", "spec", "status"]
