"""What an expression may cost at most, in the units of cel-go: about 50 ns each.

The rules are those of cel-go's estimate and of Kubernetes' functions: a field or name costs 1, a call 1 or a share of the
length of what it reads, a loop its body times the length of its range. Loops that end early are counted as if they did not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from vcray.cluster.cel.shapes import KEY, SCALAR, UNKNOWN, Shape
from vcray.cluster.cel.syntax import Node

_TRAVERSAL = 0.1
_REGEX = 0.25
_LIST_COST, _MAP_COST = 10, 30
_BRANCHES = ("_&&_", "_||_", "@not_strictly_false", "_?_:_")
_FREE = ("format.named", "check", "serviceAccount", "path", "group", "resource", "subresource")
_WHOLE_LIST = ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "_in_", "@in")
_WHOLE_TEXT = frozenset(
    [
        "url",
        "lowerAscii",
        "upperAscii",
        "substring",
        "trim",
        "replace",
        "split",
        "join",
        "quantity",
        "isQuantity",
        "semver",
        "isSemver",
        "isIP",
        "isCIDR",
        "cidr",
        "ip",
        "startsWith",
        "endsWith",
        "bytes",
    ]
)
_UNKNOWN_RESULT = frozenset(
    [
        "_?._",
        "_[?_]",
        "dyn",
        "string",
        "bytes",
        "charAt",
        "format",
        "value",
        "or",
        "orValue",
        "optional.of",
        "optional.ofNonZeroValue",
        "optMap",
    ]
)
"""Calls whose result may be of any length."""

_COMPARED = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")


def _traversed(size: int) -> int:
    return UNKNOWN if size >= UNKNOWN else math.ceil(size * _TRAVERSAL)


def _capped(cost: int) -> int:
    return min(cost, UNKNOWN)


class Estimate:
    """The highest cost of one expression for variables of known shapes."""

    def __init__(self, variables: Mapping[str, Shape | None]) -> None:
        self._scopes: list[dict[str, Shape | None]] = [dict(variables)]

    def of(self, root: Node) -> int:
        """The cost of the expression with this root."""
        return _capped(self._cost(root)[0])

    def _cost(self, node: Node) -> tuple[int, Shape | None]:
        if node.HasField("const_expr"):
            return 0, _constant(node.const_expr)
        if node.HasField("ident_expr"):
            return 1, self._variable(str(node.ident_expr.name))
        if node.HasField("select_expr"):
            cost, shape = self._cost(node.select_expr.operand)
            found = shape.at(str(node.select_expr.field)) if shape else None
            return cost + 1, SCALAR if node.select_expr.test_only else found
        if node.HasField("call_expr"):
            return self._call(node.call_expr)
        if node.HasField("list_expr"):
            return self._collection(list(_each(node.list_expr.elements)), _LIST_COST)
        if node.HasField("struct_expr"):
            entries = list(_each(node.struct_expr.entries))
            parts = [entry.value for entry in entries]
            parts += [entry.map_key for entry in entries if entry.HasField("map_key")]
            return self._collection(parts, _MAP_COST)
        if node.HasField("comprehension_expr"):
            return self._loop(node.comprehension_expr)
        return 0, None

    def _variable(self, name: str) -> Shape | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _collection(self, parts: list[Node], base: int) -> tuple[int, Shape | None]:
        costs = [self._cost(part) for part in parts]
        sizes = [shape for _, shape in costs]
        known = [shape for shape in sizes if shape is not None]
        element = max(known, key=lambda shape: shape.size) if known and len(known) == len(sizes) else None
        return base + sum(cost for cost, _ in costs), Shape(len(parts), element=element)

    def _loop(self, loop: Node) -> tuple[int, Shape | None]:
        range_cost, shape = self._cost(loop.iter_range)
        start_cost, start = self._cost(loop.accu_init)
        element = (KEY if shape is not None and shape.fields else shape.element) if shape else None
        collects = loop.accu_init.HasField("list_expr") or loop.accu_init.HasField("struct_expr")
        count = shape.size if shape else UNKNOWN
        gathered = Shape(count, element=element) if collects else start
        self._scopes.append({str(loop.accu_var): gathered, str(loop.iter_var): element})
        body = self._cost(loop.loop_condition)[0] + self._cost(loop.loop_step)[0]
        self._scopes.pop()
        self._scopes.append({str(loop.accu_var): gathered})
        result_cost, _ = self._cost(loop.result)
        self._scopes.pop()
        return _capped(range_cost + start_cost + result_cost + count * body), gathered

    def _call(self, call: Node) -> tuple[int, Shape | None]:
        name = str(call.function)
        parts = list(_each(call.args))
        if call.HasField("target"):
            parts.insert(0, call.target)
        found = [self._cost(part) for part in parts]
        costs, shapes = [cost for cost, _ in found], [shape for _, shape in found]
        if name == "_?_:_" and len(costs) == 3:
            wider = max(shapes[1:], key=lambda shape: shape.size if shape else UNKNOWN)
            return costs[0] + max(costs[1:]), wider
        own, result = _own_cost(name, shapes)
        return _capped(sum(costs) + own), result


def _own_cost(name: str, shapes: list[Shape | None]) -> tuple[int, Shape | None]:
    """The cost of a call without its arguments', and the shape of its result."""
    sizes = [shape.size if shape else UNKNOWN for shape in shapes]
    first = sizes[0] if sizes else 1
    if name in _BRANCHES or name in _FREE:
        return 0, SCALAR
    if name == "_[_]":
        return 1, shapes[0].element if shapes[0] else None
    if name in _COMPARED:
        return _traversed(min(sizes)), SCALAR
    if name == "_+_":
        whole = _capped(sum(sizes))
        element = shapes[0].element if shapes[0] else None
        return (1 if element or sizes == [1, 1] else _traversed(whole)), Shape(whole, element=element)
    if name == "matches":
        return _capped(_traversed(first + 1) * max(1, math.ceil(sizes[-1] * _REGEX))), SCALAR
    if name in ("contains", "find", "findAll"):
        return _capped(_traversed(first) * max(1, _traversed(sizes[-1]))), Shape(first, element=Shape(first))
    if name in _WHOLE_LIST:
        return (sizes[-1] if name in ("_in_", "@in") else first), SCALAR
    if name in _WHOLE_TEXT:
        return _traversed(first), Shape(first, element=Shape(first))
    return 1, None if name in _UNKNOWN_RESULT else SCALAR


def _constant(value: Node) -> Shape:
    for kind in ("string_value", "bytes_value"):
        if value.HasField(kind):
            return Shape(len(getattr(value, kind)))
    return SCALAR


def _each(nodes: Node | Iterable[Node]) -> Iterable[Node]:
    """A repeated field as what it is."""
    return nodes  # type: ignore[return-value]
