"""Sizes that a native graph names and compares as it runs, all of them before its first kernel.

    lv: R.Shape([k]) = R.match_cast(R.shape([n * 2 + 1]), R.Shape([k]))     let k = n * 2 + 1
    y: R.Tensor((k,)) = R.match_cast(x, R.Tensor((k,)))          ->         assert m == k
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from tvm.arith import Analyzer
from tvm.error import message
from tvm.ir.expr import PrimExpr
from tvm.ir.span import Span
from tvm.ir.structural import structural_equal
from tvm.relax.analysis.size_limits import SizeLimit
from tvm.relax.expr import Call, MatchCast
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.transform.vm_shape_lower import match_context
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import substitute, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

_LARGEST = 512  # nodes of the extent of a result: it is computed where only parameters are known


class Sizes:
    """What a graph learns of its sizes beyond those of its parameters, and what it checks."""

    def __init__(self, known: Iterable[e.Var], name: str) -> None:
        self._known = set(known)
        self._name = name
        self._steps: list[tuple[e.Var, PrimExpr] | s.AssertStmt] = []
        self._of_parameters: dict[e.Var, PrimExpr] = {}
        self._analyzer = Analyzer()

    def match(self, binding: MatchCast) -> str | None:
        """Name or compare the sizes of a match_cast; what is in the way, where it cannot be."""
        pairs = _pairs(binding.value.struct_info_, binding.struct_info)
        if pairs is None:
            return "a match_cast is of a value whose extents only the running program knows"
        if not all(self.is_known(extent) for have, _ in pairs for extent in have):
            return "a match_cast is of sizes that come from data"
        for have, want in pairs:
            for extent, found in zip(want, have):
                if isinstance(extent, e.Var) and extent not in self._known:
                    self._define(extent, found)
        for have, want in pairs:
            for axis, (extent, found) in enumerate(zip(want, have)):
                if not self.is_known(extent):
                    return "a match_cast is to sizes that come from data"
                if not structural_equal(extent, found) and not self._equal(extent, found):
                    self._check(binding, axis, have, want)
        return None

    def reshape(self, value: Call) -> str | None:
        """Compare the sizes of a view with those of what it views, unless they must be equal."""
        have, want = _extents(value.args[0].struct_info_), _extents(value.struct_info_)
        if have is None or want is None:
            return None  # which is refused for that
        before, after = _count(have), _count(want)
        if structural_equal(before, after) or self._equal(before, after):
            return None
        if not self.is_known(before) or not self.is_known(after):
            return "a reshape is to sizes that come from data"
        text = message(
            "reshape", found=f"{_marks(have)} to {_marks(want)}", legal="equal element counts"
        )
        self._assert(ops.equal(before, after), text, [*have, *want], value.span)
        return None

    def limit(self, limit: SizeLimit) -> None:
        """Compare a size with the largest that the function was made for."""
        where = f"check failed: {self._name}: dimension {limit.axis} of {limit.param!r}"
        text = message(where, found="{}", legal=f"at most {limit.most}")
        most = ops.const(limit.most, limit.symbol.dtype)
        self._assert(ops.less_equal(limit.symbol, most), text, [limit.symbol], None)

    def of_parameters(self, extent: PrimExpr) -> PrimExpr | None:
        """The extent by the sizes of the parameters alone; None where it is too large so."""
        result = substitute(extent, self._of_parameters) if self._of_parameters else extent
        return None if sum(1 for _ in walk(result)) > _LARGEST else result

    @contextmanager
    def inner(self) -> Iterator[Callable[[s.Stmt], s.Stmt]]:
        """What is named and checked from here on stands within: around the body of a branch."""
        before, self._steps = self._steps, []
        yield self.around
        self._steps = before

    def around(self, body: s.Stmt) -> s.Stmt:
        """The body, after what is named and checked."""
        for step in reversed(self._steps):
            if isinstance(step, s.AssertStmt):
                body = s.SeqStmt.flatten(step, body)
            else:
                body = s.LetStmt(step[0], step[1], body)
        return body

    def is_known(self, expr: PrimExpr) -> bool:
        """Whether an extent follows from those of the parameters."""
        return all(not isinstance(node, e.Var) or node in self._known for node in walk(expr))

    def _define(self, var: e.Var, value: PrimExpr) -> None:
        value = ops.cast(value, var.dtype)
        self._known.add(var)
        self._steps.append((var, value))
        whole = self.of_parameters(value)
        # one that is too large stays a name of its own, which no result may have
        self._of_parameters[var] = var if whole is None else whole

    def _equal(self, a: PrimExpr, b: PrimExpr) -> bool:
        return a.dtype == b.dtype and bool(self._analyzer.can_prove_equal(a, b))

    def _check(
        self, binding: MatchCast, axis: int, have: Sequence[PrimExpr], want: Sequence[PrimExpr]
    ) -> None:
        where = match_context(self._name, binding).strip().replace("{}", "{ }")
        text = message(
            f"check failed: {where} expects extent {{}} in dimension {axis}",
            found=f"shape {_marks(have)}: extent {axis} is {{}}", legal=_marks(want),
        )  # fmt: skip
        values = [want[axis], *have, have[axis], *want]
        self._assert(ops.equal(have[axis], want[axis]), text, values, binding.span)

    def _assert(
        self, condition: PrimExpr, text: str, values: Sequence[PrimExpr], span: Span | None
    ) -> None:
        told = builtin.tvm_tuple(
            e.StringImm(f"ShapeError: {text}"), *(ops.cast(value, "int64") for value in values)
        )
        self._steps.append(s.AssertStmt(condition, told, s.Evaluate(0), span))


def _marks(shape: Sequence[PrimExpr]) -> str:
    """A `{}` for each extent in the text of an error."""
    marks = ", ".join("{}" for _ in shape)
    return f"({marks},)" if len(shape) == 1 else f"({marks})"


def _count(shape: Sequence[PrimExpr]) -> PrimExpr:
    total: PrimExpr = ops.const(1, "int64")
    for extent in shape:
        total = ops.multiply(total, extent)
    return total


def _extents(info: object) -> tuple[PrimExpr, ...] | None:
    if isinstance(info, ShapeStructInfo):
        return info.values
    if isinstance(info, TensorStructInfo) and isinstance(info.shape, ShapeExpr):
        return info.shape.values
    return None


def _pairs(
    have: object, want: object
) -> list[tuple[tuple[PrimExpr, ...], tuple[PrimExpr, ...]]] | None:
    """The extents of both sides, tensor by tensor; None where one is not known."""
    if isinstance(have, TupleStructInfo) and isinstance(want, TupleStructInfo):
        if len(have.fields) != len(want.fields):
            return None
        each = [_pairs(a, b) for a, b in zip(have.fields, want.fields)]
        found = [pairs for pairs in each if pairs is not None]
        return [pair for pairs in found for pair in pairs] if len(found) == len(each) else None
    a, b = _extents(have), _extents(want)
    return [(a, b)] if a is not None and b is not None and len(a) == len(b) else None
