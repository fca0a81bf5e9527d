"""Move a batch norm with constant statistics into the convolution before it.

    y = conv2d(x, w)                                    y = conv2d(x, w * s)
    z = batch_norm(y, gamma, beta, mean, var)[0]   ->   z = y + t

with s = gamma / sqrt(var + eps) for each output channel and t = beta - mean * s. A bias added in
between moves into t. The convolution must have no other reader, its weight and the statistics must
be constants.
"""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import merge_spans, span_scope
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
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    all_bindings,
    rebuild_seq,
    vars_needed,
    vars_used,
    with_body,
)
from tvm.relax.transform.tidy import tidy_untouched


@relax_pass("FoldBatchnormToConv2D")
def FoldBatchnormToConv2D(
    func: Function, mod: IRModule, ctx: PassContext, *, keep_training: bool = False
) -> Function:
    """Fold wherever the pattern holds.

    With `keep_training` a batch norm that asks for the statistics of the batch stays one.
    """
    folder = _Folder(func, keep_training)
    body = rebuild_seq(func.body, folder.block)
    if body is func.body:
        return func if keep_training else tidy_untouched(func)
    return remove_unused_bindings(with_body(func, body))


class _Folder:
    def __init__(self, func: Function, keep_training: bool) -> None:
        self._keep_training = keep_training
        self._values: dict[Var, RelaxExpr] = {}
        self._readers: dict[Var, int] = {}
        for binding in all_bindings(func):
            self._values[binding.var] = binding.value
            for var in vars_needed(binding.value):
                self._readers[var] = self._readers.get(var, 0) + 1
        for var in vars_used(func.body.body):
            self._readers[var] = self._readers.get(var, 0) + 1

    def block(self, block: BindingBlock) -> BindingBlock:
        new: list[Binding] = []
        changed = False
        bb = BlockBuilder()
        for binding in block.bindings:
            made = self._fold(binding, bb, isinstance(block, DataflowBlock))
            changed = changed or made is not None
            new.extend([binding] if made is None else made)
        return type(block)(new, block.span) if changed else block

    def _only_reader(self, expr: RelaxExpr) -> RelaxExpr | None:
        """The value of a variable that is read once."""
        if isinstance(expr, Var) and self._readers.get(expr) == 1:
            return self._values.get(expr)
        return None

    def _fold(self, binding: Binding, bb: BlockBuilder, dataflow: bool) -> list[Binding] | None:
        value = binding.value
        if not isinstance(value, TupleGetItem) or value.index != 0:
            return None
        norm = self._only_reader(value.tuple_value)
        if not is_call_of(norm, "relax.nn.batch_norm"):
            return None
        if self._keep_training and getattr(norm.attrs, "training", False):
            return None
        before = self._only_reader(norm.args[0])
        bias = None
        if is_call_of(before, "relax.add"):
            bias = before.args[1]
            before = self._only_reader(before.args[0])
        if not is_call_of(before, "relax.nn.conv2d"):
            return None
        folded = _fold_values(before, norm, bias)
        if folded is None:
            return None
        weight, shift = folded
        parts = [self._span_of(v) for v in (norm.args[0], value.tuple_value)]
        span = merge_spans(before.span, *parts, norm.span, binding.span)
        with span_scope(span):
            conv = Call(before.op, (before.args[0], weight), before.attrs, before.sinfo_args, span)
            conv = bb.normalize(conv)  # type: ignore[assignment]
            kind = DataflowVar if dataflow else Var
            conv_var = kind("conv", conv.struct_info_)
            total = bb.normalize(Call(Op.get("relax.add"), (conv_var, shift), None, None, span))
        return [VarBinding(conv_var, conv, span), VarBinding(binding.var, total, span)]

    def _span_of(self, expr: RelaxExpr) -> Any:
        value = self._values.get(expr) if isinstance(expr, Var) else None
        return None if value is None else value.span


def _fold_values(
    conv: Call, norm: Call, bias: RelaxExpr | None
) -> tuple[Constant, Constant] | None:
    """The scaled weight, and the shift in the shape in which it is added; None if not constant."""
    weight = conv.args[1]
    statistics = norm.args[1:5]
    constants = [weight, *statistics] + ([] if bias is None else [bias])
    layout = str(getattr(conv.attrs, "kernel_layout", "OIHW"))
    data_layout = getattr(conv.attrs, "data_layout", "")
    out_layout = str(getattr(conv.attrs, "out_layout", "") or data_layout)
    if not all(isinstance(c, Constant) for c in constants) or len(layout) != 4:
        return None
    if out_layout.find("C") != getattr(norm.attrs, "axis", 1):
        return None
    import numpy as np  # Relax loads without numpy

    w, gamma, beta, mean, var = (c.data.numpy() for c in (weight, *statistics))  # type: ignore[attr-defined]
    epsilon = float(getattr(norm.attrs, "epsilon", 1e-5))
    scale = (1.0 if not getattr(norm.attrs, "scale", True) else gamma) / np.sqrt(var + epsilon)
    shift = (beta if getattr(norm.attrs, "center", True) else 0.0) - mean * scale
    channels = w.shape[layout.index("O")]
    if bias is not None:
        offset = bias.data.numpy()  # type: ignore[attr-defined]
        along = [1] * 4
        along[out_layout.find("C")] = offset.size
        padded = [1] * (4 - offset.ndim) + list(offset.shape)
        if offset.size not in (1, channels) or padded != along:
            return None
        shift = shift + offset.reshape(-1) * scale
    per_kernel = [1] * 4
    per_kernel[layout.index("O")] = channels
    per_output = [1] * 4
    per_output[out_layout.find("C")] = channels
    scaled = (w * scale.reshape(per_kernel)).astype(w.dtype)
    return Constant(scaled), Constant(shift.astype(w.dtype).reshape(per_output))
