"""The field numbers cover every field that the server knows of a type, and nothing else."""

import pytest

from vcray.cluster.kinds.data import kinds_data
from vcray.cluster.protobuf.fields import message_of, rows_of
from vcray.cluster.protobuf.messages import table
from vcray.cluster.protobuf.scalars import SPECIAL

TYPES = kinds_data().types
WITHOUT = {"io.k8s.apimachinery.pkg.version.Info"}  # told at /version, never sent as protobuf


def fields_of(name: str) -> set[str]:
    properties = TYPES[name].get("properties")
    return set(properties) if isinstance(properties, dict) else set()


@pytest.mark.parametrize("name", sorted(name for name in TYPES if fields_of(name) and name not in WITHOUT))
def test_a_message_has_the_fields_of_its_type(name: str) -> None:
    assert table(name).names() | {"apiVersion", "kind"} == fields_of(name) | {"apiVersion", "kind"}


def test_numbers_are_given_once() -> None:
    for name in TYPES:
        if name in WITHOUT or name in SPECIAL:
            continue
        numbers = [row.number for row in rows_of(name)]
        assert len(numbers) == len(set(numbers)), name


def test_every_kind_that_is_stored_has_a_message() -> None:
    for group in kinds_data().groups:
        for version in group.versions:
            api_version = f"{group.group}/{version.version}" if group.group else version.version
            for row in version.resources:
                if "/" not in str(row["name"]):
                    assert message_of(api_version, str(row["kind"])), row["kind"]
