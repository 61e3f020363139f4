"""The syntax tree of a compiled expression.

The library gives its tree only as bytes, in the format of `cel.expr.CheckedExpr` (cel-spec's syntax.proto). The few messages
that the cost estimate reads are declared here by hand.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "int64": _Field.TYPE_INT64,
    "uint64": _Field.TYPE_UINT64,
    "bool": _Field.TYPE_BOOL,
    "double": _Field.TYPE_DOUBLE,
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "enum": _Field.TYPE_INT32,
}
_MESSAGES = {
    "Constant": "bool_value:2:bool int64_value:3:int64 uint64_value:4:uint64 double_value:5:double string_value:6:string "
    "bytes_value:7:bytes null_value:1:enum",
    "Ident": "name:1:string",
    "Select": "operand:1:Expr field:2:string test_only:3:bool",
    "Call": "target:1:Expr function:2:string args:3:Expr*",
    "CreateList": "elements:1:Expr*",
    "Entry": "field_key:2:string map_key:3:Expr value:4:Expr",
    "CreateStruct": "message_name:1:string entries:2:Entry*",
    "Comprehension": "iter_var:1:string iter_range:2:Expr accu_var:3:string accu_init:4:Expr loop_condition:5:Expr "
    "loop_step:6:Expr result:7:Expr iter_var2:8:string",
    "Expr": "id:2:int64 const_expr:3:Constant ident_expr:4:Ident select_expr:5:Select call_expr:6:Call "
    "list_expr:7:CreateList struct_expr:8:CreateStruct comprehension_expr:9:Comprehension",
    "ParsedExpr": "expr:2:Expr",
    "CheckedExpr": "expr:4:Expr",
}


class Node(Protocol):
    """One node: exactly one of the fields is set."""

    def HasField(self, name: str) -> bool: ...

    def __getattr__(self, name: str) -> Node: ...


@lru_cache(maxsize=1)
def _classes() -> dict[str, type[Message]]:
    described = descriptor_pb2.FileDescriptorProto(name="syntax.proto", package="syntax", syntax="proto2")
    for name, fields in _MESSAGES.items():
        message = described.message_type.add(name=name)
        for part in fields.split():
            field_name, number, kind = part.split(":")
            field = message.field.add(name=field_name, number=int(number))
            field.label = _Field.LABEL_REPEATED if kind.endswith("*") else _Field.LABEL_OPTIONAL
            kind = kind.rstrip("*")
            if kind in _KINDS:
                field.type = _KINDS[kind]
            else:
                field.type, field.type_name = _Field.TYPE_MESSAGE, f".syntax.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(described)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"syntax.{name}"))
        for name in ("ParsedExpr", "CheckedExpr")
    }


def tree_of(serialized: bytes) -> Node:
    """The root node of a serialized expression."""
    wrapper = any_pb2.Any.FromString(serialized)
    name = wrapper.type_url.rpartition(".")[2]
    whole = _classes()[name].FromString(wrapper.value)
    root: Node = whole.expr  # type: ignore[attr-defined]
    return root
