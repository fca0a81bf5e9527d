"""Graphs as native code: results, views, sizes, constants, and what is left to the bytecode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.graphs import random_graph
from tests.relax.programs import (
    arguments,
    as_arrays,
    assert_same,
    run_compiled,
    run_interp,
)
from tvm import relax, tir
from tvm.error import DTypeError, ShapeError, TVMError
from tvm.ir import IRModule
from tvm.ir.host_tensor import HostTensor
from tvm.relax import op
from tvm.relax.backend import cpu_generic
from tvm.relax.vm.native import PROFILE_SUFFIX, NotNative, native_graph, source_names
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.tir.functor import walk

pytestmark = pytest.mark.cpu


def _lowered(mod: IRModule) -> IRModule:
    return cpu_generic.get_default_pipeline(tvm.target.Target("llvm")).graph(mod)


def native(mod: IRModule, **sizes: int) -> Any:
    """The result, which must come from native code and be what the program means."""
    lowered = _lowered(mod)
    graph = native_graph(lowered, lowered.get_global_var("main"), profile=False)
    assert all(isinstance(func, tir.PrimFunc) for func in graph.functions.values())
    args = arguments(mod["main"], sizes)
    wanted = run_interp(mod, args)
    found = run_compiled(mod, args)
    assert_same(wanted, found)
    return found


def _graph(build: Any, *shapes: tuple[Any, ...]) -> IRModule:
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(shapes)
    ]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(build(bb, *params))
        bb.emit_func_output(out)
    return bb.get()


# --- results ---


def test_several_results() -> None:
    mod = _graph(lambda bb, x, y: relax.Tuple([bb.emit(op.add(x, y)), bb.emit(op.exp(x))]),
                 (4,), (4,))  # fmt: skip
    assert len(native(mod)) == 2


def test_a_tuple_of_one_result() -> None:
    found = native(_graph(lambda bb, x: relax.Tuple([bb.emit(op.exp(x))]), (4,)))
    assert isinstance(found, (list, tuple))
    assert len(found) == 1


def test_a_result_that_is_a_parameter() -> None:
    native(_graph(lambda bb, x: relax.Tuple([x, bb.emit(op.exp(x))]), (4,)))
    native(_graph(lambda bb, x: x, (4,)))


def test_a_result_that_is_a_constant() -> None:
    constant = relax.const(np.arange(5, dtype="float32"))
    native(_graph(lambda bb, x: relax.Tuple([constant, bb.emit(op.exp(x))]), (4,)))
    native(_graph(lambda bb, x: constant, (4,)))


def test_results_may_be_one_tensor_twice() -> None:
    def build(bb: Any, x: Any) -> Any:
        y = bb.emit(op.exp(x))
        return relax.Tuple([y, y])

    first, second = native(_graph(build, (4,)))
    assert not np.shares_memory(first, second)


def test_a_result_that_is_read_before_the_end() -> None:
    def build(bb: Any, x: Any) -> Any:
        y = bb.emit(op.nn.softmax(x))
        return relax.Tuple([y, bb.emit(op.nn.softmax(bb.emit(op.matmul(y, y))))])

    native(_graph(build, (4, 4)))


def test_a_result_that_is_a_view() -> None:
    def build(bb: Any, x: Any) -> Any:
        y = bb.emit(op.nn.softmax(x))
        return relax.Tuple([bb.emit(op.reshape(y, (2, 8))), y])

    native(_graph(build, (4, 4)))
    native(_graph(lambda bb, x: op.reshape(x, (16,)), (4, 4)))


def test_parts_of_a_kernel_with_several_results() -> None:
    def build(bb: Any, x: Any) -> Any:
        parts = bb.emit(op.split(x, 2, axis=1))
        return relax.Tuple([bb.emit(parts[1]), bb.emit(parts[0])])

    native(_graph(build, (4, 6)))


def test_results_are_fresh_at_every_call() -> None:
    mod = _graph(lambda bb, x: op.exp(x), (4,))
    vm = relax.VirtualMachine(relax.build(mod, exec_mode="compiled"), tvm.cpu())
    first = vm["main"](np.zeros(4, "float32"))
    vm["main"](np.ones(4, "float32"))
    assert first.numpy().tolist() == [1.0] * 4


def test_other_types() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float64"), i: R.Tensor((4,), "int32"),
                 b: R.Tensor((4,), "bool")):
            with R.dataflow():
                a = R.where(b, x, R.astype(i, "float64"))
                c = R.astype(R.greater(a, R.const(1.0, "float64")), "uint8")
                gv = (a, c)
                R.output(gv)
            return gv

    native(Mod)


# --- memory ---


def test_values_between_kernels_share_the_arena() -> None:
    def build(bb: Any, x: Any) -> Any:
        for _ in range(6):
            x = bb.emit(op.nn.softmax(x))
        return x

    lowered = _lowered(_graph(build, (8, 16)))
    graph = native_graph(lowered, lowered.get_global_var("main"), profile=False)
    (main,) = graph.functions.values()
    (arena,) = [n for n in tir.functor.walk(main.body) if isinstance(n, tir.Allocate)]
    assert [int(e) for e in arena.extents] == [2 * 8 * 16 * 4]
    native(_graph(build, (8, 16)))


def test_a_view_keeps_the_memory_behind_it_alive() -> None:
    def build(bb: Any, x: Any) -> Any:
        y = bb.emit(op.nn.softmax(x))
        view = bb.emit(op.reshape(y, (2, 8)))
        z = bb.emit(op.nn.softmax(bb.emit(op.nn.softmax(bb.emit(op.matmul(x, x))))))
        return bb.emit(op.matmul(view, bb.emit(op.reshape(z, (8, 2)))))

    native(_graph(build, (4, 4)))


def test_constants_are_one_block() -> None:
    a = relax.const(np.ones((4, 4), "float32") * 2)
    b = relax.const(np.arange(3, dtype="float32"))

    def build(bb: Any, x: Any) -> Any:
        y = bb.emit(op.matmul(x, a))
        return relax.Tuple([bb.emit(op.matmul(y, a)), b])

    mod = _graph(build, (4, 4))
    native(mod)
    lowered = _lowered(mod)
    graph = native_graph(lowered, lowered.get_global_var("main"), profile=False)
    (main,) = graph.functions.values()
    (block,) = [n for n in tir.functor.walk(main.body) if isinstance(n, tir.AllocateConst)]
    assert [int(e) for e in block.extents] == [4 * 4 * 4 + 64]


# --- sizes ---


def test_one_executable_takes_any_batch() -> None:
    n = tir.SizeVar("n", "int64")

    def build(bb: Any, x: Any) -> Any:
        y = bb.emit(op.nn.relu(bb.emit(op.matmul(x, relax.const(np.eye(4, 3, dtype="float32"))))))
        flat = bb.emit(op.reshape(bb.emit(op.nn.softmax(y)), (n * 3,)))
        return op.concat([flat, flat], axis=0)

    mod = _graph(build, (n, 4))
    vm = relax.VirtualMachine(relax.build(mod, exec_mode="compiled"), tvm.cpu())
    for count in (1, 2, 17, 5):
        args = arguments(mod["main"], {"n": count}, seed=count)
        assert_same(run_interp(mod, args), as_arrays(vm["main"](*args)))


def test_an_empty_batch() -> None:
    n = tir.SizeVar("n", "int64")
    mod = _graph(lambda bb, x: op.exp(x), (n, 4))
    assert native(mod, n=0).shape == (0, 4)


def test_sizes_that_are_read_as_numbers() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", 3), "float32")):
            n = T.int64()
            with R.dataflow():
                s = R.shape_to_tensor(R.shape([n, 3]))
                gv = (s, R.exp(x))
                R.output(gv)
            return gv

    assert native(Mod, n=5)[0].tolist() == [5, 3]


# --- wrong inputs ---


@pytest.fixture(scope="module")
def vm() -> relax.VirtualMachine:
    n = tir.SizeVar("n", "int64")
    mod = _graph(lambda bb, image, mask: op.add(image, mask), (n, 3), (n, 3))
    return relax.VirtualMachine(relax.build(mod, exec_mode="compiled"), tvm.cpu())


def _ones(*shape: int, dtype: str = "float32") -> Any:
    return np.ones(shape, dtype)


@pytest.mark.parametrize(
    ("args", "kind", "words"),
    [
        ((_ones(2, 3),), TypeError, ["main with 2 arguments", "1 were given"]),
        ((_ones(2, 3), _ones(2, 3), _ones(2, 3)), TypeError, ["main with 2", "3 were given"]),
        ((_ones(2, 4), _ones(2, 3)), (ShapeError, ValueError), ["x0", "3", "4"]),
        ((_ones(2, 3), _ones(5, 3)), (ShapeError, ValueError), ["x1", "2", "5"]),
        ((_ones(2), _ones(2, 3)), (ShapeError, ValueError), ["x0", "2", "1"]),
        ((_ones(2, 3, dtype="float64"), _ones(2, 3)), (DTypeError, TypeError),
         ["x0", "float32", "float64"]),
        (("text", _ones(2, 3)), TypeError, ["x0", "float32[n, 3]"]),
        ((None, _ones(2, 3)), TypeError, ["x0", "None"]),
    ],
    ids=["few", "many", "extent", "symbol", "rank", "dtype", "text", "none"],
)  # fmt: skip
def test_rejects(vm: Any, args: tuple[Any, ...], kind: Any, words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        vm["main"](*args)
    for word in words:
        assert word in str(caught.value)


def test_a_wrong_input_leaves_the_machine_usable(vm: Any) -> None:
    with pytest.raises((ShapeError, ValueError)):
        vm["main"](_ones(2, 4), _ones(2, 3))
    assert vm["main"](_ones(2, 3), _ones(2, 3)).numpy().tolist() == [[2.0] * 3] * 2


# --- what native code cannot say ---


def _reason(mod: IRModule) -> str:
    lowered = _lowered(mod)
    with pytest.raises(NotNative) as caught:
        native_graph(lowered, lowered.get_global_var("main"), profile=False)
    assert isinstance(caught.value, TVMError)
    return str(caught.value)


def test_refuses_packed_functions() -> None:
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")):
            gv = R.call_packed("f", x, sinfo_args=R.Tensor((4,), "float32"))
            return gv

    assert _reason(Mod).startswith("the function holds a call of")


def test_refuses_parameters_that_are_no_tensors() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(s: R.Shape(["n"])) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            gv = R.zeros(R.shape([n]), "float32")
            return gv

    assert _reason(Mod).startswith("parameter 's' is")


def test_refuses_sizes_that_come_from_data() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), s: R.Tensor((1,), "int64")):
            m = T.int64()
            shape = R.tensor_to_shape(s)
            _ = R.match_cast(shape, R.Shape([m]))
            z: R.Tensor((m,), "float32") = R.zeros(R.shape([m]), "float32")
            return z

    assert _reason(Mod) == "the extents of a result come from data"


def test_a_cast_that_only_names_sizes_is_no_check() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            m = T.int64()
            y = R.match_cast(x, R.Tensor((m,), "float32"))
            z = R.exp(y)
            return z

    lowered = _lowered(Mod)
    native_graph(lowered, lowered.get_global_var("main"), profile=False)


def test_refuses_tuples_that_are_parameters() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))):
            a = t[0]
            b = R.exp(a)
            return b

    assert _reason(Mod).startswith("parameter 't' is")


# --- profile ---


def test_the_profiled_form_calls_the_same_kernels() -> None:
    lowered = _lowered(_graph(lambda bb, x: op.nn.softmax(bb.emit(op.matmul(x, x))), (4, 4)))
    graph = native_graph(lowered, lowered.get_global_var("main"), profile=True)
    assert [v.name_hint for v in graph.functions] == ["main", "main" + PROFILE_SUFFIX]
    assert [call.name for call in graph.calls] == ["matmul", "softmax"]


def test_many_readings_of_the_clock_are_calls() -> None:
    def chain(bb: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        for _ in range(5):
            x = bb.emit(op.matmul(bb.emit(op.nn.softmax(x)), x))
        return x

    lowered = _lowered(_graph(chain, (4, 4)))
    graph = native_graph(lowered, lowered.get_global_var("main"), profile=True)
    names = [v.name_hint for v in graph.functions]
    assert names == ["main", "main.reading", "main" + PROFILE_SUFFIX]
    machine = relax.VirtualMachine(tvm.compile(_graph(chain, (4, 4)), "llvm"), tvm.cpu())
    report = machine.profile("main", np.ones((4, 4), "float32"))
    assert [str(call["Name"]) for call in report.calls] == [call.name for call in graph.calls]
    assert all(call["Duration (us)"].microseconds >= 0 for call in report.calls)


def test_constants_of_the_compiler_lie_in_the_graph_and_those_of_others_stay() -> None:
    held, made = (HostTensor(np.full(4, value, "float32")) for value in (1, 2))
    added = [relax.Constant(tensor) for tensor in (held, made)]
    lowered = _lowered(_graph(lambda bb, x: op.add(bb.emit(op.add(x, added[0])), added[1]), (4,)))
    before = held.numpy()
    graph = native_graph(lowered, lowered.get_global_var("main"), profile=True, held={held})
    body = next(iter(graph.functions.values())).body
    block = next(node for node in walk(body) if isinstance(node, tir.AllocateConst))
    memory = block.data.numpy()
    assert np.shares_memory(made.numpy(), memory)
    assert held.numpy() is before
    assert not np.shares_memory(before, memory)
    assert (made.numpy().tolist(), held.numpy().tolist()) == ([2] * 4, [1] * 4)
    with pytest.raises(ValueError, match="read-only"):
        made.numpy()[0] = 3


def test_source_names_of_spans() -> None:
    from tvm.ir.span import SourceName, Span, merge_spans

    a, b = (Span(SourceName(name), 1, 1, 1, 1) for name in "ab")
    assert source_names(None) == ()
    assert source_names(a) == ("a",)
    assert source_names(merge_spans(a, b, a)) == ("a", "b")


# --- random graphs ---


def _compare(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mod = random_graph(rng, int(rng.integers(5, 31)))
    args = arguments(mod["main"], seed=seed)
    wanted = run_interp(mod, args)
    for mode in ("compiled", "bytecode"):
        assert_same(wanted, run_compiled(mod, args, mode), 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    """The interpreter, native code and bytecode agree."""
    _compare(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6, 106))
def test_many_random_graphs(seed: int) -> None:
    _compare(seed)


@pytest.mark.parametrize(
    ("triple", "number"),
    [("", 1), ("aarch64-linux-gnu", 1), ("arm64-apple-macos", 6), ("x86_64-apple-darwin23", 6)],
)
def test_times_are_of_the_clock_of_the_system(triple: str, number: int) -> None:
    lowered = _lowered(_graph(lambda bb, x: bb.emit(op.nn.softmax(x)), (4, 4)))
    var = lowered.get_global_var("main")
    graph = native_graph(lowered, var, profile=True, triple=triple)
    timed = next(f for v, f in graph.functions.items() if v.name_hint.endswith(PROFILE_SUFFIX))
    assert f'"clock_gettime", {number}, ' in timed.script()
