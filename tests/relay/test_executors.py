"""Executors by kind, and texts of what they are given."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, rpc
from tvm.contrib import graph_executor
from tvm.runtime.executor import AotModule

pytestmark = pytest.mark.cpu
ONES = np.ones((3, 2), "float32")


def open_rows(pair: bool) -> tvm.IRModule:
    x = relay.var("x", shape=(relay.Any(), 2))
    y = relay.exp(x)
    return tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([y, y]) if pair else y))


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("kind", "words"), [("graph", "Graph"), ("aot", "AOT")])
def test_results_of_open_extents_are_refused(kind: str, words: str, pair: bool) -> None:
    with pytest.raises(ValueError, match=f"{words} Executor only supports static graphs") as info:
        relay.create_executor(kind, mod=open_rows(pair)).evaluate()
    assert re.search(r"found: .*Tensor\[\(\?, 2\), float32\]", str(info.value))


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_other_executors_take_open_extents(kind: str) -> None:
    found = relay.create_executor(kind, mod=open_rows(False)).evaluate()(ONES)
    np.testing.assert_allclose(found.numpy(), np.exp(ONES), rtol=1e-6)


@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_open_extents_on_the_way_are_no_matter(kind: str) -> None:
    x = relay.var("x", shape=(relay.Any(), 2))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.sum(x, 0)))
    found = relay.create_executor(kind, mod=mod).evaluate()(ONES)
    np.testing.assert_allclose(found.numpy(), [3, 3])


def test_tuple_types_read_as_relay() -> None:
    row = relay.TensorType((2,), "int8")
    pair = relay.TupleType([row, relay.TupleType([row])])
    assert str(pair) == repr(pair) == "(Tensor[(2), int8], (Tensor[(2), int8],))"
    assert str(relay.TupleType([relay.TypeVar("a")])) == "(a,)"


def test_places_tell_their_device_type() -> None:
    assert tvm.target.VirtualDevice(tvm.cpu()).device_type == 1
    assert tvm.target.VirtualDevice(target=tvm.target.Target("cuda")).device_type == 2
    assert tvm.target.VirtualDevice().device_type == -1


def test_states_elsewhere(tmp_path: Path) -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], x - y))
    ones = np.ones(2, "float32")
    server = rpc.Server(host="127.0.0.1", port=9290, port_end=9390)
    try:
        session = rpc.connect("127.0.0.1", server.port)
        for kind, made in (("graph", graph_executor.GraphModule), ("aot", AotModule)):
            lib = relay.build(mod, "llvm", executor=relay.backend.Executor(kind))
            lib.export_library(str(tmp_path / f"{kind}.so"))
            session.upload(str(tmp_path / f"{kind}.so"))
            state: Any = made(session.load_module(f"{kind}.so")["default"](session.cpu()))
            assert state.module.type_key == "rpc"
            state.set_input("x", ones * 5)
            state.run(y=tvm.nd.array(ones, session.cpu()))
            np.testing.assert_array_equal(state.get_output(0).numpy(), ones * 4)
            assert state.get_input_info()[1] == {"x": "float32", "y": "float32"}
            state.module["load_params"](bytes(relay.save_param_dict({"x": ones * 2, "z": ones})))
            state.run()
            np.testing.assert_array_equal(state.get_output(0).numpy(), ones)
            measured = state.module.time_evaluator("run", session.cpu(), number=1, repeat=2)
            assert len(measured().results) == 2
            with pytest.raises(RuntimeError, match="Could not find 'moon'"):
                state.set_input("moon", ones)
            del state, measured
    finally:
        server.terminate()


def test_data_of_programs_are_sequences() -> None:
    mod = relay.parse(
        """#[version = "0.0.5"]
        type List[A] { Cons(A, List[A]), Nil }
        def @main(%n: int32) -> List[int32] { Cons(%n, Cons(2, Nil)) }"""
    )
    made = tvm.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu()).run(1)
    assert isinstance(made, tvm.runtime.container.ADT)
    first, (second, rest) = made
    assert [int(first.numpy()), int(second.numpy())] == [1, 2]
    _, cons, nil = mod.get_type("List")
    assert (made.tag, rest.tag, len(rest)) == (cons.tag, nil.tag, 0)
    assert made.fields[0] is first


def test_machines_count_inputs() -> None:
    x = relay.var("x", shape=(2,))
    program = relay.vm.compile(tvm.IRModule.from_expr(relay.Function([x], x + x)), "llvm")
    machine = tvm.runtime.vm.VirtualMachine(program, tvm.cpu())
    with pytest.raises(ValueError, match="2 arguments"):
        machine.set_input("main", 1.0, 2.0)


@pytest.mark.parametrize("kind", ["debug", "vm", "graph"])
def test_arguments_may_be_expressions(kind: str) -> None:
    x, pair = relay.var("x", shape=(3, 2)), relay.TupleType([relay.TensorType((3, 2))] * 2)
    both = relay.var("both", pair)
    func = relay.Function([x, both], x + relay.TupleGetItem(both, 1))
    run = relay.create_executor(kind, mod=tvm.IRModule.from_expr(func)).evaluate()
    one, two = relay.const(ONES), relay.const(ONES) + relay.const(ONES)
    np.testing.assert_allclose(run(two, relay.Tuple([one, one])).numpy(), 3 * ONES)


def test_data_types_are_passed_as_expressions() -> None:
    mod = tvm.IRModule()
    relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    run = relay.create_executor("debug", mod=mod).evaluate(mod.get_global_var("length"))
    assert run(cons(relay.const(1), cons(relay.const(2), nil()))).numpy() == 2


def test_variables_are_bound_to_values() -> None:
    x = relay.var("x")
    run = relay.create_executor()
    np.testing.assert_allclose(run.evaluate(x + x, binds={x: ONES}).numpy(), 2 * ONES)
    assert run.evaluate(x + x, binds={x: 2}).numpy() == 4
    pair = (ONES, tvm.nd.array(2 * ONES))
    found = run.evaluate(relay.TupleGetItem(x, 1), binds={x: pair})
    np.testing.assert_allclose(found.numpy(), 2 * ONES)


def test_graph_executors_convert_arrays() -> None:
    x = relay.var("x", shape=(2, 3))
    given = np.arange(6).reshape(2, 3)
    run = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([x], x + x)))
    found = run.evaluate()(given).numpy()
    assert found.dtype == "float32"
    np.testing.assert_array_equal(found, given * 2)
