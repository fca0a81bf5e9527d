"""Products with weights of few bits: calls of the kernels that widen them where they read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.expr import IntImm
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import Packed


def packed_product(
    bb: BlockBuilder, x: RelaxExpr, form: Packed, arrays: Sequence[Constant], dtype: str = "float32"
) -> RelaxExpr:
    """x (..., inputs) @ w.T in `dtype`, of weights w (outputs, inputs) that lie in `arrays`.

    Sums are of float32. Where the weights have more inputs than x, those are zeros.
    """
    info = x.struct_info
    assert isinstance(info, TensorStructInfo), "operands of products are tensors"
    assert info.values is not None, "of known dimensions"
    *outer, inputs = (int(n.value) if isinstance(n, IntImm) else n for n in info.values)
    count: Any = 1
    for extent in outer:
        count = count * extent
    wide = x if str(info.dtype) == "float32" else bb.emit(op.astype(x, "float32"))
    rows = bb.emit(op.reshape(wide, [count, inputs]))
    if form.inputs != inputs:
        rows = bb.emit(op.nn.pad(rows, [0, 0, 0, form.inputs - inputs]))
    name = f"matmul_{form.format}"
    single = 1 if isinstance(count, int) and count == 1 else None
    func = few_bits.product(name, form, single).without_attr("global_symbol")
    out = bb.emit(op.call_tir(
        bb.add_func(func, name), [rows, *arrays],
        TensorStructInfo([count, form.outputs], "float32"),
    ))  # fmt: skip
    shaped = op.reshape(out, [*outer, form.outputs])
    return shaped if dtype == "float32" else op.astype(bb.emit(shaped), dtype)
