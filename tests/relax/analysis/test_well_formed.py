"""Each rule of well-formedness has a program that breaks it."""

from __future__ import annotations

import logging

import pytest

from tvm import ir, relax, tir
from tvm.relax import op
from tvm.relax.analysis import well_formed
from tvm.relax.analysis.well_formed import faults_of

pytestmark = pytest.mark.pure

X = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
BB = relax.BlockBuilder()


def call(value: relax.Call) -> relax.Call:
    return BB.normalize(value)


def seq(*blocks: relax.BindingBlock, body: relax.Expr) -> relax.SeqExpr:
    made = relax.SeqExpr(blocks, body)
    made.struct_info_ = body.struct_info_
    return made


def function(*bindings: relax.Binding, body: relax.Expr = X, block: type = relax.BindingBlock,
             **options: object) -> relax.Function:  # fmt: skip
    return relax.Function([X], seq(block(bindings), body=body), X.struct_info, **options)


def bound(value: relax.Expr, name: str = "y", kind: type = relax.Var) -> relax.VarBinding:
    return relax.VarBinding(kind(name, value.struct_info_), value)


def refused(obj: relax.Function | ir.IRModule, text: str) -> None:
    faults = faults_of(obj)
    assert any(text in fault for fault in faults), faults
    assert not well_formed(obj)


def test_good_program() -> None:
    y = bound(call(op.exp(X)))
    assert faults_of(function(y, body=y.var)) == []


def test_faults_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="tvm.relax"):
        assert not well_formed(function(body=relax.Var("z", X.struct_info)))
    assert "variable 'z' is used and not bound here" in caplog.text


def test_variable_used_before_it_is_bound() -> None:
    y = bound(call(op.exp(X)))
    z = bound(call(op.exp(y.var)), "z")
    refused(function(z, y, body=z.var), "variable 'y' is used and not bound here")


def test_variable_bound_twice() -> None:
    y = bound(call(op.exp(X)))
    refused(function(y, y, body=y.var), "variable 'y' is bound twice")


def test_dataflow_variable_outside_of_its_block() -> None:
    y = bound(call(op.exp(X)), kind=relax.DataflowVar)
    refused(function(y), "DataflowVar 'y' is bound outside a dataflow block")
    refused(
        function(y, body=y.var, block=relax.DataflowBlock), "variable 'y' is used and not bound"
    )


def test_nested_operand() -> None:
    y = bound(call(op.add(op.exp(X), X)))
    refused(function(y), "an operand is no variable or leaf")


def test_missing_struct_info() -> None:
    y = relax.VarBinding(relax.Var("y"), op.exp(X))
    refused(function(y), "variable 'y' has no struct info")
    refused(function(y), "no struct info is known of R.exp(x)")


def test_variables_by_hand_need_no_struct_info_unless_it_is_asked_for() -> None:
    y, z = relax.Var("y", X.struct_info), relax.Var("z")
    plain = relax.Function(
        [X],
        relax.SeqExpr(
            [
                relax.BindingBlock([relax.VarBinding(y, call(op.exp(X)))]),
                relax.DataflowBlock([relax.VarBinding(z, relax.Tuple([y, X]))]),
            ],
            y,
        ),
        relax.TensorStructInfo(ndim=2),
    )
    assert not well_formed(plain)
    assert well_formed(plain, check_struct_info=False)
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    branch = relax.If(cond, relax.SeqExpr([], X), relax.SeqExpr([], X))
    chosen = relax.Function(
        [X, cond],
        relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, branch)])], y),
        X.struct_info,
    )
    assert not well_formed(chosen, check_struct_info=False)  # a branch needs its own
    branch.struct_info_ = X.struct_info
    assert not well_formed(chosen)
    assert well_formed(chosen, check_struct_info=False)
    assert well_formed(ir.IRModule.from_expr(chosen), check_struct_info=False)


def test_symbols_and_purity_are_looked_at_with_the_struct_info() -> None:
    free = relax.TensorStructInfo((tir.Var("n", "int64"), 2), "float32")
    impure = call(op.print(X))
    for binding in (
        relax.VarBinding(relax.Var("y", free), X),
        relax.VarBinding(relax.Var("y", impure.struct_info), impure),
    ):
        assert faults_of(function(binding), check_struct_info=True)
        assert faults_of(function(binding), check_struct_info=False) == []


