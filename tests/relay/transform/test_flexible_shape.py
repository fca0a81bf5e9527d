"""One module for several sizes: any size is computed, the named ones by functions of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import module, ops
from tvm import relay
from tvm.error import TVMError
from tvm.relay.transform import FlexibleShapeDispatch
from tvm.relay.transform.flexible_shape import override_shape, specialize_body

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(8)
W = relay.var("w", shape=(3, 4))


def dense(rows: int = 2) -> Any:
    x = relay.var("x", shape=(rows, 4))
    return module(relay.nn.relu(relay.nn.dense(x, W)), x, W)


def run(mod: Any, executor: str, *inputs: Any) -> Any:
    found = relay.create_executor(executor, mod, tvm.cpu(), "llvm").evaluate()(*inputs)
    return [part.numpy() for part in (found if isinstance(found, list) else [found])]


def uniform(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape).astype("float32")


@pytest.mark.parametrize("executor", ["vm", "debug"])
@pytest.mark.parametrize("auto_pad", [False, True])
def test_each_size(executor: str, auto_pad: bool) -> None:
    after = FlexibleShapeDispatch([4, 1, 6], auto_pad=auto_pad, input_indices=[0])(dense())
    names = sorted(var.name_hint for var in after.functions)
    assert names == ["main", "main_1", "main_4", "main_6", "main_dynamic"]
    assert after["main_4"].params[0].checked_type == relay.TensorType((4, 4))
    assert after["main"].params[1].checked_type == relay.TensorType((3, 4))
    assert ("concatenate" in ops(after)) is auto_pad
    w = uniform(3, 4)
    for rows in (1, 2, 3, 4, 5, 6, 9):
        x = uniform(rows, 4)
        (found,) = run(after, executor, x, w)
        np.testing.assert_allclose(found, np.maximum(x @ w.T, 0), rtol=1e-5, atol=1e-6)


def test_padding_runs_the_next_size() -> None:
    """What an input is padded with shows in a sum over it."""
    x = relay.var("x", shape=(2, 3))
    before = module(relay.sum(x, axis=0), x)
    after = FlexibleShapeDispatch(
        [2, 5], auto_pad=True, pad_value=10, affects_output=False
    )(before)
    for rows, padded in ((2, 0), (3, 2), (5, 0), (7, 0)):
        given = uniform(rows, 3)
        (found,) = run(after, "debug", given)
        np.testing.assert_allclose(found, given.sum(0) + 10 * padded, rtol=1e-5)


def test_several_inputs_and_results_along_another_axis() -> None:
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    before = module(relay.Tuple([x + y, relay.exp(x)]), x, y)
    after = FlexibleShapeDispatch([4], axis=1, auto_pad=True)(before)
    for extent in (2, 4, 5):
        a, b = uniform(2, extent), uniform(2, extent)
        first, second = run(after, "debug", a, b)
        np.testing.assert_allclose(first, a + b, rtol=1e-5)
        np.testing.assert_allclose(second, np.exp(a), rtol=1e-4)


def test_parts() -> None:
    kind = relay.TensorType((2, 3))
    assert override_shape(kind, -1, 7) == relay.TensorType((2, 7))
    mod = dense()
    made = specialize_body(mod, mod["main"], 0, 5, [0])
    assert relay.transform.InferType()(tvm.IRModule.from_expr(made))["main"].ret_type == (
        relay.TensorType((5, 3))
    )


@pytest.mark.parametrize(
    ("buckets", "options", "said"),
    [
        ([], {}, "nothing to choose among"), ([0, 2], {}, "positive sizes"),
        ([2], {"input_indices": []}, "the indices of one input"),
        ([2], {"axis": 3}, "axis 3 of an input"),
    ],
)  # fmt: skip
def test_wishes_that_do_not_fit(buckets: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(TVMError, match=said):
        FlexibleShapeDispatch(buckets, **options)(dense())


def test_inputs_of_other_sizes_are_tensors() -> None:
    t = relay.Var("t", relay.TupleType([relay.TensorType((2,))]))
    before = module(relay.exp(relay.TupleGetItem(t, 0)), t)
    with pytest.raises(TVMError, match="the input t is no tensor"):
        FlexibleShapeDispatch([2])(before)
