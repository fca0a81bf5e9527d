"""Replace operators by calls of the TIR functions that compute them.

    lv = R.add(x, y)        ->        lv = R.call_tir(cls.add, (x, y), out_sinfo=...)

Each operator brings its own rule (attribute `FLegalize`); the pass names none. Where the shapes or
types that a rule needs are not known, the operator stays. The new calls keep the span of the
operator.

A kernel whose result lies on a device carries the device's target, and is named after its kind:
`add_llvm`. The same operator elsewhere has a kernel of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.ir.structural import structural_digest
from tvm.ir.transform import PassContext
from tvm.relax.analysis import all_global_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.struct_info import DTensorStructInfo
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.op.base import call_pure_packed
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.compare_extents import Comparisons
from tvm.relax.transform.legalize_ops.common import LegalizeFunc
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import rebuild_seq, with_body
from tvm.support.arguments import explained
from tvm.support.log import logger
from tvm.target import Target
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.function import PrimFunc

_LOG = logger("relax.LegalizeOps")


@relax_module_pass("LegalizeOps")
@explained
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
        self._known: dict[str, _Template] = {}
        self._bound: dict[GlobalVar, None] = {}  # kernels of which there are ones with a target

    def run(self) -> IRModule:
        for var, func in self._mod.functions.items():
            if isinstance(func, Function):
                new = self._function(func)
                if new is not func:
                    self._bb.update_func(var, new)
        return self._without_unused(self._bb.get())

    def _without_unused(self, mod: IRModule) -> IRModule:
        """Kernels without a target go where only ones with a target are called."""
        made = [var for var in self._bound if var not in self._mod.functions]
        if not made:
            return mod
        used = {var for func in mod.functions.values() for var in all_global_vars(func)}
        dead = {var for var in made if var not in used}
        return mod.with_functions({v: f for v, f in mod.functions.items() if v not in dead})

    def _function(self, func: Function) -> Function:
        self._bb.begin_scope(func.params)
        body = self._seq(func.body)
        self._bb.end_scope()
        return with_body(func, body)

    def _seq(self, seq: SeqExpr) -> SeqExpr:
        return rebuild_seq(seq, lambda block: self._bb.rebuilt(block, self._fill))

    def _fill(self, block: BindingBlock) -> None:
        comparisons = Comparisons(self._bb)  # a kernel has one extent where the operator had two
        for binding in block.bindings:
            comparisons.emit_ahead_of(binding)
            self._binding(binding)

    def _binding(self, binding: Binding) -> None:
        """Emit the binding, legalized where that is possible."""
        value = binding.value
        if isinstance(binding, MatchCast):
            self._bb.emit_normalized(binding)
            return
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
        else:
            self._bb.emit_normalized(VarBinding(binding.var, new, binding.span or value.span))

    def _scoped(self, seq: SeqExpr) -> SeqExpr:
        self._bb.begin_scope(None)
        new = self._seq(seq)
        self._bb.end_scope()
        return new

    def _call(self, call: Call, binding: Binding) -> RelaxExpr:
        assert isinstance(call.op, Op), "the caller looked"
        rule = self._custom.get(call.op.name) or call.op.get_attr("FLegalize")
        if rule is None and call.op.get_attr("FCallPacked") is not None:
            rule = _call_packed
        if rule is None:
            if self._enable_warning and call.op.name not in _NO_RULE_NEEDED:
                _LOG.warning("No legalization func for %s is found.", call.op.name)
            return call
        # functions that are called by name find shapes as they run
        if not shapes_known(call) or not types_known(call):
            return call
        if any(_is_distributed(arg.struct_info_) for arg in call.args):
            return call  # `LowerDistIR` first says what each device has of them
        with span_scope(call.span or binding.span):
            key = _key_of(call) if call.op.name not in self._custom else None
            known = None if key is None else self._known.get(key)
            if known is not None:
                return known.apply(call)
            normal = self._by_rule(rule, call)
            template = _template_of(call, normal)
            if key is not None and template is not None:
                self._known[key] = template
            return normal

    def _by_rule(self, rule: LegalizeFunc, call: Call) -> RelaxExpr:
        """What the rule makes of the call; operators that it is made of are legalized as well."""
        if self._bb.current_block_is_dataflow():
            self._bb.begin_dataflow_block()
        else:
            self._bb.begin_binding_block()
        legal = rule(self._bb, call)
        normal: RelaxExpr = call
        if legal is not call:
            normal = self._bb.normalize(self._for_device(_with_info(legal, call.struct_info_)))
        for inner in self._bb.end_block().bindings:
            self._binding(inner)
        again = isinstance(normal, Call) and isinstance(normal.op, Op) and normal.op is not call.op
        if not again or is_call_of(normal, *_NO_RULE_NEEDED):
            return normal
        assert isinstance(normal, Call), "looked at above"
        return self._call(normal, VarBinding(Var("again", normal.struct_info), normal, call.span))

    def _for_device(self, legal: RelaxExpr) -> RelaxExpr:
        """The call of a kernel for the device on which the result lies."""
        if not isinstance(legal, Call) or not legal.args:
            return legal
        target, var = _device_target(legal.sinfo_args), legal.args[0]
        if target is None or not isinstance(var, GlobalVar):
            return legal
        kernel = self._bb.get().functions.get(var)
        if not isinstance(kernel, PrimFunc):
            return legal
        own = kernel.attrs.get("target")
        if isinstance(own, Target) and own.kind.name == target.kind.name:
            return legal
        bound = kernel.with_attr("target", target)
        self._bound[var] = None
        new = self._bb.add_func(bound, f"{var.name_hint}_{target.kind.name}")
        return Call(legal.op, [new, *legal.args[1:]], legal.attrs, legal.sinfo_args, legal.span)


def _device_target(infos: Iterable[StructInfo]) -> Target | None:
    """The target of the first tensor that lies on a device."""
    for info in infos:
        if isinstance(info, TensorStructInfo) and info.vdevice is not None:
            target = info.vdevice.target
            if isinstance(target, Target):
                return target
        if isinstance(info, TupleStructInfo):
            found = _device_target(info.fields)
            if found is not None:
                return found
    return None


class _Template:
    """A legalized call with slots for the operands: what an equal operator becomes."""

    def __init__(self, arg_indices: list[int], call: Call) -> None:
        self._arg_indices = arg_indices
        self._call = call

    def apply(self, call: Call) -> Call:
        like = self._call
        operands = Tuple([call.args[i] for i in self._arg_indices])
        made = Call(like.op, [like.args[0], operands, *like.args[2:]], None, like.sinfo_args)
        made.struct_info_ = like.struct_info_
        return made


def _template_of(call: Call, legal: RelaxExpr) -> _Template | None:
    """The pattern of `call_tir(kernel, operands)` where the operands are the operator's own."""
    if not is_call_of(legal, "relax.call_tir") or not isinstance(legal.args[0], GlobalVar):
        return None
    operands = legal.args[1]
    if not isinstance(operands, Tuple):
        return None
    arg_indices = []
    for operand in operands.fields:
        index = next((i for i, arg in enumerate(call.args) if arg is operand), None)
        if index is None:
            return None
        arg_indices.append(index)
    rest = [arg for i, arg in enumerate(call.args) if i not in arg_indices]
    if len(set(arg_indices)) != len(arg_indices) or not all(_is_in_key(arg) for arg in rest):
        return None
    return _Template(arg_indices, legal)


