"""Layouts that blocks and inputs of a TIR function take when its outputs get other ones.

    B[n, c] += A[n, c, h, w]         with B as (n, c) -> (n, c // 4, c % 4)
        ->
    the block as (n, c, h, w) -> (n, c // 4, h, w, c % 4), and A too

An output layout says what happens to each iteration variable that stands alone in one dimension of
the output. What a variable becomes there, it becomes in the block and in the buffers that the block
reads with it; other dimensions stay where they are. Where this has no clear answer there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tvm.arith.iter_affine_map import normalize_to_iter_sum
from tvm.arith.iter_map_expr import IterMapFailure
from tvm.error import CheckError, TVMError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.relax.struct_info import const_int
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BinaryOpExpr, BufferLoad, Cast, IntImm, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, substitute, uses_any, walk
from tvm.tir.index_map import IndexMap
from tvm.tir.stmt import Block, BufferStore

# The iteration variable of each dimension, or None for a dimension without one.
Layout: TypeAlias = "tuple[Var | None, ...]"
Suggestions: TypeAlias = "dict[Block, dict[Block | Buffer, IndexMap]]"


@explained
def suggest_layout_transforms(
    func: PrimFunc, write_buffer_transforms: Sequence[IndexMap | Callable[..., object]]
) -> Suggestions:
    """For each block, its own index map and those of its buffers that follow from the outputs'.

    The transforms are for the last parameters of the function. Blocks that nothing can be said of
    are left out; all shapes have to be numbers.
    """
    maps: list[IndexMap] = []
    for given in write_buffer_transforms:
        made = IndexMap.from_func(given) if callable(given) else given
        assert isinstance(made, IndexMap), "Only index maps and functions are layouts"
        maps.append(made)
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    if len(maps) > len(buffers):
        raise CheckError(
            message(
                "Incompatible PrimFunc and write_transformations",
                found=f"{len(maps)} transformations for {len(buffers)} buffers",
                legal="at most one for each buffer that is a parameter, the last ones",
            )
        )
    layouts: dict[Buffer, IndexMap] = {}
    for buffer, layout in zip(buffers[len(buffers) - len(maps) :], maps):
        if len(layout.initial_indices) != len(buffer.shape):
            raise CheckError(
                f"Mismatch between output buffer shape and index map: {buffer.name} has "
                f"{len(buffer.shape)} dimensions, the map {layout} takes "
                f"{len(layout.initial_indices)}"
            )
        layouts[buffer] = layout
    result: Suggestions = {}
    blocks = [n for n in statements(func.body, Block) if n.iter_vars]
    outermost = [b for b in blocks if not _holds_blocks(b)]
    if len(outermost) != len(blocks):
        return {}
    for block in _writers_last(blocks):
        found = _of_block(block, layouts)
        if found is not None:
            result[block] = found
            for key, layout in found.items():
                if isinstance(key, Buffer):
                    layouts.setdefault(key, layout)
    return result


def _holds_blocks(block: Block) -> bool:
    return any(statements(block.body, Block))


def _writers_last(blocks: Sequence[Block]) -> list[Block]:
    """Blocks from the outputs backwards."""
    return list(reversed(blocks))


def _of_block(
    block: Block, layouts: Mapping[Buffer, IndexMap]
) -> dict[Block | Buffer, IndexMap] | None:
    stores = list(statements(block, BufferStore))
    written = {store.buffer for store in stores}
    if len(written) != 1:
        return None
    (target,) = written
    given = layouts.get(target)
    if given is None:
        return None
    layout = _over(given, block.iter_vars[0].var.dtype)
    domains = {v.var: v.dom for v in block.iter_vars if v.dom is not None}
    if any(const_int(dom.extent) is None for dom in domains.values()):
        return None
    kinds = {iter_var.var: iter_var for iter_var in block.iter_vars}
    source = _one_layout([store.indices for store in stores], kinds, domains)
    if source is None or any(var is None for var in source):
        return None
    own = infer_layout(source, layout, tuple(kinds))
    if own is None or not _is_bijective(own, list(domains.values())):
        return None
    found: dict[Block | Buffer, IndexMap] = {block: own, target: layout}
    reads: dict[Buffer, list[Sequence[PrimExpr]]] = {}
    for node in walk(block):
        if isinstance(node, BufferLoad) and node.buffer is not target:
            reads.setdefault(node.buffer, []).append(node.indices)
    for buffer, accesses in reads.items():
        access = _one_layout(accesses, kinds, domains)
        if access is None or not set(access) & set(source):
            continue
        known = layouts.get(buffer)
        inferred = infer_layout(source, layout, access)
        if known is None and inferred is not None and _is_bijective(inferred, buffer.shape):
            found[buffer] = inferred
    return found


def _one_layout(
    accesses: Sequence[Sequence[PrimExpr]],
    kinds: Mapping[Var, IterVar],
    domains: Mapping[Var, Range],
) -> Layout | None:
    """The variable of each dimension, if all accesses agree on it and each has its own."""
    found = {_layout(indices, kinds, domains) for indices in accesses}
    if len(found) != 1:
        return None
    (layout,) = found
    if layout is None:
        return None
    named = [var for var in layout if var is not None]
    return layout if len(set(named)) == len(named) else None


def _layout(
    indices: Sequence[PrimExpr], kinds: Mapping[Var, IterVar], domains: Mapping[Var, Range]
) -> Layout | None:
    layout: list[Var | None] = []
    for index in indices:
        used = [v for v in dict.fromkeys(walk(index)) if isinstance(v, Var) and v in kinds]
        if used and not _is_affine(index, domains):
            return None
        # a window over a dimension, h * 2 + r, moves along the dimension of h
        spatial = [v for v in used if kinds[v].iter_type == IterVar.DataPar]
        among = spatial or used
        if len(among) > 1:
            return None
        layout.append(among[0] if among else None)
    return tuple(layout)


def _is_affine(index: PrimExpr, domains: Mapping[Var, Range]) -> bool:
    if isinstance(index, Var):
        return True
    try:
        found = normalize_to_iter_sum(index, dict(domains))
    except (IterMapFailure, TVMError, ValueError):
        return False
    if uses_any(found.base, domains):
        return False  # what is no map of the variables is left in the base
    return not any(
        type(node).__name__ == "Mul"
        and all(any(isinstance(v, Var) for v in walk(part)) for part in (node.a, node.b))
        for node in walk(index)
    )


def infer_layout(source: Layout, layout: IndexMap, target: Layout) -> IndexMap | None:
    """The map for dimensions `target`, given the map for dimensions `source`; None if unclear.

    (n, c) -> (n, c // 4, c % 4)  for (n, c, h)  is  (n, c, h) -> (n, c // 4, h, c % 4)
    """
    common = [var for var in source if var is not None and var in target]
    if [var for var in target if var is not None and var in source] != common:
        return None  # in another order
    variables = [
        Var(f"i{at}" if var is None else var.name, layout.initial_indices[0].dtype)
        for at, var in enumerate(target)
    ]
    named = {var: new for var, new in zip(target, variables) if var is not None}
    here = {i: s for i, s in zip(layout.initial_indices, source)}
    kept: list[PrimExpr] = []
    for expr in layout.final_indices:
        uses = [here[v] for v in dict.fromkeys(walk(expr)) if isinstance(v, Var) and v in here]
        inside = [var for var in uses if var in named]
        if uses and not inside:
            continue
        if len(inside) != len(uses):
            return None
        kept.append(
            substitute(expr, {i: named[s] for i, s in here.items() if s is not None and s in named})
        )
    rest = iter(kept)
    final: list[PrimExpr] = []
    for var, new in zip(target, variables):
        if var is not None and var in common:
            following = next(rest, None)
            if following is not None:
                final.append(following)
        else:
            final.append(new)
    return IndexMap(variables, [*final, *rest], None)


def _over(layout: IndexMap, dtype: DataType) -> IndexMap:
    """The map with indices of the type of the function's loops, so that no casts are needed."""
    old = layout.initial_indices
    if all(var.dtype == dtype for var in old):
        return layout
    new = {var: Var(var.name, dtype) for var in old}
    indices = [_typed(index, new, dtype) for index in layout.final_indices]
    return IndexMap(list(new.values()), indices, None)


def _typed(expr: PrimExpr, new: Mapping[Var, Var], dtype: DataType) -> PrimExpr:
    if isinstance(expr, Var):
        return new.get(expr, expr)
    if isinstance(expr, IntImm):
        return IntImm(dtype, expr.value)
    if isinstance(expr, Cast):
        return _typed(expr.value, new, dtype)
    if isinstance(expr, BinaryOpExpr):
        return type(expr)(_typed(expr.a, new, dtype), _typed(expr.b, new, dtype), expr.span)
    return expr


def _is_bijective(layout: IndexMap, shape: Sequence[PrimExpr | Range]) -> bool:
    try:
        layout.inverse(list(shape))
    except (TVMError, ValueError):
        return False
    return True
