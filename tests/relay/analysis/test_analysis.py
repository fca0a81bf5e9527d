"""Questions: variables, features, kinds, counts, completeness of matches, calls."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.relay import analysis
from tvm.relay.analysis import Feature

pytestmark = pytest.mark.pure
HEAD = '#[version = "0.0.5"]\n'


def test_variables() -> None:
    x, y, z = relay.var("x"), relay.var("y"), relay.var("z")
    func = relay.Function([x], relay.Let(z, x + y, z))
    assert analysis.free_vars(func) == [y]
    assert analysis.bound_vars(func) == [x, z]
    assert set(analysis.all_vars(func)) == {x, y, z}
    t, s = relay.TypeVar("t"), relay.TypeVar("s")
    a = relay.Var("a", relay.TupleType([t, s]))
    func = relay.Function([a], a, None, [t])
    assert analysis.bound_type_vars(func) == [t]
    assert analysis.free_type_vars(func) == [s]
    assert set(analysis.all_type_vars(func)) == {t, s}


def test_well_formed() -> None:
    x, v = relay.var("x"), relay.var("v")
    let = relay.Let(v, relay.const(1), v)
    assert analysis.well_formed(relay.Function([x], relay.Let(v, x, v)))
    assert not analysis.well_formed(relay.Tuple([let, relay.Let(v, relay.const(2), v)]))
    assert analysis.well_formed(relay.Let(v, v, v))  # as functions that call themselves
    assert not analysis.well_formed(relay.Tuple([let, v]))
    f = relay.var("f")
    assert analysis.well_formed(relay.Let(f, relay.Function([x], relay.Call(f, [x])), f))


def test_features() -> None:
    x = relay.var("x", shape=(2,))
    y = x + x
    found = analysis.detect_feature(relay.Function([x], y * y))
    assert found == {
        Feature.fVar, Feature.fFunction, Feature.fOp, Feature.fCall, Feature.fGraph,
    }  # fmt: skip
    assert Feature.fGraph not in analysis.detect_feature(y)
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.If(relay.const(True), x, x)))
    call = mod.get_global_var("main")(x)
    own = {Feature.fVar, Feature.fGlobalVar, Feature.fCall}
    assert analysis.detect_feature(call) == own
    both = own | {Feature.fFunction, Feature.fIf, Feature.fConstant}
    assert analysis.detect_feature(call, mod) == analysis.detect_feature(mod, call) == both


def test_kinds() -> None:
    tensor = relay.TensorType((2,))
    assert analysis.check_kind(tensor) == relay.TypeKind.Type
    assert analysis.check_kind(relay.FuncType([tensor], tensor)) == relay.TypeKind.Type
    with pytest.raises(tvm.TVMError, match="types of values"):
        analysis.check_kind(relay.TupleType([relay.ShapeVar("s")]))
    with pytest.raises(tvm.TVMError, match="the name of a data type"):
        analysis.check_kind(relay.TypeCall(relay.TypeVar("t"), []))


def test_counts() -> None:
    x, w = relay.var("x", shape=(1, 16, 8, 8)), relay.var("w", shape=(32, 16, 3, 3))
    y = relay.nn.conv2d(x, w, padding=1)
    flat = relay.nn.dense(relay.nn.batch_flatten(y), relay.var("d", shape=(5, 2048)))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(flat))
    macs = 32 * 16 * 9 * 64 + 5 * 2048
    assert analysis.get_total_mac_number(mod["main"]) == macs
    assert analysis.list_op_freqs(mod) == {"nn.conv2d": 1, "nn.batch_flatten": 1, "nn.dense": 1}
    assert analysis.all_dtypes(mod["main"]) == {"float32"}
    assert analysis.count_layers(flat, ["nn.conv2d", "nn.dense"]) == 2
    counter = analysis.LayerCounter(["nn.dense"])
    counter.visit(flat)
    assert counter.count() == 1
    assert analysis.check_constant(relay.Tuple([relay.const(1)]))
    assert not analysis.check_constant(x)


def test_calls() -> None:
    mod = relay.parse(HEAD + "def @f(%x: int32) { @f(%x) }\ndef @g(%x: int32) { @f(@f(%x)) }")
    graph = analysis.CallGraph(mod)
    assert graph.ref_count("f") == 2
    assert graph.global_call_count("g") == 1  # one function, called twice
    assert graph.is_recursive("f")
    assert not graph.is_recursive(mod.get_global_var("g"))
    with pytest.raises(tvm.TVMError, match="Cannot find global var h"):
        graph.ref_count("h")
    assert "#refs = 0\n  call site: <g> calls f\n" in str(graph)


def test_variables_of_patterns() -> None:
    x, y = relay.Var("x"), relay.Var("y")
    pattern = relay.PatternTuple([relay.PatternVar(x), relay.PatternVar(y)])
    assert analysis.bound_vars(pattern) == [x, y]
    assert analysis.all_vars(pattern) == [x, y]


def test_values_are_visited_before_their_names() -> None:
    x, a, b = relay.var("x", shape=(3,)), relay.var("a"), relay.var("b")
    seen: list[str] = []

    def note(node: object) -> None:
        seen.append(getattr(node, "name_hint", type(node).__name__))

    body = relay.Let(a, relay.exp(x), relay.Let(b, relay.log(a), a + b))
    relay.analysis.post_order_visit(body, note)
    assert [s for s in seen if s != "Op"] == ["x", "Call", "a", "Call", "b", "Call", "Let", "Let"]


def test_operators_of_main_count() -> None:
    text = '#[version = "0.0.5"]\ndef @f(%x: float32) -> float32 { exp(%x) }\n'
    mod = relay.fromtext(f"{text}def @main(%x: float32) {{ @f(abs(%x)) }}")
    assert analysis.list_op_freqs(mod) == {"abs": 1}


def test_names_of_outer_functions_may_be_read_in_inner_ones() -> None:
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    f = relay.var("f")
    inner = relay.Function([y], x + y)
    func = relay.Function([x], relay.Let(f, inner, relay.Call(f, [x])))
    assert analysis.check_basic_block_normal_form(func)


def test_type_variables_of_constructors_are_not_those_of_a_program() -> None:
    text = '#[version = "0.0.5"]\ntype List[A] { Cons(A, List[A]), Nil }\n'
    mod = relay.fromtext(f"{text}def @main(%x: int32) {{ Cons(%x, Nil) }}")
    assert analysis.free_type_vars(mod["main"], mod) == []
