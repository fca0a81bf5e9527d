from __future__ import annotations

import pytest

from tvm import te, tir, topi
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


def test_stages_by_hand_name_what_they_read_in_the_order_of_use() -> None:
    data, updates = te.placeholder((8,), name="data"), te.placeholder((4,), name="updates")
    index = te.placeholder((1, 4), "int64", name="index")
    made = topi.scatter_nd(data, index, updates, "add")
    after = te.compute(made.shape, lambda i: made[i] + 1.0, name="after")
    func = te.create_prim_func([data, index, updates, after])
    block = func.body.block.body.seq[0].block
    assert [r.buffer.name for r in block.reads] == ["data", "out_buf", "index", "updates"]
    assert [str(w) for w in block.writes] == ["out_buf[0:8]"]


def test_places_that_the_stage_itself_writes_are_not_known() -> None:
    data = te.placeholder((4, 6), name="data")
    made = topi.sort(data, 1)
    block = te.create_prim_func([data, made]).body.block.body.seq[0].block
    assert all(
        [int(one.extent) for one in region.region] == [4, 6]
        for region in (*block.reads, *block.writes)
    )


def test_data_that_is_passed_on_is_read_and_written_as_a_whole() -> None:
    a = te.placeholder((8,), name="a")
    b = te.extern((8,), [a], lambda i, o: tir.call_packed("f", i[0], o[0]), name="b")
    c = te.compute((8,), lambda i: b[i] + 1.0, name="c")
    block = te.create_prim_func([a, c]).body.block.body.seq[0].block
    assert [r.buffer.name for r in block.reads] == ["a"]
    assert [w.buffer.name for w in block.writes] == ["b"]


def test_the_root_of_a_function_that_is_a_stage_has_no_regions() -> None:
    a = te.placeholder((4,), name="A")
    inner = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1, name="B")])
    stage = te.extern_primfunc([a], inner)
    text = te.create_prim_func([a, stage]).script()
    assert '        with T.block("root"):\n            T.reads()\n            T.writes()\n' in text
