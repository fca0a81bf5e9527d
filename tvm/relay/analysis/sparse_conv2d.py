"""Kernels of `nn.conv2d` that are mostly zeros."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.expr import Call, Var
from tvm.relay.traverse import post_order

from .sparse_weights import SparseAnalysisResult, kernel_matrix, process, weight_names


def process_params(
    expr: RelaxExpr,
    params: dict[str, Any],
    block_size: Any,
    sparsity_threshold: float,
    layout: str,
    kernel_size: int,
    reg_task_input: bool = True,
) -> SparseAnalysisResult:
    """Give `params` of kernels as blocks where at least `sparsity_threshold` is zero.

    Only convolutions that `relay.transform.Conv2dToSparse` rewrites count. `reg_task_input` is
    what a tuner of old was told; nothing asks for it.
    """
    op = Op.get("nn.conv2d")
    others = {
        call.args[1].name_hint for call in post_order(expr)
        if isinstance(call, Call) and call.op is op and isinstance(call.args[1], Var)
        and not is_sparse_kind(call, layout, kernel_size)
    }  # fmt: skip
    names = [name for name in _search_conv2d_op_weight(expr) if name not in others]
    return process(names, params, block_size, sparsity_threshold,
                   lambda weight: kernel_matrix(weight, layout, kernel_size))  # fmt: skip


def _search_conv2d_op_weight(expr: RelaxExpr) -> list[str]:
    return weight_names(expr, "nn.conv2d")


def is_sparse_kind(call: Call, layout: str, kernel_size: int) -> bool:
    """True for a convolution of this layout and size whose kernel may be blocks: stride one, no
    dilation or groups, and borders that keep the extents."""
    o: Any = call.attrs
    border = kernel_size // 2
    wanted = {"NHWC": "HWIO", "NCHW": "OIHW"}.get(layout)
    size = tuple(int(k) for k in o.kernel_size) if o.kernel_size is not None else None
    return (
        o.data_layout == layout and o.kernel_layout == wanted and int(o.groups) == 1
        and size == (kernel_size, kernel_size) and tuple(o.strides) == (1, 1)
        and tuple(o.dilation) == (1, 1) and all(int(p) == border for p in o.padding)
    )  # fmt: skip
