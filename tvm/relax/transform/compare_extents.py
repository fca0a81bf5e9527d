"""Compare extents that operators take for equal and nothing proves, before the operator runs.

    y = matmul(x: (3, n), w: (m, 4))   ->   _ = match_cast(shape([n]), Shape([m]))
                                            y = matmul(x, w)

A kernel has one extent for both, and would read past the end of the smaller one. Of kernels that
the graph calls by itself (`call_tir`), the shapes of their buffers say what has to be equal.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.analysis.call_tir_fits import is_kernel_call
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Binding, BindingBlock, Call, Function, MatchCast, is_call_of
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.kernel_extents import open_kernel_extents
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import rebuild_seq, with_body
from tvm.tir.function import PrimFunc

Pair = tuple[PrimExpr, PrimExpr]

# Operators whose kernels, too, tell what has to be equal: it is compared where kernels are.
TOLD_BY_KERNELS: Final = ("relax.reshape",)


@relax_pass("CompareExtents")
def CompareExtents(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Ask the rules of operators again, for calls of sizes that are symbols."""
    bb = BlockBuilder(mod)

    def fill(block: BindingBlock) -> None:
        comparisons = Comparisons(bb, mod)
        for binding in block.bindings:
            comparisons.emit_ahead_of(binding)
            bb.emit_normalized(binding)

    bb.begin_scope(func.params)
    body = rebuild_seq(func.body, lambda block: bb.rebuilt(block, fill))
    bb.end_scope()
    return with_body(func, body)


class Comparisons:
    """What a block compares: each pair of extents once."""

    def __init__(self, bb: BlockBuilder, mod: IRModule | None = None) -> None:
        self._bb = bb
        self._mod = mod  # whose kernels are compared with their calls
        self._known: list[Pair] = []

    def emit_ahead_of(self, binding: Binding) -> None:
        """Compare what the operator of a binding, which comes next, needs equal."""
        if isinstance(binding, MatchCast):
            value, wanted = binding.value, binding.struct_info
            if isinstance(value, ShapeExpr) and isinstance(wanted, ShapeStructInfo):
                self._known += zip(value.values, wanted.values or ())
            return
        for pair in [*self._operator_extents(binding), *self._kernel_extents(binding)]:
            if any(structural_equal(pair, other) for other in self._known):
                continue
            self._known.append(pair)
            with span_scope(binding.span or binding.value.span):
                have, want = pair
                self._bb.match_cast(ShapeExpr([have]), ShapeStructInfo([want]), _hint(binding))

    def _operator_extents(self, binding: Binding) -> list[Pair]:
        told = self._mod is None and is_call_of(binding.value, *TOLD_BY_KERNELS)
        return [] if told else _open_extents(self._bb, binding)

    def _kernel_extents(self, binding: Binding) -> list[Pair]:
        call = binding.value
        if self._mod is None or not isinstance(call, Call):
            return []
        callee = call.args[0] if is_kernel_call(call) else None
        if not isinstance(callee, GlobalVar):
            return []
        func = self._mod.functions.get(callee)
        if not isinstance(func, PrimFunc):
            return []
        with span_scope(binding.span or call.span):
            return open_kernel_extents(call, func, callee.name_hint, self._bb.analyzer)


def _open_extents(bb: BlockBuilder, binding: Binding) -> list[Pair]:
    """The pairs of extents that the operator of a binding needs equal, and that may differ."""
    call = binding.value
    if isinstance(binding, MatchCast) or not isinstance(call, Call) or not isinstance(call.op, Op):
        return []
    infer = call.op.get_attr("FInferStructInfo")
    if infer is None or not any(
        arg.struct_info_ is not None and tir_vars_in_struct_info(arg.struct_info_)
        for arg in call.args
    ):
        return []
    found: list[Pair] = []
    bb.open_extents = found
    infer(call, bb)
    bb.open_extents = None
    return found


def _hint(binding: Binding) -> str:
    call = binding.value
    assert isinstance(call, Call) and isinstance(call.op, Op), "only operators have open extents"
    callee = call.args[0] if call.args else None
    name = callee.name_hint if isinstance(callee, GlobalVar) else call.op.name.rpartition(".")[2]
    return name + "_extent"
