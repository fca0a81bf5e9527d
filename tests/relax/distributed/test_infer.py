"""Where the results of operators on distributed tensors lie."""

import pytest

from tvm import relax
from tvm.error import TVMError
from tvm.relax.distributed import DeviceMesh, DTensorStructInfo, Placement
from tvm.relax.distributed.axis_links import axis_links
from tvm.relax.op import nn

pytestmark = pytest.mark.pure
MESH = DeviceMesh((2, 2), [0, 1, 2, 3])
op = relax.op


def _var(shape, place, name="x", mesh=MESH):
    tensor = relax.TensorStructInfo(shape, "float32")
    return relax.Var(name, DTensorStructInfo(tensor, mesh, Placement.from_text(place)))


def _info(call):
    return relax.BlockBuilder().normalize(call).struct_info


def _place(call):
    return str(_info(call).placement)


def test_elementwise_and_broadcast():
    x, y = _var((8, 4), "S[0], R"), _var((4,), "R, S[0]")
    assert _place(op.exp(x)) == "S[0], R"
    assert _place(op.add(x, y)) == "S[0], S[1]"
    assert _place(op.add(x, _var((8, 4), "S[0], S[1]"))) == "S[0], S[1]"
    assert _place(op.add(x, _var((1, 4), "S[0], R"))) == "S[0], R"
    assert tuple(int(n) for n in _info(op.add(x, y)).tensor_sinfo.shape.values) == (8, 4)


def test_products():
    x, w = _var((2, 8, 4), "S[0], S[1]"), _var((4, 6), "R, S[1]")
    assert _place(op.matmul(x, w)) == "S[0], S[1]"
    assert _place(op.matmul(_var((8, 4), "S[1], R"), w)) == "R, S[1]"
    assert _place(op.matmul(_var((4,), "R, R"), w)) == "R, S[0]"
    assert _place(op.matmul(_var((8, 4), "S[0], R"), _var((4,), "S[0], R"))) == "S[0], R"


def test_reductions_rows_and_moves():
    x = _var((8, 4, 6), "S[0], S[2]")
    assert _place(op.sum(x, 1)) == "S[0], S[1]"
    assert _place(op.sum(x, 1, keepdims=True)) == "S[0], S[2]"
    assert _place(op.max(x, 0)) == "R, S[1]"
    assert _place(op.mean(x)) == "R, R"
    assert _place(nn.softmax(x, axis=-1)) == "S[0], R"
    assert _place(op.permute_dims(x)) == "S[2], S[0]"
    assert _place(op.permute_dims(x, [1, 0, 2])) == "S[1], S[2]"
    assert _place(op.reshape(x, (8, 4, 2, 3))) == "S[0], S[2]"
    assert _place(op.reshape(x, (32, 6))) == "S[0], S[1]"
    assert _place(op.reshape(x, (8, 24))) == "S[0], R"


def test_unknown_operators_give_whole_tensors():
    assert _place(op.cumsum(_var((8, 4), "S[0], R"), 1)) == "R, R"
    call = op.cumsum(_var((8, 4), "S[0], R"), 1)
    assert axis_links(call, [None], relax.TensorStructInfo((8, 4))) == []


def test_tuples_of_results():
    info = _info(op.split(_var((8, 4), "S[0], R"), 2, 1))
    assert all(isinstance(field, DTensorStructInfo) for field in info.fields)


def test_mixtures_are_refused():
    x = _var((8, 4), "S[0], R")
    with pytest.raises(TVMError, match="distributed and normal tensors are mixed"):
        _info(op.add(x, relax.Var("y", relax.TensorStructInfo((8, 4)))))
    with pytest.raises(TVMError, match="different meshes"):
        _info(op.add(x, _var((8, 4), "R", mesh=DeviceMesh((4,), [0, 1, 2, 3]))))
