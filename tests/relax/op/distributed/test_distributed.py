"""Operators that place and move distributed tensors."""

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax, tir
from tvm.error import ShapeError, TVMError
from tvm.ir import structural_equal
from tvm.relax.distributed import DeviceMesh, DTensorStructInfo, Placement
from tvm.relax.op import distributed as D
from tvm.tir.interp import run

pytestmark = pytest.mark.pure
MESH = DeviceMesh((2,), [0, 1])
S0, R = Placement.from_text("S[0]"), Placement.from_text("R")


def _info(call):
    return relax.BlockBuilder().normalize(call).struct_info


def _tensor(*shape):
    return relax.TensorStructInfo(shape, "float32")


def test_annotations_change_nothing():
    x = relax.Var("x", _tensor(4, 6))
    call = D.annotate_sharding(x, MESH, S0)
    assert _info(call) is x.struct_info
    assert call.attrs.device_mesh is MESH
    assert str(call.attrs.placement) == "S[0]"


def test_moves_keep_the_tensor():
    x = relax.Var("x", DTensorStructInfo(_tensor(4, 6), MESH, S0))
    info = _info(D.redistribute(x, MESH, R))
    assert str(info.placement) == "R"
    assert info.tensor_sinfo is x.struct_info.tensor_sinfo
    y = relax.Var("y", _tensor(4))  # not placed yet: only says where it is to go
    assert _info(D.redistribute(y, MESH, R)) is y.struct_info
    with pytest.raises(TVMError, match="the input is no tensor"):
        _info(D.redistribute(relax.Var("z", relax.ShapeStructInfo([4])), MESH, R))


def test_pieces_of_replicas():
    n = tir.Var("n", "int64")
    x = relax.Var("x", _tensor(4, n))
    assert [int(e) for e in _info(D.redistribute_replica_to_shard(x, 2, 0)).shape.values[:1]] == [2]
    assert str(_info(D.redistribute_replica_to_shard(x, 2, 1)).shape.values[1]) == "n // T.int64(2)"
    with pytest.raises(ShapeError, match="no multiple of the number of workers"):
        _info(D.redistribute_replica_to_shard(x, 3, 0))
    unknown = relax.Var("u", relax.TensorStructInfo(None, "float32", ndim=2))
    piece = _info(D.redistribute_replica_to_shard(unknown, 3, 0))
    assert structural_equal(piece, unknown.struct_info)


def test_the_first_worker_takes_the_first_piece():
    x = relax.Var("x", _tensor(4, 6))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(D.redistribute_replica_to_shard(x, 2, 1)))
    value = np.arange(24, dtype="float32").reshape(4, 6)
    np.testing.assert_array_equal(run_interp(bb.get(), [value]), value[:, :3])


def test_calls_with_pieces():
    kernel = relax.GlobalVar("kernel")
    out = DTensorStructInfo(_tensor(4, 6), MESH, S0)
    x = relax.Var("x", out)
    assert _info(D.call_tir_local_view(kernel, x, out)) is out
    assert len(_info(D.call_tir_local_view(kernel, (x,), [out, out])).fields) == 2
    call = D.call_tir_local_view(kernel, x, out, tir_vars=[tir.IntImm("int64", 3)])
    assert len(call.args) == 3
    with pytest.raises(TVMError, match="call_tir_local_view: out_sinfo"):
        D.call_tir_local_view(kernel, x, _tensor(4, 6))


def test_a_distributed_replica_keeps_its_extents_and_is_placed_anew():
    x = relax.Var("x", DTensorStructInfo(_tensor(6, 4), MESH, R))
    info = _info(D.redistribute_replica_to_shard(x, 2, 1))
    assert str(info.placement) == "S[1]"
    assert info.tensor_sinfo is x.struct_info.tensor_sinfo
    with pytest.raises(ShapeError, match="no multiple"):
        _info(D.redistribute_replica_to_shard(x, 4, 0))
    with pytest.raises(TVMError, match="must be a tensor"):
        _info(D.redistribute_replica_to_shard(relax.Var("s", relax.ShapeStructInfo([2])), 2, 0))


def test_a_piece_of_a_replica_is_a_slice():
    x = relax.Var("x", _tensor(10, 12))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(D.redistribute_replica_to_shard(x, 2, 1)))
    after = relax.transform.LegalizeOps()(bb.get())
    assert relax.analysis.well_formed(after)
    asked, cast, call = after["main"].body.blocks[0].bindings
    assert "runtime.disco.worker_id" in str(asked.value)
    (worker,) = cast.struct_info.values
    assert [int(n) for n in call.var.struct_info.shape.values] == [10, 6]
    assert call.value.args[2].values[0] is worker
    kernel = after[call.value.args[0]]
    data = np.arange(120, dtype="float32").reshape(10, 12)
    for number in range(2):
        out = np.zeros((10, 6), "float32")
        run(kernel, data, out, number)
        np.testing.assert_array_equal(out, data[:, number * 6 : number * 6 + 6])
