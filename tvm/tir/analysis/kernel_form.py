"""What a kernel says beside its sizes: kernels of one form differ in integers alone.

    for c in range(30): for i in range(n):            for c in range(60): for i in range(n):
        B[c * 8 + i] = A[c * 8 + i]                       B[c * 8 + i] = A[c * 8 + i]

Both have one form, with the sizes 30 and 60. A size is an integer that code may as well read from a
register: the extent of a loop, the outermost of a parameter, a number in arithmetic.
None are what decides how fast tiles go: extents of vectors and of what is unrolled, divisors within
loops, operands of intrinsics; within innermost loops, all but factors, which say how far apart
rows lie. Of panels of weights the number of rows is a size too, unless a window is in each: with
the channels that convolutions 3x3 sum up as a size, ResNet-18 would run for 4 % longer. Sizes of a
kernel's own memory are told apart, and how many rounds of a parallel loop are worth a task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Node, with_fields
from tvm.ir.op import Op
from tvm.ir.structural import is_tensor_class
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.children import statements
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops

GRAIN: Final = "parallel_grain"  # annotation of a loop: iterations that are worth a task
_CHOICES: Final = ("tir.if_then_else", "tir.likely")
_PLACES: Final = ("tir.address_of", "tir.prefetch")  # what else these take is of 32 bits
_TILES: Final = (s.ForKind.VECTORIZED, s.ForKind.UNROLLED)
_SAID: Final = "schedule_reason"  # for people
_FIXED: Final = 0  # no integer here is a size
_TOP: Final = 1  # outside of loops
_LOOP: Final = 2
_OUTER: Final = 3  # of extents: the outermost that is a number above one
_OWN: Final = 4  # memory of the kernel
_WORTH: Final = 5  # of a task: how many rounds
_INNER: Final = 6  # within innermost loops: no integer but factors
_AMOUNT: Final = 7  # of memory of the kernel: how many rows it has
_APART: Final = 8  # of memory of the kernel: what says how far apart its rows lie

Token = object
Part = tuple[str, Any, int]  # a field, its value, and what its integers are


class KernelForm(NamedTuple):
    """The form of a kernel, equal for kernels of one form, and its sizes in their order.

    `memory` has the numbers of those that say how much memory the kernel has: more does no harm.
    `apart` has those of them that are no outermost extents, so that rows lie further apart.
    `rounds` has those that say how many rounds of a loop are worth a task: fewer are, too.
    """

    tokens: tuple[Token, ...]
    sizes: tuple[int, ...]
    memory: frozenset[int] = frozenset()
    apart: frozenset[int] = frozenset()
    rounds: frozenset[int] = frozenset()

    def rough(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sizes that need not be quite those of the kernel: distances, and rounds of tasks."""
        distances = tuple([self.sizes[number] for number in sorted(self.apart)])
        return distances, tuple([self.sizes[number] for number in sorted(self.rounds)])


def kernel_form(func: PrimFunc) -> KernelForm | None:
    """The form of a function; None where it holds what is told apart by identity only."""
    tokens: list[Token] = []
    sizes: list[int] = []
    memory: set[int] = set()
    apart: set[int] = set()
    rounds: set[int] = set()
    # variables and buffers, by the order in which they come; a loop's variable is a new one even
    # where another loop has the same
    known: dict[int, int] = {}
    count = 0
    stack: list[tuple[Any, int]] = [(func, _TOP)]
    while stack:
        item, place = stack.pop()
        kind = item.__class__
        if kind is e.IntImm:
            if place and place != _INNER and item.dtype is e.INT64:
                if place >= _AMOUNT:
                    memory.add(len(sizes))
                if place == _APART:
                    apart.add(len(sizes))
                tokens.append("size")
                sizes.append(item.value)
            else:
                tokens += (item.dtype, item.value)
        elif isinstance(item, (e.Var, Buffer)):
            number = known.get(id(item))
            if number is not None:
                tokens.append(number)
                continue
            known[id(item)] = count
            count += 1
            tokens.append(kind)
            stack += [(value, at) for _, value, at in parts_of(item, place)[::-1]]
        elif isinstance(item, Op):
            tokens.append(item.name)
        elif isinstance(item, Node):
            tokens.append(kind)
            if isinstance(item, s.For):
                known.pop(id(item.loop_var), None)
            stack += [(value, at) for _, value, at in parts_of(item, place)[::-1]]
        elif isinstance(item, Mapping):
            tokens += ("{", len(item))
            for key, value in list(item.items())[::-1]:
                stack += ((value, _WORTH if key == GRAIN else place), (key, place))
        elif isinstance(item, Sequence) and not isinstance(item, str):
            tokens += ("(", len(item))
            stack += list(zip(item, _places_in(item, place)))[::-1]
        elif is_tensor_class(kind):
            return None
        elif place == _WORTH and kind is int:
            rounds.add(len(sizes))
            tokens.append("rounds")
            sizes.append(item)
        else:
            tokens += (kind, repr(item) if kind is float else item)
    groups = [frozenset(numbers) for numbers in (memory, apart, rounds)]
    return KernelForm(tuple(tokens), tuple(sizes), *groups)


