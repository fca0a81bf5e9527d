"""Graphs of calls as one function in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.ir import assert_structural_equal
from tvm.relay.backend.aot import AOTLowerMain
from tvm.script import tir as T
from tvm.tir import transform as tir_transform

pytestmark = pytest.mark.pure

HEAD = """#[version = "0.0.5"]
def @f(%x: Tensor[(2, 3), float16]) -> Tensor[(2, 3), float16] { %x }
def @g(%x: Tensor[(2, 3), float16], %y: Tensor[(4), int8]) -> Tensor[(4), int8] { %y }
def @two(%x: Tensor[(2, 3), float16]) -> (Tensor[(2, 3), float16], Tensor[(2, 3), float16]) {
  (%x, %x)
}
"""


def lowered(main: str, call_type: int = 1, **attrs: Any) -> Any:
    table = {"relay.Constant": [relay.const(np.arange(4, dtype="int8"))]}
    mod = relay.parse(HEAD + main, "test", None, table)
    for name, value in attrs.items():
        mod = mod.with_attr(name, {mod.get_global_var(n): v for n, v in value.items()})
    target = tvm.target.Target("llvm", host="llvm")
    config = tvm.target.make_compilation_config(tvm.transform.PassContext(), target)
    return AOTLowerMain("net", config, call_type)(mod)["__tvm_main__"]


@pytest.mark.parametrize("call_type", [0, 1, 2])
def test_ways_of_calling(call_type: int) -> None:
    @T.prim_func
    def packed(a: T.handle, output: T.handle):
        T.func_attr({
            "global_symbol": "net___tvm_main__", "runner_function": True,
            "target": T.target("llvm"), "input_vars": [a], "output_vars": [output], "devices": [],
        })  # fmt: skip
        x = T.match_buffer(a, (2, 3), "float16", align=16)
        y = T.match_buffer(output, (2, 3), "float16", align=16)
        with T.allocate([12], "int8", "global.workspace") as between:
            T.evaluate(T.tvm_call_packed("f", x.data, between))
            T.evaluate(T.tvm_call_packed("f", between, y.data))

    @T.prim_func
    def cpacked(a: T.handle, output: T.handle):
        T.func_attr({
            "global_symbol": "net___tvm_main__", "runner_function": True,
            "target": T.target("llvm"), "input_vars": [a], "output_vars": [output], "devices": [],
        })  # fmt: skip
        x = T.match_buffer(a, (2, 3), "float16", align=16)
        y = T.match_buffer(output, (2, 3), "float16", align=16)
        with T.allocate([12], "int8", "global.workspace") as between:
            T.evaluate(
                T.tvm_call_cpacked("f", x.data, between, T.reinterpret("handle", T.uint64(0)))
            )
            T.evaluate(
                T.tvm_call_cpacked("f", between, y.data, T.reinterpret("handle", T.uint64(0)))
            )

    @T.prim_func
    def unpacked(a: T.handle, output: T.handle):
        T.func_attr({
            "global_symbol": "net___tvm_main__", "runner_function": True,
            "target": T.target("llvm"), "input_vars": [a], "output_vars": [output], "devices": [],
        })  # fmt: skip
        x = T.match_buffer(a, (2, 3), "float16", align=16)
        y = T.match_buffer(output, (2, 3), "float16", align=16)
        with T.allocate([12], "int8", "global.workspace") as between:
            T.evaluate(T.tvm_check_return(0, -1, T.call_extern("int32", "f", x.data, between)))
            T.evaluate(T.tvm_check_return(0, -1, T.call_extern("int32", "f", between, y.data)))

    main = """def @main(%a: Tensor[(2, 3), float16]) {
      let %b = call_lowered(@f, (%a,));
      call_lowered(@f, (%b,))
    }"""
    assert_structural_equal(lowered(main, call_type), [packed, cpacked, unpacked][call_type])


def test_constants_and_copies() -> None:
    made = lowered("""def @main(%a: Tensor[(2, 3), float16]) {
      (%a, meta[relay.Constant][0], call_lowered(@g, (%a, meta[relay.Constant][0])))
    }""")
    text = made.script()
    assert 'constant_0 = T.allocate_const([0, 1, 2, 3], "int8", [4])' in text
    assert 'T.call_cpacked("g", a_buffer.data, output1_buffer.data, output2_buffer.data' in text
    assert "for i in range(12):" in text, "the copy of a, byte by byte"
    assert "for i in range(4):" in text
    assert text.count("tmp_write_1[i] = tmp_read_1[i]") + text.count("tmp_write_3[i]") == 2
    assert [v.name for v in made.attrs["output_vars"]] == ["output0", "output1", "output2"]


def test_fields_of_results() -> None:
    text = lowered("""def @main(%a: Tensor[(2, 3), float16]) {
      %0 = call_lowered(@two, (%a,));
      (call_lowered(@f, (%0.1,)), %0.0)
    }""").script()
    assert 'T.call_cpacked("two", a_buffer.data, output1_buffer.data, sid_3,' in text
    assert 'T.call_cpacked("f", sid_3, output0_buffer.data,' in text


def test_devices_are_told() -> None:
    main = "def @main(%a: Tensor[(2, 3), float16]) { call_lowered(@f, (%a,)) }"
    text = lowered(main, 2, device_contexts={"f": "my-npu"}).script()
    wanted = [f"TVMDeviceMyNpu{step}" for step in ("Activate", "Open", "Close", "Deactivate")]
    places = [text.index(name) for name in wanted]
    assert places == sorted(places)
    assert '"f", a_buffer.data, output_buffer.data, device_context_my_npu' in text
    with pytest.raises(tvm.TVMError, match="a packed call of a kernel of a device"):
        lowered(main, 0, device_contexts={"f": "my-npu"})


def test_what_is_no_call_of_a_kernel() -> None:
    with pytest.raises(tvm.TVMError, match="a call of add"):
        lowered("def @main(%a: Tensor[(2, 3), float16]) { add(%a, %a) }")
    with pytest.raises(tvm.TVMError, match="a If in main"):
        lowered("""def @main(%a: Tensor[(2, 3), float16], %c: bool) {
          if (%c) { call_lowered(@f, (%a,)) } else { %a }
        }""")


def test_checked_calls_become_conditions() -> None:
    @T.prim_func
    def func(p: T.handle) -> T.int32:
        T.func_attr({"target": T.target("llvm")})
        T.evaluate(T.tvm_check_return(0, -7, T.call_extern("int32", "f", p)))
        T.ret(3)

    made = tir_transform.LowerTVMBuiltin()(tvm.IRModule({"main": func}))["main"].script()
    assert 'if T.call_extern("int32", "f", p) != 0:' in made
    assert "return -7" in made
