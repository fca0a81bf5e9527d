"""Products of integers of 8 bits, less zero points, in the forms that a CPU has instructions for.

    y = matmul(astype(x, i32) - zx, w32)
        ->  n = matmul(x, w8)                                        # bytes, summed in 32 bits
            y = n - zx * colsum(w32) + rowsum(x) * c                 # w32 = w8 + c

`w32` are constants (or others less a zero point); `c` moves numbers from 0 to 255 to those from
-128 on, and is mostly 0, so that what is left is a vector for all rows. Where the instruction wants
other signs than those of `x`, all its numbers and the zero point move by 128. All this is exact in
the arithmetic of 32 bits, which wraps around. Where bytes cannot be multiplied, operands of 16 bits
hold `x - zx` as they are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, Var, is_call_of
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.fold_dequantize import info_of, sizes_of
from tvm.relax.transform.integer_convolutions import (
    CHANNELS_LAST,
    convolved,
    is_last,
    is_taken,
)
from tvm.relax.transform.integer_operands import Centred, in_words, less, moved
from tvm.relax.transform.rebuild import all_bindings, rewrite_calls, rewrite_functions
from tvm.target.target import Target

_BYTES: Final = ("int8", "uint8")


class IntegerProducts(ModulePass):
    """Rewrites the products of all functions for a CPU; those that it cannot make faster stay."""

    def __init__(self, target: Target) -> None:
        self._form = product_form(target)
        super().__init__(self._run, PassInfo(0, "IntegerProducts"))

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return mod if self._form is None else rewrite_functions(mod, self._function)

    def _function(self, bb: BlockBuilder, func: Function) -> Function:
        assert self._form is not None, "products have a form here"
        rules = _Rules({b.var: b.value for b in all_bindings(func)}, self._form)
        by_name = dict.fromkeys(CHANNELS_LAST, rules.convolution) | {"relax.matmul": rules.matmul}
        new = rewrite_calls(func, by_name, bb)
        return func if new is func else remove_unused_bindings(new)


def product_form(target: Target) -> tuple[str, str] | None:
    """The data types of the operands that a CPU multiplies; None where it has nothing better."""
    if not target.kind.traits.machine_code:
        return None
    cpu = target.cpu
    if cpu.arch == "x86_64":
        has_bytes = bool({"avx512vnni", "avxvnni"} & cpu.features)
        return ("uint8", "int8") if has_bytes else ("int16", "int16")
    if cpu.arch == "aarch64" and "dotprod" in cpu.features:
        return ("int8", "int8")
    return None


class _Rules:
    def __init__(self, known: dict[Var, RelaxExpr], form: tuple[str, str]) -> None:
        self._known, self._form = known, form

    def _value(self, expr: RelaxExpr) -> RelaxExpr:
        while isinstance(expr, Var) and expr in self._known:
            expr = self._known[expr]
        return expr

    def matmul(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        """A product of integers in 32 bits."""
        info = info_of(call)
        a, b = call.args
        if info is None or str(info.dtype) != "int32" or len(sizes_of(b)) < 2:
            return call
        left, rows = self._centred(a), sizes_of(a)[-2:-1]
        if left is None or rows in ([], [1]) or not _same_along_rows(left.zero):
            return call
        constant = _constant(self._value(b))
        right = None if constant is not None else self._centred(b)
        if constant is not None:
            split = _split(constant)
            if split is None:
                return call
            return self._by_constant(bb, left, *split)
        if right is None or not _same_along_columns(right.zero):
            return call
        return self._by_other(bb, left, right)

    def convolution(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        """A convolution of integers by constants, channels last."""
        if not is_taken(call) or not is_last(call):
            return call
        a, w = self._moved_centred(bb, call.args[0]), _constant(self._value(call.args[1]))
        return call if a is None or w is None else convolved(bb, call, a, w, self._form)

    def _moved_centred(self, bb: BlockBuilder, expr: RelaxExpr) -> Centred | None:
        """Bytes with one zero point behind an operand; their axes are the ones swapped."""
        value, order = self._value(expr), None
        if is_call_of(value, "relax.permute_dims"):
            attrs: Any = value.attrs
            axes = range(len(sizes_of(value)))[::-1] if attrs.axes is None else attrs.axes
            order = [int(axis) for axis in axes]
            value = self._value(value.args[0])
        found = self._centred(value)
        if found is None:
            return None
        zero = None if found.zero is None else self._value(found.zero)
        if zero is not None and any(size != 1 for size in sizes_of(zero)):
            return None
        raw = found.raw if order is None else bb.emit(op.permute_dims(found.raw, order))
        return Centred(raw, zero)

    def _by_constant(
        self, bb: BlockBuilder, a: Centred, w: NDArray[np.int8], shift: NDArray[np.int32]
    ) -> RelaxExpr:
        whole = w.astype(np.int32) + shift
        if self._form[0] == "int16":
            words = w if not shift.any() else whole.astype(np.int16)
            return op.matmul(in_words(bb, a), Constant(words), "int32")
        a = moved(bb, a, self._form[0])
        result = bb.emit(op.matmul(a.raw, Constant(w), "int32"))
        pairs: list[RelaxExpr] = []
        if shift.any():
            pairs += [_row_sums(bb, bb.emit(op.astype(a.raw, "int32"))), Constant(-shift)]
        if a.zero is not None:
            pairs += [a.zero, Constant(whole.sum(axis=-2, keepdims=True, dtype=np.int32))]
        return less(bb, result, pairs)

    def _by_other(self, bb: BlockBuilder, a: Centred, b: Centred) -> RelaxExpr:
        if self._form[0] == "int16":
            return op.matmul(in_words(bb, a), in_words(bb, b), "int32")
        a, b = moved(bb, a, self._form[0]), moved(bb, b, self._form[1])
        result = bb.emit(op.matmul(a.raw, b.raw, "int32"))
        pairs: list[RelaxExpr] = []
        if b.zero is not None:
            pairs += [_row_sums(bb, bb.emit(_as_int(bb, a))), b.zero]
        if a.zero is not None:
            wide = bb.emit(op.astype(b.raw, "int32"))
            pairs += [a.zero, bb.emit(op.sum(wide, -2, keepdims=True))]
        return less(bb, result, pairs)

    def _centred(self, expr: RelaxExpr) -> Centred | None:
        """The bytes and the zero point behind numbers of 32 bits."""
        value = self._value(expr)
        raw = self._byte(value)
        if raw is not None:
            return Centred(raw, None)
        if not is_call_of(value, "relax.subtract"):
            return None
        raw, zero = self._byte(self._value(value.args[0])), value.args[1]
        info = info_of(zero)
        if raw is None or info is None or str(info.dtype) != "int32":
            return None
        known = _constant(self._value(zero))
        is_byte = self._byte(self._value(zero)) is not None
        if known is not None and known.size and known.min() >= -128 and known.max() <= 255:
            is_byte = True
        if not is_byte or sizes_of(value) != sizes_of(raw):
            return None
        if known is not None and not known.any():
            return Centred(raw, None)
        return Centred(raw, zero)

    def _byte(self, value: RelaxExpr) -> RelaxExpr | None:
        if not is_call_of(value, "relax.astype"):
            return None
        inner, info = info_of(value.args[0]), info_of(value)
        if inner is None or info is None or str(info.dtype) != "int32":
            return None
        return value.args[0] if str(inner.dtype) in _BYTES else None


def _constant(value: RelaxExpr) -> NDArray[np.int32] | None:
    if is_call_of(value, "relax.permute_dims"):
        inner = _constant(value.args[0])
        axes = value.attrs.axes  # type: ignore[union-attr]
        order = None if axes is None else [int(axis) for axis in axes]
        return None if inner is None else np.ascontiguousarray(inner.transpose(order))
    if not isinstance(value, Constant):
        return None
    array: NDArray[np.int32] = value.data.numpy()
    return array if array.dtype == np.int32 else None


def _split(w: NDArray[np.int32]) -> tuple[NDArray[np.int8], NDArray[np.int32]] | None:
    """Numbers as bytes, and what is to be added to those of each column."""
    if w.size == 0:
        return None
    low, high = w.min(axis=-2, keepdims=True), w.max(axis=-2, keepdims=True)
    if int((high.astype(np.int64) - low).max()) > 255:
        return None
    fits = (low >= -128) & (high <= 127)
    shift = np.where(fits, 0, low + 128).astype(np.int32)
    return (w - shift).astype(np.int8), shift


def _same_along_rows(zero: RelaxExpr | None) -> bool:
    """Whether a zero point of a left operand does not change along the sum."""
    return zero is None or not sizes_of(zero) or sizes_of(zero)[-1] == 1


def _same_along_columns(zero: RelaxExpr | None) -> bool:
    return zero is None or len(sizes_of(zero)) < 2 or sizes_of(zero)[-2] == 1


def _as_int(bb: BlockBuilder, a: Centred) -> RelaxExpr:
    """The numbers themselves, in 32 bits."""
    wide = bb.emit(op.astype(a.raw, "int32"))
    return wide if a.zero is None else op.subtract(wide, a.zero)


def _row_sums(bb: BlockBuilder, wide: RelaxExpr) -> RelaxExpr:
    return bb.emit(op.sum(wide, -1, keepdims=True))


