"""Compute products and convolutions in half precision, and what follows them where that is safe.

    lv = conv2d(x, w)              lv = astype(x, "float16"); lv1 = astype(w, "float16")
    gv = softmax(lv)       ->      lv2 = conv2d(lv, lv1, out_dtype="float32")
                                   lv3 = astype(lv2, "float16")
                                   lv4 = astype(lv3, "float32")
                                   gv = softmax(lv4)

Each operator has a policy (attribute `TMixedPrecisionPolicy`): it always takes half floats, follows
its operands, or never does. What is computed with half floats is one from there on. A parameter
that is read as half floats only is cast once, at the beginning of a dataflow block, an inner value
right behind its binding. What leaves a
block keeps its type, and so does the function's result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    all_blocks,
    replace_operands,
    vars_needed,
    vars_used,
    with_inner,
    with_value,
)
from tvm.support.dtype import DataType

ALWAYS, FOLLOW, NEVER = 0, 1, 2
SINGLE = DataType("float32")
# what half precision may be, and the largest numbers of each
LARGEST = {
    "float16": float(np.finfo(np.float16).max),
    "bfloat16": float(ml_dtypes.finfo(ml_dtypes.bfloat16).max),  # type: ignore[no-untyped-call]
}


def _check_dtypes(
    out_dtype: str = "float32", fp16_input_names: Any = None, *, dtype: str = "float16"
) -> None:
    if dtype not in LARGEST:
        raise ArgumentValueError(
            message("ToMixedPrecision: dtype does not fit", found=repr(dtype),
                    legal=", ".join(map(repr, LARGEST)))
        )  # fmt: skip
    if out_dtype not in (dtype, "float32"):
        raise ArgumentValueError(
            message("ToMixedPrecision: out_dtype does not fit", found=repr(out_dtype),
                    legal=f"'float32', {dtype!r}")
        )  # fmt: skip


@relax_pass("ToMixedPrecision", check=_check_dtypes)
def ToMixedPrecision(
    func: Function,
    mod: IRModule,
    ctx: PassContext,
    out_dtype: str = "float32",
    fp16_input_names: list[str] | None = None,
    *,
    dtype: str = "float16",
) -> Function:
    """Rewrite to half precision; products and convolutions give `out_dtype`.

    Parameters named in `fp16_input_names` become half floats themselves. Half precision is `dtype`:
    float16, or bfloat16, for which processors with AVX512-BF16 have instructions.
    """
    names = set(fp16_input_names or ())
    return _Rewriter(mod, DataType(out_dtype), DataType(dtype), names).run(func)


def policy_of(call: Call) -> int | None:
    """The policy of the operator that is called; None for a call of anything else."""
    if not isinstance(call.op, Op):
        return None
    policy = call.op.get_attr("TMixedPrecisionPolicy")
    return NEVER if policy is None else int(policy)


def _is_nested_tensor(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(_is_nested_tensor(field) for field in info.fields)
    return isinstance(info, TensorStructInfo)


def _half_only(func: Function) -> set[Var]:
    """The parameters and inner values that only operators read which take half floats."""
    read: dict[Var, bool] = {}
    for block in all_blocks(func):
        for binding in block.bindings:
            value = binding.value
            takes_half = isinstance(block, DataflowBlock) and (
                isinstance(value, Call) and policy_of(value) == ALWAYS
            )
            for var in vars_needed(value):
                read[var] = read.get(var, True) and takes_half
    read.update((var, False) for var in vars_used(func.body.body))
    inner = {var for var in read if isinstance(var, DataflowVar)}
    return {var for var in (*func.params, *inner) if read.get(var)}


class _Rewriter:
    """The walk forward: calls in half precision, and casts."""

    def __init__(
        self, mod: IRModule, out_dtype: DataType, half: DataType, half_inputs: set[str]
    ) -> None:
        self._half = half
        self._bb = BlockBuilder(mod)
        self._half_only: list[Var] = []
        self._half_values: set[Var] = set()
        self._out_dtype = out_dtype
        self._half_inputs = half_inputs
        self._now: dict[Var, Var] = {}

    def run(self, func: Function) -> Function:
        params = [self._parameter(param) for param in func.params]
        half_only = _half_only(func)
        self._half_only = [param for param in func.params if param in half_only]
        self._half_values = half_only.difference(func.params)
        self._bb.begin_scope(params)
        body = self._sequence(func.body)
        self._bb.end_scope()
        same = all(a is b for a, b in zip(params, func.params))
        return Function(
            params, body, func.ret_struct_info if same else None, func.is_pure, func.attrs,
            func.span,
        )  # fmt: skip

    def _sequence(self, seq: SeqExpr) -> SeqExpr:
        """A body or a branch: its dataflow blocks rewritten, its result in its own type."""
        blocks = [self._bb.rebuilt(block, self._fill) for block in seq.blocks]
        self._bb.begin_binding_block()
        result = self._restored(seq.body)
        last = self._bb.end_block()
        if last.bindings:
            blocks.append(last)
        if result is seq.body and all(a is b for a, b in zip(blocks, seq.blocks)):
            return seq
        new = SeqExpr(blocks, result, seq.span)
        new.struct_info_ = result.struct_info_
        return new

    def _parameter(self, param: Var) -> Var:
        info = param.struct_info_
        named = param.name_hint in self._half_inputs
        if not named or not isinstance(info, TensorStructInfo) or info.dtype != SINGLE:
            return param
        half = TensorStructInfo.of(info.shape, self._half, info.vdevice, info.ndim)
        self._now[param] = Var(param.name_hint, half, param.span)
        return self._now[param]

    def _fill(self, block: BindingBlock) -> None:
        dataflow = isinstance(block, DataflowBlock)
        if dataflow:
            self._cast_parameters(block)
        for binding in block.bindings:
            value = binding.value
            if not dataflow and isinstance(value, (If, Function)):
                self._keep(with_inner(binding, self._sequence))
            elif not dataflow or not isinstance(binding, VarBinding):
                self._keep(binding)
            elif isinstance(value, Call) and policy_of(value) is not None:
                self._call(binding, value)
            elif isinstance(value, Tuple):
                fields = [self._current(field) for field in value.fields]
                self._bind(binding, self._bb.normalize(Tuple(fields, value.span)))
            elif isinstance(value, TupleGetItem):
                source = self._current(value.tuple_value)
                self._bind(binding, self._bb.normalize(TupleGetItem(source, value.index)))
            elif isinstance(value, Var):  # another name is of the original type
                current = self._like(self._current(value), value.struct_info)
                self._bind(binding, self._bb.normalize(current))
            else:
                self._keep(binding)
            if binding.var in self._half_values:
                current = self._current(binding.var)
                if (half := self._to(current, self._half)) is not current:
                    self._now[binding.var] = self._bb.emit(half)
        for param in self._half_only:
            if isinstance(self._now.get(param), DataflowVar):
                del self._now[param]

    def _cast_parameters(self, block: BindingBlock) -> None:
        """Cast the parameters that the block reads as half floats only, once each."""
        read = {var for binding in block.bindings for var in vars_used(binding.value)}
        for param in self._half_only:
            current = self._current(param)
            if param in read and (half := self._to(current, self._half)) is not current:
                self._now[param] = self._bb.emit(half)

    # --- values ---

    def _current(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression with the variables that now stand for the original ones."""
        return replace_operands(expr, lambda e: self._now.get(e) if isinstance(e, Var) else None)

    def _restored(self, expr: RelaxExpr) -> RelaxExpr:
        """The expression with every variable in its original type."""

        def restore(leaf: RelaxExpr) -> RelaxExpr | None:
            if not isinstance(leaf, Var) or leaf not in self._now:
                return None
            return self._bb.normalize_argument(self._like(self._now[leaf], leaf.struct_info))

        return self._bb.normalize(replace_operands(expr, restore))

    def _like(self, expr: RelaxExpr, info: StructInfo) -> RelaxExpr:
        """The expression with leaves cast to the types of `info`."""
        if isinstance(info, TensorStructInfo):
            return self._cast(expr, info.dtype)
        if not isinstance(info, TupleStructInfo):
            return expr
        parts = [self._part(expr, i) for i in range(len(info.fields))]
        new = [self._like(part, field) for part, field in zip(parts, info.fields)]
        return expr if all(a is b for a, b in zip(parts, new)) else Tuple(new)

    def _to(self, expr: RelaxExpr, dtype: DataType) -> RelaxExpr:
        """The expression with its floats, half or single, cast to a type."""
        info = expr.struct_info
        if isinstance(info, TensorStructInfo):
            return self._cast(expr, dtype)
        if not isinstance(info, TupleStructInfo) or not _is_nested_tensor(info):
            return expr
        parts = [self._part(expr, i) for i in range(len(info.fields))]
        new = [self._to(part, dtype) for part in parts]
        return expr if all(a is b for a, b in zip(parts, new)) else Tuple(new)

    def _part(self, expr: RelaxExpr, index: int) -> RelaxExpr:
        if isinstance(expr, Tuple):
            return expr.fields[index]
        return self._bb.normalize(TupleGetItem(expr, index))

    def _cast(self, expr: RelaxExpr, dtype: DataType) -> RelaxExpr:
        info = expr.struct_info
        assert isinstance(info, TensorStructInfo), "only tensors are cast"
        if info.dtype is dtype or info.dtype not in (self._half, SINGLE):
            return expr
        result: RelaxExpr = Op.get("relax.astype").get_attr("FMakeCall")(expr, dtype)
        return result

    # --- bindings ---

    def _call(self, binding: VarBinding, call: Call) -> None:
        assert isinstance(call.op, Op), "the caller looked"
        args = [self._current(arg) for arg in call.args]
        policy = policy_of(call)
        if policy == ALWAYS:
            to = self._half
            infer = call.op.get_attr("FInferMixedPrecision")
            call = call if infer is None else infer(call, self._out_dtype)
        else:
            to = self._half if policy == FOLLOW and _all_half(args, self._half) else SINGLE
        if all(a is b for a, b in zip(args, call.args)) and call.struct_info_ is not None:
            unchanged = all(self._to(arg, to) is arg for arg in args)
            stays = policy != ALWAYS or not isinstance(binding.var, DataflowVar)
            if unchanged and (stays or self._to(call, self._half) is call):
                self._bind(binding, call)
                return
        args = [self._to(arg, to) for arg in args]
        new = self._bb.normalize(Call(call.op, args, call.attrs, call.sinfo_args, call.span))
        if policy == ALWAYS and isinstance(binding.var, DataflowVar):
            new = self._bb.normalize(self._to(new, self._half))  # from here on it is a half float
        self._bind(binding, new)

    def _bind(self, binding: VarBinding, value: RelaxExpr) -> None:
        """Bind to a variable of the value's type; what leaves the block gets its type back."""
        var = binding.var
        if not isinstance(var, DataflowVar):
            value = self._bb.normalize(self._like(value, var.struct_info))
        if value is binding.value:
            self._bb.emit_normalized(binding)
            return
        info = value.struct_info
        if not isinstance(var, DataflowVar) or _same_types(info, var.struct_info):
            self._bb.emit_normalized(VarBinding(var, value, binding.span or value.span))
            return
        new = DataflowVar(var.name_hint, info, var.span)
        self._bb.emit_normalized(VarBinding(new, value, binding.span or value.span))
        self._now[var] = new

    def _keep(self, binding: Binding) -> None:
        """A binding that is not rewritten reads values of their original types."""
        used = [var for var in vars_used(binding.value) if var in self._now]
        if not used:
            self._bb.emit_normalized(binding)
            return
        value = self._restored(binding.value)
        self._bb.emit_normalized(with_value(binding, value))


def _same_types(a: StructInfo, b: StructInfo) -> bool:
    if isinstance(a, TupleStructInfo) and isinstance(b, TupleStructInfo):
        return all(_same_types(x, y) for x, y in zip(a.fields, b.fields))
    if isinstance(a, TensorStructInfo) and isinstance(b, TensorStructInfo):
        return a.dtype is b.dtype
    return True


def _all_half(args: Sequence[RelaxExpr], half: DataType) -> bool:
    """Whether the tensors among the operands are half floats, or constants that may become some."""
    stack = list(args)
    while stack:
        arg = stack.pop()
        if isinstance(arg, Tuple):
            stack.extend(arg.fields)
        elif isinstance(arg, Constant):
            values = arg.data.numpy()
            if values.dtype.kind == "f" and not np.all(np.abs(values) <= LARGEST[str(half)]):
                return False
        elif not _half_or_integer(arg.struct_info, half):
            return False
    return True


def _half_or_integer(info: StructInfo, half: DataType) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(_half_or_integer(field, half) for field in info.fields)
    if isinstance(info, TensorStructInfo):
        return info.dtype is half or not info.dtype.is_floating
    return True