# The values of constants up to this size tell calls apart; larger ones are operands as others are.
SMALL = 16
_NUMBERS = (IntImm, FloatImm)


def _is_in_key(arg: RelaxExpr) -> bool:
    """All that there is to know of the argument is in the text of `_key_of`."""
    return _is_small(arg) if isinstance(arg, Constant) else not isinstance(arg, Var)


def _is_small(arg: Constant) -> bool:
    return math.prod(int(extent) for extent in arg.data.shape) <= SMALL


def _key_of(call: Call) -> str | None:
    """A text that calls with equal attributes and operand infos share; None if one is unknown."""
    infos = [arg.struct_info_ for arg in call.args]
    if any(info is None for info in infos):
        return None
    if len({id(arg) for arg in call.args}) != len(call.args):
        return None  # the same operand twice: a rule may treat it as one
    # the results of rules name the symbols of one call
    symbols = [id(v) for info in infos if info is not None for v in tir_vars_in_struct_info(info)]
    values = [
        arg.data.numpy().tobytes().hex()
        for arg in call.args
        if isinstance(arg, Constant) and _is_small(arg)
    ]
    others = [arg for arg in call.args if not isinstance(arg, (Constant, Var))]
    if any(isinstance(arg, PrimValue) and not isinstance(arg.value, _NUMBERS) for arg in others):
        return None
    assert isinstance(call.op, Op), "the caller looked"
    kinds = "".join("c" if isinstance(arg, Constant) else "v" for arg in call.args)
    digest = structural_digest((call.attrs, *infos, *others))
    return f"{call.op.name} {kinds} {digest} {symbols} {values}"


