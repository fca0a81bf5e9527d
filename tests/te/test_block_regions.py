from __future__ import annotations

import pytest

from tvm import te, tir
from tvm.te.block_regions import with_access_regions

pytestmark = pytest.mark.pure


def test_all_blocks_but_the_root_get_regions() -> None:
    a = te.placeholder((8,), name="a")
    b = te.compute((6,), lambda i: a[i] + a[i + 2], name="b")
    func = te.create_prim_func([a, b])
    root = func.body.block
    assert (root.reads, root.writes) == ((), ())
    inner = root.body.body.block
    assert [r.buffer.name for r in inner.reads] == ["a"]
    assert inner.reads[0].region[0].extent.value == 3
    assert [w.buffer.name for w in inner.writes] == ["b"]


def test_given_regions_stay() -> None:
    a = tir.decl_buffer((8,), name="a")
    whole = tir.BufferRegion.full_region(a)
    inner = tir.Block([], [whole], [], "mine", tir.Evaluate(0))
    outer = tir.Block([], [], [], "root", tir.BlockRealize([], True, inner))
    done = with_access_regions(tir.BlockRealize([], True, outer), [a])
    assert done.block.body.block.reads == (whole,)
