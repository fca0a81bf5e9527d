"""Rules of `LegalizeOps` where kernels are for programs that run.

TVM's own kernels, which the operators' own rules make, are compared with ours; these differ in what
the programs see: negative indices count from the end, slices stay within the tensor, norms of a
batch are by its own statistics, rows of nothing but infinities have an extreme, gradients of picked
rows are added up in parallel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call
from tvm.tir.expr import INT64, IntImm
from tvm.tir.op.builtin import if_then_else
from tvm.topi import indexing, scatter, slicing

from .declare import Expr, options_of, topi
from .gather import coordinates_first
from .grad.grad import FOR_PIPELINES
from .index import dynamic_extent, slice_of_known_bounds, sliced_by_tensors
from .manipulate import tuple_items
from .search import ALWAYS_FOUND
from .statistical import FROM_INFINITY


def _scatter_nd(bb: BlockBuilder, call: Call) -> Expr:
    reduction = options_of(call)["reduction"]

    def compute(x: Any, te_indices: Any, new: Any) -> Any:
        moved = scatter.counted_from_front(coordinates_first(te_indices), x.shape)
        return topi.scatter_nd(x, moved, new, reduction)

    return bb.call_te(compute, *call.args, primfunc_name_hint="scatter_nd")


def _index_tensor(bb: BlockBuilder, call: Call) -> Expr:
    data, indices = call.args
    items = tuple_items(bb, indices)
    made = indexing.index_tensor_of_any_sign
    return bb.call_te(made, data, items, primfunc_name_hint="index_tensor")


def _strided_slice(bb: BlockBuilder, call: Call) -> Expr:
    x, *operands = call.args
    inbound = bool(options_of(call)["assume_inbound"])
    made = topi.strided_slice if inbound else slicing.strided_slice_of_any_bounds
    return slice_of_known_bounds(bb, x, operands, inbound, made)


def _dynamic_strided_slice(bb: BlockBuilder, call: Call) -> Expr:
    x, begin, end, strides = call.args
    made, none = slicing.dynamic_slice_of_any_bounds, IntImm(INT64, 0)
    bounds = (begin, end, strides)
    return sliced_by_tensors(bb, x, bounds, made, dynamic_extent, if_then_else, none)


def _batch_norm(bb: BlockBuilder, call: Call) -> Expr:
    return bb.call_te(topi.nn.batch_norm, *call.args, **options_of(call))


FOR_PROGRAMS: Final[dict[str, Callable[[BlockBuilder, Call], Expr]]] = {
    **FOR_PIPELINES, **ALWAYS_FOUND, **FROM_INFINITY,
    "relax.scatter_nd": _scatter_nd,
    "relax.index_tensor": _index_tensor,
    "relax.strided_slice": _strided_slice,
    "relax.dynamic_strided_slice": _dynamic_strided_slice,
    "relax.nn.batch_norm": _batch_norm,
}  # fmt: skip
