"""Strategies of Relay's operators: their own way, and those of targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, te, topi
from tvm.relay.backend import te_compiler
from tvm.relay.op.strategy import generic
from tvm.relay.testing import run_infer_type

pytestmark = pytest.mark.cpu
RANDOM = np.random.default_rng(0)


def var(name: str, *shape: int, dtype: str = "float32") -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


def selected(call: Any, target: str = "llvm") -> tuple[Any, list[Any], list[Any]]:
    """The best way of a call, its tensors, and those of its operands."""
    typed = run_infer_type(call)
    types = [
        t for arg in typed.args for t in getattr(arg.checked_type, "fields", [arg.checked_type])
    ]
    inputs = [te.placeholder([int(e) for e in t.shape], t.dtype) for t in types]
    way, made = te_compiler.select_implementation(
        typed.op, typed.attrs, inputs, typed.checked_type, tvm.target.Target(target),
        use_autotvm=False,
    )  # fmt: skip
    return way, made, inputs


def computed(inputs: Sequence[Any], outputs: Sequence[Any], given: Sequence[Any]) -> Any:
    kernel = tvm.tir.build(te.create_prim_func([*inputs, *outputs]), "llvm")
    found = tvm.nd.empty([int(e) for e in outputs[0].shape], outputs[0].dtype)
    kernel(*[tvm.nd.array(g) for g in given], found)
    return found.numpy()


X, W = var("x", 1, 4, 6, 6), var("w", 4, 4, 3, 3)
WAYS = [
    (relay.nn.conv2d(X, W), "llvm", "conv2d_nchw.x86"),
    (relay.nn.conv2d(X, W), "cuda", "conv2d_nchw.cuda"),
    (relay.nn.conv2d(X, var("w", 4, 1, 3, 3), groups=4), "llvm", "depthwise_conv2d_nchw.x86"),
    (relay.nn.conv2d(X, var("w", 4, 2, 3, 3), groups=2), "llvm", "group_conv2d_nchw.x86"),
    (relay.nn.softmax(X), "llvm", "softmax.x86"),
    (relay.nn.relu(X), "llvm", "injective.cpu"),
    (relay.sum(X, [1]), "cuda", "reduce.cuda"),
    (relay.concatenate([X, X], 1), "llvm", "concatenate.cpu"),
    (relay.concatenate([X, X], 1), "llvm -device=arm_cpu", "concatenate.arm_cpu"),
    (relay.argsort(X), "llvm", "argsort.generic"),
    (relay.argsort(X), "cuda", "argsort.cuda"),
    (relay.nn.dense(var("d", 2, 4), var("e", 3, 4)), "llvm -device=arm_cpu", "dense_pack.x86"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "target", "name"), WAYS)
def test_each_operator_has_its_own_way(call: Any, target: str, name: str) -> None:
    way, made, inputs = selected(call, target)
    assert way.name == name
    wanted = run_infer_type(call).checked_type
    assert [int(e) for e in made[0].shape] == [int(e) for e in wanted.shape]
    if target == "llvm":
        given = [RANDOM.random([int(e) for e in t.shape]).astype("float32") for t in inputs]
        params = [var(f"p{at}", *g.shape) for at, g in enumerate(given)]
        tuples = call.op.name == "concatenate"
        args = [relay.Tuple(params)] if tuples else params
        func = relay.Function(params, relay.Call(call.op, args, call.attrs))
        run = relay.create_executor("debug", tvm.IRModule.from_expr(func)).evaluate()
        np.testing.assert_allclose(
            computed(inputs, made, given), run(*given).numpy(), rtol=1e-5, atol=1e-5
        )


def test_targets_have_their_own_strategies() -> None:
    @generic.dense_strategy.register("strange", override=True)
    def dense_strategy_strange(attrs: Any, inputs: Any, out_type: Any, target: Any) -> Any:
        made = relay.op.OpStrategy()
        made.add_implementation(
            generic.wrap_compute_dense(topi.nn.dense),
            generic.wrap_topi_schedule(lambda outs: ("scheduled", outs)), name="dense.strange",
        )  # fmt: skip
        return made

    call = relay.nn.dense(var("x", 2, 3), var("w", 4, 3))
    assert selected(call)[0].name == "dense_pack.x86"
    way, made, inputs = selected(call, "llvm -keys=strange,cpu")
    assert way.name == "dense.strange"
    given = [RANDOM.random((2, 3), "float32"), RANDOM.random((4, 3), "float32")]
    np.testing.assert_allclose(computed(inputs, made, given), given[0] @ given[1].T, rtol=1e-5)
    assert way.schedule(None, made, tvm.target.Target("llvm")) == ("scheduled", made)


WRAPPED = [
    (relay.nn.conv2d(X, W, padding=(1, 1)), generic.wrap_compute_conv2d(topi.nn.conv2d_nchw)),
    (relay.nn.conv2d(X, var("w", 4, 2, 3, 3), groups=2),
     generic.wrap_compute_conv2d(topi.nn.group_conv2d_nchw, has_groups=True)),
    (relay.nn.matmul(var("x", 3, 2), var("y", 3, 4), transpose_a=True),
     generic.wrap_compute_matmul(topi.nn.matmul)),
    (relay.nn.softmax(var("x", 2, 5), 0), generic.wrap_compute_softmax(topi.nn.softmax)),
    (relay.nn.conv2d_transpose(var("x", 1, 2, 4, 4), var("w", 2, 3, 3, 3), strides=(2, 2),
                               output_padding=(1, 1)),
     generic.wrap_compute_conv2d_transpose(topi.nn.conv2d_transpose_nchw)),
    (relay.argsort(var("x", 2, 5), 1), generic.wrap_compute_argsort(topi.argsort)),
    (relay.sort(var("x", 2, 5), 0, False), generic.wrap_compute_sort(topi.sort)),
    (relay.exp(var("x", 2, 5)), generic.wrap_topi_compute(topi.exp)),
    (relay.cumsum(var("x", 2, 5), 1, exclusive=True), generic.wrap_compute_scanop(topi.cumsum)),
    (relay.concatenate([var("x", 2, 2), var("y", 2, 3)], 1),
     generic.wrap_compute_concat(topi.concatenate)),
]  # fmt: skip


@pytest.mark.parametrize(("call", "compute"), WRAPPED, ids=[c.op.name for c, _ in WRAPPED])
def test_functions_of_tensors_take_the_options_of_a_call(call: Any, compute: Any) -> None:
    _, made, inputs = selected(call)
    given = [RANDOM.random([int(e) for e in t.shape]).astype("float32") for t in inputs]
    other = compute(call.attrs, inputs, run_infer_type(call).checked_type)
    np.testing.assert_allclose(
        computed(inputs, other, given), computed(inputs, made, given), rtol=1e-5, atol=1e-5
    )


def test_questions_about_convolutions() -> None:
    assert generic.get_conv2d_in_channels((1, 2, 5, 5, 8), "NCHW8c") == 16
    assert generic.get_conv2d_out_channels((3, 3, 4, 7), "HWIO") == 7
    assert generic.is_depthwise_conv2d((1, 4, 5, 5), "NCHW", (4, 1, 3, 3), "OIHW", 4)
    assert not generic.is_depthwise_conv2d((1, 4, 5, 5), "NCHW", (4, 4, 3, 3), "OIHW", 1)
    assert generic.schedule_injective(None, ["out"], None) == ["out"]
