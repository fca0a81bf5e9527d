"""Compute a block by a tensor intrinsic."""

from __future__ import annotations

from collections.abc import Mapping

from tvm.arith import Analyzer
from tvm.support.dtype import DataType
from tvm.tir.block_scope import StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.index_dtype import with_index_dtype
from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.renew_defs import renew_defs
from tvm.tir.schedule.analysis.affine import analyzer_at
from tvm.tir.schedule.analysis.match import DescMatcher
from tvm.tir.schedule.analysis.query import block_of
from tvm.tir.schedule.error import Illegal, ScheduleValueError
from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.primitive.blockize import blockize
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.schedule.tree import SRefTree
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, For, MatchBufferRegion

KIND = kind("Tensorize", "tensorize", "block_or_loop", "=tensor_intrin", "=preserve_unit_iters")


def tensorize(
    state: SRefTree, block_or_loop: StmtSRef, tensor_intrin: str, preserve_unit_iters: bool
) -> None:
    """Replace a block that computes what the intrinsic's desc says by the intrinsic's code.

    A loop is made a block first.

    block:                              block:
        for i, j: C[io + i, ...] = ...  ->  c = match_buffer(C[io : io + 16, ...])
                                            the body of impl, over c
    """
    intrin = _find(tensor_intrin, block_or_loop)
    sref = block_or_loop
    if isinstance(sref.stmt, For):
        sref = blockize(state, sref, preserve_unit_iters)
    node = block_of(sref)
    analyzer = analyzer_at(sref)
    for iv in node.iter_vars:
        if iv.dom is not None:
            analyzer.bind(iv.var, iv.dom)
    matcher = DescMatcher(_root(intrin.desc), node, analyzer)
    matcher.run()
    impl = with_index_dtype(renew_defs(intrin.impl), _index_dtype(node))
    matches = _matches(node, intrin.desc, impl, matcher.regions, analyzer)
    code = _root(impl)
    new = change_block(
        node,
        body=code.body,
        match_buffers=matches,
        alloc_buffers=code.alloc_buffers,
        annotations={**node.annotations, **code.annotations},
    )
    state.replace(sref, new, {node: new})


def _find(name: str, sref: StmtSRef) -> TensorIntrin:
    try:
        found = TensorIntrin.get(name)
    except ValueError as err:
        raise Illegal(
            str(err.args[0]),
            legal="the name of an intrinsic that TensorIntrin.register made known",
            spots=[sref.stmt],
            fast="The tensor intrinsic is not registered",
            error=ScheduleValueError,
        ) from err
    assert found is not None, "missing ones raise"
    return found


def _index_dtype(node: Block) -> DataType:
    """The type of the block's indices, which those of the intrinsic's code get, too."""
    ranges = [rng for region in (*node.reads, *node.writes) for rng in region.region]
    return DataType(f"int{max([rng.min.dtype.bits for rng in ranges], default=32)}")


def _root(func: PrimFunc) -> Block:
    assert isinstance(func.body, BlockRealize), "the constructor of TensorIntrin made sure"
    return func.body.block


def _matches(
    node: Block,
    desc: PrimFunc,
    impl: PrimFunc,
    regions: Mapping[Buffer, BufferRegion],
    analyzer: Analyzer,
) -> list[MatchBufferRegion]:
    """The buffers of impl as regions of the program's buffers."""
    found: list[MatchBufferRegion] = []
    for mine, theirs in zip(desc.params, impl.params):
        described, buffer = desc.buffer_map[mine], impl.buffer_map[theirs]
        region = regions.get(described)
        if region is None:
            raise Illegal(
                f"desc of the intrinsic does not access its buffer {described.name!r}, so that "
                "nothing of the program can stand for it",
                legal="an intrinsic whose desc accesses each of its buffers",
                spots=[node],
                fast="A buffer of the tensor intrinsic is not used by its description",
            )
        tail = region.region[len(region.region) - len(buffer.shape) :]
        fits = all(
            isinstance(extent, Var) or analyzer.can_prove_equal(extent, part.extent)
            for extent, part in zip(buffer.shape, tail)
        )
        if not fits or buffer.scope() != region.buffer.scope():
            raise Illegal(
                f"{region} does not fit the buffer {buffer.name!r} of impl: shape "
                f"{[str(d) for d in buffer.shape]} in {buffer.scope()!r} memory",
                legal="an impl whose buffers have the shapes and memory of those of desc",
                spots=[node],
                fast="A buffer of the intrinsic's implementation does not fit the region",
            )
        found.append(MatchBufferRegion(buffer, region))
    return found
