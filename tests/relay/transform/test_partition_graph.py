"""What outside compilers take: marked, joined, and as functions of the module."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import equal, module, ops, same_numbers
from tvm import relay
from tvm.error import TVMError
from tvm.relay import transform as t
from tvm.relay.analysis import AnnotatedRegionSet
from tvm.relay.op.annotation import compiler_begin, compiler_end
from tvm.relay.testing import TempOpAttr

pytestmark = pytest.mark.pure
X, Y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))


@contextlib.contextmanager
def taken(*names: str, target: str = "test") -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(TempOpAttr(name, f"target.{target}", lambda expr: True))
        yield


def b(x: Any, target: str = "test") -> Any:
    return compiler_begin(x, target)


def e(x: Any, target: str = "test") -> Any:
    return compiler_end(x, target)


def test_calls_are_marked() -> None:
    before = module(relay.exp(relay.nn.relu(X)), X)
    with taken("nn.relu"):
        after = t.AnnotateTarget("test")(before)
        calls = t.AnnotateTarget("test", include_non_call_ops=False)(before)
    relu = e(relay.nn.relu(b(X)))
    equal(after, e(relay.exp(b(relu, "default")), "default"), X)
    equal(calls, e(relay.exp(b(relu, "default")), "default"), X)
    same_numbers(before, after)


def test_tuples_are_marked_only_with_non_calls() -> None:
    relu = relay.nn.relu(X)
    before = module(relay.TupleGetItem(relay.Tuple([relu, relu]), 1), X)
    with taken("nn.relu"):
        after = t.AnnotateTarget("test")(before)
        calls = t.AnnotateTarget("test", include_non_call_ops=False)(before)
    relu = relay.nn.relu(b(X))
    equal(after, e(relay.TupleGetItem(b(e(relay.Tuple([b(e(relu)), b(e(relu))]))), 1)), X)
    equal(calls, relay.TupleGetItem(relay.Tuple([e(relu), e(relu)]), 1), X)


def test_what_depends_on_nothing_is_in_no_region() -> None:
    for expr in (relay.zeros((2,), "float32"), relay.Tuple([])):
        before = module(expr)
        equal(t.AnnotateTarget("test")(before), expr)
    choice = relay.If(relay.const(True), relay.zeros((3,), "float32"), relay.exp(X))
    with taken("exp"):
        after = t.AnnotateTarget("test")(module(choice, X))
    branches = (relay.zeros((3,), "float32"), e(relay.exp(b(X))))
    equal(after, relay.If(relay.const(True), *branches), X)


def test_calls_of_variables_are_marked_only_with_non_calls() -> None:
    f, a = relay.var("f"), relay.var("a", shape=(3,))
    inner = relay.Function([a], relay.exp(a))
    before = module(relay.Let(f, inner, f(relay.exp(X))), X)
    with taken("exp"):
        after = t.AnnotateTarget("test")(before)
        calls = t.AnnotateTarget("test", include_non_call_ops=False)(before)
    marked = relay.Function([a], e(relay.exp(b(a))))
    given = e(relay.exp(b(X)))
    equal(after, relay.Let(f, marked, e(f(b(given, "default")), "default")), X)
    equal(calls, relay.Let(f, marked, f(given)), X)


def test_names_begin_what_their_values_ended() -> None:
    y, f = relay.var("y"), relay.Function([Y], relay.abs(Y))
    with taken("exp"):
        for value, wanted in (
            (relay.exp(X), b(e(relay.exp(b(X))))),
            (X, b(X, "default")),
            (relay.const(1.0), b(relay.const(1.0), "default")),
            (relay.zeros((3,), "float32"), b(relay.zeros((3,), "float32"), "default")),
        ):
            after = t.AnnotateTarget("test")(module(relay.Let(y, value, relay.exp(X)), X))
            equal(after, relay.Let(y, wanted, e(relay.exp(b(X)))), X)
        after = t.AnnotateTarget("test")(module(relay.Let(y, f, relay.exp(X)), X))
        assert isinstance(after["main"].body.value, relay.Function)


def test_each_user_has_its_own_end() -> None:
    relu = relay.nn.relu(X)
    before = module(relay.add(relay.abs(relu), relay.exp(relu)), X)
    with taken("nn.relu", "add"):
        after = t.AnnotateTarget("test")(before)
    relu = relay.nn.relu(b(X))
    parts = [
        b(e(op(b(e(relu), "default")), "default")) for op in (relay.abs, relay.exp)
    ]
    equal(after, e(relay.add(*parts)), X)


def test_the_first_target_wins_and_runs_add_up() -> None:
    before = module(relay.exp(relay.nn.relu(X)), X)
    with taken("nn.relu", target="one"), taken("nn.relu", "exp", target="two"):
        both = t.AnnotateTarget(["one", "two"])(before)
        steps = t.AnnotateTarget("two")(t.AnnotateTarget("one")(before))
    wanted = e(relay.exp(b(e(relay.nn.relu(b(X, "one")), "one"), "two")), "two")
    equal(both, wanted, X)
    equal(steps, wanted, X)


def test_composite_functions_are_taken_by_name() -> None:
    inner = relay.var("a", shape=(3,))
    func = relay.Function([inner], relay.exp(relay.nn.relu(inner)), attrs={"Composite": "test.er"})
    before = module(relay.Call(func, [X]), X)
    after = t.AnnotateTarget("test")(before)
    equal(after, e(relay.Call(func, [b(X)])), X)
    split = t.PartitionGraph()(after)
    assert "tvmgen_default_test_main_0" in [v.name_hint for v in split.functions]
    same_numbers(before, split)


def test_neighbours_are_joined() -> None:
    before = module(relay.exp(relay.nn.relu(relay.abs(X))), X)
    with taken("nn.relu", "abs"):
        marked = t.AnnotateTarget("test")(before)
    after = t.MergeCompilerRegions()(marked)
    relu = e(relay.nn.relu(relay.abs(b(X))))
    equal(after, e(relay.exp(b(relu, "default")), "default"), X)


def test_regions_with_another_between_stay_apart() -> None:
    relu = relay.nn.relu(X)
    before = module(relay.add(relu, relay.exp(relu)), X)
    with taken("nn.relu", "add"):
        marked = t.MergeCompilerRegions()(t.AnnotateTarget("test")(before))
    split = t.PartitionGraph()(marked)
    names = sorted(v.name_hint for v in split.functions)
    assert names == ["main", "tvmgen_default_test_main_0", "tvmgen_default_test_main_1"]
    same_numbers(before, split)


def test_functions_of_regions() -> None:
    weight = relay.const(np.ones((4, 3), "float32"))
    x = relay.var("x", shape=(2, 3))
    before = module(relay.exp(relay.nn.relu(relay.nn.dense(x, weight))), x)
    with taken("nn.relu", "nn.dense"):
        marked = t.MergeCompilerRegions()(t.AnnotateTarget("test")(before))
    split = t.PartitionGraph(mod_name="my")(marked)
    func = split["tvmgen_my_test_main_0"]
    assert [p.name_hint for p in func.params] == ["test_0_i0"]
    kept = {key: func.attrs[key] for key in ("Primitive", "Inline", "Compiler", "global_symbol")}
    assert kept == {"Primitive": 1, "Inline": 1, "Compiler": "test",
                    "global_symbol": "tvmgen_my_test_main_0"}  # fmt: skip
    same_numbers(before, split)
    free = t.PartitionGraph(bind_constants=False)(marked)
    assert len(free["tvmgen_default_test_main_0"].params) == 2
    same_numbers(before, free)


def test_results_of_a_region_as_a_tuple() -> None:
    before = module(relay.Tuple([relay.nn.relu(X), relay.exp(relay.nn.relu(X))]), X)
    relu = relay.nn.relu(X)
    before = module(relay.Tuple([relu, relay.exp(relu)]), X)
    with taken("nn.relu", "exp"):
        marked = t.MergeCompilerRegions()(t.AnnotateTarget("test")(before))
    split = t.PartitionGraph()(marked)
    assert len(split.functions) == 2
    same_numbers(before, split)


@pytest.mark.parametrize("seed", range(12))
def test_any_program_computes_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    unary, binary = ["nn.relu", "exp", "abs", "tanh"], ["add", "multiply", "maximum"]
    values: list[Any] = [X, Y]
    for _ in range(14):
        a, c = (values[rng.integers(max(0, len(values) - 6), len(values))] for _ in range(2))
        if rng.random() < 0.5:
            name = unary[rng.integers(4)]
            op = relay.nn.relu if name == "nn.relu" else getattr(relay, name)
            values.append(op(relay.tanh(a)))
        else:
            values.append(getattr(relay, binary[rng.integers(3)])(a, relay.tanh(c)))
    before = module(relay.Tuple(values[-3:]), X, Y)
    chosen = [name for name in unary + binary if rng.random() < 0.5]
    with taken(*chosen):
        marked = t.AnnotateTarget("test")(before)
        merged = t.MergeCompilerRegions()(marked)
        again = t.AnnotateTarget("test")(merged)
    split = t.PartitionGraph()(merged)
    for after in (marked, merged, again, split):
        same_numbers(before, after)
    assert not [name for name in ops(split) if "compiler" in name]
    calls = sum(1 for v in split.functions if v.name_hint != "main")
    alone = t.PartitionGraph()(marked)
    assert calls <= sum(1 for v in alone.functions if v.name_hint != "main")


def test_regions_are_found() -> None:
    begin, end = tvm.ir.Op.get("annotation.compiler_begin"), tvm.ir.Op.get(
        "annotation.compiler_end")  # fmt: skip
    relu = relay.nn.relu(b(X))
    done = e(relu)
    regions = AnnotatedRegionSet(done, begin, end)
    region = regions.get_region(relu)
    assert region is not None
    assert region.target == "test"
    assert region.rets == [done]
    assert regions.get_region(X) is None
    with pytest.raises(TVMError, match="compiler_begin between two regions"):
        AnnotatedRegionSet(e(relay.exp(e(X))), begin, end)


def test_functions_move_in_and_out() -> None:
    inner = relay.var("a", shape=(3,))
    attrs = {"Compiler": "test", "global_symbol": "f"}
    func = relay.Function([inner], relay.exp(inner), attrs=attrs)
    before = module(relay.Call(func, [X]), X)
    out = t.OutlineCompilerFunctionsWithExistingGlobalSymbols("test")(before)
    assert isinstance(out["main"].body.op, tvm.ir.GlobalVar)
    assert out["f"].attrs["Compiler"] == "test"
    kept = t.OutlineCompilerFunctionsWithExistingGlobalSymbols("other")(before)
    assert len(kept.functions) == 1
    extern = t.MarkCompilerFunctionsAsExtern("test")(out)
    assert extern["f"].attrs["Extern"] == 1
    assert "Compiler" not in extern["f"].attrs
    back = t.InlineCompilerFunctionsBoundTo([out.get_global_var("f")])(out)
    equal(t.InferType()(back), relay.exp(X), X)


def test_functions_are_numbered_by_the_first_value_that_comes_in() -> None:
    def marked(op: Any, *args: Any, target: str = "a") -> Any:
        return e(op(*[b(arg, target) for arg in args]), target)

    one = marked(relay.multiply, marked(relay.add, X, Y), X, target="b")
    mod = module(marked(relay.maximum, one, marked(relay.subtract, X, Y), target="c"), X, Y)
    made = t.PartitionGraph()(t.MergeCompilerRegions()(mod))
    assert {g.name_hint for g in made.get_global_vars()} == {
        "main", "tvmgen_default_a_main_0", "tvmgen_default_b_main_2", "tvmgen_default_c_main_4",
        "tvmgen_default_a_main_5",
    }  # fmt: skip
    same = marked(relay.add, marked(relay.add, X, Y), marked(relay.add, Y, relay.exp(X)))
    whole = t.PartitionGraph()(t.MergeCompilerRegions()(module(same, X, Y)))
    params = whole["tvmgen_default_a_main_0"].params
    assert [p.name_hint for p in params] == ["a_0_i0", "a_0_i1", "a_0_i3"]


def test_regions_stay_apart_where_unmarked_code_lies_between() -> None:
    first = e(relay.exp(b(X)))
    second = e(relay.log(b(first)))
    last = e(relay.add(b(second), b(relay.sqrt(first))))
    mod = module(last, X)
    made = t.PartitionGraph()(t.MergeCompilerRegions()(mod))
    assert len(made.get_global_vars()) == 3
    same_numbers(mod, made)
