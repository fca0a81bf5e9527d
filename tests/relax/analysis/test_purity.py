"""Which expressions have effects."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.relax import op
from tvm.relax.analysis import contains_impure_call
from tvm.relax.analysis.purity import find_impure_call, is_impure_call

pytestmark = pytest.mark.pure

X = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


def test_operators_say_it_themselves() -> None:
    assert not contains_impure_call(op.add(X, X))
    assert is_impure_call(op.print(X))
    assert not is_impure_call(op.call_pure_packed("f", X, sinfo_args=X.struct_info))


def test_functions_say_it_by_their_struct_info() -> None:
    pure = relax.Var("f", relax.FuncStructInfo([X.struct_info], X.struct_info))
    impure = relax.Var("g", relax.FuncStructInfo([X.struct_info], X.struct_info, False))
    assert not contains_impure_call(relax.Call(pure, [X]))
    assert contains_impure_call(relax.Call(impure, [X]))
    assert contains_impure_call(relax.Call(relax.extern("f"), [X]))
    assert contains_impure_call(relax.Call(relax.GlobalVar("unknown"), [X]))


def test_nested_calls_count_and_own_calls_do_not() -> None:
    own = relax.GlobalVar("f")
    body = relax.Tuple([op.add(X, X), relax.Call(own, [X])])
    func = relax.Function([X], body, relax.ObjectStructInfo())
    assert contains_impure_call(func)
    assert not contains_impure_call(func, own)
    found = find_impure_call(func)
    assert found is not None
    assert found.op is own


def test_a_function_that_is_only_made_does_nothing() -> None:
    inner = relax.Function([X], relax.Call(relax.extern("f"), [X]), X.struct_info, is_pure=False)
    y = relax.Var("y", inner.struct_info)
    seq = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, inner)])], X)
    assert not contains_impure_call(relax.Function([X], seq, X.struct_info))
