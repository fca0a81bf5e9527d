"""Functions rewritten by patterns."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relax as rx
from tvm.error import TVMError
from tvm.ir import structural_equal
from tvm.relax.dpl import (
    ExprPatternRewriter,
    PatternContext,
    PatternMatchingRewriter,
    TupleRewriter,
    apply,
    is_op,
    is_tuple,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from tvm.script import relax as R

pytestmark = pytest.mark.pure
equal = tvm.ir.assert_structural_equal
Found = dict[Any, Any]


@R.function(private=True)
def doubled(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
    with R.dataflow():
        x2 = R.add(x, x)
        x4 = R.add(x2, x2)
        R.output(x4)
    return x4


def test_each_match_becomes_another_call() -> None:
    @R.function(private=True)
    def expected(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
        with R.dataflow():
            x2 = R.multiply(x, R.const(2, "float32"))
            x4 = R.multiply(x2, R.const(2, "float32"))
            R.output(x4)
        return x4

    x = wildcard()

    def rule(_: Any, found: Found) -> Any:
        return R.multiply(found[x], R.const(2, "float32"))

    equal(rewrite_call(is_op("relax.add")(x, x), rule, doubled), expected)


def test_nested_patterns_drop_what_is_no_longer_used() -> None:
    @R.function(private=True)
    def expected(x: R.Tensor((16, 16), "float32")) -> R.Tensor((16, 16), "float32"):
        with R.dataflow():
            x4 = R.multiply(x, R.const(4, "float32"))
            R.output(x4)
        return x4

    x = wildcard()
    twice = is_op("relax.add")(x, x)

    def rule(_: Any, found: Found) -> Any:
        return R.multiply(found[x], R.const(4, "float32"))

    equal(rewrite_call(is_op("relax.add")(twice, twice), rule, doubled), expected)


@pytest.mark.parametrize("kept", [lambda expr, _: expr, lambda expr, _: None])
def test_no_change_keeps_the_function(kept: Any) -> None:
    x = wildcard()
    assert rewrite_call(is_op("relax.add")(x, x), kept, doubled) is doubled
    assert rewrite_call(is_op("relax.exp")(x), kept, doubled) is doubled


def test_an_equal_result_is_no_change() -> None:
    x, y = wildcard(), wildcard()

    def rule(_: Any, found: Found) -> Any:
        return R.add(found[x], found[y])

    assert rewrite_call(is_op("relax.add")(x, y), rule, doubled) is doubled


def test_a_rule_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = wildcard(), wildcard()

    def rule(_: Any, found: Found) -> Any:
        return R.add(R.exp(found[x]), found[y])

    monkeypatch.setattr(apply, "MAX_ROUNDS", 20)
    pattern = is_op("relax.add")(x, y)
    with pytest.raises(TVMError, match="did not come to an end in 20 rounds"):
        rewrite_call(pattern, rule, doubled)


def test_parts_that_are_computed_can_be_read_and_reused() -> None:
    @R.function(private=True)
    def before(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 4), "float32")):
        with R.dataflow():
            a = R.permute_dims(w, axes=[1, 0])
            b = R.exp(a)
            R.output(b)
        return b

    @R.function(private=True)
    def expected(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 4), "float32")):
        with R.dataflow():
            a = R.permute_dims(w, axes=[1, 0])
            b = R.tanh(a)
            R.output(b)
        return b

    transposed = is_op("relax.permute_dims")(wildcard())

    def rule(_: Any, found: Found) -> Any:
        assert list(found[transposed].attrs.axes) == [1, 0]
        return R.tanh(found[transposed])

    equal(rewrite_call(is_op("relax.exp")(transposed), rule, before), expected)


def test_attention_out_of_its_parts() -> None:
    @R.function(private=True)
    def before(
        q: R.Tensor((2, 4, 8), "float32"),
        k: R.Tensor((2, 4, 8), "float32"),
        v: R.Tensor((2, 4, 8), "float32"),
    ):
        with R.dataflow():
            kt = R.permute_dims(k, axes=[0, 2, 1])
            s = R.matmul(q, kt)
            p = R.nn.softmax(s, axis=-1)
            out = R.matmul(p, v)
            R.output(out)
        return out

    q, k, v = wildcard(), wildcard(), wildcard()
    kt = is_op("relax.permute_dims")(k).has_attr({"axes": [0, 2, 1]})
    pattern = is_op("relax.matmul")(
        is_op("relax.nn.softmax")(is_op("relax.matmul")(q, kt)).has_attr({"axis": -1}), v
    )

    def rule(_: Any, found: Found) -> Any:
        return R.maximum(found[q], R.maximum(found[k], found[v]))

    after = rewrite_call(pattern, rule, before)
    assert len(after.body.blocks[0].bindings) == 2
    assert rx.analysis.well_formed(after)


def test_known_tuples_are_taken_apart() -> None:
    @R.function(private=True)
    def before(a: R.Tensor((16,), "float32"), b: R.Tensor((16,), "float32")):
        with R.dataflow():
            c = R.concat((a, b))
            d = R.split(c, 2)
            e = d[0]
            f = d[1]
            g = R.add(e, f)
            R.output(g)
        return g

    @R.function(private=True)
    def expected(a: R.Tensor((16,), "float32"), b: R.Tensor((16,), "float32")):
        with R.dataflow():
            g = R.multiply(a, b)
            R.output(g)
        return g

    args, x, y = wildcard(), wildcard(), wildcard()
    split = is_op("relax.split")(is_op("relax.concat")(args))
    add = is_op("relax.add")(x, y)

    def rule(expr: Any, found: Found) -> Any:
        if split in found:
            return found[args]
        return R.multiply(found[x], found[y])

    equal(rewrite_call(split | add, rule, before), expected)


def test_branches_are_rewritten_too() -> None:
    @R.function(private=True)
    def before(c: R.Tensor((), "bool"), x: R.Tensor((16,), "float32")):
        if c:
            y = R.add(x, x)
        else:
            y = R.exp(x)
        return y

    @R.function(private=True)
    def expected(c: R.Tensor((), "bool"), x: R.Tensor((16,), "float32")):
        if c:
            y = R.tanh(x)
        else:
            y = R.exp(x)
        return y

    x = wildcard()
    rule: Any = lambda _, found: R.tanh(found[x])
    equal(rewrite_call(is_op("relax.add")(x, x), rule, before), expected)


def test_a_pattern_does_not_reach_into_other_blocks() -> None:
    @R.function(private=True)
    def apart(x: R.Tensor((16,), "float32")):
        a = R.exp(x)
        with R.dataflow():
            b = R.tanh(a)
            R.output(b)
        return b

    @R.function(private=True)
    def cast(x: R.Tensor((16,), "float32")):
        a = R.exp(x)
        c = R.match_cast(a, R.Tensor((16,), "float32"))
        b = R.tanh(c)
        return b

    x = wildcard()
    pattern = is_op("relax.tanh")(is_op("relax.exp")(x))
    rule: Any = lambda _, found: R.sigmoid(found[x])
    equal(rewrite_call(pattern, rule, apart), apart)
    assert "R.sigmoid(x)" in str(rewrite_call(pattern, rule, cast))


def test_another_shape_reaches_the_signature() -> None:
    x = wildcard()

    @R.function(private=True)
    def before(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(a)
            R.output(b)
        return b

    after = rewrite_call(
        is_op("relax.exp")(x), lambda _, found: R.astype(found[x], "float16"), before
    )
    assert structural_equal(after.ret_struct_info, R.Tensor((4, 4), "float16"))
    assert rx.analysis.well_formed(after)


@R.function(private=True)
def projections(
    x: R.Tensor((2, 8, 16), "float32"),
    w0: R.Tensor((16, 16), "float32"),
    w1: R.Tensor((16, 16), "float32"),
):
    with R.dataflow():
        lv0 = R.matmul(x, w0)
        t = R.permute_dims(w1)
        lv1 = R.matmul(x, t)
        out = (lv0, lv1)
        R.output(out)
    return out


def _combine(ctx: PatternContext) -> Any:
    x, w0, w1 = wildcard(), wildcard(), wildcard()
    m0 = is_op("relax.matmul")(x, w0)
    m1 = is_op("relax.matmul")(x, w1)

    def rule(found: Found, _: Any) -> Any:
        whole = R.concat([found[w0], found[w1]], axis=1)
        product = R.matmul(found[x], whole)
        width = found[w0].struct_info.shape[1]
        return {
            found[m0]: R.strided_slice(product, axes=[2], begin=[0], end=[width]),
            found[m1]: R.strided_slice(product, axes=[2], begin=[width], end=[2 * width]),
        }

    return rule


def test_bindings_of_a_context() -> None:
    @R.function(private=True)
    def expected(
        x: R.Tensor((2, 8, 16), "float32"),
        w0: R.Tensor((16, 16), "float32"),
        w1: R.Tensor((16, 16), "float32"),
    ):
        with R.dataflow():
            t = R.permute_dims(w1)
            whole = R.concat((w0, t), axis=1)
            product = R.matmul(x, whole)
            lv0 = R.strided_slice(product, axes=[2], begin=[0], end=[16])
            lv1 = R.strided_slice(product, axes=[2], begin=[16], end=[32])
            out = (lv0, lv1)
            R.output(out)
        return out

    with PatternContext() as ctx:
        rule = _combine(ctx)
    equal(rewrite_bindings(ctx, rule, projections), expected)


def test_bindings_are_rewritten_again_and_again() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", R.Tensor((2, 8, 16), "float32"))
    weights = [rx.Var(f"w{i}", R.Tensor((16, 16), "float32")) for i in range(4)]
    with bb.function("main", [x, *weights]):
        with bb.dataflow():
            products = [bb.emit(rx.op.matmul(x, w)) for w in weights]
            out = bb.emit_output(rx.Tuple(products))
        bb.emit_func_output(out)
    with PatternContext() as ctx:
        rule = _combine(ctx)
    # what was joined is sliced and joined again, until one product is left
    after = rewrite_bindings(ctx, rule, bb.get()["main"])
    assert str(after).count("R.matmul") == 1
    assert rx.analysis.well_formed(after)


def test_bindings_without_a_match_stay() -> None:
    with PatternContext() as ctx:
        is_op("relax.exp")(wildcard())
    assert rewrite_bindings(ctx, lambda found, _: {}, projections) is projections


def test_several_values_together() -> None:
    x = wildcard()
    w0, w1 = wildcard(), wildcard()
    patterns = [is_op("relax.matmul")(x, w0), is_op("relax.matmul")(x, w1)]

    def rule(expr: Any, found: Found) -> Any:
        assert isinstance(expr, rx.Tuple)
        return rx.Tuple([R.exp(found[patterns[0]]), found[patterns[1]]])

    def once(expr: Any, found: Found) -> Any:
        return R.split(R.matmul(found[x], R.concat([found[w0], found[w1]], axis=1)), 2, axis=2)

    after = TupleRewriter(patterns, once)(projections)
    assert str(after).count("R.matmul") == 1
    assert rx.analysis.well_formed(after)
    whole = PatternMatchingRewriter.from_pattern(is_tuple(patterns), once)(projections)
    assert str(whole).count("R.matmul") == 1
    assert rx.analysis.well_formed(whole)


def test_kinds_of_rewriters() -> None:
    x = wildcard()
    made = PatternMatchingRewriter.from_pattern(is_op("relax.exp")(x), lambda e, _: e)
    assert isinstance(made, ExprPatternRewriter)
    assert made.pattern.args == (x,)
    either = made | made
    assert either.lhs is made
    assert either.rhs is made
    with pytest.raises(TypeError, match="no rewriter of its own"):
        PatternMatchingRewriter()(doubled)


def test_an_alternative_that_is_left_as_it_is_gives_way() -> None:
    @R.function(private=True)
    def before(x: R.Tensor((4,), "float32")):
        y = R.add(R.exp(x), x)
        return y

    @R.function(private=True)
    def expected(x: R.Tensor((4,), "float32")):
        y = R.negative(x)
        return y

    inner = wildcard()
    any_sum = is_op("relax.add")(wildcard(), wildcard())
    of_exp = is_op("relax.add")(is_op("relax.exp")(inner), wildcard())
    both = any_sum | of_exp
    seen = []

    def rule(expr: Any, found: Found) -> Any:
        seen.append((any_sum in found, of_exp in found, found[both] is expr))
        return expr if any_sum in found else R.negative(found[inner])

    equal(rewrite_call(both, rule, before), expected)
    assert seen == [(True, False, True), (False, True, True)]


def test_a_rewriter_is_a_pass() -> None:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        return y

    arg = wildcard()
    rule = PatternMatchingRewriter.from_pattern(
        is_op("relax.exp")(arg), lambda expr, found: R.sin(found[arg])
    )
    for rewriter in (rule, rule | rule):
        assert isinstance(rewriter, tvm.ir.transform.Pass)
        assert rewriter.info.opt_level == 0
        made = tvm.ir.transform.Sequential([rewriter])(tvm.IRModule({"main": main}))
        assert "R.sin(x)" in made.script()
        assert "R.sin(x)" in rewriter(main).script()


def test_effects_part_what_is_matched_together() -> None:
    @R.function(pure=False, private=True)
    def before(p: R.Tensor((4,), "float32")):
        a = R.exp(p)
        b = R.negative(a)
        _ = R.print(b, format="{}")
        c = R.negative(a)
        return c

    @R.function(pure=False, private=True)
    def expected(p: R.Tensor((4,), "float32")):
        a = R.exp(p)
        b = R.sin(p)
        _ = R.print(b, format="{}")
        c = R.negative(a)
        return c

    arg = wildcard()
    pattern = is_op("relax.negative")(is_op("relax.exp")(arg))
    equal(rewrite_call(pattern, lambda expr, found: R.sin(found[arg]), before), expected)


def test_a_match_under_another_name_is_the_computation() -> None:
    @R.function
    def before(x: R.Tensor([2], "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = a
            R.output(b)
        return b

    pattern = is_op("relax.exp")(wildcard())
    seen: list[object] = []

    def rule(expr, found):  # type: ignore[no-untyped-def]
        seen.append(found[pattern])
        return rx.op.sin(found[pattern].args[0])

    after = rewrite_call(pattern, rule, before)
    assert all(isinstance(one, rx.Call) for one in seen)
    assert [b.value.op.name for b in after.body.blocks[0].bindings] == ["relax.sin"]


def test_what_a_match_shows() -> None:
    """Values of the block as they are computed, and variables where the value is a new one."""

    @R.function(private=True)
    def chain(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.call_dps_packed("random", (x,), out_sinfo=R.Tensor((8,), "float32"))
            b = R.add(a, y)
            c = R.add(b, a)
            R.output(c)
        return c

    @R.function(private=True)
    def expected(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.call_dps_packed("random", (x,), out_sinfo=R.Tensor((8,), "float32"))
            b = R.subtract(a, y)
            c = R.subtract(b, a)
            R.output(c)
        return c

    left, right = wildcard(), wildcard()
    kinds = []

    def rule(expr: rx.Expr, found: Found) -> rx.Expr:
        kinds.append([isinstance(found[part], rx.Var) for part in (left, right)])
        return R.subtract(found[left], found[right])

    equal(rewrite_call(is_op("relax.add")(left, right), rule, chain), expected)
    assert kinds == [[False, True], [True, False]]


def test_a_branch_parts_what_is_matched_together() -> None:
    @R.function(private=True)
    def func(x: R.Tensor((8,), "float32"), flag: R.Tensor((), "bool")):
        a = R.exp(x)
        if flag:
            b = R.sin(x)
        else:
            b = R.cos(x)
        return R.add(R.negative(a), b)

    pattern = is_op("relax.negative")(is_op("relax.exp")(wildcard()))
    equal(rewrite_call(pattern, lambda expr, found: R.zeros((8,), "float32"), func), func)


def test_one_of_several_values_may_be_made_of_another() -> None:
    @R.function(private=True)
    def func(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(a, x)
            c = R.divide(b, a)
            R.output(c)
        return c

    @R.function(private=True)
    def read_before(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.add(x, y)
            e = R.exp(a)
            b = R.multiply(a, x)
            c = R.divide(b, e)
            R.output(c)
        return c

    @R.function(private=True)
    def expected(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.subtract(x, y)
            b = R.exp(y)
            c = R.divide(b, a)
            R.output(c)
        return c

    x, y = wildcard(), wildcard()
    first = is_op("relax.add")(x, y)
    pair = is_tuple([first, is_op("relax.multiply")(first, x)])

    def rule(expr: rx.Expr, found: Found) -> rx.Expr:
        return R.tuple(R.subtract(found[x], found[y]), R.exp(found[y]))

    equal(rewrite_call(pair, rule, func), expected)
    equal(rewrite_call(pair, rule, read_before), read_before)


def test_bindings_without_a_dataflow_block_and_their_tuple() -> None:
    @R.function(private=True)
    def func(x: R.Tensor((8,), "float32")):
        a = R.exp(x)
        b = R.sin(x)
        out = (a, b)
        return out

    @R.function(private=True)
    def expected(x: R.Tensor((8,), "float32")):
        both = R.split(x, 2)
        a = both[0]
        b = both[1]
        out = (a, b)
        return out

    with PatternContext() as ctx:
        x = wildcard()
        one, other = is_op("relax.exp")(x), is_op("relax.sin")(x)

    def rule(found: Found, values: Found) -> Found:
        both = R.split(found[x], 2)
        return {found[one]: both[0], found[other]: both[1]}

    equal(rewrite_bindings(ctx, rule, func), expected)


@pytest.mark.parametrize("given", [tvm.IRModule({"main": doubled}), rx.const(1.0), doubled.body])
def test_what_is_no_function_is_refused(given: Any) -> None:
    pattern = is_op("relax.add")(wildcard(), wildcard())
    with pytest.raises(TypeError, match="legal: Function"):
        rewrite_call(pattern, lambda expr, found: expr, given)
    with PatternContext() as ctx, pytest.raises(TypeError, match="legal: Function"):
        rewrite_bindings(ctx, lambda found, values: {}, given)
    with pytest.raises(TypeError, match="the pattern"):
        PatternMatchingRewriter.from_pattern(given, lambda expr, found: expr)
