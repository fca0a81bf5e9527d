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

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvm import te
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, Var, is_call_of
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.fold_dequantize import info_of, sizes_of
from tvm.relax.transform.rebuild import all_bindings, rewrite_calls
from tvm.target.target import Target
from tvm.tir.op.arith import is_one

_BYTES: Final = ("int8", "uint8")


class Centred(NamedTuple):
    """A tensor of numbers `raw` - `zero`: bytes, and a zero point of 32 bits (None: 0)."""

    raw: RelaxExpr
    zero: RelaxExpr | None

    @property
    def dtype(self) -> str:
        """The data type of the bytes."""
        info = info_of(self.raw)
        assert info is not None, "bytes are of a tensor"
        return str(info.dtype)


class IntegerProducts(ModulePass):
    """Rewrites the products of all functions for a CPU; those that it cannot make faster stay."""

    def __init__(self, target: Target) -> None:
        self._form = product_form(target)
        super().__init__(self._run, PassInfo(0, "IntegerProducts"))

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        bb = BlockBuilder(mod)
        changed: dict[Any, Any] = {}
        for var, func in mod.functions.items():
            if self._form is not None and isinstance(func, Function):
                rules = _Rules({b.var: b.value for b in all_bindings(func)}, self._form)
                new = rewrite_calls(func, {"relax.matmul": rules.matmul}, bb)
                if new is not func:
                    changed[var] = remove_unused_bindings(new)
        if not changed:
            return mod
        made = bb.get()
        return made.with_functions({**made.functions, **changed})


def product_form(target: Target) -> tuple[str, str] | None:
    """The data types of the operands that a CPU multiplies; None where it has nothing better."""
    if target.kind.name != "llvm":
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

    def _by_constant(
        self, bb: BlockBuilder, a: Centred, w: NDArray[np.int8], shift: NDArray[np.int32]
    ) -> RelaxExpr:
        whole = w.astype(np.int32) + shift
        if self._form[0] == "int16":
            words = w if not shift.any() else whole.astype(np.int16)
            return op.matmul(_words(bb, a), Constant(words), "int32")
        a = _moved(bb, a, self._form[0])
        result = bb.emit(op.matmul(a.raw, Constant(w), "int32"))
        pairs: list[RelaxExpr] = []
        if shift.any():
            pairs += [_row_sums(bb, bb.emit(op.astype(a.raw, "int32"))), Constant(-shift)]
        if a.zero is not None:
            pairs += [a.zero, Constant(whole.sum(axis=-2, keepdims=True, dtype=np.int32))]
        return _less(bb, result, pairs)

    def _by_other(self, bb: BlockBuilder, a: Centred, b: Centred) -> RelaxExpr:
        if self._form[0] == "int16":
            return op.matmul(_words(bb, a), _words(bb, b), "int32")
        a, b = _moved(bb, a, self._form[0]), _moved(bb, b, self._form[1])
        result = bb.emit(op.matmul(a.raw, b.raw, "int32"))
        pairs: list[RelaxExpr] = []
        if b.zero is not None:
            pairs += [_row_sums(bb, bb.emit(_as_int(bb, a))), b.zero]
        if a.zero is not None:
            wide = bb.emit(op.astype(b.raw, "int32"))
            pairs += [a.zero, bb.emit(op.sum(wide, -2, keepdims=True))]
        return _less(bb, result, pairs)

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


def _moved(bb: BlockBuilder, a: Centred, dtype: str) -> Centred:
    """The same numbers with bytes of this type: those of the other are 128 apart."""
    if a.dtype == dtype:
        return a
    by = 128 if dtype == "uint8" else -128
    wide = bb.emit(op.astype(a.raw, "int16"))
    raw = bb.emit(op.astype(bb.emit(op.add(wide, Constant(np.int16(by)))), dtype))
    shift = Constant(np.int32(by))
    return Centred(raw, shift if a.zero is None else bb.emit(op.add(a.zero, shift)))


def _as_int(bb: BlockBuilder, a: Centred) -> RelaxExpr:
    """The numbers themselves, in 32 bits."""
    wide = bb.emit(op.astype(a.raw, "int32"))
    return wide if a.zero is None else op.subtract(wide, a.zero)


def _row_sums(bb: BlockBuilder, wide: RelaxExpr) -> RelaxExpr:
    return bb.emit(op.sum(wide, -1, keepdims=True))


def _less(bb: BlockBuilder, sums: RelaxExpr, pairs: list[RelaxExpr]) -> RelaxExpr:
    """Sums less the products of pairs, in one step: it is computed where the sums are made."""
    if not pairs:
        return sums

    def compute(x: te.Tensor, *factors: te.Tensor) -> Any:
        def element(*at: Any) -> Any:
            value = x(*at)
            for one, other in zip(factors[::2], factors[1::2]):
                value = value - _at(one, at) * _at(other, at)
            return value

        return te.compute(x.shape, element, name="recentred")

    return bb.call_te(compute, sums, *pairs, primfunc_name_hint="recentred")


def _at(x: te.Tensor, place: tuple[Any, ...]) -> Any:
    """The element that is broadcast to a place."""
    rank = len(x.shape)
    last = place[len(place) - rank :]
    return x(*[0 if is_one(d) else i for d, i in zip(x.shape, last)])


def _words(bb: BlockBuilder, a: Centred) -> RelaxExpr:
    """The numbers themselves, in 16 bits."""
    wide = bb.emit(op.astype(a.raw, "int16"))
    if a.zero is None:
        return wide
    return bb.emit(op.subtract(wide, bb.emit(op.astype(a.zero, "int16"))))
