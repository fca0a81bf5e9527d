"""RealizeVDevice: hints become devices of tensors, and copies between them."""

from __future__ import annotations

import pytest

import tvm
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.transform import RealizeVDevice
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def _realize(mod: IRModule) -> IRModule:
    return RealizeVDevice()(mod)


def test_a_hint_on_the_way_out_reaches_the_inputs() -> None:
    @I.ir_module
    class Before:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                lv0 = R.add(x, y)
                lv1 = R.exp(lv0)
                gv = R.hint_on_device(lv1, tvm.cuda())
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32", "cuda"), y: R.Tensor((2, 3), "float32", "cuda")):
            with R.dataflow():
                lv0 = R.add(x, y)
                lv1 = R.exp(lv0)
                gv: R.Tensor((2, 3), "float32", "cuda") = lv1
                R.output(gv)
            return gv

    assert_structural_equal(_realize(Before), Expected)


def test_a_value_on_another_device_is_copied() -> None:
    @I.ir_module
    class Before:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = R.hint_on_device(x, tvm.cpu())
                b = R.hint_on_device(y, tvm.cpu())
                c = R.multiply(a, b)
                d = R.hint_on_device(c, tvm.cuda())
                gv = R.add(d, d)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(x: R.Tensor((2, 3), "float32", "llvm"), y: R.Tensor((2, 3), "float32", "llvm")):
            with R.dataflow():
                a: R.Tensor((2, 3), "float32", "llvm") = x
                b: R.Tensor((2, 3), "float32", "llvm") = y
                c = R.multiply(a, b)
                d: R.Tensor((2, 3), "float32", "cuda") = R.to_vdevice(c, "cuda")
                gv = R.add(d, d)
                R.output(gv)
            return gv

    assert_structural_equal(_realize(Before), Expected)


def test_a_result_on_a_device_places_what_it_is_made_of() -> None:
    @I.ir_module
    class Before:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(
            x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
        ) -> R.Tuple(R.Tensor((4,), "float32", "cuda"), R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.exp(y)
            gv = (a, b)
            return gv

    after = _realize(Before)["main"]
    x, y = after.params
    assert str(x.struct_info.vdevice.target.kind.name) == "cuda"
    assert y.struct_info.vdevice is None
    assert after.ret_struct_info.fields[0].vdevice.target.kind.name == "cuda"


def test_kernel_calls_say_where_their_results_are() -> None:
    @I.ir_module
    class Before:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda", 0)]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "cuda")):
            y = R.call_dps_packed("twice", (x,), out_sinfo=R.Tensor((4,), "float32"))
            z = R.add(y, x)
            return z

    after = _realize(Before)["main"]
    call = after.body.blocks[0].bindings[0].value
    assert call.sinfo_args[0].vdevice.target.kind.name == "cuda"
    assert after.ret_struct_info.vdevice.target.kind.name == "cuda"


def test_programs_without_hints_stay() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.exp(x)
            return y

    assert _realize(Before)["main"] is Before["main"]


def test_rejects_a_device_that_the_module_does_not_have() -> None:
    @I.ir_module
    class Before:
        I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.hint_on_device(x, tvm.cuda(1))
            return y

    with pytest.raises(TVMError, match="no virtual device of type 2 and number 1"):
        _realize(Before)
