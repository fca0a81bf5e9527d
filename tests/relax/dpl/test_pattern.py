"""Making patterns: their parts, their text, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tvm import relax as rx
from tvm.error import TVMError
from tvm.relax.dpl import (
    AndPattern,
    AttrPattern,
    CallPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    OrPattern,
    PatternContext,
    PatternSeq,
    PrimArrPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
    WildcardPattern,
    has_dtype,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_var,
    make_fused_bias_activation_pattern,
    register_df_node,
    wildcard,
)

pytestmark = pytest.mark.pure


def test_parts() -> None:
    a, b = wildcard(), wildcard()
    call = is_op("relax.add")(a, b)
    assert isinstance(call, CallPattern)
    assert call.args == (a, b)
    assert isinstance(call.op, ExprPattern)
    assert call.op.expr.name == "relax.add"
    assert isinstance(a | b, OrPattern)
    assert (a | b).left is a
    assert isinstance(a & b, AndPattern)
    assert (a & b).right is b
    assert (~a).reject is a
    assert isinstance(is_tuple([a, b]), TuplePattern)
    assert len(is_tuple([a, b])) == 2
    assert isinstance(is_tuple([a, b], unordered=True), UnorderedTuplePattern)
    item = is_tuple([a, b])[1]
    assert isinstance(item, TupleGetItemPattern)
    assert item.index == 1
    assert isinstance(is_shape([32, 16]), PrimArrPattern)
    assert is_shape([32, 16])[1] == 16
    with pytest.raises(IndexError):
        is_shape([32])[1]
    assert isinstance(has_dtype("float16"), DataTypePattern)
    assert has_dtype("float16").dtype == "float16"
    assert isinstance(a.has_shape([2, 3]), ShapePattern)
    assert a.has_shape([2, 3]).shape[1] == 3
    assert isinstance(call.has_attr({"x": 1}), AttrPattern)
    assert is_var("x").name == "x"
    assert isinstance(is_expr(rx.Var("x")).expr, rx.Var)


def test_patterns_are_themselves_only() -> None:
    a, b = wildcard(), wildcard()
    assert a != b
    assert a == a
    assert len({a, b, a}) == 2


def test_copies_are_new_patterns() -> None:
    a = is_op("relax.add")(wildcard(), is_const())
    copy = a.dup()
    assert copy is not a
    assert isinstance(copy, CallPattern)
    assert copy.args[0] is not a.args[0]
    assert str(copy) == str(a)


def test_text() -> None:
    a = is_op("relax.add")(wildcard(), is_const()).has_attr({"axis": 1})
    assert str(a) == 'AttrPattern(Op(relax.add)(*, ConstantPattern()) has attributes {"axis": 1})'
    with PatternContext():
        assert str(wildcard() >> is_var("x")) == "[* ^ VarPattern(x)]"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (is_var("x") | wildcard(), "OrPattern(VarPattern(x) | *)"),
        (is_dfv("x") & is_gv(), "AndPattern(DataflowVarPattern(x) & GlobalVarPattern())"),
        (~is_const(), "!(ConstantPattern())"),
        (is_tuple([is_var("x"), wildcard()])[1],
         "TupleGetItemPattern(TuplePattern([VarPattern(x), *]), 1)"),
        (is_tuple([wildcard()], unordered=True), "UnorderedTuplePattern([*])"),
        (wildcard().has_dtype("int8"), "DataTypePattern(* has dtype int8)"),
        (wildcard().has_shape((2,)), "ShapePattern(* has shape [2])"),
        (wildcard().has_struct_info(rx.ObjectStructInfo()),
         "StructInfoPattern(* has relax StructInfo R.Object)"),
        (is_call_dps_packed("f"), "Op(relax.call_dps_packed)(ExternFuncPattern(f), *)"),
    ],
)  # fmt: skip
def test_text_of_kinds(pattern: DFPattern, text: str) -> None:
    assert str(pattern) == repr(pattern) == text


def test_fused_bias_and_activation() -> None:
    plain = make_fused_bias_activation_pattern("relax.nn.conv2d")
    assert str(plain) == "Op(relax.nn.conv2d)(*, *)"
    full = make_fused_bias_activation_pattern("relax.nn.conv2d", True, "relax.nn.relu")
    assert str(full) == "Op(relax.nn.relu)(Op(relax.add)(Op(relax.nn.conv2d)(*, *), *))"


def test_sequences() -> None:
    with PatternContext() as ctx:
        a, b, c = is_call_tir("a"), is_call_tir("b"), is_call_tir("c")
        seq = a >> b >> c
        assert isinstance(seq, PatternSeq)
        assert seq[0] is seq.patterns[0]
        assert seq.patterns == (a, b, c)
        assert [(e.producer, e.consumer, e.only) for e in ctx.edges] == [(a, b, True), (b, c, True)]
        copy = seq.dup()
        assert not set(copy.patterns) & set(seq.patterns)
        assert len(ctx.edges) == 4
        assert ctx.edges[3].only
        is_var("x").fork_to(seq, copy)
        assert {e.consumer for e in ctx.edges[4:]} == {a, copy.patterns[0]}


def test_a_sequence_outside_of_a_context_has_no_constraints() -> None:
    a, b = wildcard(), wildcard()
    assert (a >> b).patterns == (a, b)
    with PatternContext() as ctx:
        assert not ctx.edges


def test_rejects() -> None:
    with pytest.raises(TypeError, match="CallPattern is made of patterns"):
        is_op("relax.add")(wildcard(), 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="list"):
        is_tuple(wildcard())  # type: ignore[arg-type]
    with PatternContext(), pytest.raises(TypeError, match="is used by a pattern"):
        wildcard().used_by(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no struct info"):
        wildcard().has_struct_info(3)
    with pytest.raises(TVMError, match="at least one"):
        PatternSeq([])


def test_marked_classes_stay() -> None:
    assert register_df_node(WildcardPattern) is WildcardPattern
    assert register_df_node("relax.dpl.Mine")(WildcardPattern) is WildcardPattern


@pytest.mark.parametrize("given", [3, None, [], 2.5])
def test_names_of_operators_are_texts(given: object) -> None:
    with pytest.raises(TypeError, match="the name of an operator"):
        is_op(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [is_call_tir, is_call_dps_packed, is_call_packed])
def test_arguments_of_calls_are_patterns(make: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match=r"patterns|another kind"):
        make("f", 3)


def test_shapes_of_one_kind_as_text() -> None:
    assert str(wildcard().same_shape_as(is_var("x"))) == (
        "SameShapeConstraint([*, VarPattern(x)], [*, VarPattern(x)])"
    )


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: is_var(3), TypeError),
        (lambda: is_gv(None), TypeError),
        (lambda: is_dfv(rx.GlobalVar("f")), TypeError),
        (lambda: wildcard().has_dtype(None), TypeError),
        (lambda: wildcard().has_shape("ab"), ValueError),
        (lambda: is_shape(rx.ShapeExpr([1])), ValueError),
        (lambda: wildcard().match(3), TypeError),
    ],
)
def test_what_is_no_name_type_shape_or_value(make: Callable[[], object], kind: type) -> None:
    with pytest.raises(kind):
        make()
