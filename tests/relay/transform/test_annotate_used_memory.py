"""Bytes in use while kernels run."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay import transform
from tvm.relay.transform import _ffi_api

pytestmark = pytest.mark.pure


def kernel(expr: Any) -> Any:
    return relay.Function(relay.analysis.free_vars(expr), expr).with_attr("Primitive", 1)


def pool(size: int, dtype: str = "int8") -> Any:
    x = relay.var("p", shape=(1, size, size, 2), dtype=dtype)
    return kernel(relay.nn.max_pool2d(x, pool_size=(2, 2), layout="NHWC"))


def annotated(expr: Any) -> Any:
    mod = transform.InferType()(tvm.IRModule.from_expr(expr))
    mod = transform.InferType()(transform.ToANormalForm()(mod))
    return _ffi_api.AnnotateUsedMemory()(mod)["main"]


def used(func: Any) -> list[list[int]]:
    found: list[list[int]] = []

    def look(e: Any) -> None:
        if isinstance(e, relay.Function) and "Primitive" in e.attrs:
            found.append([int(n) for n in e.attrs["used_memory"]])

    relay.analysis.post_order_visit(func.body, look)
    return found


def test_a_chain() -> None:
    x = relay.var("x", shape=(1, 8, 8, 2), dtype="int8")
    func = annotated(pool(7)(pool(8)(x)))
    assert used(func) == [[128 + 98], [98 + 72]]
    assert func.attrs["io_used_memory"] == 128 + 72


def test_values_of_other_calls_are_counted_until_their_last_use() -> None:
    x = relay.var("x", shape=(1, 8, 8, 2), dtype="int8")
    joined = relay.Tuple([pool(8)(x), pool(8)(x)])
    func = annotated(joined)
    assert used(func) == [[128 + 98], [128 + 98 + 98]]
    assert func.attrs["io_used_memory"] == 128 + 2 * 98


def test_one_number_for_each_call_of_a_kernel() -> None:
    x = relay.var("x", shape=(1, 4, 4, 2), dtype="float32")
    p = relay.var("p", shape=(1, 4, 4, 2), dtype="float32")
    relu = kernel(relay.nn.relu(p))
    assert used(annotated(relay.add(relu(relu(x)), x))) == [[2 * 128, 3 * 128]]


def test_what_has_no_number_is_refused() -> None:
    x = relay.var("x", shape=(relay.Any(), 4, 4, 2), dtype="int8")
    p = relay.var("p", shape=(relay.Any(), 4, 4, 2), dtype="int8")
    with pytest.raises(TVMError, match="does not support dynamic shapes"):
        annotated(kernel(relay.nn.relu(p))(x))
    y = relay.var("y", shape=(1,), dtype="int8")
    with pytest.raises(TVMError, match="does not support control flow"):
        annotated(relay.If(relay.const(True), y, y))
