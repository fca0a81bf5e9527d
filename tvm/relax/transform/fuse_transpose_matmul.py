"""A product with transposed weights is one kernel, `NT_matmul`.

    lv = permute_dims(w)                 y = call_tir(cls.NT_matmul, (x, w), ...)
    y = matmul(x, lv)            ->

An impure call between the two may change the weights: then they stay as they are.
`FuseTransposeMatvec` does this for single rows only.
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import te
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.analysis.purity import contains_impure_call
from tvm.relax.base_expr import Id
from tvm.relax.expr import Call, Function, Var, VarBinding
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_module_pass


@relax_module_pass("FuseTransposeMatmul")
def FuseTransposeMatmul(mod: IRModule, ctx: PassContext) -> IRModule:
    """No matmul of a dataflow block reads weights that were transposed for it."""
    return _fused(mod, lambda _: True, everywhere=False)


@relax_module_pass("FuseTransposeMatvec")
def FuseTransposeMatvec(mod: IRModule, ctx: PassContext) -> IRModule:
    """No product of one row does: turning weights over takes longer than the product itself.

    Products of more rows stay: their weights may be packed once, ahead of all calls.
    """
    return _fused(mod, _has_one_row, everywhere=True)


def _has_one_row(x: RelaxExpr) -> bool:
    info = x.struct_info_
    if not isinstance(info, TensorStructInfo) or info.values is None:
        return False
    return bool(info.values) and all(_is_one(extent) for extent in info.values[:-1])


def _fused(
    mod: IRModule, wanted: Callable[[RelaxExpr], bool], *, everywhere: bool
) -> IRModule:
    fuser = _Fuser(mod, wanted, everywhere)
    for var, func in mod.functions_items():
        if isinstance(func, Function):
            new = fuser.visit_expr(func)
            assert isinstance(new, Function), "functions stay functions"
            if new is not func:
                fuser.builder_.update_func(var, remove_unused_bindings(new))
    return fuser.builder_.get()


class _Fuser(PyExprMutator):
    def __init__(
        self, mod: IRModule, wanted: Callable[[RelaxExpr], bool], everywhere: bool
    ) -> None:
        super().__init__(mod)
        self._wanted = wanted  # by the operand that is not transposed
        self._everywhere = everywhere  # outside of dataflow blocks, too
        self._impure = 0  # impure bindings so far
        self._transposed_at: dict[Id, int] = {}  # how many of them stood before a transposition

    def visit_var_binding_(self, binding: VarBinding) -> None:
        value = binding.value
        if isinstance(value, Call) and _is(value, "relax.permute_dims"):
            self._transposed_at[binding.var.vid] = self._impure
        super().visit_var_binding_(binding)
        if not isinstance(value, Function) and contains_impure_call(value):
            self._impure += 1

    def visit_call_(self, op: Call) -> RelaxExpr:
        new = super().visit_call_(op)
        if not isinstance(new, Call) or not _is(new, "relax.matmul"):
            return new
        if not self._everywhere and not self.builder_.current_block_is_dataflow():
            return new
        x, transposed = new.args
        if not self._wanted(x):
            return new
        before = self.lookup_binding(transposed) if isinstance(transposed, Var) else transposed
        if not isinstance(before, Call) or not _swaps_last_two(before):
            return new
        if isinstance(transposed, Var) and self._transposed_at.get(transposed.vid) != self._impure:
            return new
        kind = new.attrs.out_dtype  # type: ignore[union-attr]
        result = self.builder_.call_te(
            transposed_matmul, x, before.args[0], str(kind or ""), primfunc_name_hint="NT_matmul"
        )
        result.span = new.span
        return result


def _is(expr: RelaxExpr, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _swaps_last_two(call: Call) -> bool:
    info = call.args[0].struct_info_
    if not _is(call, "relax.permute_dims") or not isinstance(info, TensorStructInfo):
        return False
    if info.ndim < 2 or info.shape is None:
        return False
    axes = call.attrs.axes  # type: ignore[union-attr]
    order = list(range(info.ndim))
    wanted = [*order[:-2], order[-1], order[-2]]
    found = order[::-1] if axes is None else [int(axis) % info.ndim for axis in axes]
    return found == wanted


def transposed_matmul(a: te.Tensor, b: te.Tensor, out_dtype: str = "") -> te.Tensor:
    """The product of `a` with `b` transposed.   (..., m, k), (..., n, k) -> (..., m, n)

    Leading dimensions broadcast; a vector `a` counts as one row, which is left out of the result.
    """
    row = a.ndim == 1
    rows: list[PrimExpr] = [] if row else [a.shape[-2]]
    batch_a, batch_b = list(a.shape[: -2 if not row else -1]), list(b.shape[:-2])
    count = max(len(batch_a), len(batch_b))
    padded = [[1] * (count - len(x)) + list(x) for x in (batch_a, batch_b)]
    batch = [y if _is_one(x) else x for x, y in zip(*padded)]
    k = te.reduce_axis((0, a.shape[-1]), "k")
    kind = out_dtype if out_dtype not in ("", "void") else a.dtype

    def element(*index: PrimExpr) -> PrimExpr:
        lead, inner = list(index[:count]), list(index[count:])
        left = [0 if _is_one(n) else i for i, n in zip(lead[count - len(batch_a) :], batch_a)]
        right = [0 if _is_one(n) else i for i, n in zip(lead[count - len(batch_b) :], batch_b)]
        one: PrimExpr = a(*left, *inner[:-1], k)
        other: PrimExpr = b(*right, inner[-1], k)
        if one.dtype != kind:
            one, other = one.astype(kind), other.astype(kind)
        total: PrimExpr = te.sum(one * other, axis=k)
        return total

    result: te.Tensor = te.compute([*batch, *rows, b.shape[-2]], element, name="NT_matmul")
    return result


def _is_one(extent: object) -> bool:
    return getattr(extent, "value", extent) == 1
