"""LowerDistIR: plain tensors, as each worker holds them."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.distributed import DeviceMesh, DTensorStructInfo, Placement
from tvm.relax.distributed.transform import LowerDistIR
from tvm.relax.distributed.transform.lower_distir import local_info
from tvm.script import ir as I
from tvm.script import relax as R

from .programs import Local, Placed, Whole

pytestmark = pytest.mark.pure


def test_pieces_are_handed_out_first() -> None:
    after = LowerDistIR()(Local)

    @I.ir_module(check_well_formed=False)  # its kernels are those of the module above
    class Expected:
        @R.function
        def main(x: R.Tensor((8, 8), "float32"), w1: R.Tensor((8, 8), "float32"),
                 w2: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
            x1 = R.ccl.broadcast_from_worker0(x)
            w3 = R.ccl.scatter_from_worker0(w1, num_workers=2, axis=1)
            w4 = R.ccl.scatter_from_worker0(w2, num_workers=2, axis=0)
            a = R.call_tir("matmul1", (x1, w3), R.Tensor((8, 4), "float32"))
            gv = R.call_tir("matmul2", (a, w4), R.Tensor((8, 8), "float32"))
            c = R.ccl.allreduce(gv, op_type="sum")
            return c

    calls = [b.value for b in after["main"].body.blocks[0].bindings]
    wanted = [b.value for b in Expected["main"].body.blocks[0].bindings]
    assert [str(c.struct_info) for c in calls] == [str(c.struct_info) for c in wanted]
    names = [str(c.op) for c in calls if isinstance(c, relax.Call)]
    assert names == [str(c.op) for c in wanted if isinstance(c, relax.Call)]
    assert relax.analysis.well_formed(after)
    assert "DTensor" not in str(after)


def test_tuples_come_in_pieces() -> None:
    mesh = DeviceMesh((2,), [0, 1])
    whole = relax.TensorStructInfo((8, 8), "float32")
    fields = [DTensorStructInfo(whole, mesh, Placement.from_text(p)) for p in ("S[1]", "R")]
    packed = relax.Var("packed", relax.TupleStructInfo(fields))
    bb = relax.BlockBuilder()
    with bb.function("main", [packed]):
        bb.emit_func_output(bb.emit(relax.TupleGetItem(packed, 0)))
    func = LowerDistIR()(bb.get())["main"]
    shapes = [[int(n) for n in info.shape.values] for info in func.params[0].struct_info.fields]
    assert shapes == [[8, 4], [8, 8]]
    assert [int(n) for n in func.ret_struct_info.shape.values] == [8, 4]


def test_functions_on_plain_tensors_stay() -> None:
    assert LowerDistIR()(Whole)["main"] is Whole["main"]


def test_what_a_worker_holds() -> None:
    n = tvm.tir.Var("n", "int64")
    mesh = DeviceMesh((2, 3), list(range(6)))
    tensor = relax.TensorStructInfo([n, 12], "float32")
    info = DTensorStructInfo(tensor, mesh, Placement.from_text("S[0], S[1]"))
    assert str(local_info(info)) == 'R.Tensor((n // 2, 4), dtype="float32")'
    both = relax.TupleStructInfo([info, relax.ObjectStructInfo()])
    assert len(local_info(both).fields) == 2  # type: ignore[attr-defined]


def test_moves_and_larger_meshes_are_refused() -> None:
    mesh = DeviceMesh((2, 2), [0, 1, 2, 3])
    info = DTensorStructInfo(
        relax.TensorStructInfo((8, 8), "float32"), mesh, Placement.from_text("S[0], R")
    )
    x = relax.Var("x", info)
    func = relax.Function([x], relax.SeqExpr([], x), info)
    with pytest.raises(TVMError, match="a mesh of one dimension"):
        LowerDistIR()(IRModule({"main": func}))

    @I.ir_module
    class Moves:
        I.module_global_infos({"mesh": [R.device_mesh((2,), [0, 1])]})

        @R.function
        def main(x: R.DTensor((8,), "float32", "mesh[0]", "R")):
            y = R.dist.redistribute(x, "mesh[0]", "S[0]")
            return y

    with pytest.raises(TVMError, match="LegalizeRedistribute before"):
        LowerDistIR()(Moves)
    assert "DTensor" in str(Placed)
