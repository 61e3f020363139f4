"""Where expressions are compiled: the library's environments with Kubernetes' functions declared.

Two of them for each set of variables. The checking one knows the types of fields, from an OpenAPI schema made protobuf
messages, and says what an author did wrong in the words of the server's compiler. The evaluating one takes JSON as it is:
our own types are strings there, objects maps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext import (  # type: ignore[import-untyped]
    ext_encoders,
    ext_math,
    ext_optional,
    ext_strings,
)
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    struct_pb2,
    timestamp_pb2,
)

from vcray.cel import addresses, authorization, lists, quantities, texts
from vcray.cel.functions import OWN_TYPES, Function

PACKAGE = "kubernetes"
"""The package of our own message types."""

_FUNCTIONS = (
    *lists.FUNCTIONS,
    *texts.FUNCTIONS,
    *authorization.FUNCTIONS,
    *addresses.FUNCTIONS,
    *quantities.FUNCTIONS,
)
_OWN = re.compile(rf"\b({'|'.join(OWN_TYPES)})\b")
_ELEMENT = re.compile(r"^list<.*>$")


def new_pool() -> descriptor_pool.DescriptorPool:
    """A pool of message types with the well-known ones and our own; types of objects may be added."""
    pool = descriptor_pool.DescriptorPool()
    for module in (duration_pb2, timestamp_pb2, struct_pb2):
        known = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(known)
        pool.Add(known)
    own = descriptor_pb2.FileDescriptorProto(name="kubernetes.proto", package=PACKAGE, syntax="proto3")
    for name in OWN_TYPES:
        own.message_type.add(name=name)
    pool.Add(own)
    return pool


def type_of(text: str) -> cel.Type:
    """The library's type for one written as in `functions`."""
    return cel.Type(_OWN.sub(rf"{PACKAGE}.\1", text))


def _erased(text: str) -> str:
    """The type as evaluation sees it."""
    if text in OWN_TYPES:
        return "string"
    return "list<dyn>" if _ELEMENT.match(text) else text


def _standard() -> list[cel.CelExtensionBase]:
    return [
        ext_strings.ExtStrings(),
        ext_optional.ExtOptional(),
        ext_math.ExtMath(),
        ext_encoders.ExtEncoders(),
    ]


def _declared(functions: Mapping[str, list[cel.Overload]]) -> cel.CelExtension:
    return cel.CelExtension("kubernetes", [cel.FunctionDecl(name, ways) for name, ways in functions.items()])


@lru_cache(maxsize=1)
def _checked_functions() -> cel.CelExtension:
    functions: dict[str, list[cel.Overload]] = {}
    for one in _FUNCTIONS:
        parameters = [type_of(text) for text in one.parameters]
        overload = cel.Overload(one.overload, type_of(one.result), parameters, one.member)
        functions.setdefault(one.name, []).append(overload)
    return _declared(functions)


@lru_cache(maxsize=1)
def _evaluated_functions() -> cel.CelExtension:
    chosen: dict[tuple[str, bool, tuple[str, ...]], Function] = {}
    results: dict[tuple[str, bool, tuple[str, ...]], set[str]] = {}
    for one in _FUNCTIONS:
        if one.run is None:
            continue
        key = one.name, one.member, tuple(map(_erased, one.parameters))
        chosen.setdefault(key, one)
        results.setdefault(key, set()).add(_erased(one.result))
    functions: dict[str, list[cel.Overload]] = {}
    for key, one in chosen.items():
        result = next(iter(results[key])) if len(results[key]) == 1 else "dyn"
        parameters = [cel.Type(text) for text in key[2]]
        overload = cel.Overload(one.overload, cel.Type(result), parameters, one.member, one.run)
        functions.setdefault(one.name, []).append(overload)
    return _declared(functions)


def checking(variables: Mapping[str, str], pool: descriptor_pool.DescriptorPool | None = None) -> cel.Env:
    """An environment that only checks; `variables` by name, their types in CEL's writing."""
    types = {name: type_of(text) for name, text in variables.items()}
    return cel.NewEnv(
        descriptor_pool=pool or _plain_pool(),
        variables=types,
        extensions=[*_standard(), _checked_functions()],
    )


@lru_cache(maxsize=64)
def evaluating(names: tuple[str, ...]) -> cel.Env:
    """An environment that evaluates with variables of any type."""
    types = dict.fromkeys(names, cel.Type.DYN)
    return cel.NewEnv(variables=types, extensions=[*_standard(), _evaluated_functions()])


@lru_cache(maxsize=1)
def _plain_pool() -> descriptor_pool.DescriptorPool:
    return new_pool()
