"""What `relay.build` gives, and what is left of it in an exported library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, runtime
from tvm.contrib import graph_executor
from tvm.contrib.debugger import debug_executor
from tvm.relay.backend import Executor, Runtime
from tvm.runtime.executor import AotModule

pytestmark = pytest.mark.cpu
W = np.arange(8, dtype="float32").reshape(2, 4)
X = np.array([[1, -2, 3, 4]], "float32")


def net() -> tvm.IRModule:
    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(2, 4))
    return tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.dense(x, w)))


def result_of(state: Any) -> Any:
    state["set_input"]("x", tvm.nd.array(X))
    state["run"]()
    return state["get_output"](0).numpy()


def test_programs_keep_their_names_and_graphs_in_libraries(tmp_path: Path) -> None:
    lib = relay.build(net(), "llvm", params={"w": W}, mod_name="mine")
    with pytest.raises(AttributeError):
        lib["default"]
    lib.export_library(str(tmp_path / "mine.so"))
    loaded = runtime.load_module(str(tmp_path / "mine.so"))
    np.testing.assert_allclose(result_of(loaded["mine"](tvm.cpu())), X @ W.T)
    assert json.loads(loaded["get_graph_json"]()) == json.loads(lib.get_graph_json())
    with pytest.raises(AttributeError):
        loaded["list_module_names"]


def test_libraries_know_the_parameters_that_were_built_in(tmp_path: Path) -> None:
    lib = relay.build(net(), "llvm", params={"w": W})
    lib.export_library(str(tmp_path / "net.so"))
    loaded = runtime.load_module(str(tmp_path / "net.so"))
    saved = runtime.load_param_dict(runtime.save_param_dict(lib.get_params()))
    graph = lib.get_graph_json()
    for library in (lib, loaded):
        state = graph_executor.create(graph, library, tvm.cpu())
        state.set_input(**saved)
        assert state.get_input_info()[0] == {"x": (1, 4), "p0": (2, 4)}
        state.load_params(runtime.save_param_dict(lib.get_params()))
        state.run(x=X)
        np.testing.assert_allclose(state.get_output(0).numpy(), X @ W.T)
        assert state.get_input_info()[0] == {"x": (1, 4)}  # of what is left to be set
        with pytest.raises(tvm.TVMError, match="'p0', a constant since the build"):
            state.set_input("p0", 2 * W)
        with pytest.raises(tvm.TVMError, match="Could not find 'w'"):
            state.set_input("w", W)
        state.set_input(v=W)  # names of no input are passed over


def test_linked_parameters_are_no_inputs() -> None:
    lib = relay.build(
        net(), "llvm", params={"w": W}, executor=Executor("graph", {"link-params": True})
    )
    assert lib.get_params() == {}
    state = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    assert state.get_num_inputs() == 1
    state.run(x=X)
    np.testing.assert_allclose(state.get_output(0).numpy(), X @ W.T)


def test_executors_are_told_by_name_and_options() -> None:
    assert str(Executor("graph")) == 'graph{"link-params": T.bool(False)}'  # what is not said
    assert Executor("aot", {"interface-api": "c"}).attrs == {
        "interface-api": "c", "link-params": True,
    }  # fmt: skip
    assert str(Runtime("crt", {"system-lib": True})) == "crt"
    for kind in (Executor, Runtime):
        with pytest.raises(tvm.TVMError, match='"moon" is not defined; legal'):
            kind.list_registered_options("moon")
    linked = Executor("graph", {"link-params": True})
    assert str(linked) == 'graph{"link-params": T.bool(True)}'
    assert linked.attrs["link-params"] == linked["link-params"] == True  # noqa: E712  a number
    with pytest.raises(tvm.error.InternalError, match="no value for this option"):
        Executor("aot")["unpacked-api"]
    for given in ({"executor": "graph"}, {"runtime": "cpp"}):
        with pytest.raises(tvm.TVMError, match=r"legal: relay\.backend\."):
            relay.build(net(), "llvm", **given)


def test_programs_compiled_ahead_tell_their_names(tmp_path: Path) -> None:
    lib = relay.build(net(), "llvm", params={"w": W}, mod_name="fred", executor=Executor("aot"))
    lib.export_library(str(tmp_path / "fred.so"))
    loaded = runtime.load_module(str(tmp_path / "fred.so"))
    assert loaded.get_function("list_module_names")() == ["fred"]
    state = AotModule(loaded["fred"](tvm.cpu()))
    state.run(x=X)
    np.testing.assert_allclose(state.get_output(0).numpy(), X @ W.T)
    for made in (lib, loaded):
        with pytest.raises(tvm.TVMError, match="Expect exactly 1 device passed"):
            made["fred"](tvm.cpu(0), tvm.cpu(0))


def test_parameters_can_be_taken_out() -> None:
    lib = relay.build(net(), "llvm", params={"w": W})
    bare = lib["remove_params"]()
    assert not bare.get_params()
    state = bare["default"](tvm.cpu())
    assert state["get_num_inputs"]() == 2
    state["load_params"](runtime.save_param_dict({"p0": 2 * W}))
    np.testing.assert_allclose(result_of(state), X @ (2 * W).T)
    np.testing.assert_allclose(result_of(lib["default"](tvm.cpu())), X @ W.T)


def test_libraries_import_each_other() -> None:
    one, two = (relay.build(net(), "llvm", mod_name=name) for name in ("one", "two"))
    one.import_module(two)
    assert two.executable.mod in one.executable.mod.imports


@pytest.mark.parametrize(
    ("executor", "runtime_", "words"),
    [
        ({"interface-api": "c"}, "cpp", r"Need unpacked-api == false \(got: 0\) and"),
        ({"unpacked-api": True}, "cpp", r"interface-api == .packed. \(got: packed\)"),
        ({"interface-api": "c"}, "crt", r"Either need interface_api == .packed. \(got: c\)"),
    ],
)
def test_interfaces_that_a_runtime_lacks(
    executor: dict[str, Any], runtime_: str, words: str
) -> None:
    with pytest.raises(tvm.TVMError, match=words):
        relay.build(net(), "llvm", executor=Executor("aot", executor), runtime=Runtime(runtime_))


def test_functions_in_place_of_modules_are_warned_of() -> None:
    with pytest.warns(DeprecationWarning, match="tvm.IRModule"):
        relay.build(net()["main"], "llvm")


@pytest.mark.parametrize("made", [Executor("aot", {"unpacked-api": True}), Runtime("crt")])
def test_choices_are_saved(made: Any) -> None:
    again = tvm.ir.load_json(tvm.ir.save_json(made))
    assert type(again) is type(made)
    assert again == made
    assert tvm.ir.structural_equal(again, made)


def test_reports_tell_kernels_by_their_operators() -> None:
    x = relay.var("x", shape=(4,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(relay.exp(x))))
    machine = runtime.profiler_vm.VirtualMachineProfiler(relay.vm.compile(mod, "llvm"), tvm.cpu())
    report = machine.profile(X[0], func_name="main")
    assert report.configuration["Executor"] == "VM"
    assert {"fused_exp_exp", "AllocStorage"} <= {call["Name"] for call in report.calls}
    lib = relay.build(mod, "llvm")
    graph = debug_executor.create(lib.get_graph_json(), lib.lib, tvm.cpu()).profile(x=X[0])
    (call,) = graph.calls
    assert call["Argument Shapes"] == "float32[4], float32[4]"
    assert len(call["Hash"]) == 16
    assert "Hash" in str(graph)


def test_states_by_graph_and_library() -> None:
    graph, lib, params = relay.build(net(), "llvm", params={"w": W}, mod_name="mine")
    state = graph_executor.create(graph, lib, tvm.cpu())
    state.set_input(**params)
    state.run(x=X)
    np.testing.assert_allclose(state.get_output(0).numpy(), X @ W.T)


def test_a_module_that_was_not_built_here_keeps_its_parameters() -> None:
    made = relay.build(net(), "llvm")
    made.rebuild = None
    with pytest.raises(tvm.TVMError, match=r"remove_params\s+found:\s+a module that was not"):
        made["remove_params"]()


def test_arrays_are_converted_as_numpy_assigns_them() -> None:
    x, n = relay.var("x", shape=(3,)), relay.var("n", shape=(3,), dtype="int32")
    func = relay.Function([x, n], relay.Tuple([x + relay.const(1.0), n + relay.const(1)]))
    state = graph_executor.GraphModule(
        relay.build(tvm.IRModule.from_expr(func), "llvm")["default"](tvm.cpu())
    )
    state.run(x=np.array([1, 0.1, 3]), n=np.array([1, 2, -3]))
    assert state.get_output(0).numpy().tolist() == np.array([2, 1.1, 4], "float32").tolist()
    assert state.get_output(1).numpy().tolist() == [2, 3, -2]
    state.set_input("n", np.array([1.5, -2.5, 3]))
    assert state.get_input("n").numpy().tolist() == [1, -2, 3]
    with pytest.raises(tvm.TVMError, match="does not fit 'x'"):
        state.set_input("x", tvm.nd.array(np.zeros(3)))
