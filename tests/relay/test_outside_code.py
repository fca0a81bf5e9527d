"""Functions that outside compilers make the code of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.ffi.registry import remove_global_func
from tvm.relay.backend import te_compiler

pytestmark = pytest.mark.cpu
RANDOM = np.random.default_rng(0)


@pytest.fixture
def compiled() -> Iterator[list[Any]]:
    """The functions that the compiler "outside" was given; its code is ours, and twice as much."""
    seen: list[Any] = []

    def codegen(func: Any) -> Any:
        seen.append(func)
        bare = relay.Function(func.params, _doubled(func.body))
        kernel = te_compiler.lower_to_primfunc(bare, "llvm")
        return tvm.tir.build(kernel.with_attr("global_symbol", func.attrs["global_symbol"]), "llvm")

    tvm.register_func("relay.ext.outside", codegen, override=True)
    yield seen
    remove_global_func("relay.ext.outside")


def _doubled(body: Any) -> Any:
    two = relay.const(2.0)
    if isinstance(body, relay.Tuple):
        return relay.Tuple([field * two for field in body.fields])
    return body * two


def outside(params: list[Any], body: Any, symbol: str = "outside_0") -> Any:
    func = relay.Function(params, body).with_attr("Primitive", 1)
    return func.with_attr("Compiler", "outside").with_attr("global_symbol", symbol)


def net(body: Any) -> tvm.IRModule:
    a, b = relay.var("a", shape=(2, 3)), relay.var("b", shape=(2, 3))
    func = outside([a, b], body(a, b))
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    made = relay.Call(func, [relay.exp(x), y])
    if isinstance(func.body, relay.Tuple):
        made = relay.TupleGetItem(made, 0) - relay.TupleGetItem(made, 1)
    else:
        made = relay.Call(func, [made, y])
    return tvm.IRModule.from_expr(relay.Function([x, y], made))


GIVEN = [RANDOM.random((2, 3), "float32"), RANDOM.random((2, 3), "float32")]


@pytest.mark.parametrize("kind", ["graph", "vm", "aot"])
def test_its_code_is_called(compiled: list[Any], kind: str) -> None:
    mod = net(lambda a, b: a + b)
    run = relay.create_executor(kind, mod, tvm.cpu(), "llvm").evaluate()
    x, y = GIVEN
    np.testing.assert_allclose(run(x, y).numpy(), 2 * (2 * (np.exp(x) + y) + y), rtol=1e-5)
    assert len(compiled) == 1  # one name, one code


def test_results_in_tuples(compiled: list[Any]) -> None:
    mod = net(lambda a, b: relay.Tuple([a + b, a * b]))
    lib = relay.build(mod, "llvm")
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    x, y = GIVEN
    runner.run(x=x, y=y)
    e = np.exp(x)
    np.testing.assert_allclose(runner.get_output(0).numpy(), 2 * (e + y) - 2 * e * y, rtol=1e-5)


def test_partitioned_modules(compiled: list[Any]) -> None:
    x = relay.var("x", shape=(4,))
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    part = end(relay.tanh(begin(x, "outside")), "outside")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(part)))
    mod = relay.transform.PartitionGraph()(relay.transform.InferType()(mod))
    run = relay.create_executor("vm", mod).evaluate()
    given = RANDOM.random(4, "float32")
    np.testing.assert_allclose(run(given).numpy(), 2 * np.tanh(given), rtol=1e-5)
    assert compiled[0].attrs["global_symbol"] == "tvmgen_default_outside_main_0"


def test_quantized_operators_arrive_as_they_are(compiled: list[Any]) -> None:
    x = relay.var("x", shape=(4,), dtype="int8")
    half, zero = relay.const(0.5), relay.const(0)
    p = relay.var("p", shape=(4,), dtype="int8")
    func = outside([p], relay.qnn.op.dequantize(p, half, zero))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Call(func, [x])))
    run = relay.create_executor("vm", mod).evaluate()
    np.testing.assert_array_equal(run(np.arange(4, dtype="int8")).numpy(), np.arange(4))
    assert compiled[0].body.op.name == "qnn.dequantize"


def test_without_the_compiler_functions_are_compiled_here() -> None:
    x, y = GIVEN
    run = relay.create_executor("vm", net(lambda a, b: a + b)).evaluate()
    np.testing.assert_allclose(run(x, y).numpy(), np.exp(x) + y + y, rtol=1e-5)


def test_functions_have_names(compiled: list[Any]) -> None:
    p, x = relay.var("p", shape=(2,)), relay.var("x", shape=(2,))
    func = outside([p], relay.exp(p)).without_attr("global_symbol")
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Call(func, [x])))
    with pytest.raises(tvm.TVMError, match='legal: the attribute "global_symbol"'):
        relay.build(mod, "llvm")
