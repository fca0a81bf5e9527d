"""LowerDistIR: plain tensors, as each worker holds them."""

from __future__ import annotations

import numpy as np
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
from .workers import run_workers

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


def test_a_dataflow_block_keeps_its_pieces() -> None:
    x, y = (relax.Var(name, spread((4, 8), "S[0]")) for name in "xy")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.add(x, y))
        bb.emit_func_output(out)
    block = LowerDistIR()(bb.get())["main"].body.blocks[0]
    kinds = [type(binding.var) for binding in block.bindings]
    assert kinds == [relax.DataflowVar, relax.DataflowVar, relax.Var]


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


MESH = DeviceMesh((2,), [0, 1])


def spread(shape: tuple[int, ...], placement: str, mesh: DeviceMesh = MESH) -> DTensorStructInfo:
    tensor = relax.TensorStructInfo(shape, "float32")
    return DTensorStructInfo(tensor, mesh, Placement.from_text(placement))


def with_binding(
    value: relax.Expr, info: DTensorStructInfo, params: list[relax.Var], pure: bool = True
) -> IRModule:
    out = relax.Var("out", info)
    block = relax.BindingBlock([relax.VarBinding(out, value)])
    return IRModule({"main": relax.Function(params, relax.SeqExpr([block], out), info, pure)})


def test_products_over_what_is_cut_are_added() -> None:
    x, w = relax.Var("x", spread((4, 8), "S[1]")), relax.Var("w", spread((8, 6), "S[0]"))
    after = LowerDistIR()(with_binding(relax.op.matmul(x, w), spread((4, 6), "R"), [x, w]))

    @I.ir_module
    class Expected:
        @R.function(private=True)
        def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 6), "float32")):
            a = R.ccl.scatter_from_worker0(x, num_workers=2, axis=1)
            b = R.ccl.scatter_from_worker0(w, num_workers=2, axis=0)
            c = R.matmul(a, b)
            d = R.ccl.allreduce(c, op_type="sum")
            return d

    tvm.ir.assert_structural_equal(after, Expected)


def test_a_constant_in_pieces() -> None:
    data = np.arange(8, dtype="float32")
    x = relax.Var("x", spread((8,), "S[0]"))
    constant = relax.Constant(tvm.runtime.tensor(data), spread((8,), "S[0]"))
    mod = with_binding(relax.op.add(x, constant), spread((8,), "S[0]"), [x])
    outs = run_workers(LowerDistIR()(mod)["main"], [data * 10], 2)
    np.testing.assert_array_equal(np.concatenate(outs), data * 11)


def test_a_cache_gives_pieces() -> None:
    cache = relax.Var("cache", relax.ObjectStructInfo())
    for prefix in ("vm.builtin.", "vm.builtin.distributed."):
        call = relax.Call(
            relax.ExternFunc(f"{prefix}attention_kv_cache_view"),
            [cache, relax.ShapeExpr([16, 32, 64])], None, [spread((16, 32, 64), "S[1]")],
        )  # fmt: skip
        after = LowerDistIR()(with_binding(call, spread((16, 32, 64), "S[1]"), [cache], False))
        new = after["main"].body.blocks[0].bindings[0].value
        assert new.op.global_symbol == "vm.builtin.attention_kv_cache_view"
        assert [int(n) for n in new.args[1].values] == [16, 16, 64]
        assert [int(n) for n in new.sinfo_args[0].shape.values] == [16, 16, 64]
        assert relax.analysis.well_formed(after)


def test_branches_work_on_pieces() -> None:
    @I.ir_module
    class Branches:
        I.module_global_infos({"mesh": [R.device_mesh((2,), [0, 1])]})

        @R.function
        def main(c: R.Tensor((), "bool"), x: R.DTensor((8, 4), "float32", "mesh[0]", "S[0]")):
            if c:
                y = R.nn.relu(x)
            else:
                y = R.negative(x)
            return y

    after = LowerDistIR()(Branches)
    assert "DTensor" not in str(after)
    assert relax.analysis.well_formed(after)
    assert str(after["main"].ret_struct_info) == 'R.Tensor((4, 4), dtype="float32")'


def test_what_is_refused() -> None:
    x, y = relax.Var("x", spread((8, 4), "S[0]")), relax.Var("y", spread((8, 4), "R"))
    mixed = with_binding(relax.op.add(x, y), spread((8, 4), "S[0]"), [x, y])
    with pytest.raises(TVMError, match=r"relax.add on pieces(.|\n)*S\[0\], R; result S\[0\]"):
        LowerDistIR()(mixed)
    shape = relax.BlockBuilder()
    with shape.function("main", [x]):
        shape.emit_func_output(shape.emit(relax.op.shape_of(x)))
    with pytest.raises(TVMError, match=r"relax\.shape_of on pieces"):
        LowerDistIR()(shape.get())
    with pytest.raises(TVMError, match="LowerGlobalViewToLocalView before"):
        LowerDistIR()(Placed)
    odd = relax.Var("x", relax.TupleStructInfo([spread((7, 4), "S[0]")]))
    with pytest.raises(TVMError, match="extent 7 for 2 workers"):
        LowerDistIR()(with_binding(relax.TupleGetItem(odd, 0), spread((7, 4), "S[0]"), [odd]))
    square = DeviceMesh((2, 2), [0, 1, 2, 3])
    both = relax.Var("x", relax.TupleStructInfo([spread((8, 4), "S[0], R", square)]))
    item = with_binding(relax.TupleGetItem(both, 0), spread((8, 4), "S[0], R", square), [both])
    with pytest.raises(TVMError, match="a mesh of one dimension"):
        LowerDistIR()(item)
    far = relax.Var("y", spread((8, 4), "R", DeviceMesh((2,), [2, 3])))
    with pytest.raises(TVMError, match="one mesh for a function"):
        LowerDistIR()(with_binding(x, spread((8, 4), "S[0]"), [x, far]))
