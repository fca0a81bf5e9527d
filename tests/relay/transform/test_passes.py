"""Passes of Relay: the program that comes out, and that it computes what the old one did."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.run import value_of
from tvm import relay
from tvm.relay import transform as t

pytestmark = pytest.mark.pure
HEAD = '#[version = "0.0.5"]\n'
RNG = np.random.default_rng(2)


def rand(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape).astype("float32")


def run(func: Any, *passes: Any) -> Any:
    mod = tvm.IRModule.from_expr(func)
    for one in passes:
        mod = one(mod)
    return mod["main"]


def check(before: Any, expected: Any, *passes: Any) -> Any:
    found = run(before, *passes)
    tvm.ir.assert_structural_equal(found, run(expected, t.InferType()))
    return found


def same_numbers(before: Any, after: Any, *arrays: Any, tolerance: float = 1e-4) -> None:
    wanted, _ = value_of(lambda *args: relay.Call(before, args), arrays)
    found, _ = value_of(lambda *args: relay.Call(after, args), arrays)
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_constants_fold() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    c = relay.const(np.array([1, 2], "float32"))
    before = relay.Function([x], x + (c + c) * relay.const(2.0))
    after = relay.Function([y], y + relay.const(np.array([4, 8], "float32")))
    check(before, after, t.FoldConstant())


def test_known_conditions_and_lets_fold() -> None:
    x, v = relay.var("x", shape=(2,)), relay.var("v")
    before = relay.Function(
        [x], relay.Let(v, relay.const(1.0), relay.If(relay.const(True), x + v, x))
    )
    check(before, relay.Function([x], x + relay.const(1.0)), t.FoldConstant())


def test_known_shapes_fold() -> None:
    x = relay.var("x", shape=(2, 5))
    before = relay.Function([x], relay.shape_of(x))
    check(before, relay.Function([x], relay.const(np.array([2, 5], "int32"))), t.FoldConstant())


def test_unused_lets_go() -> None:
    x, a, b = relay.var("x", shape=(2,)), relay.var("a"), relay.var("b")
    before = relay.Function([x], relay.Let(a, x + x, relay.Let(b, x * x, a)))
    after = relay.Function([x], relay.Let(a, x + x, a))
    check(before, after, t.DeadCodeElimination())
    check(before, relay.Function([x], x + x), t.DeadCodeElimination(inline_once=True))


def test_effects_stay() -> None:
    a, r = relay.var("a"), relay.var("r")
    place = relay.RefCreate(relay.const(1.0))
    write = relay.Let(a, relay.RefWrite(r, relay.const(2.0)), relay.RefRead(r))
    before = relay.Function([], relay.Let(r, place, write))
    check(before, before, t.DeadCodeElimination())
    gone = run(before, t.DeadCodeElimination(ignore_impurity=True))
    assert "2f" not in gone.astext()


def test_equal_calls_are_one() -> None:
    x = relay.var("x", shape=(2,))
    before = relay.Function([x], (x + relay.const(1.0)) * (x + relay.const(1.0)))
    y = x + relay.const(1.0)
    found = check(before, relay.Function([x], y * y), t.EliminateCommonSubexpr())
    assert found.body.args[0] is found.body.args[1]
    kept = run(before, t.EliminateCommonSubexpr(lambda e: True))
    assert kept.body.args[0] is not kept.body.args[1]


def test_normal_forms() -> None:
    x = relay.var("x", shape=(2,))
    y = x + x
    before = relay.Function([x], relay.exp(y) * y)
    lets = run(before, t.ToANormalForm())
    assert lets.astext().count("let ") == 3
    check(lets, before, t.ToGraphNormalForm())
    assert lets.astext() == run(lets, t.ToANormalForm()).astext()
    same_numbers(before, lets, rand(2))


def test_lets_stay_in_their_branches() -> None:
    x, c = relay.var("x", shape=(2,)), relay.var("c", "bool")
    before = relay.Function([x, c], relay.If(c, relay.exp(x), x + x))
    lets = run(before, t.ToANormalForm())
    branch = lets.body.value.true_branch
    assert isinstance(branch, relay.Let)
    same_numbers(before, lets, rand(2), np.array(True))


def test_inference_is_simple_arithmetic() -> None:
    x = relay.var("x", shape=(2, 3, 4, 4))
    vectors = [relay.var(n, shape=(3,)) for n in ("g", "b", "m", "v")]
    g, b = vectors[:2]
    for body, arrays in (
        (relay.nn.batch_norm(x, *vectors)[0], (rand(3), rand(3), rand(3), np.abs(rand(3)) + 1)),
        (relay.nn.instance_norm(x, g, b), (rand(3), rand(3))),
        (relay.nn.group_norm(x, g, b, 3), (rand(3), rand(3))),
        (relay.nn.l2_normalize(x, 0.1, [1]), ()),
        (relay.nn.dropout(x), ()),
    ):
        before = relay.Function([x, *vectors[: len(arrays)]], body)
        after = run(before, t.SimplifyInference())
        assert not [n for n in relay.testing.count_ops(after) if "norm" in n or "drop" in n]
        same_numbers(before, after, rand(2, 3, 4, 4), *arrays)


def test_biases_are_additions() -> None:
    x, b = relay.var("x", shape=(2, 3, 4)), relay.var("b", shape=(3,))
    before = relay.Function([x, b], relay.nn.bias_add(x, b))
    after = relay.Function([x, b], relay.add(x, relay.expand_dims(b, 1)))
    check(before, after, t.CanonicalizeOps())


def test_fast_math() -> None:
    x = relay.var("x", shape=(4,))
    before = relay.Function([x], relay.exp(relay.tanh(x)))
    after = relay.Function([x], relay.fast_exp(relay.fast_tanh(x)))
    check(before, after, t.FastMath())
    same_numbers(before, after, rand(4), tolerance=1e-3)


def test_dynamic_shapes_become_static() -> None:
    x, y = relay.var("x", shape=(4, 3)), relay.var("y", shape=(2, 6))
    before = relay.Function([x, y], relay.reshape(x, relay.shape_of(y)))
    assert "dyn.reshape" in before.astext()
    after = relay.Function([x, y], relay.reshape(x, (2, 6)))
    check(before, after, t.DynamicToStatic())


def test_chains_are_short() -> None:
    x = relay.var("x", shape=(2, 3, 4))
    y = relay.reshape(relay.reshape(x, (6, 4)), (2, 12))
    check(relay.Function([x], y), relay.Function([x], relay.reshape(x, (2, 12))), t.SimplifyExpr())
    y = relay.transpose(relay.transpose(x, (0, 2, 1)), (0, 2, 1))
    check(relay.Function([x], y), relay.Function([x], x), t.SimplifyExpr())
    y = relay.cast(x, "float32") * relay.const(1.0) + relay.zeros_like(x)
    check(relay.Function([x], y), relay.Function([x], x), t.SimplifyExpr())
    y = relay.const(1.0) / relay.sqrt(x)
    check(relay.Function([x], y), relay.Function([x], relay.rsqrt(x)), t.SimplifyExpr())


def test_division_by_constants() -> None:
    x = relay.var("x", shape=(2,))
    before = relay.Function([x], x / relay.const(4.0))
    check(before, relay.Function([x], x * relay.const(0.25)), t.DivToMul())


def test_rules_of_users() -> None:
    x = relay.var("x", shape=(2,))
    op = relay.op.get("nn.relu")

    def rule(attrs: Any, inputs: Any, types: Any) -> Any:
        assert types[-1] == relay.TensorType((2,))
        return relay.maximum(inputs[0], relay.const(0.0))

    relay.op.register_legalize("nn.relu", rule, level=11)
    try:
        after = relay.Function([x], relay.maximum(x, relay.const(0.0)))
        check(relay.Function([x], relay.nn.relu(x)), after, t.Legalize())
    finally:
        op.reset_attr("FTVMLegalize")


def conv_block() -> Any:
    x, w = relay.var("x", shape=(1, 3, 4, 4)), relay.var("w", shape=(2, 3, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=1) + relay.const(1.0))
    return relay.Function([x, w], y)


def test_fusion() -> None:
    before = conv_block()
    after = run(before, t.FuseOps(2))
    kernels = [e for e in _functions(after) if "Primitive" in e.attrs]
    assert len(kernels) == 1
    assert list(relay.testing.count_ops(kernels[0])) == ["nn.conv2d", "add", "nn.relu"]
    same_numbers(before, after, rand(1, 3, 4, 4), rand(2, 3, 3, 3))
    check(after, before, t.DefuseOps())
    apart = run(before, t.FuseOps(0))
    assert len([e for e in _functions(apart) if "Primitive" in e.attrs]) == 3


def test_fusion_keeps_what_two_kernels_use() -> None:
    x = relay.var("x", shape=(2, 3))
    y = relay.sum(x, axis=1, keepdims=True)
    before = relay.Function([x], relay.exp(y) + relay.sum(y))
    after = run(before, t.FuseOps(2))
    same_numbers(before, after, rand(2, 3))
    assert len([e for e in _functions(after) if "Primitive" in e.attrs]) >= 2


def _functions(func: Any) -> list[Any]:
    found: list[Any] = []
    relay.analysis.post_order_visit(
        func, lambda e: found.append(e) if isinstance(e, relay.Function) else None
    )
    return found


def test_mixed_precision() -> None:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    before = relay.Function([x, w], relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w))))
    halves = relay.cast(x, "float16"), relay.cast(w, "float16")
    narrow = relay.nn.relu(relay.nn.dense(*halves, out_dtype="float16"))
    after = relay.Function([x, w], relay.nn.softmax(relay.cast(narrow, "float32")))
    found = check(before, after, t.ToMixedPrecision("float16"))
    same_numbers(before, found, rand(2, 4), rand(3, 4), tolerance=1e-2)


@pytest.mark.parametrize(
    ("build", "value", "name"),
    [
        (lambda x, w: relay.nn.conv2d(x, w, padding=1), 0, "nn.conv2d"),
        (lambda x, w: relay.nn.max_pool2d(x, (2, 2)), -np.inf, "nn.max_pool2d"),
        (lambda x, w: relay.nn.max_pool2d(x, (2, 2), padding=1), -np.inf, "nn.max_pool2d"),
        (lambda x, w: relay.nn.avg_pool2d(x, (2, 2)), 0, "nn.avg_pool2d"),
        (lambda x, w: relay.nn.avg_pool2d(x, (2, 2), padding=1, count_include_pad=True), 0,
         "nn.avg_pool2d"),
    ],
)
def test_borders_are_made_by_the_next_operator(build: Any, value: float, name: str) -> None:
    x, w = relay.var("x", shape=(1, 3, 4, 4)), relay.var("w", shape=(2, 3, 3, 3))
    widths = ((0, 0), (0, 0), (1, 2), (0, 1))
    before = relay.Function([x, w], build(relay.nn.pad(x, widths, value), w))
    after = run(before, t.FoldExplicitPadding())
    assert relay.testing.count_ops(after) == {name: 1}
    same_numbers(before, after, rand(1, 3, 4, 4), rand(2, 3, 3, 3))
    kept = relay.Function([x, w], build(relay.nn.pad(x, widths, 0.5), w))
    assert "nn.pad" in run(kept, t.FoldExplicitPadding()).astext()


def test_borders_that_count_stay_beside_a_padding_that_does_not() -> None:
    x = relay.var("x", shape=(1, 3, 4, 4))
    padded = relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    kept = relay.Function([x], relay.nn.avg_pool2d(padded, (2, 2), padding=1))
    assert "nn.pad" in run(kept, t.FoldExplicitPadding()).astext()


@pytest.mark.parametrize(("value", "folded"), [(3, True), (0, False)])
def test_borders_of_zero_points_are_made_by_integers(value: int, folded: bool) -> None:
    x = relay.var("x", shape=(1, 2, 4, 4), dtype="int8")
    w = relay.const(np.ones((2, 2, 3, 3), "int8"))
    border = relay.nn.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), relay.const(value, "int8"))
    points = relay.const(3), relay.const(1), relay.const(0.5), relay.const(0.5)
    before = relay.Function([x], relay.qnn.conv2d(border, w, *points, (3, 3), 2))
    after = run(before, t.FoldExplicitPadding())
    assert ("nn.pad" not in after.astext()) == folded
    integers = relay.qnn.transform.CanonicalizeOps()
    before, after = (run(each, integers) for each in (before, after))
    same_numbers(before, after, rand(1, 2, 4, 4).astype("int8"))


def test_borders_of_blocked_channels() -> None:
    x = relay.var("x", shape=(1, 2, 4, 4, 4))
    w = relay.var("w", shape=(1, 2, 3, 3, 4, 4))
    border = relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0)))
    conv = relay.nn.contrib_conv2d_nchwc(
        border, w, kernel_size=(3, 3), channels=4, data_layout="NCHW4c", kernel_layout="OIHW4i4o"
    )
    text = run(relay.Function([x, w], conv), t.FoldExplicitPadding()).astext()
    assert "nn.pad" not in text
    assert "padding=[1, 1, 1, 1]" in text


def test_functions_of_modules() -> None:
    mod = relay.parse(
        HEAD + "def @a(%x: int32, Inline=1) { add(%x, 1) }\n"
        "def @b(%x: int32) { %x }\ndef @main(%x: int32) { @a(@a(%x)) }"
    )
    left = t.RemoveUnusedFunctions()(mod)
    assert sorted(v.name_hint for v in left.functions) == ["a", "main"]
    inlined = t.Inline()(left)
    assert [v.name_hint for v in inlined.functions] == ["main"]
    assert relay.testing.count_ops(inlined["main"]) == {"add": 2}


def test_eta_expansion() -> None:
    mod = relay.parse(
        HEAD + "type Box[A] { Put(A) }\n"
        "def @apply(%f: fn (int32) -> Box[int32]) { %f(1) }\ndef @main() { @apply(Put) }"
    )
    made = t.EtaExpand(expand_constructor=True)(mod)
    assert isinstance(made["main"].body.args[0], relay.Function)


def test_function_passes_of_users() -> None:
    @t.function_pass(opt_level=1)
    def double(func: Any, mod: Any, ctx: Any) -> Any:
        return relay.Function(func.params, func.body + func.body)

    x = relay.var("x", shape=(2,))
    tvm.ir.assert_structural_equal(
        run(relay.Function([x], x), double), run(relay.Function([x], x + x), t.InferType())
    )

    @t.function_pass(opt_level=1)
    class Shift:
        def __init__(self, by: float) -> None:
            self.by = by

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> Any:
            return relay.Function(func.params, func.body + relay.const(self.by))

    found = run(relay.Function([x], x), Shift(2.0))
    shifted = relay.Function([x], x + relay.const(2.0))
    tvm.ir.assert_structural_equal(found, run(shifted, t.InferType()))
    with pytest.raises(ValueError, match="Please provide opt_level"):
        t.function_pass(lambda f, m, c: f)


def test_types_are_inferred_after_a_pass_of_functions() -> None:
    """By a pass that instruments see; before it where the pass says so."""
    seen: list[tuple[str, bool]] = []

    @tvm.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            seen.append((info.name, "ty=Tensor" in str(mod)))

    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], x + x))
    with tvm.transform.PassContext(opt_level=3, instruments=[Names()]):
        tvm.transform.Sequential([t.FoldConstant(), t.EliminateCommonSubexpr()])(mod)
    assert seen == [
        ("sequential", False), ("FoldConstant", False), ("InferType", False), ("InferType", True),
        ("EliminateCommonSubexpr", True), ("InferType", True),
    ]  # fmt: skip


def test_what_is_rebuilt_keeps_its_type() -> None:
    class Swap(relay.ExprMutator):
        def visit_constant(self, c: Any) -> Any:
            return relay.const(5.0)

    x = relay.var("x", shape=(2,))
    typed = run(relay.Function([x], relay.exp(x + relay.const(1.0))), t.InferType())
    body = Swap().visit(typed).body
    assert body.checked_type == typed.body.checked_type
    assert body.args[0].checked_type == relay.TensorType((2,))


def test_long_programs() -> None:
    x, first = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    y: Any = first
    for _ in range(3000):
        y = relay.add(y, x)
    func = relay.Function([x, first], y)
    for made in (
        t.FoldConstant(), t.EliminateCommonSubexpr(), t.SimplifyExpr(), t.DeadCodeElimination(),
        t.CanonicalizeOps(),
    ):  # fmt: skip
        assert relay.testing.count_ops(run(func, made)) == {"add": 3000}
    lets = run(func, t.ToANormalForm())
    tvm.ir.assert_structural_equal(run(lets, t.ToGraphNormalForm()), run(func, t.InferType()))


def test_what_a_type_says_of_a_shape_is_constant() -> None:
    x = relay.var("x", shape=(2, 3, 4))
    for expr, wanted in [
        (relay.ndarray_size(x + x, "int64"), np.int64(24)),
        (relay.op.vm.shape_of(x), np.array([2, 3, 4])),
        (relay.shape_of(x, "int16"), np.array([2, 3, 4], "int16")),
    ]:
        folded = relay.transform.FoldConstant()(tvm.IRModule.from_expr(relay.Function([x], expr)))
        value = folded["main"].body.data.numpy()
        np.testing.assert_array_equal(value, wanted)
        assert value.dtype == wanted.dtype
    open_x = relay.var("x", shape=(2, relay.Any()))
    kept = tvm.IRModule.from_expr(relay.Function([open_x], relay.ndarray_size(open_x)))
    assert "ndarray_size" in str(relay.transform.FoldConstant()(kept))
