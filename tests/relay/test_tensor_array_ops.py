"""Arrays of tensors: what their functions give, for any shape and for one shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay.prelude import (
    Prelude,
    StaticTensorArrayOps,
    TensorArrayOps,
    get_tensor_array_shape,
)

pytestmark = pytest.mark.pure

ROWS = [np.arange(6, dtype="float32").reshape(2, 3) + 10 * i for i in range(3)]


def value(mod: Any, params: list[Any], body: Any, *args: Any) -> Any:
    mod["main"] = relay.Function(params, body)
    return plain(relay.create_executor("debug", mod).evaluate()(*args))


def plain(found: Any) -> Any:
    """A tensor as an array, a list of the prelude as one of Python."""
    if hasattr(found, "numpy"):
        return found.numpy()
    name = found.constructor.name_hint
    if name == "Cons":
        return [plain(found.fields[0]), *plain(found.fields[1])]
    return [] if name in ("Nil",) or "tensor_nil" in name else plain(found.fields[0])


def same(found: Any, wanted: Any) -> None:
    if not isinstance(wanted, list):
        found, wanted = [found], [wanted]
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


class Arrays:
    """The functions of one kind of arrays, and an array of the three rows that `v` stand for."""

    def __init__(self, p: Prelude, func: Any, make: Any) -> None:
        self.mod, self.func, self.make = p.mod, func, make
        self.v = [relay.var(f"v{at}") for at in range(3)]
        self.array = self.filled(func("tensor_array")(relay.const(3)), self.v)

    def filled(self, array: Any, values: list[Any]) -> Any:
        for at, v in enumerate(values):
            array = self.func("tensor_array_write")(array, relay.const(at), self.make(v))
        return array


def any_shape() -> Arrays:
    p = Prelude(tvm.IRModule())
    return Arrays(p, lambda name: p.get_global_var(name, "float32"),
                  p.get_tensor_ctor("tensor2", "float32"))  # fmt: skip


def one_shape(shape: Any = (2, 3)) -> Arrays:
    p = Prelude(tvm.IRModule())
    StaticTensorArrayOps(p, "float32", list(shape)).register()
    make = p.get_tensor_ctor_static("tensor_constructor", "float32", list(shape))
    return Arrays(p, lambda name: p.get_global_var_static(name, "float32", list(shape)), make)


@pytest.fixture(scope="module", params=[any_shape, one_shape])
def arrays(request: Any) -> Arrays:
    return request.param()


def test_read_and_stack(arrays: Arrays) -> None:
    v, n, call = arrays.v, relay.var("n"), arrays.func
    found = value(arrays.mod, [*v, n], call("tensor_array_read")(arrays.array, n), *ROWS,
                  np.int32(1))  # fmt: skip
    same(found, ROWS[1])
    same(value(arrays.mod, v, call("tensor_array_stack")(arrays.array), *ROWS), np.stack(ROWS))


def test_gather_and_scatter(arrays: Arrays) -> None:
    at = relay.var("at")
    params = [*arrays.v, at]
    gathered = arrays.func("tensor_array_gather")(arrays.array, at)
    found = value(arrays.mod, params, gathered, *ROWS, np.array([2, 0], "int32"))
    same(found, np.stack([ROWS[2], ROWS[0]]))
    moved = arrays.func("tensor_array_scatter")(arrays.array, at, arrays.array)
    found = value(arrays.mod, params, moved, *ROWS, np.array([2, 0], "int32"))
    same(found, [ROWS[1], ROWS[1], ROWS[0]])


def test_take_and_concatenate(arrays: Arrays) -> None:
    x, low, high = (relay.var(name) for name in ("x", "low", "high"))
    taken = arrays.func("tensor_take")(arrays.make(x), low, high)
    found = value(arrays.mod, [x, low, high], taken, ROWS[0], np.int32(1), np.int32(2))
    same(found, ROWS[0][1:2])
    twice = arrays.func("tensor_concatenate")(arrays.make(x), arrays.make(x))
    same(value(arrays.mod, [x], twice, ROWS[0]), np.concatenate([ROWS[0], ROWS[0]]))
    wide = arrays.func("tensor_expand_dims")(arrays.make(x))
    same(value(arrays.mod, [x], wide, ROWS[0]), ROWS[0][None])


def test_concat_and_split_of_rows() -> None:
    for arrays in (any_shape(), one_shape((relay.Any(), 3))):
        joined = arrays.func("tensor_array_concat")(arrays.array)
        same(value(arrays.mod, arrays.v, joined, *ROWS), np.concatenate(ROWS))
        x, lengths = relay.var("x"), relay.var("lengths")
        empty = arrays.func("tensor_array")(relay.const(2))
        parts = arrays.func("tensor_array_split")(empty, arrays.make(x), lengths)
        found = value(arrays.mod, [x, lengths], parts, ROWS[0], np.array([1, 1], "int32"))
        same(found, [ROWS[0][:1], ROWS[0][1:]])


def test_unstack() -> None:
    x = relay.var("x")
    for arrays, name in ((any_shape(), "tensor_array_unstack_tensor2"),
                         (one_shape(), "tensor_array_unstack")):  # fmt: skip
        same(value(arrays.mod, [x], arrays.func(name)(x), ROWS[0]), list(ROWS[0]))


def test_data_of_one_shape() -> None:
    arrays = one_shape()
    x = relay.var("x")
    same(value(arrays.mod, [x], arrays.func("tensor_get_data")(arrays.make(x)), ROWS[0]), ROWS[0])


def test_number_of_elements_in_types() -> None:
    p = Prelude(tvm.IRModule())
    StaticTensorArrayOps(p, "float32", [2], 3).register()
    stack = p.get_global_var_static("tensor_array_stack", "float32", [2], 3)
    assert stack.name_hint == "tensor_array_stack_float32_3_2"
    ret = relay.transform.InferType()(p.mod)[stack].ret_type
    assert ret == p.get_type_static("tensor_t", "float32", [3, 2])


def test_shape_of_an_array() -> None:
    p = Prelude(tvm.IRModule())
    StaticTensorArrayOps(p, "float32", [relay.Any(), 3]).register()
    one = p.get_global_var_static("tensor_array", "float32", [relay.Any(), 3])
    found = get_tensor_array_shape(one(relay.const(2)), "float32", p)
    assert found is not None
    assert isinstance(found[0], relay.Any)
    assert found[1] == 3
    any_one = p.get_global_var("tensor_array", "float32")
    assert get_tensor_array_shape(any_one(relay.const(2)), "float32", p) is None
    with pytest.raises(TVMError, match="list of tensors"):
        get_tensor_array_shape(relay.const(1), "float32", p)


def test_definitions_can_be_replaced() -> None:
    p = Prelude(tvm.IRModule())
    ops = StaticTensorArrayOps(p, "int32", [])
    ops.register()
    scatter = ops.get_global_var("tensor_array_scatter")
    before = p.mod[scatter]
    ops.define_tensor_array_scatter([2])
    assert p.mod[scatter] is before
    ops.define_tensor_array_scatter([2], force_update=True)
    assert p.mod[scatter].params[1].type_annotation == relay.TensorType((2,), "int32")
    assert ops.is_cached("tensor_array_scatter_int32_scalar")


def test_tensors_come_when_they_are_asked_for() -> None:
    p = Prelude(tvm.IRModule())
    assert "tensor_array_int8" not in {var.name_hint for var in p.mod.functions}
    nil = p.get_tensor_ctor("tensor_nil", "int8")
    assert nil.belong_to == TensorArrayOps(p, "int8").get_type("tensor_t")
    with pytest.raises(TVMError, match="tensor_nil_int8, tensor0_int8"):
        p.get_tensor_ctor("tensor9", "int8")
