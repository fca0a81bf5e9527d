"""Relay compiled and run: the builds, the executors, and what cannot be compiled."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor
from tvm.relay.to_relax import NotFirstOrder, to_relax

pytestmark = pytest.mark.cpu
HEAD = '#[version = "0.0.5"]\n'
RNG = np.random.default_rng(3)


def rand(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape).astype("float32")


def dense() -> Any:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    return relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w)))


@pytest.fixture(scope="module")
def built() -> tuple[Any, Any]:
    w = rand(4, 3)
    return relay.build(tvm.IRModule.from_expr(dense()), "llvm", params={"w": w}), w


def test_graph_modules(built: tuple[Any, Any]) -> None:
    lib, w = built
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    x = rand(2, 3)
    runner.set_input("x", x)
    runner.run()
    np.testing.assert_allclose(runner.get_output(0).numpy(), np.maximum(x @ w.T, 0), rtol=1e-5)
    runner.run(x=x + 1)
    out = tvm.runtime.tensor(np.zeros((2, 4), "float32"))
    runner.get_output(0, out)
    np.testing.assert_allclose(out.numpy(), np.maximum((x + 1) @ w.T, 0), rtol=1e-5)
    assert (runner.get_num_inputs(), runner.get_num_outputs()) == (2, 1)
    assert runner.get_input_info() == (
        {"x": (2, 3), "p0": (4, 3)}, {"x": "float32", "p0": "float32"}
    )  # fmt: skip
    assert (runner.get_input_index("x"), runner.get_input_index("p0")) == (0, 1)
    np.testing.assert_allclose(runner.get_input("x").numpy(), x + 1)
    np.testing.assert_array_equal(runner.get_input("p0").numpy(), w)
    runner.set_input(w=w)  # bound at the build: no input any more, passed over


def test_graph_modules_refuse(built: tuple[Any, Any]) -> None:
    runner = graph_executor.GraphModule(built[0]["default"](tvm.cpu()))
    with pytest.raises(tvm.TVMError, match="Could not find 'z'"):
        runner.set_input("z", rand(2, 3))
    with pytest.raises(ValueError, match="does not fit 'x'"):
        runner.set_input("x", rand(2, 4))
    with pytest.raises(TypeError, match="not supported"):
        runner.set_input("x", "words")
    with pytest.raises(tvm.error.InternalError, match="no input 7"):
        runner.set_input(7, rand(2, 4))
    with pytest.raises(tvm.error.InternalError, match="no output 3"):
        runner.get_output(3)
    with pytest.raises(tvm.TVMError, match="nothing was run yet"):
        runner.get_output(0)


def test_inputs_are_zeros_until_they_are_set(built: tuple[Any, Any]) -> None:
    runner = graph_executor.GraphModule(built[0]["default"](tvm.cpu()))
    runner.run()
    np.testing.assert_array_equal(runner.get_output(0).numpy(), np.zeros((2, 4), "float32"))
    runner.get_input("x").copyfrom(np.ones((2, 3), "float32"))  # in place
    assert runner.get_input(0).numpy().sum() == 6
    n = relay.var("n", shape=(relay.Any(),))
    open_shape = relay.build(tvm.IRModule.from_expr(relay.Function([n], n + n)), "llvm")
    runner = graph_executor.GraphModule(open_shape["default"](tvm.cpu()))
    with pytest.raises(tvm.TVMError, match=r"the inputs \['n'\] are not set"):
        runner.run()


def test_inputs_are_copies_or_shared(built: tuple[Any, Any]) -> None:
    runner = graph_executor.GraphModule(built[0]["default"](tvm.cpu()))
    x = tvm.runtime.tensor(rand(2, 3))
    for set_input, same in ((runner.set_input, False), (runner.set_input_zero_copy, True)):
        set_input("x", x)
        x.copyfrom(x.numpy() + 1)
        assert np.array_equal(runner.get_input("x").numpy(), x.numpy()) is same
    with pytest.raises(NotImplementedError, match="debug_executor"):
        runner.debug_get_output(0, x)


def test_kernels_are_written(built: tuple[Any, Any], tmp_path: Any) -> None:
    built[0].get_lib().save(str(tmp_path / "kernels.o"))
    assert (tmp_path / "kernels.o").read_bytes()[:4] == b"\x7fELF"
    built[0].lib.save(str(tmp_path / "kernels.txt"), "ll")
    assert "define" in (tmp_path / "kernels.txt").read_text()


def test_runs_are_timed(built: tuple[Any, Any]) -> None:
    runner = graph_executor.GraphModule(built[0]["default"](tvm.cpu()))
    for whole in (False, True):
        found = runner.benchmark(tvm.cpu(), repeat=2, number=3, end_to_end=whole, x=rand(2, 3))
        assert len(found.results) == 2
        assert min(found.results) > 0
    timed = runner.module.time_evaluator("run", tvm.cpu(), number=2, repeat=3)()
    assert len(timed.results) == 3


def test_a_library_shows_its_code(built: tuple[Any, Any]) -> None:
    lib = built[0]
    assert "define" in lib.get_lib().get_source("ll")
    assert isinstance(lib.lib.imported_modules, (list, tuple))
    with pytest.raises(AttributeError, match="no_such_thing"):
        lib.get_lib().no_such_thing()


def test_runners_share_parameters() -> None:
    x, w = relay.var("x", shape=(2,)), relay.var("w", shape=(2,))
    lib = relay.build(tvm.IRModule.from_expr(relay.Function([x, w], x * w)), "llvm")
    first, second = (graph_executor.GraphModule(lib["default"](tvm.cpu())) for _ in range(2))
    saved = tvm.runtime.save_param_dict({"w": np.full(2, 3, "float32")})
    first.load_params(saved)
    second.share_params(first, saved)
    second.run(x=np.ones(2, "float32"))
    assert second.get_output(0).numpy().tolist() == [3, 3]


def test_older_scripts_unpack(built: tuple[Any, Any]) -> None:
    graph, lib, params = built[0]
    assert list(params) == ["p0"]
    nodes = json.loads(graph)["nodes"]
    kernels = [node for node in nodes if node["op"] == "tvm_op"]
    assert [node["name"] for node in kernels] == ["tvmgen_default_fused_nn_dense_nn_relu"]
    assert kernels[0]["attrs"]["func_name"] == kernels[0]["name"]
    runner = graph_executor.create(graph, lib, tvm.cpu())
    runner.set_input(**params)
    runner.run(x=rand(2, 3))
    assert runner.get_output(0).shape == (2, 4)


@pytest.mark.parametrize("kind", ["graph", "vm", "debug", "aot"])
def test_executors(kind: str) -> None:
    x, w = rand(2, 3), rand(4, 3)
    run = relay.create_executor(kind, tvm.IRModule.from_expr(dense())).evaluate()
    want = np.maximum(x @ w.T, 0)
    np.testing.assert_allclose(run(x, w).numpy(), want, rtol=1e-5)
    np.testing.assert_allclose(run(x, w=w).numpy(), want, rtol=1e-5)
    with pytest.raises(TypeError, match="no parameters"):
        run(x, w, z=1)


def test_unknown_executors() -> None:
    with pytest.raises(RuntimeError, match="unknown execution strategy: fast"):
        relay.create_executor("fast")


def test_expressions_are_evaluated() -> None:
    executor = relay.create_executor("debug")
    assert executor.evaluate(relay.const(1) + relay.const(2)).numpy() == 3
    x = relay.var("x", "float32")
    found = executor.evaluate(x * x, {x: relay.const(3.0)})
    assert found.numpy() == 9


def test_tuples_come_as_lists() -> None:
    x = relay.var("x", shape=(4,))
    func = relay.Function([x], relay.Tuple([relay.split(x, 2).astuple(), x]))
    parts, whole = relay.create_executor("graph").evaluate(func)(np.arange(4, dtype="float32"))
    assert [p.numpy().tolist() for p in parts] == [[0, 1], [2, 3]]
    assert whole.shape == (4,)


def test_control_flow_is_compiled() -> None:
    mod = relay.parse(
        HEAD + "def @f(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%x, 1f) }\n"
        "def @main(%x: Tensor[(2), float32], %c: bool) {\n"
        "  let %g = fn (%y: Tensor[(2), float32]) { multiply(%y, %x) };\n"
        "  if (%c) { %g(@f(%x)) } else { %g(%x) }\n}"
    )
    run = relay.create_executor("vm", mod).evaluate()
    x = np.array([1, 2], "float32")
    np.testing.assert_allclose(run(x, np.array(True)).numpy(), [2, 6])
    np.testing.assert_allclose(run(x, np.array(False)).numpy(), [1, 4])
    assert "relax" in type(to_relax(mod)["main"]).__module__


def test_recursion_of_global_functions() -> None:
    mod = relay.parse(
        HEAD + "def @main(%n: int32) -> int32 "
        "{ if (%n == 0) { 0 } else { %n + @main(%n - 1) } }"
    )
    for kind in ("vm", "debug"):
        assert relay.create_executor(kind, mod).evaluate()(10).numpy() == 55


def test_loops() -> None:
    i, acc = relay.var("i", "int32"), relay.var("acc", shape=(2,))
    loop = relay.while_loop(
        lambda i, acc: relay.less(i, relay.const(5)), [i, acc],
        lambda i, acc: [i + relay.const(1), acc + acc],
    )  # fmt: skip
    start, x = relay.var("s", "int32"), relay.var("x", shape=(2,))
    func = relay.Function([start, x], relay.Call(loop, [start, x]))
    count, total = relay.create_executor("vm").evaluate(func)(2, np.ones(2, "float32"))
    assert count.numpy() == 5
    assert total.numpy().tolist() == [8, 8]


LISTS = HEAD + """
type List[A] { Cons(A, List[A]), Nil, }
def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)), Nil => Nil }
}
def @sum(%xs: List[int32]) -> int32 {
  match (%xs) { Cons(%h, %t) => add(%h, @sum(%t)), Nil => 0 }
}
def @main(%n: int32) -> int32 {
  let %xs = Cons(%n, Cons(2, Cons(3, Nil)));
  @sum(@map(fn (%x: int32) { multiply(%x, %x) }, %xs))
}
def @make(%n: int32) -> List[int32] { Cons(%n, Nil) }
"""


def test_data_and_functions_are_interpreted() -> None:
    mod = relay.parse(LISTS)
    assert relay.create_executor("vm", mod).evaluate()(1).numpy() == 14
    made = relay.create_executor("debug", mod).evaluate(mod.get_global_var("make"))(7)
    assert made.constructor.name_hint == "Cons"
    assert made.fields[0].numpy() == 7
    with pytest.raises(NotFirstOrder, match="has no form in Relax"):
        to_relax(mod)


def test_references_are_interpreted() -> None:
    r, ignored = relay.var("r"), relay.var("_")
    write = relay.RefWrite(r, relay.const(5))
    body = relay.Let(
        r, relay.RefCreate(relay.const(1)), relay.Let(ignored, write, relay.RefRead(r))
    )
    assert relay.create_executor("debug").evaluate(body).numpy() == 5


def test_matches_without_a_clause() -> None:
    mod = relay.parse(
        HEAD + "type A { B, C }\ndef @main() -> int32 { match? (B) { C => 1 } }"
    )
    with pytest.raises(tvm.TVMError, match="no clause fits"):
        relay.create_executor("debug", mod).evaluate()()


def test_unknown_extents_run() -> None:
    x = relay.var("x", shape=(relay.Any(), 2))
    func = relay.Function([x], relay.sum(x * relay.const(2.0), axis=0))
    run = relay.create_executor("vm").evaluate(func)
    for rows in (1, 3):
        np.testing.assert_allclose(run(np.ones((rows, 2), "float32")).numpy(), [2 * rows] * 2)


@pytest.mark.parametrize(
    ("shape", "build", "given", "wanted"),
    [
        ((relay.Any(),), relay.argsort, np.array([2, 1, 3], "float32"), [1, 0, 2]),
        ((relay.Any(), relay.Any()), lambda x: relay.reshape(x, (-1,)), np.eye(2, dtype="float32"),
         [1, 0, 0, 1]),
        ((relay.Any(), 2), relay.shape_of, np.ones((3, 2), "float32"), [3, 2]),
        ((relay.Any(), 2), relay.argwhere, np.eye(2, dtype="float32"), [[0, 0], [1, 1]]),
        ((relay.Any(), 1), lambda x: relay.concatenate([x, x], 1), np.ones((1, 1), "float32"),
         [[1, 1]]),
    ],
)  # fmt: skip
def test_unknown_extents_of_operators(shape: Any, build: Any, given: Any, wanted: Any) -> None:
    x = relay.var("x", shape=shape)
    run = relay.create_executor("vm").evaluate(relay.Function([x], build(x)))
    np.testing.assert_array_equal(run(given).numpy(), wanted)


def test_older_contexts() -> None:
    with relay.transform.build_config(opt_level=3) as ctx:
        assert ctx.opt_level == 3


def test_the_machine() -> None:
    x = rand(2, 3)
    w = rand(4, 3)
    executable = relay.vm.compile(tvm.IRModule.from_expr(dense()), "llvm", params={"w": w})
    machine = tvm.relax.VirtualMachine(executable, tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(x))
    np.testing.assert_allclose(found.numpy(), np.maximum(x @ w.T, 0), rtol=1e-5)
    compiler = relay.vm.VMCompiler()
    with pytest.raises(RuntimeError, match="nothing is compiled yet"):
        compiler.get_exec()


def test_passes_then_parts() -> None:
    mod, params = relay.optimize(tvm.IRModule.from_expr(dense()), "llvm", {"w": rand(4, 3)})
    assert [p.name_hint for p in mod["main"].params] == ["x"]
    assert params == {}  # they are constants of the module
    group = mod["main"].body.op
    assert group.attrs["Primitive"] == 1
    assert len(group.attrs["hash"]) == 16
    with tvm.transform.PassContext(opt_level=0):
        apart, _ = relay.optimize(tvm.IRModule.from_expr(dense()), "llvm")
    groups = relay.analysis.extract_fused_functions(apart)
    assert len(groups) >= 1


def test_names_of_executors_and_runtimes() -> None:
    found = relay.backend.executor.Executor("graph", {"link-params": True})
    assert found["link-params"]
    assert "graph" in type(found).list_registered()
    options = type(found).list_registered_options("aot")
    assert options["interface-api"] == "runtime.String"
    assert options["workspace-byte-alignment"] == "IntImm"
    with pytest.raises(tvm.TVMError, match='Executor "x" is not defined'):
        relay.backend.executor.Executor("x")
    with pytest.raises(tvm.TVMError, match='Attribute "x" is not available on this Runtime'):
        relay.backend.runtime.Runtime("cpp", {"x": 1})
    wanted = 'Attribute "interface-api" should have type "runtime.String" but instead found "Int'
    with pytest.raises(tvm.TVMError, match=wanted):
        relay.backend.executor.Executor("aot", {"interface-api": 1})
    wanted = 'Attribute "system-lib" should have type "IntImm" but instead found "runtime.String"'
    with pytest.raises(tvm.TVMError, match=wanted):
        relay.backend.runtime.Runtime("crt", {"system-lib": "yes"})


def test_two_parameters_of_one_name() -> None:
    a, b = relay.var("a", shape=(2,)), relay.var("a", shape=(2,))
    with pytest.raises(ValueError, match="Multiple args in the function have name a"):
        relay.build(tvm.IRModule.from_expr(relay.Function([a, b], a + b)), params={"a": rand(2)})


def test_parameters_as_bytes() -> None:
    saved = relay.save_param_dict({"w": tvm.runtime.tensor(rand(2))})
    assert relay.load_param_dict(saved)["w"].shape == (2,)


def _normalised() -> Any:
    """A convolution with batch normalisation and a ReLU."""
    x = relay.var("x", shape=(1, 3, 6, 6))
    weight = relay.const(np.linspace(-1, 1, 4 * 27).astype("float32").reshape(4, 3, 3, 3))
    stats = [relay.const(np.linspace(0.5, 1.5, 4).astype("float32") + i) for i in range(4)]
    made = relay.nn.conv2d(x, weight, channels=4, kernel_size=(3, 3))
    return relay.Function([x], relay.nn.relu(relay.nn.batch_norm(made, *stats)[0]))


def test_levels_decide_what_is_done_to_a_graph() -> None:
    from tvm.ir.transform import PassContext
    from tvm.relay.testing import count_ops

    mod = tvm.IRModule.from_expr(_normalised())
    with PassContext(opt_level=2):
        plain = count_ops(relay.optimize(mod)[0]["main"])
    with PassContext(opt_level=3):
        folded = count_ops(relay.optimize(mod)[0]["main"])
    with PassContext(opt_level=3, disabled_pass=["BackwardFoldScaleAxis"]):
        kept = count_ops(relay.optimize(mod)[0]["main"])
    assert plain["multiply"] == kept["multiply"] == 1
    assert folded["multiply"] == 0
    assert folded["nn.contrib_conv2d_NCHWc"] == 1  # in the layout that the target likes


@pytest.mark.parametrize("level", [0, 2, 3, 4])
def test_levels_compute_the_same(level: int) -> None:
    from tvm.contrib import graph_executor
    from tvm.ir.transform import PassContext

    mod = tvm.IRModule.from_expr(_normalised())
    data = np.linspace(-2, 2, 108).astype("float32").reshape(1, 3, 6, 6)
    wanted = relay.create_executor("debug", mod).evaluate()(data).numpy()
    with PassContext(opt_level=level):
        lib = relay.build(mod, "llvm")
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    runner.set_input("x", data)
    runner.run()
    np.testing.assert_allclose(runner.get_output(0).numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_a_library_that_is_loaded_again_runs(tmp_path: Any) -> None:
    x, n = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3,))
    mod = tvm.IRModule.from_expr(relay.Function([x, n], relay.Tuple([relay.exp(x) * n, x])))
    lib = relay.build(mod, "llvm", params={"w": np.full(3, 2, "float32")})
    path = tmp_path / "net.so"
    lib.export_library(str(path))
    loaded = tvm.runtime.load_module(str(path))
    runner = graph_executor.GraphModule(loaded["default"](tvm.cpu()))
    data = np.ones((2, 3), "float32")
    runner.run(x=data)
    assert runner.get_num_outputs() == 2
    np.testing.assert_allclose(runner.get_output(0).numpy(), np.exp(data) * 2, rtol=1e-5)


def test_machines_run_what_has_no_form_in_relax() -> None:
    from tvm.runtime.vm import VirtualMachine

    x, shape = relay.var("x", shape=(relay.Any(), 3)), relay.var("s", shape=(2,), dtype="int64")
    mod = tvm.IRModule.from_expr(relay.Function([x, shape], relay.reshape(relay.exp(x), shape)))
    machine: Any = VirtualMachine(relay.vm.compile(mod, "llvm"), tvm.cpu())  # type: ignore[arg-type]
    data = np.ones((2, 3), "float32")
    found = machine.run(data, np.array([-1, 2]))
    np.testing.assert_allclose(found.numpy(), np.exp(data).reshape(3, 2), rtol=1e-6)
    machine.set_input("main", data, np.array([6, 1]))
    assert machine.invoke("main").numpy().shape == (6, 1)
    assert machine.get_outputs()[0].numpy().shape == (6, 1)
    assert machine["main"](data, np.array([1, 6])).numpy().shape == (1, 6)


@pytest.mark.parametrize(
    ("options", "found"),
    [({"interface-api": True}, "IntImm"), ({"workspace-byte-alignment": "a"}, "String")],
)
def test_options_have_the_declared_types(options: dict[str, Any], found: str) -> None:
    with pytest.raises(tvm.error.TVMError, match=f"should have type .* instead found .*{found}"):
        relay.backend.Executor("aot", options)


def test_parameters_set_before_the_build() -> None:
    x, w = relay.var("x", shape=(2,)), relay.var("w", shape=(2,))
    builder = relay.build_module.BuildModule()
    builder.set_params({"w": np.array([1, 2], "float32")})
    _, lib, _ = builder.build(tvm.IRModule.from_expr(relay.Function([x, w], x * w)), "llvm")
    runner = graph_executor.GraphModule(lib["default"](tvm.cpu()))
    runner.run(x=np.array([3, 4], "float32"))
    assert runner.get_output(0).numpy().tolist() == [3, 8]


def test_outputs_are_written_into_tensors_of_users() -> None:
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.Tuple([relay.exp(x), x + x]))
    runner = graph_executor.GraphModule(relay.build(func, "llvm")["default"](tvm.cpu()))
    mine = tvm.runtime.empty((2,), "float32")
    runner.set_output_zero_copy(1, mine)
    for value in (1, 5):
        runner.run(x=np.full(2, value, "float32"))
        assert mine.numpy().tolist() == [2 * value] * 2
        assert runner.get_output(1) is mine
    with pytest.raises(tvm.error.TVMError, match="no output 2\n  legal: 0 to 1"):
        runner.set_output_zero_copy(2, mine)
