"""Products with weights that are mostly zeros, as products with the blocks that are not.

    nn.dense(%x, %w)    ->    nn.sparse_dense(%x, %w.data, %w.indices, %w.indptr)

What the parts of a weight are, `relay.analysis.sparse_dense` and `.sparse_conv2d` find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.analysis.sparse_conv2d import is_sparse_kind
from tvm.relay.analysis.sparse_weights import (
    block_sparse,
    constant_parts,
    kernel_matrix,
    sparsity,
)
from tvm.relay.expr import Call, Constant, Var
from tvm.relay.function import Function
from tvm.relay.op.nn.sparse import sparse_conv2d, sparse_dense
from tvm.relay.traverse import transform
from tvm.relay.ty import TensorType
from tvm.relay.variables import free_vars

from .function_pass import expr_pass

Make = Callable[[Call, Sequence[Any]], RelaxExpr]


@expr_pass("DenseToSparse", opt_level=0)
def DenseToSparse(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, weight_name: Sequence[str],
    weight_shape: Sequence[Sequence[int]],
) -> RelaxExpr:  # fmt: skip
    """The function whose dense weights of these names are parameters of blocks."""
    return _replaced(func, "nn.dense", weight_name, weight_shape, lambda call: True,
                     lambda call, parts: sparse_dense(call.args[0], parts))  # fmt: skip


@expr_pass("Conv2dToSparse", opt_level=0)
def Conv2dToSparse(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, weight_name: Sequence[str],
    weight_shape: Sequence[Sequence[int]], layout: str, kernel_size: int,
) -> RelaxExpr:  # fmt: skip
    """The function whose kernels of these names are parameters of blocks."""
    return _replaced(
        func, "nn.conv2d", weight_name, weight_shape,
        lambda call: is_sparse_kind(call, layout, kernel_size),
        lambda call, parts: sparse_conv2d(call.args[0], parts, layout, kernel_size),
    )  # fmt: skip


@expr_pass("Conv2dToSparse2", opt_level=0)
def Conv2dToSparse2(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, layout: str, kernel_size: int,
    blocksize: Sequence[int], sparsity_threshold: float,
) -> RelaxExpr:  # fmt: skip
    """The function whose constant kernels are blocks where enough of them is zero."""
    op = Op.get("nn.conv2d")

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(new, Call) and new.op is op and isinstance(new.args[1], Constant)):
            return new
        weight = new.args[1].data.numpy()
        if not is_sparse_kind(new, layout, kernel_size) or sparsity(weight) < sparsity_threshold:
            return new
        parts = block_sparse(kernel_matrix(weight, layout, kernel_size), blocksize)
        return sparse_conv2d(new.args[0], constant_parts(parts), layout, kernel_size)

    return transform(func, rule)


def _replaced(
    func: RelaxExpr, op_name: str, names: Sequence[str], shapes: Sequence[Sequence[int]],
    fits: Callable[[Call], bool], make: Make,
) -> RelaxExpr:  # fmt: skip
    """`func` with calls made anew where their weight is one of `names`; three parameters for it."""
    assert isinstance(func, Function), "a pass gets functions"
    op = Op.get(op_name)
    known = {str(name): [int(n) for n in shape] for name, shape in zip(names, shapes)}
    made: dict[Node, list[Var]] = {}

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(new, Call) and new.op is op and isinstance(new.args[1], Var)):
            return new
        weight = new.args[1]
        if weight.name_hint not in known or not fits(new):
            return new
        if weight.vid not in made:
            made[weight.vid] = _parts(weight, known[weight.name_hint])
        return make(new, made[weight.vid])

    body = transform(func.body, rule)
    if not made:
        return func
    used = {var.vid for var in free_vars(body)}
    params = [p for p in func.params if p.vid not in made or p.vid in used]
    params += [part for parts in made.values() for part in parts]
    return Function(params, body, None, func.type_params, func.attrs, func.span)


def _parts(weight: Var, extents: list[int]) -> list[Var]:
    """The parameters for a weight: entries (one extent or three), columns, starts of rows."""
    found = weight.checked_type
    dtype = found.dtype if isinstance(found, TensorType) else "float32"
    *entries, columns, starts = extents
    kinds = {
        "data": TensorType(entries, dtype), "indices": TensorType((columns,), "int32"),
        "indptr": TensorType((starts,), "int32"),
    }  # fmt: skip
    return [Var(f"{weight.name_hint}.{kind}", made) for kind, made in kinds.items()]