@pytest.mark.parametrize(
    ("value", "body", "text"),
    [
        (op.exp(X), op.exp(X), "the result of a sequence is a variable or leaf"),
        (op.exp(op.exp(X)), X, "an operand is no variable or leaf"),
        (relax.Tuple([op.exp(X)]), X, "an operand is no variable or leaf"),
        (relax.TupleGetItem(relax.TupleGetItem(X, 0), 0), X, "an operand is no variable or leaf"),
        (relax.SeqExpr([], X), X, "a sequence is the body of a function or of a branch"),
        (op.exp(relax.Var("w", X.struct_info)), X, "variable 'w' is used and not bound"),
        (relax.Call(relax.GlobalVar("f"), [X]), X, "the module has no function 'f'"),
    ],
)
def test_other_rules_hold_without_struct_info(
    value: relax.Call, body: relax.Expr, text: str
) -> None:
    block = relax.BindingBlock([relax.VarBinding(relax.Var("y", X.struct_info), value)])
    func = relax.Function([X], relax.SeqExpr([block], body), X.struct_info)
    faults = faults_of(ir.IRModule({"main": func}), check_struct_info=False)
    assert any(text in fault for fault in faults), faults


def test_wrong_struct_info() -> None:
    wrong = relax.Var("y", relax.TensorStructInfo((2, 4), "float32"))
    refused(function(relax.VarBinding(wrong, call(op.exp(X)))), "variable 'y' is")
    value = op.exp(X)
    value.struct_info_ = wrong.struct_info_
    refused(function(relax.VarBinding(wrong, value)), "is said to be")
    assert faults_of(function(relax.VarBinding(wrong, value)), check_struct_info=False) == []


def test_impure_calls() -> None:
    y = bound(call(op.print(X)))
    refused(function(y), "it is declared pure and has an impure call")
    refused(function(y, block=relax.DataflowBlock), "an impure call stands in a dataflow block")
    assert faults_of(function(y, is_pure=False)) == []
    assert faults_of(function(y, attrs={"relax.force_pure": True})) == []


def test_branch_in_a_dataflow_block() -> None:
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    branch = relax.If(cond, seq(body=X), seq(body=X))
    branch.struct_info_ = X.struct_info
    refused(
        function(bound(branch), block=relax.DataflowBlock), "a branch stands in a dataflow block"
    )


def test_unknown_symbol() -> None:
    m = tir.Var("m", "int64")
    y = relax.Var("y", relax.TensorStructInfo((m,), "float32"))
    value = relax.Call(relax.extern("f"), [X], sinfo_args=[y.struct_info])
    value.struct_info_ = y.struct_info
    refused(function(relax.VarBinding(y, value), is_pure=False), "symbol 'm' is used in")
    cast = relax.MatchCast(y, relax.const([1.0]), y.struct_info)
    assert faults_of(function(cast)) == []


def test_unknown_function_and_wrong_symbol() -> None:
    gone = relax.GlobalVar("gone", relax.FuncStructInfo([X.struct_info], X.struct_info))
    func = function(bound(call(relax.Call(gone, [X]))))
    refused(ir.IRModule({"f": func}), "the module has no function 'gone'")
    named = function().with_attr("global_symbol", "other")
    refused(ir.IRModule({"f": named}), "f: its global_symbol is 'other'")


def test_result_is_a_leaf() -> None:
    refused(function(body=call(op.exp(X))), "the result of a sequence is a variable or leaf")


def test_the_function_counts_and_not_what_its_variable_was() -> None:
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("sub", [x]):
        sub = bb.emit_func_output(x)
    y = relax.Var("y", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(relax.Call(sub, [y])))
    mod = bb.get()
    other = relax.FuncStructInfo([], relax.ObjectStructInfo())
    before = sub.struct_info_
    try:
        sub.struct_info_ = other  # as another module that shares the variable leaves it
        assert well_formed(mod)
    finally:
        sub.struct_info_ = before


def test_a_function_that_is_forced_pure_is_declared_pure() -> None:
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    body = relax.SeqExpr([], x)
    body.struct_info_ = x.struct_info_
    forced = {"relax.force_pure": True}
    assert well_formed(relax.Function([x], body, x.struct_info, True, forced))
    assert not well_formed(relax.Function([x], body, x.struct_info, False, forced))


def test_functions_share_no_symbols() -> None:
    n = tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    for name in ("f", "g"):
        x = relax.Var("x", relax.TensorStructInfo((n, 4), "float32"))
        with bb.function(name, [x]):
            bb.emit_func_output(bb.emit(op.add(x, x) if name == "f" else op.exp(x)))
    assert faults_of(bb.get()) == [
        "g: symbol 'n' is one of f already; each function has symbols of its own"
    ]


def test_variable_and_value_must_agree_as_far_as_they_tell() -> None:
    for info, good in [
        (relax.ObjectStructInfo(), True),
        (relax.TensorStructInfo(ndim=2, dtype="void"), True),
        (relax.TensorStructInfo(ndim=3, dtype="float32"), False),
        (relax.TensorStructInfo((128, 32), "int32"), False),
        (relax.TensorStructInfo((128, tir.Var("n", "int64")), "float32"), False),
    ]:
        param = relax.Var("a", relax.TensorStructInfo((128, 32), "float32"))
        var = relax.Var("b", info)
        body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(var, param)])], var)
        relax.expr._update_struct_info(body, info)
        assert well_formed(relax.Function([param], body)) is good
