from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir import VDevice, assert_structural_equal
from tvm.relax.transform import UpdateVDevice
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    I.module_attrs({"attr": 10})
    I.module_global_infos(
        {"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0), I.vdevice("metal", 0, "global")]}
    )

    @R.function
    def main(
        a: R.Tensor((128, 128), "float32", "cuda:0"),
        b: R.Tensor((128, 128), "float32", "llvm"),
        c: R.Tensor("float32", vdevice="cuda:0", ndim=2),
    ):
        s = R.add(a, a)
        return (s, b, c)


@I.ir_module
class Expected:
    I.module_attrs({"attr": 10})
    I.module_global_infos(
        {"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 1), I.vdevice("metal", 0, "global")]}
    )

    @R.function
    def main(
        a: R.Tensor((128, 128), "float32", "cuda:0"),
        b: R.Tensor((128, 128), "float32", "llvm"),
        c: R.Tensor("float32", vdevice="cuda:0", ndim=2),
    ):
        s = R.add(a, a)
        return (s, b, c)


def test_in_copies_to_the_device() -> None:
    @I.ir_module
    class Copies:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(a: R.Tensor((4,), "float32", "llvm")):
            there = R.to_vdevice(a, "cuda:0")
            back = R.to_vdevice(R.add(there, there), "llvm")
            return back

    new = VDevice("cuda", 1)
    main = UpdateVDevice(new, 1)(Copies)["main"]
    there, total, back = main.body.blocks[0].bindings
    assert there.value.attrs.dst_vdevice == there.var.struct_info.vdevice == new
    assert total.var.struct_info.vdevice == new
    assert back.value.attrs.dst_vdevice.target.kind.name == "llvm"


def test_in_infos_and_in_the_module() -> None:
    assert_structural_equal(UpdateVDevice(VDevice("cuda", 1), 1)(Before), Expected)


def test_one_that_no_tensor_has() -> None:
    after = UpdateVDevice(VDevice("metal", 2, "global"), 2)(Before)
    assert after["main"] is Before["main"]
    assert after.global_infos["vdevice"][2].vdevice_id == 2


def test_rejects_an_index_that_is_not_there() -> None:
    with pytest.raises(TVMError, match="found: 3, of 3 devices"):
        UpdateVDevice(VDevice("cuda", 1), 3)(Before)
