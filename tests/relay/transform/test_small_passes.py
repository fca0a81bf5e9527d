"""Lifted functions, dilated convolutions, casts."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tests.relay.transform.numbers import module, ops, same_numbers
from tvm import relay
from tvm.relay import transform as t

pytestmark = pytest.mark.pure


def lifted(before: Any) -> Any:
    after = t.LambdaLift()(before)
    from tvm.relay.traverse import post_order

    for var, func in after.functions.items():
        inner = [e for e in post_order(func.body) if isinstance(e, relay.Function)]
        nested = [e for e in inner if e is not func.body]
        assert not nested, var
    return after


def test_functions_without_surroundings_are_lifted_as_they_are() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    before = module(relay.Function([x], relay.exp(x))(y), y)
    after = lifted(before)
    assert sorted(v.name_hint for v in after.functions) == ["lifted_name0", "main"]
    assert isinstance(after["main"].body.op, tvm.ir.GlobalVar)
    same_numbers(before, after)


def test_what_a_function_takes_from_around_becomes_parameters() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    before = module(relay.Function([x], x + y)(relay.exp(y)), y)
    after = lifted(before)
    assert after["lifted_name0"].attrs["Closure"] == 1
    assert len(after["lifted_name0"].params) == 1
    same_numbers(before, after)


def test_closures_of_closures() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    z = relay.var("z", shape=(2,))
    outer = relay.Function([y], relay.Function([x], x + y))
    before = module(relay.Call(outer(z), [relay.exp(z)]), z)
    after = lifted(before)
    assert len(after.functions) == 3
    same_numbers(before, after)


@pytest.mark.parametrize("captures", [False, True])
def test_functions_that_call_themselves(captures: bool) -> None:
    n, acc = relay.var("n", shape=(), dtype="int32"), relay.var("acc", shape=(2,))
    step = relay.var("step", shape=(2,))
    loop = relay.Var("loop", relay.FuncType(
        [relay.scalar_type("int32"), relay.TensorType((2,))], relay.TensorType((2,))))  # fmt: skip
    more = acc + step if captures else acc + acc
    body = relay.If(
        relay.equal(n, relay.const(0)), acc, loop(n - relay.const(1), more)
    )
    func = relay.Function([n, acc], body, relay.TensorType((2,)))
    before = module(relay.Let(loop, func, loop(relay.const(3), step)), step)
    after = lifted(before)
    assert len(after.functions) == 2
    same_numbers(before, after)


def test_kernels_stay() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    func = relay.Function([x], relay.exp(x), attrs={"Primitive": 1})
    assert len(t.LambdaLift()(module(func(y), y)).functions) == 1


def atrous(crops: Any, **options: Any) -> Any:
    x, w = relay.var("x", shape=(1, 5, 5, 4)), relay.var("w", shape=(3, 3, 4, 2))
    y = relay.nn.space_to_batch_nd(x, [2, 2], [[2, 3], [2, 3]])
    y = relay.nn.conv2d(y, w, channels=2, kernel_size=(3, 3), data_layout="NHWC",
                        kernel_layout="HWIO", **options)  # fmt: skip
    return module(relay.nn.batch_to_space_nd(y, [2, 2], crops), x, w)


def test_filters_on_blocks_are_filters_with_gaps() -> None:
    before = atrous([[0, 1], [0, 1]])
    after = t.FlattenAtrousConv()(before)
    assert ops(after) == ["nn.conv2d"]
    attrs = after["main"].body.attrs
    assert (attrs.padding, attrs.dilation) == ((2, 2, 2, 2), (2, 2))
    same_numbers(before, after)
    other = atrous([[1, 2], [0, 1]])
    same_numbers(other, t.FlattenAtrousConv()(other))


def test_other_rearrangements_stay() -> None:
    before = atrous([[0, 1], [0, 1]], padding=(1, 1))
    assert ops(t.FlattenAtrousConv()(before)) == ops(before)


def test_wide_casts_have_one_user() -> None:
    x = relay.var("x", shape=(2,), dtype="int8")
    wide = relay.cast(x, "float32")
    before = module(relay.Tuple([relay.exp(wide), relay.tanh(wide)]), x)
    after = t.CanonicalizeCast()(before)
    assert ops(before).count("cast") == 1
    assert ops(after).count("cast") == 2
    same_numbers(before, after)
    narrow = relay.cast(relay.var("y", shape=(2,)), "int8")
    kept = module(relay.Tuple([relay.abs(narrow), relay.negative(narrow)]))
    assert ops(t.CanonicalizeCast()(kept)).count("cast") == 1


def chain() -> tuple[Any, list[Any]]:
    x = relay.var("x", shape=(1, 4, 5, 5))
    w = [relay.var(f"w{at}", shape=(4, 4, 1, 1)) for at in range(3)]
    y: Any = x
    for weight in w:
        y = relay.nn.conv2d(y, weight)
    return relay.Function([x, *w], y), w


def test_operators_in_another_type() -> None:
    x, w = relay.var("x", shape=(1, 4, 5, 5)), relay.var("w", shape=(4, 4, 3, 3))
    before = relay.Function([x, w], relay.nn.conv2d(x, w, padding=(1, 1)))
    after = relay.transform.recast(before, "int8", "int32")
    y = relay.nn.conv2d(relay.cast(x, "int8"), relay.cast(w, "int8"), padding=(1, 1),
                        out_dtype="int32")  # fmt: skip
    wanted = module(relay.cast(y, "float32"), x, w)["main"]
    tvm.ir.assert_structural_equal(after, wanted)


def test_layers_are_left_alone_by_number() -> None:
    func, _ = chain()

    def types(skip: list[int]) -> list[str]:
        from tvm.relay.traverse import post_order

        made = relay.transform.recast(func, "int8", "int32", skip_layers=skip)
        return [
            str(e.attrs.out_dtype) for e in post_order(made)
            if isinstance(e, relay.Call) and getattr(e.op, "name", "") == "nn.conv2d"
        ]  # fmt: skip

    assert types([]) == ["int32", "int32", "int32"]
    assert types([0]) == ["", "int32", "int32"]
    assert types([0, -1]) == ["", "int32", ""]


def test_joined_tensors_in_another_type() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    func = relay.Function([x, y], relay.concatenate([x, y], 0))
    made = relay.transform.recast(func, "int8", "int32", ops=["concatenate"])
    wanted = relay.cast(relay.concatenate([relay.cast(x, "int8"), relay.cast(y, "int8")], 0),
                        "float32")  # fmt: skip
    tvm.ir.assert_structural_equal(made, module(wanted, x, y)["main"])


def test_another_batch() -> None:
    x, w = relay.var("x", shape=(1, 4)), relay.var("w", shape=(3, 4))
    before = module(relay.nn.relu(relay.nn.dense(x, w)), x, w)
    x = before["main"].params[0]
    after = t.ChangeBatch({x: 0}, batch_size=5)(before)
    assert after["main"].ret_type == relay.TensorType((5, 3))
    assert after["main"].params[1].checked_type == relay.TensorType((3, 4))
    f = relay.var("f", relay.TupleType([relay.TensorType((1,))]))
    before = module(f, f)
    with pytest.raises(tvm.TVMError, match="%f is no tensor"):
        t.ChangeBatch({f: 0})(before)


@pytest.mark.parametrize("limit", [3, 4, 8])
def test_concatenations_in_steps(limit: int) -> None:
    xs = [relay.var(f"x{at}", shape=(2, 1 + at % 3)) for at in range(9)]
    before = module(relay.exp(relay.concatenate(xs, 1)), *xs)
    after = t.SplitArgs(limit)(before)
    joins = [
        e for e in relay.traverse.post_order(after["main"])
        if isinstance(e, relay.Call) and e.op.name == "concatenate"
    ]  # fmt: skip
    assert len(joins) > 1
    for call in joins:
        assert call.args[0].op.name == "annotation.stop_fusion"
        assert len(call.args[0].args[0].fields) <= limit - 1
    same_numbers(before, after)


def test_short_concatenations_stay() -> None:
    xs = [relay.var(f"x{at}", shape=(2,)) for at in range(3)]
    before = module(relay.concatenate(xs, 0), *xs)
    for limit in (0, 8):
        tvm.ir.assert_structural_equal(t.SplitArgs(limit)(before), before)
    with pytest.raises(tvm.TVMError, match="legal: 0, or 2 and more"):
        t.SplitArgs(1)(before)


def test_concatenations_go_tensor_by_tensor() -> None:
    xs = [relay.var(f"x{at}", shape=(2,)) for at in range(2)]
    stop = relay.annotation.stop_fusion
    first = relay.concatenate(stop(relay.Tuple(xs[:1])), 0)
    after = module(relay.concatenate(stop(relay.Tuple([first, xs[1]])), 0), *xs)
    before = module(relay.concatenate(xs, 0), *xs)
    tvm.ir.assert_structural_equal(t.SplitArgs(2)(before), after)


def test_spans_of_the_text() -> None:
    x = relay.var("x", shape=(2,))
    before = module(relay.exp(relay.tanh(x)), x)
    after = t.AnnotateSpans()(before)
    assert after["main"].body.span.source_name.name == "GeneratedSource"
    assert after["main"].body.span.line > after["main"].body.args[0].span.line
    tvm.ir.assert_structural_equal(t.InferType()(after), before)


def shared_by_branches() -> Any:
    cond, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(3,))
    y = relay.exp(x)
    return module(relay.If(cond, relay.add(y, x), relay.log(y)) + y, cond, x)


def test_steps_of_several_branches_are_named_before_them() -> None:
    before = shared_by_branches()
    after = t.ToANormalForm()(before)
    assert ops(after).count("exp") == 1
    assert after["main"].body.value.op.name == "exp"
    branch = after["main"].body.body.value.true_branch
    assert branch.value.args[0].same_as(after["main"].body.var)
    same_numbers(before, after)


def test_values_of_one_use_are_inlined() -> None:
    x, y, z = relay.var("x", shape=(3,)), relay.var("y", shape=(3,)), relay.var("z", shape=(3,))
    f, a = relay.var("f"), relay.var("a")
    inline = t.DeadCodeElimination(inline_once=True)
    once = relay.Let(f, relay.Function([y], relay.exp(y)), relay.Let(a, f(x), a + x))
    assert not isinstance(inline(module(once, x))["main"].body, relay.Let)
    twice = relay.Let(f, relay.Function([y], relay.exp(y)), relay.Let(a, f(x), a + f(x)))
    body = inline(module(twice, x))["main"].body
    assert isinstance(body, relay.Let)
    assert isinstance(body.body, relay.Call)  # a call without effects is inlined
    g = relay.Var("g", relay.FuncType([z.type_annotation], z.type_annotation))
    unknown = relay.Let(a, g(x), a + x)
    assert isinstance(inline(module(unknown, x, g))["main"].body, relay.Let)
    dropped = relay.Let(a, relay.nn.dropout_raw(x), relay.TupleGetItem(a, 0) + x)
    assert isinstance(inline(module(dropped, x))["main"].body, relay.Let)


def test_open_extents_stay_open() -> None:
    x, w = relay.var("x", shape=(relay.Any(), 4)), relay.var("w", shape=(3, 4))
    before = module(relay.nn.dense(relay.nn.relu(x), w), x, w)
    tvm.ir.assert_structural_equal(t.DynamicToStatic()(before), before)


@pytest.mark.parametrize("name", ["conv1d", "upsampling", "resize3d"])
def test_operators_without_a_rule_keep_their_layout(name: str) -> None:
    x = relay.var("x", shape=(1, 4, 6) if name == "conv1d" else (1, 4, 6, 6))
    if name == "conv1d":
        body = relay.nn.conv1d(x, relay.var("w", shape=(8, 4, 3)), kernel_size=3, channels=8)
    elif name == "upsampling":
        body = relay.nn.upsampling(x, 2, 2)
    else:
        x = relay.var("x", shape=(1, 4, 3, 3, 3))
        body = relay.image.resize3d(x, (6, 6, 6))
    wanted = {"nn.conv1d": ["NWC", "default"], "nn.upsampling": ["NHWC"],
              "image.resize3d": ["NDHWC"]}  # fmt: skip
    before = module(body)
    tvm.ir.assert_structural_equal(t.ConvertLayout(wanted)(before), before)


TEXT = '#[version = "0.0.5"]\n'
COUNT = "def @f(%x: float32) -> float32 { if (less(%x, 1f)) { %x } else { @f(%x * 2f) } }\n"
WRITE = "def @f(%x: float32) -> float32 { let %r = ref(%x); let %u = ref_write(%r, 1f); %x }\n"
CALL = "def @h(%g: fn(float32) -> float32, %x: float32) -> float32 { %g(%x) }\n"


@pytest.mark.parametrize(
    ("functions", "is_free"),
    [
        ("def @f(%x: float32) -> float32 { %x + 1f }\n", True),
        (COUNT, True),
        (WRITE, False),
        (CALL + "def @f(%x: float32) -> float32 { @h(fn (%y: float32) { %y }, %x) }\n", False),
    ],
)
def test_calls_of_functions_without_effects_go(functions: str, is_free: bool) -> None:
    for body, gone in (("let %a = @f(%x); %x", "%x"), ("let %a = @f(%x); %a + 1f", "@f(%x) + 1f")):
        before = relay.fromtext(f"{TEXT}{functions}def @main(%x: float32) {{ {body} }}")
        after = t.DeadCodeElimination(inline_once=True)(before)["main"]
        wanted = relay.fromtext(f"{TEXT}{functions}def @main(%x: float32) {{ {gone} }}")["main"]
        assert tvm.ir.structural_equal(after, wanted, map_free_vars=True) == is_free


def test_global_functions_are_expanded_where_they_are_called_too() -> None:
    mod = relay.fromtext(
        f"{TEXT}def @f(%x: int32) -> int32 {{ %x }}\ndef @main(%x: int32) {{ @f(@f(%x)) }}"
    )
    body = t.EtaExpand(expand_global_var=True)(mod)["main"].body
    assert isinstance(body.op, relay.Function)
    assert body.op.same_as(body.args[0].op)
    assert isinstance(body.op.body.op, tvm.ir.GlobalVar)


def test_a_module_asks_for_the_pass_of_first_order_gradients() -> None:
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.exp(x))
    with pytest.raises(RuntimeError, match="FirstOrderGradient"):
        t.gradient(func, tvm.IRModule(), mode="first_order")


def test_a_recursive_function_is_not_written_out_in_itself() -> None:
    mod = t.PartialEvaluate()(relay.fromtext(f"{TEXT}{COUNT}def @main(%x: float32) {{ @f(%x) }}"))
    assert str(mod["f"]).count("if (") == 1
