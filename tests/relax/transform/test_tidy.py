"""What inlining and rewriting leave behind is cleared away."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.ir.structural import assert_structural_equal
from tvm.relax.dpl import TuplePattern, is_op, rewrite_call, wildcard
from tvm.relax.transform.tidy import tidy_inlined, tidy_rewritten
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Calls:
    @R.function(private=True)
    def main(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        a = R.abs(x)
        b = Calls.plain(a)
        c = R.add(b, b)
        return c

    @R.function(private=True)
    def into_plain(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        with R.dataflow():
            a = R.abs(x)
            b = Calls.plain(a)
            c = R.add(b, b)
            R.output(c)
        return c

    @R.function(private=True)
    def into_flow(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        with R.dataflow():
            a = R.abs(x)
            b = Calls.flow(a)
            c = R.add(b, b)
            R.output(c)
        return c

    @R.function(private=True)
    def plain(p: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        q = R.negative(p)
        return q

    @R.function(private=True)
    def flow(p: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
        with R.dataflow():
            q = R.negative(p)
            R.output(q)
        return q


@R.function(private=True)
def inlined(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
    a = R.abs(x)
    q = R.negative(a)
    c = R.add(q, q)
    return c


@R.function(private=True)
def divided(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
    with R.dataflow():
        a = R.abs(x)
        R.output(a)
    q = R.negative(a)
    with R.dataflow():
        c = R.add(q, q)
        R.output(c)
    return c


@R.function(private=True)
def in_one_block(x: R.Tensor((4,), "int8")) -> R.Tensor((4,), "int8"):
    with R.dataflow():
        a = R.abs(x)
        q = R.negative(a)
        c = R.add(q, q)
        R.output(c)
    return c


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("main", inlined), ("into_plain", divided), ("into_flow", in_one_block)],
)
def test_inlining_leaves_no_names_behind(name: str, wanted: relax.Function) -> None:
    bodies = {"plain": Calls["plain"], "flow": Calls["flow"]}
    found = Calls[name].inline_functions(bodies)
    assert_structural_equal(found, wanted)
    assert tidy_inlined(found) is found


def test_a_function_without_such_calls_is_left_alone() -> None:
    assert inlined.inline_functions({"plain": Calls["plain"]}) is inlined


X = wildcard()


def test_a_rewrite_leaves_no_names_behind() -> None:
    @R.function(private=True)
    def before(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, (6,))
            R.output(b)
        return b

    @R.function(private=True)
    def expected(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            b = R.exp(x)
            R.output(b)
        return b

    pattern = is_op("relax.reshape")(X, wildcard())
    found = rewrite_call(pattern, lambda expr, matches: matches[X], before)
    assert_structural_equal(found, expected)
    assert tidy_rewritten(found) is found


def test_equal_replacements_are_one() -> None:
    @R.function(private=True)
    def before(x: R.Tensor((2, 3), "float32")):
        a = R.sin(x)
        b = R.cos(x)
        c = R.add(a, b)
        return c

    @R.function(private=True)
    def expected(x: R.Tensor((2, 3), "float32")):
        e = R.exp(x)
        n = R.negative(e)
        c = R.add(n, n)
        return c

    pattern = is_op("relax.sin")(X) | is_op("relax.cos")(X)
    found = rewrite_call(pattern, lambda expr, matches: R.negative(R.exp(matches[X])), before)
    assert_structural_equal(found, expected)


def test_a_tuple_that_takes_the_place_of_one_is_given_whole() -> None:
    @R.function(private=True)
    def before(x: R.Tensor((4, 3), "float32")):
        a = R.strided_slice(x, [0], [0], [2])
        b = R.strided_slice(x, [0], [2], [4])
        return (a, b)

    @R.function(private=True)
    def expected(x: R.Tensor((4, 3), "float32")):
        gv = R.split(x, 2)
        return gv

    piece = [is_op("relax.strided_slice")(X, wildcard(), wildcard(), wildcard()) for _ in "ab"]
    found = rewrite_call(TuplePattern(piece), lambda expr, m: R.split(m[X], 2), before)
    assert_structural_equal(found, expected)


def test_plain_blocks_are_tidied_where_nothing_matches() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def plain(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = (a, x)
            c = b[0]
            d = R.exp(x)
            e = R.add(c, d)
            return e

        @R.function(private=True)
        def flow(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.exp(x)
                c = R.add(a, b)
                R.output(c)
            return c

    pattern = is_op("relax.sin")(wildcard())
    plain = rewrite_call(pattern, lambda expr, _: expr, Mod["plain"])
    values = [str(b.value) for b in plain.body.blocks[0].bindings]
    assert values == ["R.exp(x)", "R.add(a, a)"]
    flow = rewrite_call(pattern, lambda expr, _: expr, Mod["flow"])
    assert_structural_equal(flow, Mod["flow"])


def test_the_name_of_a_match_is_given_as_what_it_names() -> None:
    @I.ir_module
    class Mod:
        @R.function(private=True)
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = a
                R.output(b)
            return b

    new = rewrite_call(
        is_op("relax.exp")(wildcard()), lambda expr, _: R.tanh(expr.args[0]), Mod["main"]
    )
    assert [str(b.value) for b in new.body.blocks[0].bindings] == ["R.tanh(x)"]


def test_a_variable_that_is_bound_twice_is_no_name_for_itself() -> None:
    """Such a function is ill-formed; it is tidied all the same, and that comes to an end."""
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    y = relax.Var("y", x.struct_info)
    block = relax.BindingBlock([relax.VarBinding(y, relax.op.exp(x)), relax.VarBinding(y, y)])
    block.bindings[0].value.struct_info_ = x.struct_info
    func = relax.Function([x], relax.SeqExpr([block], y), x.struct_info)
    assert "R.exp(x)" in tidy_rewritten(func).script()


def test_rewriters_that_find_nothing_tidy_functions_of_plain_blocks() -> None:
    @R.function(pure=False, private=True)
    def before(x: R.Tensor((2, 3), "float32"), p: R.Tensor((), "bool")):
        a = x
        b = R.add(a, a)
        tell = R.call_packed("tell", b, sinfo_args=R.Tuple([]))
        unused = R.exp(b)
        if p:
            c = R.add(a, a)
            d = R.negative(c)
        else:
            d = R.exp(b)
        return d

    @R.function(pure=False, private=True)
    def after(x: R.Tensor((2, 3), "float32"), p: R.Tensor((), "bool")):
        b = R.add(x, x)
        tell = R.call_packed("tell", b, sinfo_args=R.Tuple([]))
        if p:
            d = R.negative(b)
        else:
            d = R.exp(b)
        return d

    @R.function(private=True)
    def flow(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = x
            b = R.add(a, a)
            R.output(b)
        return b

    t = relax.transform
    passes = (t.RemoveRedundantReshape(), t.OptimizeLayoutTransform(), t.FoldBatchnormToConv2D(),
              t.ExpandMatmulOfSum(), t.ReorderTakeAfterMatmul())  # fmt: skip
    for step in passes:
        mod = step(tvm.IRModule({"main": before, "flow": flow}))
        assert_structural_equal(mod["main"], after)
        assert_structural_equal(mod["flow"], flow)
    plain = tvm.IRModule({"main": before.with_attr("global_symbol", "main")})
    assert_structural_equal(t.InlinePrivateFunctions()(plain), plain)  # there is none
