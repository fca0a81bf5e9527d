"""Notes of functions that are compiled ahead of time."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.relay.backend import Executor
from tvm.relay.backend.aot import CreateExecutorMetadata, CreateFunctionMetadata
from tvm.script import ir as I
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module
class Module:
    @T.prim_func
    def __tvm_main__(a: T.handle, b: T.handle, out: T.handle) -> None:
        T.func_attr({"target": T.target("llvm"), "input_vars": [a, b], "output_vars": [out],
                     "devices": ["npu"]})  # fmt: skip
        A = T.match_buffer(a, (5, 7))
        B = T.match_buffer(b, (3,), "int8")
        C = T.match_buffer(out, (5, 7), "float16")
        if A[0, 0] > T.float32(0):
            first = T.allocate([17], "int8", "global.workspace")
            second = T.allocate([4, 4], "float32", "global")
            T.evaluate(T.call_packed("f", first, second))
        else:
            third = T.allocate([33], "int8", "global")
            local = T.allocate([100], "int8", "local")
            T.evaluate(T.call_packed("g", third, local, B[0], C[0, 0]))

    @T.prim_func
    def kernel(a: T.handle, out: T.handle) -> None:
        T.func_attr({"target": T.target("c")})
        A = T.match_buffer(a, (10,), "int32")
        B = T.match_buffer(out, (10,), "int32")
        table = T.allocate_const([1, 2, 3], "int32", [3])
        values = T.decl_buffer((3,), "int32", data=table)
        for i in range(10):
            B[i] = A[i] + values[i % 3]


def test_bytes_by_function_and_target() -> None:
    found = CreateFunctionMetadata(Module, 16, 8)
    assert list(found) == ["__tvm_main__", "kernel"]
    main, kernel = found.values()
    host, c = tvm.target.Target("llvm"), tvm.target.Target("c")
    assert [str(t.kind) for t in main.io_sizes] == ["llvm"]
    assert list(main.io_sizes.values()) == [5 * 7 * 4 + 3 + 5 * 7 * 2]
    assert list(main.workspace_sizes.values()) == [32 + 64]  # the branches are not run both
    assert list(main.constant_sizes.values()) == [0]
    assert list(kernel.constant_sizes.values()) == [16]
    assert list(kernel.workspace_sizes.values()) == [0]
    assert list(kernel.tir_primfuncs.values()) == [Module["kernel"]]
    assert host.kind != c.kind
    assert kernel.relay_primfuncs == {}
    lacking = tvm.IRModule({"kernel": Module["kernel"].without_attr("target")})
    with pytest.raises(tvm.TVMError, match="Target must be defined for all primfuncs"):
        CreateFunctionMetadata(lacking, 16, 8)


@pytest.mark.parametrize(
    ("options", "interface", "unpacked"),
    [({}, "packed", False), ({"interface-api": "c", "unpacked-api": True}, "c", True)],
)
def test_what_main_says(options: dict[str, Any], interface: str, unpacked: bool) -> None:
    found = CreateExecutorMetadata(Module, "net", Executor("aot", options), 16, 8)
    main = Module["__tvm_main__"]
    assert found.inputs == list(main.params[:2])
    assert found.input_tensor_types == [
        relay.TensorType((5, 7)), relay.TensorType((3,), "int8"),
    ]  # fmt: skip
    assert (found.outputs, found.output_tensor_types) == (
        ["output"], [relay.TensorType((5, 7), "float16")],
    )  # fmt: skip
    assert (found.devices, found.pools, found.pool_inputs) == (["npu"], [], {})
    assert (found.executor, found.mod_name) == ("aot", "net")
    assert (found.interface_api, found.unpacked_api) == (interface, unpacked)
    assert (found.workspace_alignment, found.constant_alignment) == (16, 8)


def test_names_of_several_outputs() -> None:
    main = Module["__tvm_main__"]
    a, b, out = main.params
    two = main.with_attr("input_vars", [a]).with_attr("output_vars", [b, out])
    mod = tvm.IRModule({"__tvm_main__": two})
    assert CreateExecutorMetadata(mod, "n", Executor("aot"), 1, 1).outputs == ["output0", "output1"]
    named = tvm.IRModule({"__tvm_main__": two.with_attr("output_tensor_names", ["u", "v"])})
    assert CreateExecutorMetadata(named, "n", Executor("aot"), 1, 1).outputs == ["u", "v"]
    with pytest.raises(tvm.TVMError, match="without the attribute 'input_vars'"):
        CreateExecutorMetadata(
            tvm.IRModule({"__tvm_main__": main.without_attr("input_vars")}), "n",
            Executor("aot"), 1, 1,
        )  # fmt: skip
    with pytest.raises(tvm.TVMError, match="legal: __tvm_main__"):
        CreateExecutorMetadata(tvm.IRModule(), "n", Executor("aot"), 1, 1)
