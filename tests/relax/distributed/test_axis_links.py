"""Which dimensions of operands become which of results."""

import pytest

from tvm import relax, tir
from tvm.relax import op
from tvm.relax.distributed.axis_links import axis_links

pytestmark = pytest.mark.pure
N = tir.Var("n", "int64")


def _links(make, *shapes):
    operands = [relax.Var(f"x{i}", relax.TensorStructInfo(s)) for i, s in enumerate(shapes)]
    call = relax.BlockBuilder().normalize(make(*operands))
    infos = [a.struct_info if isinstance(a.struct_info, relax.TensorStructInfo) else None
             for a in call.args]  # fmt: skip
    return axis_links(call, infos, call.struct_info)


def test_elementwise_links_every_dimension():
    assert _links(op.exp, (N, 4)) == [(0, 0, 0), (0, 1, 1)]
    assert _links(op.add, (N, 4), (4,)) == [(0, 0, 0), (0, 1, 1), (1, 0, 1)]
    assert _links(op.add, (N, 4), (1, 4)) == [(0, 0, 0), (0, 1, 1), (1, 1, 1)]


def test_products_link_what_is_not_summed():
    assert _links(op.matmul, (8, 4), (4, 6)) == [(0, 0, 0), (1, 1, 1)]
    assert _links(op.matmul, (2, 8, 4), (4, 6)) == [(0, 1, 1), (1, 1, 2), (0, 0, 0)]
    assert _links(op.matmul, (4,), (4, 6)) == [(1, 1, 0)]


def test_reductions_link_what_is_kept():
    assert _links(lambda x: op.sum(x, 1), (8, 4, 6)) == [(0, 0, 0), (0, 2, 1)]
    assert _links(lambda x: op.sum(x, 1, True), (8, 4, 6)) == [(0, 0, 0), (0, 2, 2)]
    assert _links(lambda x: op.nn.softmax(x, -1), (8, 4)) == [(0, 0, 0)]


def test_moves():
    assert _links(lambda x: op.permute_dims(x, [1, 0]), (8, 4)) == [(0, 1, 0), (0, 0, 1)]
    assert _links(lambda x: op.reshape(x, (8, 2, 2, 6)), (8, 4, 6)) == [
        (0, 0, 0), (0, 1, 1), (0, 2, 3),
    ]  # fmt: skip
    assert _links(lambda x: op.reshape(x, (32, 6)), (8, 4, 6)) == [(0, 0, 0), (0, 2, 1)]
    assert _links(lambda x: op.reshape(x, (1, 4, 1, 8)), (4, 8)) == [(0, 0, 1), (0, 1, 3)]


def test_other_operators_link_nothing():
    assert _links(lambda x: op.cumsum(x, 0), (8, 4)) == []


def test_vectors_lie_along_their_axis():
    wanted = [(0, 0, 0), (0, 1, 1), (0, 2, 2), (1, 0, 1)]
    zero = relax.Var("zero", relax.TensorStructInfo((8,), "int8"))
    whole = relax.Var("x", relax.TensorStructInfo((4, 8, 6), "float32"))
    factor = relax.Var("scale", relax.TensorStructInfo((8,), "float32"))
    call = relax.BlockBuilder().normalize(op.quantize(whole, factor, zero, axis=1))
    infos = [arg.struct_info for arg in call.args]
    assert axis_links(call, infos, call.struct_info) == [*wanted, (2, 0, 1)]
    assert _links(lambda x, a: op.nn.prelu(x, a, axis=1), (4, 8, 6), (8,)) == wanted
