"""Operators whose shape is a value of the program: run, and in their form with numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import module, ops
from tvm import relay
from tvm.relay import transform as t

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(4)
X = RNG.uniform(-1, 1, (2, 3)).astype("float32")
IMAGE = RNG.uniform(-1, 1, (1, 2, 4, 4)).astype("float32")
VOLUME = RNG.uniform(-1, 1, (1, 2, 2, 3, 3)).astype("float32")
c = relay.const

# how a call is made, its data, the numbers that are values, and their type
CASES: dict[str, tuple[Callable[..., Any], Any, list[int] | float, str]] = {
    "dyn.reshape": (relay.reshape, X, [3, -1], "int64"),
    "dyn.tile": (relay.tile, X, [2, 1, 2], "int64"),
    "dyn.broadcast_to": (relay.broadcast_to, X, [4, 2, 3], "int64"),
    "dyn.zeros": (lambda x, n: relay.zeros(n, "float32"), X, [3, 2], "int64"),
    "dyn.ones": (lambda x, n: relay.ones(n, "int32"), X, [3, 2], "int64"),
    "dyn.full": (lambda x, n: relay.full(c(2.5), n), X, [3, 2], "int64"),
    "dyn.one_hot": (
        lambda x, n: relay.one_hot(relay.cast(x, "int32"), c(1.0), c(0.0), n, -1, "float32"),
        X, 4, "int32",
    ),
    "dyn.topk": (lambda x, n: relay.topk(x, n)[0], X, 2, "int64"),
    "dyn.expand_dims": (relay.expand_dims, X, 1, "int64"),
    "dyn.squeeze": (lambda x, n: relay.squeeze(relay.expand_dims(x, 0), n), X, [0], "int64"),
    "dyn.strided_slice": (lambda x, n: relay.strided_slice(x, n, [2, 3]), X, [1, 1], "int64"),
    "dyn.sparse_to_dense": (
        lambda x, n: relay.sparse_to_dense(c(np.array([1, 3])), n, c(np.array([7, 8]))),
        X, [5], "int64",
    ),
    "dyn.nn.pad": (relay.nn.pad, X, [[1, 0], [2, 1]], "int64"),  # type: ignore[list-item]
    "dyn.image.resize2d": (relay.image.resize2d, IMAGE, [6, 8], "int64"),
    "dyn.nn.upsampling": (lambda x, n: relay.nn.upsampling(x, n, n), IMAGE, 2.0, "float32"),
    "dyn.nn.upsampling3d": (
        lambda x, n: relay.nn.upsampling3d(x, n, n, n), VOLUME, 2.0, "float32",
    ),
}  # fmt: skip


def run(mod: Any, *arrays: Any) -> Any:
    return relay.create_executor("vm", mod).evaluate()(*arrays).numpy()


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_the_program(name: str) -> None:
    make, data, numbers, dtype = CASES[name]
    array = np.array(numbers, dtype)
    x = relay.var("x", shape=data.shape)
    n = relay.var("n", shape=array.shape, dtype=dtype)
    open_mod = module(make(x, n), x, n)
    assert name in ops(open_mod)
    plain = module(make(x, c(array)), x)
    assert name not in ops(plain)
    wanted = run(plain, data)
    found = run(open_mod, data, array)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_constants_make_them_static(name: str) -> None:
    make, data, numbers, dtype = CASES[name]
    array = np.array(numbers, dtype)
    x = relay.var("x", shape=data.shape)
    # a number that is known only once the program is folded
    zero = c(np.zeros(array.shape, dtype))
    before = module(make(x, relay.add(c(array), zero)), x)
    assert name in ops(before)
    after = t.DynamicToStatic()(before)
    assert not [op for op in ops(after) if op.startswith("dyn.")]
    found, wanted = run(after, data), run(before, data)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert all(hasattr(d, "value") for d in _shape(after["main"].ret_type))


def _shape(found: Any) -> Any:
    return found.shape


def test_shapes_of_other_tensors() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(relay.Any(), 3))
    mod = module(relay.broadcast_to(x, relay.shape_of(y)), x, y)
    assert str(mod["main"].ret_type) == "Tensor[(?, ?), float32]"
    assert run(mod, X, X).shape == (2, 3)
    known = relay.var("y", shape=(4, 2, 3))
    mod = t.DynamicToStatic()(module(relay.broadcast_to(x, relay.shape_of(known)), x, known))
    assert mod["main"].ret_type == relay.TensorType((4, 2, 3), "float32")


def test_text_reads_back() -> None:
    x, n = relay.var("x", shape=(2, 3)), relay.var("n", shape=(2,), dtype="int64")
    mod = module(relay.strided_slice(relay.tile(x, n), n, [2, 3]), x, n)
    again = t.InferType()(relay.parse(mod.astext()))
    tvm.ir.assert_structural_equal(again, mod)


def test_operands_and_attributes_as_programs_are_printed() -> None:
    x, n = relay.var("x", shape=(2, 3)), relay.var("n", shape=(2,), dtype="int64")
    made = relay.sparse_to_dense(x, n, relay.const([1.0, 2.0]), relay.const(0.0))
    assert made.args[3].same_as(n)  # the shape comes last
    for call, text in [
        (relay.tile(x, n), "dyn.tile(%x, %n, reps=[])"),
        (relay.broadcast_to(x, n), "dyn.broadcast_to(%x, %n, shape=None)"),
        (relay.squeeze(x, n), "dyn.squeeze(%x, %n, axis=[])"),
        (relay.nn.pad(x, n), "dyn.nn.pad(%x, %n, 0, pad_width=[])"),
    ]:
        assert text in call.astext()
    folded = t.FoldConstant()(tvm.IRModule.from_expr(relay.full(c(1.0), (2,))))
    assert isinstance(folded["main"].body, relay.Constant)