class WithSizes:
    """Replaces the sizes of a function, in the order in which `kernel_form` gives them."""

    def __init__(self, values: Mapping[int, PrimExpr | int]) -> None:
        self._values = values  # by the number of the size; the others stay
        self._count = 0
        self._known: dict[int, Any] = {}

    def replaced(self, item: Any, place: int = _TOP) -> Any:
        """The node, or other value of a field, with its sizes replaced."""
        kind = item.__class__
        if kind is e.IntImm:
            if not (place and place != _INNER and item.dtype is e.INT64):
                return item
            self._count += 1
            return self._values.get(self._count - 1, item)
        if isinstance(item, (e.Var, Buffer)):
            if id(item) not in self._known:
                self._known[id(item)] = item
                self._known[id(item)] = self._with_parts(item, place)
            return self._known[id(item)]
        if isinstance(item, Op):
            return item
        if isinstance(item, Node):
            return self._with_parts(item, place)
        if isinstance(item, Mapping):
            pairs = [(self.replaced(k, place), self.replaced(v, _WORTH if k == GRAIN else place))
                     for k, v in item.items()]  # fmt: skip
            same = all(v is item.get(k) for k, v in pairs)
            return item if same else dict(pairs)
        if isinstance(item, Sequence) and not isinstance(item, str):
            new = [self.replaced(*pair) for pair in zip(item, _places_in(item, place))]
            return item if all(a is b for a, b in zip(new, item)) else tuple(new)
        if place == _WORTH and kind is int:
            self._count += 1
            return self._values.get(self._count - 1, item)
        return item

    def _with_parts(self, node: Node, place: int) -> Node:
        changes = {}
        for name, value, at in parts_of(node, place):
            new = self.replaced(value, at)
            if new is not value:
                changes[name] = new
        return with_fields(node, **changes) if changes else node


def _places_in(items: Sequence[Any], place: int) -> list[int]:
    if place == _APART:
        return [_AMOUNT, *[_APART] * (len(items) - 1)][: len(items)]
    if place != _OUTER:
        return [place] * len(items)
    numbers = [n for n, item in enumerate(items) if ops.literal(item) not in (None, 1)]
    outermost = numbers[:1] if numbers[:1] != [len(items) - 1] or len(items) == 1 else []
    if len(numbers) == 3 and numbers[2] == len(items) - 1 and numbers[1] == numbers[0] + 1:
        outermost = numbers[:2]  # panels, and their rows
    return [_TOP if number in outermost else _FIXED for number in range(len(items))]


def parts_of(node: Node, place: int) -> list[Part]:
    """The fields that count, in order, each with what its integers are."""
    kind = type(node)
    if isinstance(node, DictAttrs):
        return [("__dict__", {k: v for k, v in node.items() if k != _SAID}, _FIXED)]
    if kind.field_values is not Node.field_values:  # a target
        return [(name, value, _FIXED) for name, value in node.field_values().items()]
    rule = _RULES.get(kind)
    if rule is not None and place:
        places = rule(node, place)
    else:
        places = {"": place if isinstance(node, (PrimExpr, s.Stmt, *_SAME)) else _FIXED}
    return [
        (f.name, getattr(node, f.name), places.get(f.name, places[""]))
        for f in node.FIELDS if not f.ignored
    ]  # fmt: skip


def _of_buffer(buffer: Buffer, place: int) -> dict[str, int]:
    if place == _OWN:
        return {"shape": _APART, "": _FIXED}
    return {"shape": _OUTER, "": _FIXED}


def _of_loop(loop: s.For, place: int) -> dict[str, int]:
    if loop.kind in _TILES or loop.thread_binding is not None:
        return {"body": _INNER, "": _FIXED}
    if _is_innermost(loop):
        return {"extent": _TOP, "body": _INNER, "": _FIXED}
    return {"min": _TOP, "extent": _TOP, "body": _LOOP, "": _FIXED}  # ends are computed once


def _is_innermost(loop: s.For) -> bool:
    """The loop goes through tiles, or through single elements."""
    return not any(inner.kind not in _TILES for inner in statements(loop.body, s.For))


def _of_call(call: e.Call, place: int) -> dict[str, int]:
    return {"args": place if e.op_name(call) in _CHOICES + _PLACES else _FIXED, "": _FIXED}


def _of_product(expr: e.Mul, place: int) -> dict[str, int]:
    return {"b": _LOOP if place == _INNER else place, "": place}


def _of_division(expr: e.BinaryOpExpr, place: int) -> dict[str, int]:
    return {"b": place if place == _TOP else _FIXED, "": place}


_SAME: Final = (PrimFunc, Range, e.IterVar, s.BufferRegion)  # parts of these are as they are
_RULES: Final[dict[type, Callable[[Any, int], dict[str, int]]]] = {
    Buffer: _of_buffer,
    s.For: _of_loop,
    s.While: lambda stmt, place: {"": _LOOP},
    s.Block: lambda block, place: {
        "alloc_buffers": _OWN, "match_buffers": _FIXED, "annotations": _FIXED, "": place
    },
    s.Allocate: lambda stmt, place: {"body": place, "": _FIXED},
    s.AllocateConst: lambda stmt, place: {"body": place, "": _FIXED},
    s.AttrStmt: lambda stmt, place: {"body": place, "": _FIXED},
    e.Call: _of_call,
    e.Mul: _of_product,
    **{kind: _of_division for kind in (e.FloorDiv, e.FloorMod, e.Div, e.Mod)},
    **{kind: lambda expr, place: {"": _FIXED} for kind in (e.Ramp, e.Broadcast, e.Shuffle)},
}  # fmt: skip
