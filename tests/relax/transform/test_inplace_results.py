"""Kernels that write in place, in groups: what FuseOps keeps apart and FuseTIR makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.ir.transform import Sequential
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import (
    AnnotateTIROpPattern,
    CanonicalizeBindings,
    DataflowUseInplaceCalls,
    EliminateCommonSubexpr,
    FuseOps,
    FuseOpsByPattern,
    FuseTIR,
    LegalizeOps,
    RewriteDataflowReshape,
    TopologicalSort,
)
from tvm.relax.transform.inplace_results import (
    operand_indices,
    operand_of_result,
    order_edges,
    overwritten,
)
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@T.prim_func(private=True)
def plus(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    T.func_attr({"op_pattern": 0})
    for i in range(4):
        with T.block("plus"):
            v = T.axis.spatial(4, i)
            B[v] = A[v] + T.float32(1)


@T.prim_func(private=True)
def twice(A: T.Buffer((4,), "float32")):
    T.func_attr({"op_pattern": 0})
    for i in range(4):
        with T.block("twice"):
            v = T.axis.spatial(4, i)
            A[v] = A[v] * T.float32(2)


@T.prim_func(private=True)
def both(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    T.func_attr({"op_pattern": 0})
    for i in range(4):
        with T.block("both"):
            v = T.axis.spatial(4, i)
            C[v] = A[v] - B[v]
            B[v] = A[v] + B[v]


INFO = relax.TensorStructInfo((4,), "float32")


def _group(build: Any, count: int) -> IRModule:
    """`main` calls a group of what `build(bb, kernels, parameters)` emits."""
    bb = relax.BlockBuilder()
    kernels = [bb.add_func(func, name) for func, name in
               ((plus, "plus"), (twice, "twice"), (both, "both"))]  # fmt: skip
    params = [relax.Var(f"x{i}", INFO) for i in range(count)]
    with bb.function("fused", params, attrs={"Primitive": True}, private=True):
        with bb.dataflow():
            out = bb.emit_output(build(bb, kernels, params))
        bb.emit_func_output(out)
    outer = [relax.Var(f"y{i}", INFO) for i in range(count)]
    with bb.function("main", outer):
        with bb.dataflow():
            out = bb.emit_output(relax.Call(bb.get().get_global_var("fused"), outer))
        bb.emit_func_output(out)
    return bb.get()


def _call(mod: IRModule) -> relax.Call:
    return mod["main"].body.blocks[0].bindings[0].value


def _run(mod: IRModule, *args: np.ndarray) -> Any:
    with tvm.transform.PassContext(opt_level=0):
        built = relax.build(mod, "llvm")
    run = relax.VirtualMachine(built, tvm.cpu())["main"]
    out = run(*[tvm.runtime.tensor(arg) for arg in args])
    return [part.numpy() for part in out] if isinstance(out, tvm.ir.Array) else out.numpy()


X, Y = np.arange(4, dtype="float32"), np.full(4, 3, "float32")


def test_what_is_made_and_written_in_place_is_one_buffer() -> None:
    def build(bb: relax.BlockBuilder, kernels: Any, params: Any) -> relax.Expr:
        made = bb.emit(relax.call_tir(kernels[0], params, INFO))
        once = bb.emit(relax.call_tir_inplace(kernels[1], [made], 0, INFO))
        return relax.call_tir_inplace(kernels[1], [once], 0, INFO)

    mod = FuseTIR()(_group(build, 1))

    @T.prim_func(private=True)
    def expected(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(4):
            with T.block("plus"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] + T.float32(1)
        for i in range(4):
            with T.block("twice"):
                v = T.axis.spatial(4, i)
                B[v] = B[v] * T.float32(2)
        for i in range(4):
            with T.block("twice_1"):
                v = T.axis.spatial(4, i)
                B[v] = B[v] * T.float32(2)

    assert_structural_equal(mod["fused"], expected)
    assert _call(mod).op.name == "relax.call_tir"
    np.testing.assert_array_equal(_run(mod, X), (X + 1) * 4)


def test_a_result_in_an_operand_of_the_group_is_written_in_place_by_its_call() -> None:
    def build(bb: relax.BlockBuilder, kernels: Any, params: Any) -> relax.Expr:
        once = bb.emit(relax.call_tir_inplace(kernels[1], [params[1]], 0, INFO))
        pair = bb.emit(relax.call_tir_inplace(
            kernels[2], [params[0], once], [-1, 1], [INFO, INFO]))  # fmt: skip
        third = bb.emit(relax.call_tir(kernels[0], [bb.emit(pair[0])], INFO))
        return relax.Tuple([third, pair[1], pair[0]])

    mod = FuseTIR()(_group(build, 2))
    call = _call(mod)
    assert call.op.name == "relax.call_tir_inplace"
    assert list(call.attrs.inplace_indices) == [-1, 1, -1]
    assert len(mod["fused"].params) == 4
    third, second, first = _run(mod, X, Y)
    np.testing.assert_array_equal(first, X - Y * 2)
    np.testing.assert_array_equal(second, X + Y * 2)
    np.testing.assert_array_equal(third, X - Y * 2 + 1)


def test_in_place_first_and_then_a_new_tensor() -> None:
    def build(bb: relax.BlockBuilder, kernels: Any, params: Any) -> relax.Expr:
        once = bb.emit(relax.call_tir_inplace(kernels[1], params, 0, INFO))
        return relax.call_tir(kernels[0], [once], INFO)

    mod = FuseTIR()(_group(build, 1))
    assert _call(mod).op.name == "relax.call_tir"
    np.testing.assert_array_equal(_run(mod, X), X * 2 + 1)


def test_results_that_cannot_be_told_apart_are_refused() -> None:
    def twice_the_same(bb: relax.BlockBuilder, kernels: Any, params: Any) -> relax.Expr:
        once = bb.emit(relax.call_tir_inplace(kernels[1], params, 0, INFO))
        again = bb.emit(relax.call_tir_inplace(kernels[1], [once], 0, INFO))
        return relax.Tuple([once, again])

    with pytest.raises(TVMError, match="two results of a group lie in its operand x0"):
        FuseTIR()(_group(twice_the_same, 1))


def test_a_group_that_gives_its_operand_stays_a_function() -> None:
    def the_operand(bb: relax.BlockBuilder, kernels: Any, params: Any) -> relax.Expr:
        made = bb.emit(relax.call_tir(kernels[0], params, INFO))
        pair = bb.emit(relax.Tuple([params[0], made]))
        return relax.Tuple([made, relax.TupleGetItem(pair, 0)])

    mod = FuseTIR()(_group(the_operand, 1))
    assert relax.analysis.well_formed(mod)
    group = next(f for v, f in mod.functions_items() if v.name_hint.startswith("fused"))
    assert isinstance(group, relax.Function)
    assert "Primitive" not in group.attrs


@I.ir_module
class Ordered:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("twice"):
                v = T.axis.spatial(4, i)
                A[v] = A[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Ordered
        with R.dataflow():
            a = R.exp(x)
            a1 = a
            early = R.sin(a1)
            b = R.call_tir_inplace(
                cls.twice, (a,), out_sinfo=R.Tensor((4,), "float32"), inplace_indices=0
            )
            c = R.cos(b)
            late = R.add(early, c)
            R.output(late)
        return late


WANTED = np.sin(np.exp(X)) + np.cos(np.exp(X) * 2)


def test_what_reads_a_value_stays_before_what_overwrites_it() -> None:
    mod = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps()])(Ordered)
    steps = [binding.value for binding in mod["main"].body.blocks[0].bindings]
    kernels = [step.args[0].name_hint for step in steps if isinstance(step, relax.Call)]
    assert kernels == ["tir_exp", "tir_sin", "twice", "tir_cos", "add"]
    np.testing.assert_allclose(_run(FuseTIR()(mod), X), WANTED, rtol=1e-5)
    np.testing.assert_allclose(_run(Ordered, X), WANTED, rtol=1e-5)


@pytest.mark.parametrize("order", ["depth-first", "breadth-first"])
@pytest.mark.parametrize("direction", ["from-inputs", "from-outputs"])
def test_sorting_keeps_the_order_of_memory(order: str, direction: str) -> None:
    mod = TopologicalSort(order, direction)(Ordered)
    np.testing.assert_allclose(_run(mod, X), WANTED, rtol=1e-5)


def test_patterns_over_what_is_overwritten_between_are_refused() -> None:
    pattern = is_op("relax.add")(is_op("relax.sin")(wildcard()), wildcard())
    with pytest.raises(TVMError, match="A cyclic dependency detected"):
        FuseOpsByPattern([("a.sum", pattern)])(Ordered)


@pytest.mark.parametrize("first", ["a", "r"])
def test_a_reshape_is_no_view_where_one_of_the_two_is_overwritten(first: str) -> None:
    bb = relax.BlockBuilder()
    kernel = bb.add_func(twice, "twice")
    x = relax.Var("x", INFO)
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(relax.op.exp(x))
            r = bb.emit(relax.op.reshape(a, (2, 2)))
            if first == "r":  # the copy is changed, and the source still used
                a, r = bb.emit(relax.op.reshape(r, (4,))), a
            b = bb.emit(relax.call_tir_inplace(kernel, [a], 0, INFO))
            b = bb.emit(relax.op.reshape(b, r.struct_info.shape))
            out = bb.emit_output(relax.op.add(r, b))
        bb.emit_func_output(out)
    found = _run(bb.get(), X)
    np.testing.assert_allclose(found.reshape(-1), np.exp(X) * 3, rtol=1e-5)


def test_an_operand_of_the_function_is_not_overwritten_through_a_view() -> None:
    bb = relax.BlockBuilder()
    kernel = bb.add_func(twice, "twice")
    x = relax.Var("x", relax.TensorStructInfo((2, 2), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            r = bb.emit(relax.op.reshape(x, (4,)))
            b = bb.emit(relax.call_tir_inplace(kernel, [r], 0, INFO))
            out = bb.emit_output(relax.op.add(b, b))
        bb.emit_func_output(out)
    given = tvm.runtime.tensor(X.reshape(2, 2))
    built = relax.build(bb.get(), "llvm")
    found = relax.VirtualMachine(built, tvm.cpu())["main"](given)
    np.testing.assert_array_equal(found.numpy(), X * 4)
    np.testing.assert_array_equal(given.numpy(), X.reshape(2, 2))


def test_views_stay_views_where_nothing_else_is_read() -> None:
    bb = relax.BlockBuilder()
    kernel = bb.add_func(twice, "twice")
    x = relax.Var("x", INFO)
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(relax.op.exp(x))
            r = bb.emit(relax.op.reshape(a, (2, 2)))
            r = bb.emit(relax.op.reshape(r, (4,)))
            b = bb.emit(relax.call_tir_inplace(kernel, [r], 0, INFO))
            out = bb.emit_output(relax.op.add(b, b))
        bb.emit_func_output(out)
    mod = RewriteDataflowReshape()(LegalizeOps()(bb.get()))
    assert mod["main"].script().count("R.reshape(") == 2


def test_groups_that_would_overwrite_unseen_are_not_made() -> None:
    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def twice(A: T.Buffer((4,), "float32")):
            T.func_attr({"op_pattern": 0})
            for i in range(4):
                with T.block("twice"):
                    v = T.axis.spatial(4, i)
                    A[v] = A[v] * T.float32(2)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Mod
            with R.dataflow():
                b = R.call_tir_inplace(
                    cls.twice, (x,), out_sinfo=R.Tensor((4,), "float32"), inplace_indices=0
                )
                c = R.cos(b)
                R.output(c)
            return c

    mod = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps()])(Mod)
    assert [var.name_hint for var in mod.functions] == ["twice", "main", "tir_cos"]


def test_operands_that_results_lie_in() -> None:
    x, y = relax.Var("x", INFO), relax.Var("y", INFO)
    kernel = tvm.ir.GlobalVar("both")
    call = relax.call_tir_inplace(kernel, [x, y], [-1, 1], [INFO, INFO])
    assert operand_indices(call, 2) == [-1, 1]
    assert operand_of_result(call, 0) is None
    assert operand_of_result(call, 1) is y
    assert overwritten(call) == [y]
    plain = relax.call_tir(kernel, [x], INFO)
    assert operand_indices(plain, 1) == [-1]
    assert (operand_of_result(plain, 0), overwritten(plain), overwritten(x)) == (None, [], [])


def test_edges_follow_names_items_and_tuples() -> None:
    x, kernel = relax.Var("x", INFO), tvm.ir.GlobalVar("twice")
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(relax.op.exp(x))
            pair = bb.emit(relax.Tuple([x, a]))
            same = bb.emit(relax.TupleGetItem(pair, 1))
            bb.emit(relax.op.sin(same))
            bb.emit(relax.op.sin(x))
            bb.emit(relax.call_tir_inplace(kernel, [a], 0, INFO))
            out = bb.emit_output(a)
        bb.emit_func_output(out)
    bindings = bb.get()["main"].body.blocks[0].bindings
    assert order_edges(bindings[:5]) == []
    # of a tuple it is not known which part lies where
    assert order_edges(bindings) == [(1, 5), (2, 5), (3, 5)]


def test_constants_are_not_overwritten() -> None:
    ones = relax.const(np.ones(4, "float32"))

    def build(direct: bool) -> IRModule:
        bb = relax.BlockBuilder()
        kernel = bb.add_func(twice, "twice")
        x = relax.Var("x", INFO)
        with bb.function("main", [x]):
            with bb.dataflow():
                a = ones if direct else bb.emit(relax.op.exp(ones))
                b = bb.emit(relax.call_tir_inplace(kernel, [a], 0, INFO))
                out = bb.emit_output(relax.op.multiply(x, b))
            bb.emit_func_output(out)
        return bb.get()

    for mode in ("compiled", "bytecode"):
        run = relax.VirtualMachine(relax.build(build(False), "llvm", exec_mode=mode), tvm.cpu())
        for _ in range(2):  # what a folded exp(ones) would not survive
            found = run["main"](tvm.runtime.tensor(X)).numpy()
            np.testing.assert_allclose(found, X * 2 * np.e, rtol=1e-6)
        with pytest.raises(TVMError, match=r"main: what call_tir_inplace overwrites\n.*a constant"):
            relax.build(build(True), "llvm", exec_mode=mode)


def test_operators_in_place_choose_no_constants_and_nothing_that_is_seen_through_a_view() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", INFO)
    with bb.function("main", [x]):
        with bb.dataflow():
            c = bb.emit(relax.const(np.ones(4, "float32")))
            a = bb.emit(relax.op.add(x, c))
            b = bb.emit(relax.op.add(a, c))
            view = bb.emit(relax.op.memory.view(b, relax.ShapeExpr([4])))
            d = bb.emit(relax.op.negative(b))
            out = bb.emit_output(relax.op.multiply(view, d))
        bb.emit_func_output(out)
    mod = DataflowUseInplaceCalls()(bb.get())
    steps = [binding.value for binding in mod["main"].body.blocks[0].bindings]
    chosen = [operand_of_result(step, 0) for step in steps]
    assert [var.name_hint for var in chosen if var is not None] == [a.name_hint, d.name_hint]


def test_equal_values_stay_apart_where_one_is_overwritten() -> None:
    bb = relax.BlockBuilder()
    kernel = bb.add_func(twice, "twice")
    x = relax.Var("x", INFO)
    with bb.function("main", [x]):
        with bb.dataflow():
            a, b, c = (bb.emit(relax.op.exp(x)) for _ in range(3))
            flat = bb.emit(relax.op.reshape(a, (2, 2)))
            again = bb.emit(relax.op.reshape(a, (2, 2)))
            changed = bb.emit(relax.call_tir_inplace(kernel, [b], 0, INFO))
            total = bb.emit(relax.op.add(changed, c))
            total = bb.emit(relax.op.reshape(total, (2, 2)))
            total = bb.emit(relax.op.add(total, flat))
            out = bb.emit_output(relax.op.add(total, again))
        bb.emit_func_output(out)
    mod = EliminateCommonSubexpr()(bb.get())
    assert mod["main"].script().count("R.exp(") == 2  # a is c, b is not
    assert mod["main"].script().count("R.reshape(") == 2  # flat is again
    np.testing.assert_allclose(_run(mod, X).reshape(-1), np.exp(X) * 5, rtol=1e-5)


def _random(seed: int) -> tuple[IRModule, Any]:
    """A graph of names, views and kernels in place that reads nothing that was overwritten."""
    rng = np.random.default_rng(seed)
    bb = relax.BlockBuilder()
    kernel = bb.add_func(twice, "twice")
    x = relax.Var("x", INFO)
    known: list[tuple[Any, int, Any]] = [(x, 0, lambda v: v)]  # value, its memory, its meaning
    with bb.function("main", [x]):
        with bb.dataflow():
            for memory in range(1, 14):
                value, own, mean = known[rng.integers(len(known))]
                kind = rng.choice(["sin", "add", "reshape", "name", "item", "inplace", "inplace"])
                if kind == "sin":
                    made = relax.op.sin(value), memory, lambda v, f=mean: np.sin(f(v))
                elif kind == "add":
                    other, _, also = known[rng.integers(len(known))]
                    both = lambda v, f=mean, g=also: f(v) + g(v)
                    made = relax.op.add(value, other), memory, both
                elif kind == "reshape":
                    square = bb.emit(relax.op.reshape(value, (2, 2)))
                    made = relax.op.reshape(square, (4,)), memory, mean
                elif kind == "name":
                    made = value, own, mean
                elif kind == "item":
                    pair = bb.emit(relax.Tuple([x, value]))
                    made = relax.TupleGetItem(pair, 1), own, mean
                elif own == 0:
                    continue  # the operand of the function
                else:
                    call = relax.call_tir_inplace(kernel, [value], 0, INFO)
                    known = [one for one in known if one[1] != own]
                    made = call, memory, lambda v, f=mean: 2 * f(v)
                known.append((bb.emit(made[0]), *made[1:]))
            total, _, mean = known[0]
            for value, _, also in known[1:]:
                total = bb.emit(relax.op.add(total, value))
                mean = lambda v, f=mean, g=also: f(v) + g(v)
            out = bb.emit_output(total)
        bb.emit_func_output(out)
    return bb.get(), mean


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs_keep_their_meaning(seed: int) -> None:
    mod, mean = _random(seed)
    kernels = [LegalizeOps(), AnnotateTIROpPattern(), FuseOps(), FuseTIR(),
               RewriteDataflowReshape()]  # fmt: skip
    for passes in (
        [],
        [DataflowUseInplaceCalls(), TopologicalSort("depth-first", "from-outputs")],
        [DataflowUseInplaceCalls(), CanonicalizeBindings(), EliminateCommonSubexpr()],
        [DataflowUseInplaceCalls(), *kernels],
    ):
        np.testing.assert_allclose(_run(Sequential(passes)(mod), X), mean(X), rtol=1e-4)