def _call_packed(bb: BlockBuilder, call: Call) -> RelaxExpr:
    """The call of the function that does an operator's work at run time."""
    assert isinstance(call.op, Op), "the caller looked"
    callee, infos = ExternFunc(str(call.op.get_attr("FCallPacked"))), [call.struct_info]
    if call.op.get_attr("FPurity"):
        return call_pure_packed(callee, *call.args, sinfo_args=infos)
    return Call(callee, call.args, None, infos)


def _with_info(legal: RelaxExpr, info: StructInfo | None) -> RelaxExpr:
    """A kernel's call gives its results where the operator did."""
    if not isinstance(legal, Call) or info is None or len(legal.sinfo_args) != 1:
        return legal
    placed = _with_devices(legal.sinfo_args[0], info)
    if placed is legal.sinfo_args[0]:
        return legal
    return Call(legal.op, legal.args, legal.attrs, [placed], legal.span)


def _with_devices(result: StructInfo, info: StructInfo) -> StructInfo:
    if isinstance(result, TensorStructInfo) and isinstance(info, TensorStructInfo):
        if info.vdevice is None or result.vdevice is not None:
            return result
        dtype, rank = result.dtype, result.ndim
        return TensorStructInfo.of(result.shape, dtype, info.vdevice, rank, result.span)
    if not isinstance(result, TupleStructInfo) or not isinstance(info, TupleStructInfo):
        return result
    fields = [_with_devices(one, like) for one, like in zip(result.fields, info.fields)]
    if all(new is old for new, old in zip(fields, result.fields)):
        return result
    return TupleStructInfo(fields, result.span)


_NO_RULE_NEEDED = frozenset(
    (
        "relax.call_tir",
        "relax.call_dps_packed",
        "relax.call_pure_packed",
        "relax.builtin.alloc_tensor",
    )
)


def _is_distributed(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_is_distributed(field) for field in info.fields)
    return isinstance(info, DTensorStructInfo)


def shapes_known(call: Call) -> bool:
    """Whether an operator's rule finds the shapes that it needs, of operands and result."""
    assert isinstance(call.op, Op), "the caller looked"
    if call.op.get_attr("FCallPacked") is not None:
        return True
    needs_operands = call.op.get_attr("RequiresArgumentShapes") is not False
    if needs_operands and not all(_known(arg.struct_info_) for arg in call.args):
        return False
    return bool(call.op.get_attr("FDataDependent")) or _known(call.struct_info_)


def types_known(call: Call) -> bool:
    """Whether the element types of all operands are known, or the operator's rule looks itself."""
    assert isinstance(call.op, Op), "the caller looked"
    if call.op.get_attr("FCallPacked") is not None:
        return True
    looks = ("RequiresArgumentShapes", "RequiresArgumentDTypes")
    if any(call.op.get_attr(name) is False for name in looks):
        return True
    return not any(_has_unknown_type(arg.struct_info_) for arg in call.args)


def _has_unknown_type(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_has_unknown_type(field) for field in info.fields)
    return isinstance(info, TensorStructInfo) and info.dtype.is_void


def _known(info: StructInfo | None) -> bool:
    if isinstance(info, TensorStructInfo):
        return isinstance(info.shape, ShapeExpr)
    if isinstance(info, ShapeStructInfo):
        return info.values is not None
    if isinstance(info, TupleStructInfo):
        return all(_known(field) for field in info.fields)
    return True
