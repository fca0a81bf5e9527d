"""Buffers: declaration, indexing in all its forms, vector access, pointers."""

from __future__ import annotations

import pytest

import tvm
from tvm import te, tir
from tvm.script import tir as T

pytestmark = pytest.mark.pure
N = tir.Var("n", "int32")


def test_declaration() -> None:
    a = tir.decl_buffer((N, 4), "float16", "A", scope="shared")
    assert (a.name, a.dtype, a.scope(), a.ndim) == ("A", "float16", "shared", 2)
    assert a.data_alignment == 64
    assert a.offset_factor == 1
    flags = tir.decl_buffer((4,), "bool", "flags")
    assert flags.data.type_annotation.element_type.dtype == "int8"
    moved = tir.decl_buffer((4,), "int8", "B", offset_factor=8)
    assert isinstance(moved.elem_offset, tir.Var)
    with pytest.raises(TypeError, match="data variable x is int32; legal: a variable of pointer"):
        tir.Buffer(tir.Var("x", "int32"), "int8", [4])


def test_a_buffer_of_one_element_counts_in_64_bits() -> None:
    single = tir.decl_buffer((), "float32")
    assert single.elem_offset.dtype == "int64"
    assert single.access_ptr("r").args[3].dtype == "int64"
    assert tir.decl_buffer((4,), "float32").elem_offset.dtype == "int32"


def test_strides_of_another_rank_are_refused_where_they_are_used() -> None:
    short = tir.decl_buffer((4, 4), strides=(2,))
    uses = [
        lambda: short.offset_of((0, 0)),
        short.get_flattened_buffer,
        lambda: short.access_ptr("r"),
        lambda: tvm.tir.build(tir.PrimFunc([short.data], tir.Evaluate(short[0, 0]))),
    ]
    for use in uses:
        with pytest.raises(tvm.TVMError, match="2 dimensions but 1 strides"):
            use()


def test_one_step_of_one_for_all_dimensions_is_a_dense_buffer() -> None:
    assert list(tir.decl_buffer((4, 6), strides=(1,)).offset_of((2, 3))) == [15]


def test_indexing() -> None:
    a = tir.decl_buffer((8, 16), "float32", "A")
    assert isinstance(a[1, 2], tir.BufferLoad)
    region = a[2:4, 3]
    assert isinstance(region, tir.BufferRegion)
    assert [(int(r.min), int(r.extent)) for r in region.region] == [(2, 2), (3, 1)]
    assert [int(r.extent) for r in a[2:4].region] == [2, 16]
    strided = a[0, 0:16:2]
    assert strided.dtype == "float32x8"
    with pytest.raises(tvm.TVMError, match="a region takes no step"):
        a[0:4, 0:16:2]


def test_vector_access() -> None:
    a = tir.decl_buffer((8, 16), "float32", "A")
    load = a.vload([0, 4], "float32x4")
    assert load.dtype == "float32x4"
    store = a.vstore([0, 4], load)
    assert isinstance(store.indices[1], tir.Ramp)
    with pytest.raises(TypeError, match="Buffer A holds float32, cannot load int32x4"):
        a.vload([0, 0], "int32x4")
    with pytest.raises(TypeError, match="Buffer A holds float32, cannot store int32"):
        a.vstore([0, 0], tir.const(1))


def test_as_many_indices_as_dimensions() -> None:
    a = tir.decl_buffer((8, 16), "float32", "A")
    for use in (a.offset_of, a.vload, lambda at: a.vstore(at, 1.0), lambda at: a[tuple(at)] + 1.0):
        with pytest.raises(tvm.TVMError, match="2-dimensional, cannot be indexed with the 3-dim"):
            use([0, 0, 0])


def test_access_pointer() -> None:
    a = tir.decl_buffer((8, 16), "float32", "A")
    ptr = a.access_ptr("rw", offset=16)
    assert ptr.op.name == "tir.tvm_access_ptr"
    assert int(ptr.args[4]) == tir.Buffer.READ | tir.Buffer.WRITE
    assert int(ptr.args[3]) == 8 * 16 - 16
    with pytest.raises(ValueError, match="unknown access 'x'"):
        a.access_ptr("x")


def test_extent_of_a_slice_is_simplified() -> None:
    n = tir.Var("n", "int32")
    rows, columns = tir.decl_buffer([n, 16])[n : n + 4, 2:10].region
    assert (rows.min, rows.extent.value, columns.extent.value) == (n, 4, 8)


def test_axis_separators_are_places_between_axes() -> None:
    within = r"All axis separators must be within .* axis_separators\[1\] = 2 is greater than"
    with pytest.raises(ValueError, match=within):
        tir.decl_buffer([4], axis_separators=[1, 2])
    order = r"increasing order, but axis_separators\[0\] = 1 is greater than or equal to "
    for separators in ([1, 0], [1, 1]):
        with pytest.raises(ValueError, match=order):
            tir.decl_buffer([4, 4], axis_separators=separators)
    assert len(tir.decl_buffer([4, 4], axis_separators=[0, 1, 2]).axis_separators) == 3


@pytest.mark.parametrize("one", [
    tir.decl_buffer((4,)), tir.ir_builder.create().buffer_ptr(tir.decl_buffer((4,))), T.Buffer,
    te.placeholder((4, 4))[0], te.placeholder((4,)),
])  # fmt: skip
def test_what_is_indexed_is_not_iterated(one) -> None:
    with pytest.raises(TypeError, match=r"is not iterable|cannot be iterated"):
        iter(one)
    with pytest.raises(TypeError, match=r"is not iterable|cannot be iterated|not a container"):
        "." in one  # noqa: B015


def test_extents_and_bounds_are_no_texts() -> None:
    with pytest.raises(TypeError, match='an extent of buffer is "x"'):
        tir.decl_buffer("x")
    for bounds in (("x",), (0, "x")):
        with pytest.raises(TypeError, match='a bound is "x"'):
            tvm.ir.Range(*bounds)


def test_extents_are_no_fractions() -> None:
    with pytest.raises(TypeError, match="an extent of buffer is T"):
        tir.decl_buffer((4.5,))


def test_a_buffer_that_broadcasts_has_open_strides() -> None:
    made = tir.decl_buffer((tir.Var("n", "int64"), 4), buffer_type="auto_broadcast")
    assert [str(step.dtype) for step in made.strides] == ["int64", "int32"]
    assert not tir.decl_buffer((4, 4)).strides

    @T.prim_func
    def func(a: T.handle):
        A = T.match_buffer(a, (4, 1), buffer_type="auto")
        A[0, 0] = 1.0

    line = 'A = T.match_buffer(a, (4, 1), strides=("stride", "stride"), buffer_type="auto")'
    assert line in func.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)
