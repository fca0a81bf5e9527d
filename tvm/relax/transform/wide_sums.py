"""Sums of half floats are made in single precision, and rounded once.

    y = matmul(x, w)   ->   lv = astype(x, "float32"); lv1 = astype(w, "float32")
                            lv2 = matmul(lv, lv1); y = astype(lv2, "float16")

A CPU's vectors have no sums of half floats (but for few, where they lose half of their digits in a
long one): each step would be widened and rounded again. A product with few rows reads its weights
once and waits for them, so they stay short: `matmul(x, w, out_dtype="float32")`; so do factors that
instructions for bfloat16 multiply. Where a product's sums are asked for in single precision, its
operands become that as well.
"""

from __future__ import annotations

import math
from typing import Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, ShapeExpr, Tuple
from tvm.relax.op.datatype import astype
from tvm.relax.op.declare import options_of, with_option
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import rewrite_calls
from tvm.support.dtype import DataType
from tvm.target.cpu_model import CpuModel
from tvm.tir.expr import IntImm

HALF: Final = (DataType("float16"), DataType("bfloat16"))
SINGLE: Final = DataType("float32")
FEW_ROWS: Final = 4  # of a product whose weights are not widened: the time to read them counts

_CONVOLUTIONS = [f"conv{rank}d{kind}" for rank in (1, 2, 3) for kind in ("", "_transpose")]
_POOLS = [f"{kind}_pool{rank}d" for rank in (1, 2, 3) for kind in ("avg", "adaptive_avg")]
_NORMS = ["layer_norm", "group_norm", "instance_norm", "rms_norm", "softmax", "log_softmax"]
_OTHERS = ["attention", "attention_bias", "attention_var_len", "cross_entropy_with_logits"]
_PLAIN = ["sum", "mean", "std", "variance", "prod", "cumsum", "cumprod", "einsum"]
SUMS: Final = (
    "relax.matmul", *(f"relax.{name}" for name in _PLAIN),
    *(f"relax.nn.{name}" for name in (*_CONVOLUTIONS, *_POOLS, *_NORMS, *_OTHERS)),
)  # fmt: skip


@relax_pass("WideSums")
def WideSums(func: Function, mod: IRModule, ctx: PassContext, cpu: CpuModel) -> Function:
    """Rewrite the operators of `SUMS` that take half floats."""

    def wide(bb: BlockBuilder, call: Call) -> RelaxExpr:
        return _wide(bb, call, cpu)

    return rewrite_calls(func, dict.fromkeys(SUMS, wide), BlockBuilder(mod))


def _wide(bb: BlockBuilder, call: Call, cpu: CpuModel) -> RelaxExpr:
    """The call with wide operands, or with a wide result; rounded to what it was."""
    result = call.struct_info
    if not isinstance(result, TensorStructInfo) or not any(map(_is_half, call.args)):
        return call
    narrow = _stays_narrow(call, cpu)
    if narrow and result.dtype is SINGLE:
        return call
    args = call.args if narrow else [_widened(bb, arg) for arg in call.args]
    new = Call(call.op, args, call.attrs, call.sinfo_args, call.span)
    for option in ("out_dtype", "dtype"):
        if options_of(call).get(option) in HALF or (narrow and option == "out_dtype"):
            new = with_option(new, option, SINGLE)
    return astype(bb.emit(new), result.dtype) if result.dtype in HALF else new


def _stays_narrow(call: Call, cpu: CpuModel) -> bool:
    """Whether a product's operands are better left as short as they are."""
    assert isinstance(call.op, Op), "the rule is asked for operators"
    if call.op.name != "relax.matmul":
        return False
    x1, x2 = (arg.struct_info for arg in call.args)
    assert isinstance(x1, TensorStructInfo), "as inferred"
    assert isinstance(x2, TensorStructInfo), "as inferred"
    if x1.dtype is not x2.dtype:
        return False
    if str(x1.dtype) == "bfloat16" and "avx512bf16" in cpu.features:
        return True
    if not isinstance(x1.shape, ShapeExpr):
        return False
    sizes = x1.shape.values[:-1] if x2.ndim <= 2 else x1.shape.values[-2:-1]
    rows = [size.value if isinstance(size, IntImm) else FEW_ROWS for size in sizes]
    return math.prod(rows) < FEW_ROWS


def _is_half(arg: RelaxExpr) -> bool:
    if isinstance(arg, Tuple):
        return any(map(_is_half, arg.fields))
    info = arg.struct_info
    return isinstance(info, TensorStructInfo) and info.dtype in HALF


def _widened(bb: BlockBuilder, arg: RelaxExpr) -> RelaxExpr:
    if isinstance(arg, Tuple):
        return Tuple([_widened(bb, field) for field in arg.fields])
    return bb.emit(astype(arg, SINGLE)) if _is_half(arg) else arg
