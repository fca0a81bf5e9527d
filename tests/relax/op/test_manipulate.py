"""Odd cases of rearranging."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import ir, relax, tir
from tvm.error import DTypeError, TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.broadcast_to(var(2, 3), (2, 4)), "not broadcastable"),
        (lambda: op.broadcast_to(var(2, 3), (3,)), "more dimensions than the target"),
        (lambda: op.broadcast_to(var(3), (1,)), "does not broadcast to the target"),
        (lambda: op.reshape(var(2, 3), (4, 2)), "the numbers of elements differ"),
        (lambda: op.reshape(var(2, 3), (-1, -1)), "-1 may stand once"),
        (lambda: op.reshape(var(2, 3), (-2, 3)), "extent -2"),
        (lambda: op.expand_dims(var(2), [0, 0]), "names a dimension twice"),
        (lambda: op.expand_dims(var(2), [3]), "axis is out of range"),
        (lambda: op.squeeze(var(2, 1), [0]), "dimension 0 is not 1"),
        (lambda: op.permute_dims(var(2, 3), [0]), "axes must name each dimension once"),
        (lambda: op.permute_dims(var(2, 3), [0, 0]), "names a dimension twice"),
        (lambda: op.concat([var(2, 3), var(2, 4)]), "the extents of dimension 1 differ"),
        (lambda: op.concat([var(2), var(2, 4)]), "the numbers of dimensions differ"),
        (lambda: op.concat([var(2, 3)], axis=2), "axis is out of range"),
        (lambda: op.concat([var(2, 3)], axis=None), "without an axis"),
        (lambda: op.concat([]), "nothing to concatenate"),
        (lambda: op.concat([var(2), var(2, dtype="int32")]), "data types of tensor 0 and tensor 1"),
        (lambda: op.stack([var(2), var(3)]), "the shapes differ"),
        (lambda: op.split(var(2, 3), 2, 2), "axis is out of range"),
        (lambda: op.flip(var(2), 1), "axis is out of range"),
        (lambda: op.meshgrid([var(2, 3)]), "tensor 0 must have one dimension"),
        (lambda: op.one_hot(var(2), relax.PrimValue(1), relax.PrimValue(0), 3),
         "indices must be integers"),
    ],
)  # fmt: skip
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_symbolic_shapes() -> None:
    assert shape_of(op.reshape(var(N, 4, 2), (N, 8))) == (N, 8)
    assert shape_of(op.reshape(var(N, 4), (-1, 2)))[1] == 2
    assert shape_of(op.squeeze(var(N, 1, M), 1)) == (N, M)
    assert info(op.squeeze(var(N, 1, M))).ndim == -1  # N may be 1 as well
    total = shape_of(op.concat([var(N, 3), var(M, 3), var(2, 3)]))[0]
    assert tir.interp.evaluate(total, {N: 3, M: 4}) == 9
    assert shape_of(op.stack([var(N), var(N)], -1)) == (N, 2)


def test_reshape_to_a_variable_shape() -> None:
    s = relax.Var("s", relax.ShapeStructInfo(ndim=3))
    assert info(op.reshape(var(N, 4), s)).shape is s


def test_pieces_of_a_split() -> None:
    def extents(call: object) -> list[object]:
        return [shape_of(field)[0] for field in info(call).fields]

    assert extents(op.split(var(7), 3)) == [3, 3, 1]
    assert extents(op.split(var(7), [2, 2, 9])) == [2, 0, 5, 0]
    sizes = extents(op.split(var(N), 2))
    assert [tir.interp.evaluate(e, {N: 7}) for e in sizes] == [4, 3]
    with pytest.raises(ValueError, match="legal: an integer from 1 to 1,048,576, or a list"):
        op.split(var(7), 0)


def test_transform_of_layout() -> None:
    call = op.layout_transform(var(8, 6), lambda i, j: (i // 4, j, i % 4))
    assert shape_of(call) == (2, 6, 4)
    with pytest.raises(TVMError, match="the index map does not fit x"):
        info(op.layout_transform(var(8), lambda i, j: (j, i)))


def test_indexing_of_grids() -> None:
    found = info(op.meshgrid([var(2), var(3)], "xy"))
    assert shape_of(found.fields[0]) == (3, 2)
    with pytest.raises(ValueError, match="legal: 'ij', 'xy'"):
        op.meshgrid([var(2)], "yx")


def test_dimensions_in_their_order_are_the_tensor_itself() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    assert info(op.permute_dims(x, [0, -1])).shape is shape


@pytest.mark.parametrize(
    "build",
    [lambda x: op.flip(x, 1.3), lambda x: op.repeat(x, 1.5, 0), lambda x: op.take(x, x, 0.5)],
)
def test_axes_and_counts_are_whole(build: Any) -> None:
    with pytest.raises(DTypeError, match="is no integer"):
        build(var(2, 3))


def test_one_hot_of_numbers_that_are_handed_in_has_no_kernel() -> None:
    number = relax.Var("on", relax.PrimStructInfo("float32"))
    indices, zero = var(2, dtype="int64"), tir.const(0.0, "float32")
    bb = relax.BlockBuilder()
    with bb.function("main", [indices, number]):
        bb.emit_func_output(bb.emit(op.one_hot(indices, number, relax.PrimValue(zero), 3)))
    with pytest.raises(TVMError, match="needs to know on_value"):
        relax.transform.LegalizeOps()(bb.get())


P = tir.Var("p", "int64")


def test_a_split_in_one_is_no_tuple() -> None:
    x = var(P, 4)
    assert info(op.split(x, 1)) is x.struct_info
    assert info(op.split(x, [])) is x.struct_info


def test_pieces_end_where_the_tensor_ends() -> None:
    found = info(op.split(var(P), [3, 6])).fields
    for extent, sizes in ((2, [2, 0, 0]), (5, [3, 2, 0]), (9, [3, 3, 3])):
        assert [tir.interp.evaluate(f.values[0], {P: extent}) for f in found] == sizes
    bb = relax.BlockBuilder()
    bb.begin_scope([var(P)])  # where P is known not to be negative
    longer = bb.normalize(op.split(var(P + 6), [3, 6])).struct_info.fields
    assert [str(f.values[0]) for f in longer] == ["T.int64(3)", "T.int64(3)", "p"]


def test_joined_extents_must_be_shown_equal() -> None:
    assert info(op.concat([var(P, N), var(M, N)], 1)).ndim == 2
    assert info(op.concat([var(P, N), var(M, N)], 1)).shape is None


def test_parts_of_a_layout_are_written_plainly() -> None:
    found = info(op.image.resize2d(var(P, N, 5, 5, 8), (9, 9), layout="NCHW8c"))
    assert found.values[1] is N


def test_names_of_the_module_above() -> None:
    from tvm.relax.op import gather, manipulate

    for name in ("collapse_sum_to", "gather_nd", "index_put", "scatter_elements", "slice_scatter"):
        assert getattr(manipulate, name) is getattr(gather, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = manipulate.no_such_name


def test_stacked_extents_must_be_shown_equal() -> None:
    assert info(op.stack([var(P, N), var(P, N)], 1)).values == (P, 2, N)
    open_ = info(op.stack([var(P, N), var(M, N)], 1))
    assert (open_.shape, open_.ndim) == (None, 3)


def test_extents_are_written_as_they_stand() -> None:
    def last(expr: relax.Call) -> list[str]:
        return [str(extent).replace("T.int64", "") for extent in info(expr).shape.values]

    assert last(op.flatten(var(2, N, 3, M))) == ["(2) * n * (3) * m"]
    assert last(op.cumsum(var(N, 2, N))) == ["n * (2) * n"]
    assert last(op.concat([var(N + 1), var(N + 1)])) == ["(n + (1)) * (2)"]
    assert last(op.concat([var(3), var(N), var(4)])) == ["(3) + n + (4)"]
    assert last(op.nn.pad(var(N + 1), [1, 2])) == ["n + (1) + (3)"]
    assert last(op.nn.pixel_shuffle(var(1, 8, N + 1, N), 2)) == ["(1)", "(2)", "(n + (1)) * (2)",
                                                                "n * (2)"]  # fmt: skip
    assert last(op.reshape(var(N + 1, 3, 6), (N + 1, -1)))[1] == "(18)"
    assert last(op.image.resize2d(var(1, 3, 4, 4), (N * 2 * 2, N + 1 + N)))[2:] == [
        "n * (4)", "n * (2) + (1)",
    ]  # fmt: skip


@pytest.mark.parametrize("join", [op.concat, op.stack])
def test_devices_of_a_tuple(join: Any) -> None:
    devices = [ir.VDevice("llvm", i) for i in range(2)]
    placed = [relax.Var("x", relax.TensorStructInfo((2,), "int8", device)) for device in devices]
    assert info(join([var(2, dtype="int8"), placed[1]])).vdevice is devices[1]
    assert info(join(placed)).vdevice is None  # they say nothing of the result


def test_a_shape_that_is_a_variable_belongs_to_no_other_tensor() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo())
    x = relax.Var("x", relax.TensorStructInfo(shape, "int8"))
    known = relax.Var("s", relax.ShapeStructInfo([4, 3]))
    y = relax.Var("y", relax.TensorStructInfo(known, "int8"))
    grown = [lambda x: op.nn.pad(x, [1, 1, 0, 0]), lambda x: op.ccl.allgather(x, 2),
             lambda x: op.ccl.scatter_from_worker0(x, 2)]  # fmt: skip
    for make in grown:
        assert info(make(x)).shape is None
    assert [int(n) for n in info(op.ccl.allgather(y, 2)).values] == [8, 3]
    assert [int(n) for n in info(op.ccl.scatter_from_worker0(y, 2)).values] == [2, 3]
    for same in (op.grad.no_grad, op.grad.start_checkpoint, op.builtin.stop_lift_params):
        assert info(same(known)).values == known.struct_info.values


def test_one_hot_needs_a_depth_when_it_is_called() -> None:
    with pytest.raises(TVMError, match="depth must be positive"):
        op.one_hot(var(2, dtype="int64"), relax.PrimValue(1), relax.PrimValue(0), 0)
