"""`R.DTensor` and `R.dist`: reading and printing."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import DiagnosticError
from tvm.ir import IRModule
from tvm.relax.distributed import DeviceMesh, DTensorStructInfo, Placement
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.script.ir_builder.relax.distributed.ir import annotate_sharding
from tvm.script.parser.relax.dist import DTensor, DTensorProxy

pytestmark = pytest.mark.pure


@I.ir_module
class Module:
    I.module_attrs({"device_num": 10})
    I.module_global_infos(
        {"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), R.device_mesh((1,), [4])]}
    )

    @T.prim_func
    def tir_func(
        x: T.Buffer((T.int64(128), T.int64(128)), "float32"),
        y: T.Buffer((T.int64(128), T.int64(128)), "float32"),
    ):
        T.evaluate(0)

    @R.function
    def foo(
        x: R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R"),
        w: R.DTensor(dtype="float32", device_mesh="mesh[1]", placement="R", ndim=2),
        s: R.DTensor((128, "n"), "float32", device_mesh="mesh[1]", placement="S[1]"),
    ) -> R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R"):
        n = T.int64()
        cls = Module
        gv0 = R.dist.call_tir(
            cls.tir_func, x, out_sinfo=R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R")
        )
        gv1 = R.dist.call_tir_local_view(
            cls.tir_func, (gv0,), out_sinfo=R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R")
        )
        two = R.dist.const(2.0, R.DTensor((), "float32", "mesh[0]", "R, R"))
        gv2 = R.multiply(gv1, two)
        gv3 = R.dist.redistribute(gv2, "mesh[0]", "R, S[1]")
        return gv2

    @R.function
    def bar(x: R.Tensor((128, 128), "float32")):
        y = R.dist.annotate_sharding(x, device_mesh="mesh[0]", placement="S[1], R")
        z = R.dist.redistribute_replica_to_shard(y, num_workers=2, axis=1)
        return z


def test_what_is_read() -> None:
    info = Module["foo"].params[0].struct_info
    mesh = Module.global_infos["mesh"][0]
    assert isinstance(info, DTensorStructInfo)
    assert info.device_mesh is mesh
    tensor = relax.TensorStructInfo((128, 128), "float32")
    wanted = DTensorStructInfo(
        tensor, DeviceMesh((2, 2), tvm.ir.Range(0, 4)), Placement.from_text("S[0], R")
    )
    tvm.ir.assert_structural_equal(info, wanted)
    assert relax.analysis.well_formed(Module)


def test_round_trip() -> None:
    tvm.ir.assert_structural_equal(tvm.script.from_source(Module.script()), Module)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(Module)), Module)


def test_text() -> None:
    text = Module.script()
    for part in (
        'I.module_global_infos({"mesh": [R.device_mesh((2, 2), I.Range(0, 4)), '
        "R.device_mesh((1,), [4])]})",
        'def foo(x: R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R"), '
        'w: R.DTensor(dtype="float32", device_mesh="mesh[1]", placement="R", ndim=2), '
        's: R.DTensor((128, "n"), "float32", "mesh[1]", "S[1]"))',
        "gv0 = R.dist.call_tir(cls.tir_func, (x,), "
        'out_sinfo=R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R"))',
        "= R.dist.call_tir_local_view(cls.tir_func, (gv0,), "
        'out_sinfo=R.DTensor((128, 128), "float32", "mesh[0]", "S[0], R"))',
        'R.dist.const(2.0, R.DTensor((), "float32", "mesh[0]", "R, R"))',
        'R.dist.redistribute(gv2, device_mesh="mesh[0]", placement="R, S[1]")',
        'R.dist.annotate_sharding(x, device_mesh="mesh[0]", placement="S[1], R")',
        "R.dist.redistribute_replica_to_shard(y, num_workers=2, axis=1)",
    ):
        assert part in text


def test_a_struct_info_alone_writes_its_mesh_out() -> None:
    mesh = DeviceMesh((2,), [0, 3])
    info = DTensorStructInfo(relax.TensorStructInfo(None, None), mesh, Placement.from_text("R"))
    assert str(info) == 'R.DTensor(device_mesh=R.device_mesh((2,), [0, 3]), placement="R")'


def test_constants_may_be_arrays() -> None:
    mesh = DeviceMesh((2,), [0, 1])
    proxy = R.DTensor((2,), "float32", mesh, "R")
    const = R.dist.const(np.array([1, 2], "float32"), proxy)
    assert isinstance(const.struct_info, DTensorStructInfo)
    assert const.data.numpy().tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"R\.dist\.const: struct_info"):
        R.dist.const(1.0, R.Tensor((), "float32"))


def _module(call: str) -> IRModule:
    return tvm.script.from_source(f"""
@I.ir_module
class Module:
    I.module_global_infos({{"mesh": [R.device_mesh((1,), [0])]}})
    @R.function
    def main(x: {call}):
        return x
""")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ('R.DTensor((4,), "float32", "mesh[1]", "R")', "names no mesh of the module"),
        ('R.DTensor((4,), "float32", "grid[0]", "R")', "no global infos 'grid'"),
        ('R.DTensor((4,), "float32", "mesh", "R")', "is named as 'mesh"),
        ('R.DTensor((4,), "float32", "mesh[0]", "Q")', "the part 'Q'"),
        ('R.DTensor((4,), "float32")', "needs a device_mesh"),
        ('R.DTensor((4,), "float32", "mesh[0]", "S[1]")', "smaller than tensor ndim"),
    ],
)
def test_errors(call: str, words: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        _module(call)
    assert words in str(caught.value)


def test_doors() -> None:
    assert DTensor is R.DTensor
    assert DTensorProxy is R.DTensorProxy
    assert annotate_sharding is R.dist.annotate_sharding
    assert {"DTensor", "device_mesh", "dist"} <= set(dir(R))
    assert "redistribute" in dir(R.dist)


def test_meshes_outside_of_modules_speak_relax() -> None:
    @R.function
    def main(x: R.DTensor((4, 4), "float32", R.device_mesh((2, 2), R.Range(0, 4)), "S[0], R")):
        return x

    assert 'R.device_mesh((2, 2), R.Range(0, 4)), "S[0], R")' in str(main.params[0].struct_info)
    text = main.script()
    assert not text.startswith("# from tvm.script import ir")
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), main)


def test_every_word_of_the_group_is_there() -> None:
    assert all(callable(getattr(R.dist, word)) for word in dir(R.dist))
    mesh = R.dist.device_mesh((2, 2), I.Range(0, 4))
    assert isinstance(mesh, DeviceMesh)
    tvm.ir.assert_structural_equal(mesh, R.device_mesh((2, 2), I.Range(0, 4)))
