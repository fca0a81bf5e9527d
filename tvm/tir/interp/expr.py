"""Expressions as Python closures: each takes the frame and returns a value.

A frame is a list: slot 0 holds the shape of the loop nest that runs as one (None when single
iterations run), slot 1 the slots that then have a value for each iteration; every variable and
buffer of the function has a slot of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final

import numpy as np

from tvm.error import message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.functor import TirFunctor, walk

from .errors import InterpreterError, out_of_bounds
from .intrinsics import RULES, extern_rule
from .memory import Pointer, buffer_view, pick
from .values import Value, binary_rule, cast, is_array, lane_count, numpy_dtype

Frame = list[Any]
Code = Callable[[Frame], Value]
SHAPE: Final = 0
LANES: Final = 1
# below this length a chain of operations is compiled by recursion
_LONG: Final = 8
_UNSIGNED: Final = {np.dtype(f"int{n}"): np.dtype(f"uint{n}") for n in (32, 64)}


class Layout:
    """Which slot of the frame belongs to which variable and buffer."""

    def __init__(self) -> None:
        self.slots: dict[object, int] = {}
        self.size = 2
        # buffers by the variable of their memory: new memory makes their views stale
        self.views: dict[e.Var, list[int]] = {}
        # rows and columns of matrix fragments by the variable of their memory
        self.fragments: dict[e.Var, tuple[int, int]] = {}

    def slot(self, key: object) -> int:
        """The slot of a variable or buffer."""
        found = self.slots.get(key)
        if found is None:
            found = self.slots[key] = self.size
            self.size += 1
            if isinstance(key, Buffer):
                self.views.setdefault(key.data, []).append(found)
        return found


def only_where(frame: Frame, mask: Value) -> Frame:
    """The frame with just those iterations of the nest for which the mask holds."""
    shape = frame[SHAPE]
    full = np.broadcast_to(mask, shape)
    part = frame.copy()
    part[SHAPE] = (int(np.count_nonzero(full)),)
    for slot in frame[LANES]:
        value = frame[slot]
        if is_array(value):
            part[slot] = np.broadcast_to(value, shape)[full]
    return part


def can_fail(expr: PrimExpr) -> bool:
    """Whether evaluating an expression where it is not wanted could go wrong."""
    return any(_may_fail(node) for node in walk(expr))


def _may_fail(node: Any) -> bool:
    if isinstance(node, e.Call):
        name = e.op_name(node)
        return name not in RULES and name != "tir.if_then_else"
    if isinstance(node, (e.Div, e.Mod, e.FloorDiv, e.FloorMod)):
        known = isinstance(node.b, e.IntImm) and node.b.value != 0
        return not known and not node.dtype.is_floating
    return isinstance(node, e.BufferLoad)


class RunningProgram:
    """The program that runs, as the compilers of its functions see it."""

    warp_size: int

    def call_function(self, compiler: Any, op: e.Call) -> Code:
        """A call of another function of the module."""
        raise NotImplementedError  # abstract

    def special(self, compiler: Any, op: e.Call) -> Code:
        """An operator with effects, or one about addresses."""
        raise NotImplementedError  # abstract

    def extern_symbol(self, compiler: Any, op: e.Call, name: str) -> Code:
        """A C symbol: a function of the module by that name, or none that is known."""
        raise NotImplementedError  # abstract

    def constant(self, op: Any) -> Any:
        """The data of a constant allocation."""
        raise NotImplementedError  # abstract

    def threads(self, compiler: Any, op: Any) -> Callable[[Frame], None]:
        """A loop over threads."""
        raise NotImplementedError  # abstract

    def thread_steps(self, compiler: Any, op: Any) -> Callable[[Frame], Generator[Any, None, None]]:
        """The same within threads that may wait for each other."""
        raise NotImplementedError  # abstract

    def in_lockstep(
        self, compiler: Any, thread_vars: Sequence[e.Var], stmt: Any
    ) -> Callable[[Frame], Generator[Any, None, None]]:
        """A statement that threads run in step, though it has no barriers yet."""
        raise NotImplementedError  # abstract

    def binder(
        self, compiler: Any, buffer: Buffer
    ) -> Callable[[Frame, Sequence[int], Sequence[int], int], None]:
        """Binds the symbols of a buffer matched within a block, afresh each time."""
        raise NotImplementedError  # abstract


class ExprCompiler(TirFunctor[Code, Any]):
    """Turns expressions into closures over slots of the frame."""

    def __init__(self, layout: Layout, program: RunningProgram) -> None:
        self.layout = layout
        self.program = program

    def compile(self, expr: PrimExpr) -> Code:
        """The closure of an expression."""
        return self.visit_expr(expr)

    def visit_expr_default_(self, op: PrimExpr) -> Code:
        raise InterpreterError(
            message(
                f"run an expression of kind {type(op).__name__}",
                found=str(type(op).__name__),
                legal="programs of TensorIR; tensor expressions become one by create_prim_func",
            )
        )

    # --- leaves ---

    def visit_var_(self, op: e.Var) -> Code:
        slot, name = self.layout.slot(op), op.name

        def read(frame: Frame) -> Value:
            value = frame[slot]
            if value is None:
                raise InterpreterError(f"variable {name} is used before it has a value")
            return value

        return read

    def visit_int_imm_(self, op: e.IntImm) -> Code:
        value = numpy_dtype(op.dtype).type(op.value)
        return lambda frame: value

    def visit_float_imm_(self, op: e.FloatImm) -> Code:
        value = numpy_dtype(op.dtype).type(op.value)
        return lambda frame: value

    def visit_string_imm_(self, op: e.StringImm) -> Code:
        text = op.value
        return lambda frame: text

    # --- arithmetic ---

    def visit_cast_(self, op: e.Cast) -> Code:
        value, target = self.compile(op.value), op.dtype
        return lambda frame: cast(value(frame), target)

    def visit_binary_(self, op: e.BinaryOpExpr) -> Code:
        steps, base = _spine(op)
        if len(steps) >= _LONG:
            return self._chain(steps, base)
        a, b, rule = self.compile(op.a), self.compile(op.b), binary_rule(op.TYPE_KEY, op.a.dtype)
        return lambda frame: rule(a(frame), b(frame))

    def _chain(self, steps: list[tuple[e.BinaryOpExpr, bool]], base: PrimExpr) -> Code:
        """A long chain of operations as a loop, from the inside out."""
        start = self.compile(base)
        parts = [
            (binary_rule(n.TYPE_KEY, n.dtype), self.compile(n.b if left else n.a), left)
            for n, left in reversed(steps)
        ]

        def run(frame: Frame) -> Value:
            total = start(frame)
            for rule, other, left in parts:
                value = other(frame)
                total = rule(total, value) if left else rule(value, total)
            return total

        return run

    def visit_cmp_(self, op: e.CmpExpr) -> Code:
        a, b, rule = self.compile(op.a), self.compile(op.b), binary_rule(op.TYPE_KEY, op.a.dtype)
        return lambda frame: rule(a(frame), b(frame))

    def visit_and_(self, op: e.And) -> Code:
        return self._short_circuit(op.a, op.b, np.logical_and, wanted=True)

    def visit_or_(self, op: e.Or) -> Code:
        return self._short_circuit(op.a, op.b, np.logical_or, wanted=False)

    def _short_circuit(
        self, first: PrimExpr, second: PrimExpr, join: Callable[..., Any], wanted: bool
    ) -> Code:
        """The second operand is looked at only where the first leaves the result open."""
        a, b, careful = self.compile(first), self.compile(second), can_fail(second)

        def run(frame: Frame) -> Value:
            x = a(frame)
            if not is_array(x):
                return b(frame) if x == wanted else x
            open_ = x if wanted else ~x
            if not open_.any():
                return x
            if careful and frame[SHAPE] is not None and not open_.all():
                y = _scatter(frame, open_, b(only_where(frame, open_)), np.bool_(not wanted))
            else:
                y = b(frame)
            return join(x, y)

        return run

    def visit_not_(self, op: e.Not) -> Code:
        a = self.compile(op.a)
        return lambda frame: np.logical_not(a(frame))

    def visit_select_(self, op: e.Select) -> Code:
        return self._choose(op.condition, op.true_value, op.false_value, op.dtype)

    def _choose(self, cond: PrimExpr, yes: PrimExpr, no: PrimExpr, dtype: DataType) -> Code:
        """One of two values; what is not chosen is not evaluated."""
        c, a, b = self.compile(cond), self.compile(yes), self.compile(no)
        careful, kind = can_fail(yes) or can_fail(no), numpy_dtype(dtype)

        def run(frame: Frame) -> Value:
            which = c(frame)
            if not is_array(which):
                return a(frame) if which else b(frame)
            if frame[SHAPE] is None or not careful:
                return np.asarray(np.where(which, a(frame), b(frame)), kind)
            if which.all():
                return a(frame)
            if not which.any():
                return b(frame)
            value = np.empty(frame[SHAPE], kind)
            full = np.broadcast_to(which, frame[SHAPE])
            value[full] = a(only_where(frame, which))
            value[~full] = b(only_where(frame, ~which))
            return value

        return run

    def visit_let_(self, op: e.Let) -> Code:
        value, slot = self.compile(op.value), self.layout.slot(op.var)
        body = self.compile(op.body)

        def run(frame: Frame) -> Value:
            frame[slot] = value(frame)
            return body(frame)

        return run

    # --- vectors ---

    def visit_ramp_(self, op: e.Ramp) -> Code:
        base, stride = self.compile(op.base), self.compile(op.stride)
        steps = np.arange(lane_count(op.dtype), dtype=numpy_dtype(op.dtype))
        return lambda frame: base(frame) + stride(frame) * steps

    def visit_broadcast_(self, op: e.Broadcast) -> Code:
        value, lanes, kind = self.compile(op.value), lane_count(op.dtype), numpy_dtype(op.dtype)
        return lambda frame: np.full(lanes, value(frame), kind)

    def visit_shuffle_(self, op: e.Shuffle) -> Code:
        vectors = [self.compile(v) for v in op.vectors]
        indices = [self.compile(i) for i in op.indices]

        def run(frame: Frame) -> Value:
            joined = np.concatenate([np.atleast_1d(v(frame)) for v in vectors])
            picked = joined[[int(i(frame)) for i in indices]]
            return picked if len(indices) > 1 else picked[0]

        return run

    # --- memory ---

    def view(self, buffer: Buffer) -> Code:
        """The closure that gives a buffer as an array."""
        slot = self.layout.slot(buffer)
        make = self.make_view(buffer)

        def run(frame: Frame) -> Any:
            found = frame[slot]
            if found is None:
                found = frame[slot] = make(frame)
            return found

        return run

    def make_view(self, buffer: Buffer) -> Code:
        """The closure that makes the array of a buffer from its memory."""
        data, offset = self.layout.slot(buffer.data), self.compile(buffer.elem_offset)
        shape = [self.compile(x) for x in buffer.shape]
        strides = [self.compile(x) for x in buffer.checked_strides()]
        name, dtype = buffer.name, buffer.dtype
        # a part of merged shared memory keeps its shape, though its indices begin further on
        merged = len(shape) == 1 and not strides and buffer.scope().startswith("shared")

        def run(frame: Frame) -> Any:
            pointer = frame[data]
            if pointer is None:
                raise InterpreterError(f"buffer {name} has no memory here")
            dims, steps = [int(x(frame)) for x in shape], [int(x(frame)) for x in strides]
            if merged and pointer.data.dtype == np.uint8 and dtype != "uint8":
                dims = [pointer.data.nbytes // dtype.itemsize]
            return buffer_view(name, dtype, pointer, dims, steps, int(offset(frame)))

        return run

    def indices_in(self, what: str, op: Any) -> Callable[[Frame, Any], tuple[Any, ...]]:
        """The closure that evaluates and checks the indices of an access."""
        codes = [self.compile(i) for i in op.indices]
        name, span = op.buffer.name, op.span

        def run(frame: Frame, array: Any) -> tuple[Any, ...]:
            indices = tuple([code(frame) for code in codes])
            for dim, index in enumerate(indices):
                extent = array.shape[dim]
                if is_array(index):
                    if index.size == 0 or _all_below(index, extent):
                        continue
                    worst = index.min() if index.min() < 0 else index.max()
                else:
                    worst = index
                if not 0 <= worst < extent:
                    raise out_of_bounds(what, name, dim, int(worst), extent, span)
            return indices

        return run

    def visit_buffer_load_(self, op: e.BufferLoad) -> Code:
        view, indices = self.view(op.buffer), self.indices_in("load from", op)
        flat = op.buffer.dtype.is_vector and op.dtype.lanes > op.buffer.dtype.lanes
        if op.predicate is not None:
            return self._masked_load(op)
        # elements that are vectors have one dimension more than indices
        take = operator.getitem if op.buffer.dtype.is_vector else pick

        def run(frame: Frame) -> Value:
            array = view(frame)
            if flat:
                return array[indices(frame, array)].reshape(-1)
            return take(array, indices(frame, array))

        return run

    def _masked_load(self, op: e.BufferLoad) -> Code:
        """Lanes whose predicate is false are zero, and their index is not looked at."""
        assert op.predicate is not None, "the caller looked"
        view, mask = self.view(op.buffer), self.compile(op.predicate)
        codes, kind = [self.compile(i) for i in op.indices], numpy_dtype(op.dtype)

        def run(frame: Frame) -> Value:
            array, on = view(frame), np.atleast_1d(mask(frame))
            value = np.zeros(on.shape, kind)
            indices = masked_indices([code(frame) for code in codes], on)
            check_lanes("load from", op.buffer.name, indices, array, op.span)
            value[on] = array[indices]
            return value

        return run

    # --- calls ---

    def visit_call_(self, op: e.Call) -> Code:
        if isinstance(op.op, GlobalVar):
            return self.program.call_function(self, op)
        name = op.op.name
        if name == "tir.if_then_else":
            return self._choose(op.args[0], op.args[1], op.args[2], op.dtype)
        if name in RULES:
            rule, dtype = RULES[name], op.dtype
            codes = [self.compile(a) for a in op.args]
            if len(codes) == 1:
                only = codes[0]
                return lambda frame: rule(dtype, only(frame))
            return lambda frame: rule(dtype, *[code(frame) for code in codes])
        if name in ("tir.call_extern", "tir.call_pure_extern", "tir.call_llvm_intrin",
                    "tir.call_llvm_pure_intrin"):  # fmt: skip
            return self._extern(op)
        return self.program.special(self, op)

    def _extern(self, op: e.Call) -> Code:
        symbol = op.args[0]
        name = symbol.value if isinstance(symbol, e.StringImm) else ""
        rule, dtype = extern_rule(name, op.dtype), op.dtype
        if rule is None:
            return self.program.extern_symbol(self, op, name)
        codes = [self.compile(a) for a in op.args[1:]]
        return lambda frame: rule(dtype, *[code(frame) for code in codes])

    def address(self, op: e.BufferLoad) -> Code:
        """The closure of the address of an element."""
        buffer = op.buffer
        data, indices = self.layout.slot(buffer.data), [self.compile(i) for i in op.indices]
        offset, lanes = self.compile(buffer.elem_offset), buffer.dtype.lanes
        view, kind = self.view(buffer), numpy_dtype(buffer.dtype)

        def run(frame: Frame) -> Pointer:
            array = view(frame)
            steps = [s // array.itemsize for s in array.strides]
            start = sum(int(i(frame)) * s for i, s in zip(indices, steps))
            base: Pointer = frame[data].typed(kind)
            return base.moved(int(offset(frame)) * lanes + start)

        return run


def _all_below(index: Any, extent: int) -> bool:
    """Whether all indices are known to be at least 0 and below `extent`: one look at each."""
    same_width = _UNSIGNED.get(index.dtype)  # where negative numbers are huge
    return same_width is not None and bool(
        np.maximum.reduce(index.view(same_width), axis=None) < extent
    )


def masked_indices(indices: list[Value], mask: Value) -> tuple[Any, ...]:
    """The indices of those lanes whose mask is set."""
    return tuple([np.broadcast_to(i, mask.shape)[mask] for i in indices])


def check_lanes(what: str, name: str, indices: tuple[Any, ...], array: Any, span: Any) -> None:
    """Refuse lanes outside of the array."""
    for dim, index in enumerate(indices):
        bad = index[(index < 0) | (index >= array.shape[dim])]
        if bad.size:
            raise out_of_bounds(what, name, dim, int(bad[0]), array.shape[dim], span)


def _scatter(frame: Frame, mask: Value, value: Value, rest: Any) -> Value:
    full = np.broadcast_to(mask, frame[SHAPE])
    result = np.full(frame[SHAPE], rest)
    result[full] = value
    return result


def _spine(op: e.BinaryOpExpr) -> tuple[list[tuple[e.BinaryOpExpr, bool]], PrimExpr]:
    """The longest run of arithmetic below `op` through left operands, or else through right ones.

    Each step says whether the run goes on in its left operand.
    """
    steps: list[tuple[e.BinaryOpExpr, bool]] = []
    node: PrimExpr = op
    while isinstance(node, e.BinaryOpExpr):
        left = isinstance(node.a, e.BinaryOpExpr) or not isinstance(node.b, e.BinaryOpExpr)
        steps.append((node, left))
        node = node.a if left else node.b
    return steps, node
