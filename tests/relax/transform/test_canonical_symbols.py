"""Symbols that a cast names anew."""

import pytest

from tvm import relax, tir
from tvm.relax.extents import broadcast
from tvm.relax.transform.canonical_symbols import canonical_symbols
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_without_casts_nothing_changes():
    @R.function
    def f(x: R.Tensor(("n",), "float32")):
        y = R.exp(x)
        return y

    assert canonical_symbols(f) is f


def test_knowledge_of_an_inner_function_stays_there():
    @R.function
    def f(x: R.Tensor(("n",), "float32"), w: R.Tensor(("k",), "float32")):
        k, q = T.int64(), T.int64()

        @R.function
        def inner(y: R.Tensor((4,), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
            q = T.int64()
            z = R.match_cast(y, R.Tensor((q,), "float32"))
            u = R.add(z, z)
            return u

        v = R.match_cast(w, R.Tensor((q,), "float32"))
        o = R.exp(v)
        return o

    text = str(canonical_symbols(f))
    assert 'u: R.Tensor((4,), dtype="float32")' in text
    assert 'o: R.Tensor((k,), dtype="float32")' in text


def test_casts_to_symbols_that_were_there_are_checks():
    @R.function
    def f(x: R.Tensor(("n",), "float32"), w: R.Tensor(("k",), "float32"), s: R.Shape(["p"])):
        n, p = T.int64(), T.int64()
        y = R.match_cast(w, R.Tensor((n,), "float32"))
        z = R.match_cast(x, R.Tensor((p,), "float32"))
        return (y, z)

    assert canonical_symbols(f) is f


def test_what_was_told_of_unknown_extents_is_compared():
    @R.function
    def f(x: R.Tensor(ndim=1, dtype="float32"), w: R.Tensor(("k",), "float32")):
        q = T.int64()
        y = R.match_cast(x, R.Tensor((q,), "float32"))
        z = R.match_cast(w, R.Tensor((q,), "float32"))
        o = R.add(y, z)
        return o

    assert canonical_symbols(f) is f


def test_one_new_symbol_for_two_extents_is_compared():
    @R.function
    def f(x: R.Tensor(("n",), "float32"), w: R.Tensor(("k",), "float32")):
        n, q = T.int64(), T.int64()
        y = R.match_cast(x, R.Tensor((q,), "float32"))
        z = R.match_cast(w, R.Tensor((q,), "float32"))
        o = R.add(y, z)
        return o

    text = str(canonical_symbols(f))
    assert 'z: R.Tensor((n,), dtype="float32") = R.match_cast(w, R.Tensor((n,)' in text


def test_a_branch_keeps_checks_that_its_result_does_not_make():
    @R.function
    def f(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32"), y: R.Tensor((4,), "float32")):
        n = T.int64()
        if c:
            a = R.match_cast(y, R.Tensor((n,), "float32"))
            o = R.sum(a)
        else:
            o = R.sum(x)
        return o

    assert canonical_symbols(f) is f


def test_choices_between_choices_keep_their_symbols():
    """Twenty tensors broadcast one after the other; written out, the last extent has 3^20 parts."""
    count = 20
    bb = relax.BlockBuilder()
    sizes = [tir.SizeVar(f"n{i}", "int64") for i in range(count)]
    params = [relax.Var(f"x{i}", R.Tensor((n, 2), "float32")) for i, n in enumerate(sizes)]
    with bb.function("main", params):
        total = params[0]
        for param in params[1:]:
            total = bb.emit(relax.op.nn.relu(relax.op.add(*broadcast(bb, [total, param]))))
        bb.emit_func_output(total)
    function = canonical_symbols(bb.get()["main"])
    extent = function.body.body.struct_info.shape.values[0]
    assert str(extent).count("if_then_else") <= 3
    assert len(str(function)) < 40_000


def test_choices_between_equals_are_settled():
    @R.function
    def f(x: R.Tensor(("n",), "float32"), w: R.Tensor(("m",), "float32")):
        n, m, a, b = T.int64(), T.int64(), T.int64(), T.int64()
        y = R.match_cast(x, R.Tensor((a,), "float32"))
        z = R.match_cast(w, R.Tensor((b,), "float32"))
        _ = R.match_cast(R.shape([m]), R.Shape([n]))
        o: R.Tensor((T.if_then_else(m == 1, a, a),), "float32") = R.call_pure_packed(
            "f", y, z, sinfo_args=R.Tensor((T.if_then_else(m == 1, a, a),), "float32")
        )
        return o

    assert str(canonical_symbols(f).body.body.struct_info.shape) == "R.shape([n])"
