"""Replace operators by calls of the TIR functions that compute them.

    lv = R.add(x, y)        ->        lv = R.call_tir(cls.add, (x, y), out_sinfo=...)

Each operator brings its own rule (attribute `FLegalize`); the pass names none. Where the shapes a
rule needs are not known, the operator stays. The new calls keep the span of the operator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    If,
    MatchCast,
    SeqExpr,
    VarBinding,
)
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.transform.rebuild import with_body
from tvm.support.log import logger

LegalizeFunc = Callable[[BlockBuilder, Call], RelaxExpr]
_LOG = logger("relax.LegalizeOps")


@declare_module_pass("LegalizeOps")
def LegalizeOps(
    mod: IRModule,
    ctx: PassContext,
    customize_legalize_map: Mapping[str, LegalizeFunc] | None = None,
    enable_warning: bool = False,
) -> IRModule:
    """Legalize every operator with a rule; rules in `customize_legalize_map` come first."""
    return _Legalizer(mod, customize_legalize_map or {}, enable_warning).run()


class _Legalizer:
    def __init__(
        self, mod: IRModule, custom: Mapping[str, LegalizeFunc], enable_warning: bool
    ) -> None:
        self._mod = mod
        self._bb = BlockBuilder(mod)
        self._custom = custom
        self._enable_warning = enable_warning

    def run(self) -> IRModule:
        for var, func in self._mod.functions.items():
            if isinstance(func, Function) and not func.attrs.get("Primitive"):
                new = self._function(func)
                if new is not func:
                    self._bb.update_func(var, new)
        return self._bb.get()

    def _function(self, func: Function) -> Function:
        self._bb.begin_scope(func.params)
        body = self._seq(func.body)
        self._bb.end_scope()
        return with_body(func, body)

    def _seq(self, seq: SeqExpr) -> SeqExpr:
        blocks: list[BindingBlock] = []
        changed = False
        for block in seq.blocks:
            if isinstance(block, DataflowBlock):
                self._bb.begin_dataflow_block()
            else:
                self._bb.begin_binding_block()
            for binding in block.bindings:
                changed = self._binding(binding) or changed
            made = self._bb.end_block()
            blocks.append(type(block)(made.bindings, block.span))
        if not changed:
            return seq
        new = SeqExpr(blocks, seq.body, seq.span)
        new.struct_info_ = seq.struct_info_
        return new

    def _binding(self, binding: Binding) -> bool:
        """Emit the binding, legalized where that is possible; True if it changed."""
        value = binding.value
        if isinstance(binding, MatchCast):
            self._bb.emit_normalized(binding)
            return False
        new: RelaxExpr = value
        if isinstance(value, Call) and isinstance(value.op, Op):
            new = self._call(value, binding)
        elif isinstance(value, If):
            true_branch, false_branch = self._scoped(value.true_branch), self._scoped(
                value.false_branch
            )
            if true_branch is not value.true_branch or false_branch is not value.false_branch:
                new = If(value.cond, true_branch, false_branch, value.span)
                new.struct_info_ = value.struct_info_
        elif isinstance(value, Function):
            new = self._function(value)
        if new is value:
            self._bb.emit_normalized(binding)
            return False
        self._bb.emit_normalized(VarBinding(binding.var, new, binding.span or value.span))
        return True

    def _scoped(self, seq: SeqExpr) -> SeqExpr:
        self._bb.begin_scope(None)
        new = self._seq(seq)
        self._bb.end_scope()
        return new

    def _call(self, call: Call, binding: Binding) -> RelaxExpr:
        assert isinstance(call.op, Op), "the caller looked"
        rule = self._custom.get(call.op.name) or call.op.get_attr("FLegalize")
        if rule is None:
            if self._enable_warning and call.op.name not in _NO_RULE_NEEDED:
                _LOG.warning("No legalization func for %s is found.", call.op.name)
            return call
        if not _shapes_known(call):
            return call
        with span_scope(binding.span or call.span):
            legal = rule(self._bb, call)
            return call if legal is call else self._bb.normalize(legal)


_NO_RULE_NEEDED = frozenset(
    (
        "relax.call_tir",
        "relax.call_dps_packed",
        "relax.call_pure_packed",
        "relax.builtin.alloc_tensor",
    )
)


def _shapes_known(call: Call) -> bool:
    """Whether the rule finds the shapes that it needs, of operands and result."""
    assert isinstance(call.op, Op), "the caller looked"
    needs_operands = call.op.get_attr("RequiresArgumentShapes") is not False
    if needs_operands and not all(_known(arg.struct_info_) for arg in call.args):
        return False
    return bool(call.op.get_attr("FDataDependent")) or _known(call.struct_info_)


def _known(info: StructInfo | None) -> bool:
    if isinstance(info, TensorStructInfo):
        return isinstance(info.shape, ShapeExpr)
    if isinstance(info, ShapeStructInfo):
        return info.values is not None
    if isinstance(info, TupleStructInfo):
        return all(_known(field) for field in info.fields)
    return True


def register_legalize(op_name: str, legal_func: LegalizeFunc | None = None) -> Any:
    """Set the rule of an operator; a decorator when no rule is given."""

    def register(func: LegalizeFunc) -> LegalizeFunc:
        op = Op.get(op_name)
        op.reset_attr("FLegalize")
        op.set_attr("FLegalize", func)
        return func

    return register if legal_func is None else register(legal_func)
