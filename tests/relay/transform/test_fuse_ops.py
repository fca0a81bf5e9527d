"""Fusion: which calls share a kernel, what its parameters are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import module, same_numbers
from tvm import relay
from tvm.relay import transform as t
from tvm.relay.testing import run_infer_type, run_opt_pass

pytestmark = pytest.mark.pure


def fused(body: Any, level: int = 2, **config: Any) -> Any:
    func = relay.Function(relay.analysis.free_vars(body), body)
    with tvm.transform.PassContext(config=config):
        return run_opt_pass(func, t.FuseOps(level))


def kernels(func: Any) -> list[Any]:
    found: list[Any] = []
    relay.analysis.post_order_visit(
        func, lambda e: found.append(e) if isinstance(e, relay.Function) else None
    )
    return [e for e in found if e.attrs.get("Primitive")]


def test_shapes_are_asked_for_apart() -> None:
    x = relay.var("x", shape=(2, 3))
    found = kernels(fused(relay.exp(relay.cast(relay.shape_of(relay.exp(x)), "float32"))))
    assert len(found) == 3
    assert isinstance(found[1].body.args[0], relay.Var)


def kernel(params: list[Any], body: Any) -> Any:
    return relay.Function(params, body).with_attr("Primitive", tvm.tir.IntImm("int32", 1))


def var(name: str, *shape: int) -> Any:
    return relay.var(name, shape=shape)


def test_what_two_kernels_need_is_one_of_its_own() -> None:
    x = var("x", 1, 2, 8, 8)
    pooled = relay.nn.max_pool2d(x, (2, 2), strides=(2, 2))
    body = relay.concatenate((relay.nn.upsampling(pooled, 2, 2), x), axis=1)
    after = fused(body)
    a, p, q = var("a", 1, 2, 8, 8), var("p", 1, 2, 4, 4), var("q", 1, 2, 8, 8)
    first = kernel([a], relay.nn.max_pool2d(a, (2, 2), strides=(2, 2)))
    second = kernel([p, q], relay.concatenate((relay.nn.upsampling(p, 2, 2), q), axis=1))
    y = var("y", 1, 2, 8, 8)
    expected = relay.Function([y], second(first(y), y))
    tvm.ir.assert_structural_equal(after, run_infer_type(expected))
    same_numbers(module(body), tvm.IRModule.from_expr(after))


def test_branches_that_meet_share_a_kernel() -> None:
    x = var("x", 4, 6)
    y = relay.add(x, relay.const(1.0))
    after = fused(relay.add(relay.exp(y), relay.transpose(y, [0, 1])))
    assert len(kernels(after)) == 1


def test_a_stop_is_one() -> None:
    x = var("x", 4)
    after = fused(relay.exp(relay.annotation.stop_fusion(relay.add(x, relay.const(1.0)))))
    assert relay.testing.count_ops(after) == {"add": 1, "exp": 1}
    assert len(kernels(after)) == 2


def test_no_kernel_has_more_steps_than_asked() -> None:
    y = var("x", 3)
    for _ in range(40):
        y = relay.exp(y)
    assert len(kernels(fused(y))) == 1
    assert len(kernels(fused(y, **{"relay.FuseOps.max_depth": 10}))) == 4


def test_constants_are_arguments_unless_linked() -> None:
    body = relay.add(var("x", 3), relay.const(np.ones(3, "float32")))
    assert len(kernels(fused(body))[0].params) == 2
    assert len(kernels(fused(body, **{"relay.FuseOps.link_params": True}))[0].params) == 1


def test_reshapes_alone_are_marked() -> None:
    func = kernels(fused(relay.reshape(relay.expand_dims(var("x", 3), 0), (3, 1))))[0]
    assert func.attrs["relay.reshape_only"] == 1
    assert "relay.reshape_only" not in kernels(fused(relay.exp(var("x", 3))))[0].attrs


def test_tuples_inside_of_kernels_and_around_them() -> None:
    x = var("x", 4, 6)
    parts = relay.split(relay.exp(x), 2, axis=0)
    after = fused(relay.add(parts[0], parts[1]))
    assert len(kernels(after)) == 1
    root = fused(relay.Tuple([relay.exp(x), x]))
    assert isinstance(root.body, relay.Tuple)
    same_numbers(module(relay.add(parts[0], parts[1])), tvm.IRModule.from_expr(after))
