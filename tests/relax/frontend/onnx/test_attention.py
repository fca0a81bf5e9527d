"""Attention of ONNX Runtime's own set, against it, any sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.relax.frontend.onnx.models import (
    Array,
    check_sizes,
    make_model,
    run_compiled,
    run_onnx,
)  # fmt: skip

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def ints(*values: int) -> Array:
    return np.array(values, "int32")


def run(
    op: str, inputs: list[Any], shapes: dict[int, list[Any]] | None = None, outputs: int = 1,
    **attrs: Any,
) -> None:  # fmt: skip
    arrays = {f"x{i}": array for i, array in enumerate(inputs) if array is not None}
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attrs)
    given = {f"x{i}": shape for i, shape in (shapes or {}).items()}
    check_sizes(make_model([node], arrays, results, shapes=given), [arrays], 1e-4)


OPEN: dict[int, list[Any]] = {0: ["b", "s", 16], 1: ["b", "t", 16], 2: ["b", "t", 16]}
MASKS: dict[str, Any] = {
    "marks": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "int32"), "lengths": ints(3, 5),
}  # fmt: skip


@pytest.mark.parametrize("mask", [None, *MASKS])
def test_heads_of_three_tensors(mask: str | None) -> None:
    """With a bias for all three, a mask of keys, and a bias on the scores."""
    inputs = [floats(2, 3, 16), floats(2, 5, 16), floats(2, 5, 16), floats(48),
              None if mask is None else MASKS[mask], floats(1, 2, 3, 5)]  # fmt: skip
    run("MultiHeadAttention", inputs, None if mask == "lengths" else OPEN, num_heads=2)


@pytest.mark.parametrize("causal", [0, 1])
def test_scores_with_all_that_is_added(causal: int) -> None:
    names = ("q", "k", "v", "", "mask", "added")
    arrays = {name: floats(2, 5, 16) for name in "qkv"}
    arrays |= {"mask": MASKS["marks"], "added": floats(1, 2, 5, 5)}
    node = helper.make_node("MultiHeadAttention", names, ["y", "", "", "s"], num_heads=2,
                            domain="com.microsoft", unidirectional=causal)  # fmt: skip
    model = make_model([node], arrays, ["y", "s"])
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("s", TensorProto.FLOAT, None))
    check_sizes(model, [arrays], 1e-4)


def test_values_of_another_size() -> None:
    inputs = [floats(2, 3, 16), floats(2, 5, 16), floats(2, 5, 24)]
    run("MultiHeadAttention", inputs, {**OPEN, 2: ["b", "t", 24]}, num_heads=2, scale=0.3)


def test_heads_with_a_cache() -> None:
    inputs = [floats(2, 3, 16), floats(2, 3, 16), floats(2, 3, 16), None, None, None,
              floats(2, 2, 4, 8), floats(2, 2, 4, 8)]  # fmt: skip
    shapes = {i: ["b", "s", 16] for i in range(3)} | {i: ["b", 2, "p", 8] for i in (6, 7)}
    run("MultiHeadAttention", inputs, shapes, 3, num_heads=2, unidirectional=1)


def test_keys_as_caches_lie() -> None:
    inputs = [floats(2, 3, 16), floats(2, 2, 6, 8), floats(2, 2, 6, 8), floats(48)]
    run("MultiHeadAttention", inputs, num_heads=2)


@pytest.mark.parametrize("marks", [False, True])
def test_one_product_with_a_cache(marks: bool) -> None:
    mask = np.array([[0, 1, 1, 1, 1, 1, 1], [1] * 7], "int32") if marks else None
    inputs = [floats(2, 3, 8), floats(8, 24), floats(24), mask, floats(2, 2, 2, 4, 4)]
    shapes = {} if marks else {0: ["b", "s", 8], 4: [2, "b", 2, "p", 4]}
    run("Attention", inputs, shapes, 2, num_heads=2, unidirectional=1)


@pytest.mark.parametrize("mask", [ints(2, 3, 0, 1), np.tril(np.ones((2, 3, 3), "int32"))])
def test_lengths_with_starts_and_pairs(mask: Array) -> None:
    run("Attention", [floats(2, 3, 8), floats(8, 24), floats(24), mask], num_heads=2)


def test_a_product_of_integers() -> None:
    # of seven bits: on CPUs without VNNI, ONNX Runtime's sums of two products saturate at 16 bits
    weights = RNG.integers(-64, 64, (8, 24)).astype("int8")
    data = RNG.integers(0, 255, (2, 3, 8)).astype("uint8")
    numbers = [np.array([0.02], "f4"), np.array([0.01], "f4")]
    zeros = [np.array([120], "uint8"), np.array([3], "int8")]
    mask = np.array([[1, 1, 0], [1, 1, 1]], "int32")
    run("QAttention", [data, weights, floats(24), *numbers, mask, *zeros], num_heads=2)


GROUPS = {"num_heads": 4, "kv_num_heads": 2}


def grouped(batch: int, new: int, old: int, length: int, size: int = 16) -> list[Any]:
    """Queries, keys, values, caches, the last places, and how many keys there are."""
    shapes = [(batch, new, heads * size) for heads in (4, 2, 2)]
    caches = [(batch, 2, old, size)] * 2
    return [*(floats(*shape) for shape in shapes + caches), ints(*[length - 1] * batch),
            ints(length).reshape(())]  # fmt: skip


@pytest.mark.parametrize(("new", "old"), [(5, 0), (1, 6), (2, 4)], ids=["first", "next", "more"])
def test_groups_with_turned_heads(new: int, old: int) -> None:
    inputs = [*grouped(2 if new != 2 else 1, new, old, new + old), floats(16, 8), floats(16, 8)]
    shapes: dict[int, list[Any]] = {0: ["b", "s", 64], 1: ["b", "s", 32], 2: ["b", "s", 32]}
    shapes |= {3: ["b", 2, "p", 16], 4: ["b", 2, "p", 16], 5: ["b"]}
    run("GroupQueryAttention", inputs, shapes, 3, do_rotary=1, **GROUPS)


def test_groups_of_other_forms() -> None:
    first = grouped(1, 5, 0, 5, 8)
    inputs = [*first[:3], None, None, *first[5:]]
    run("GroupQueryAttention", inputs, local_window_size=2, **GROUPS)
    run("GroupQueryAttention", inputs, softcap=1.5, smooth_softmax=1, **GROUPS)
    more = [None, None, None, floats(1, 1, 5, 5), floats(4)]
    run("GroupQueryAttention", [*inputs, *more], scale=0.2, **GROUPS)


def test_groups_with_a_window_of_a_cache() -> None:
    inputs = grouped(2, 1, 6, 7)
    run("GroupQueryAttention", inputs, None, 3, local_window_size=3, **GROUPS)
    packed = [floats(2, 1, 128), None, None, *inputs[3:], floats(16, 8), floats(16, 8)]
    run("GroupQueryAttention", packed, None, 3, do_rotary=1, rotary_interleaved=1, **GROUPS)


def test_rows_of_other_lengths() -> None:
    """The cache behind a row's length is left open; what is attended to is not."""
    inputs = grouped(2, 1, 6, 7)
    inputs[5] = ints(6, 4)
    arrays = {f"x{i}": array for i, array in enumerate(inputs)}
    names = ["y", "key", "value"]
    made = helper.make_node("GroupQueryAttention", list(arrays), names, domain="com.microsoft",
                            **GROUPS)  # fmt: skip
    model = make_model([made], arrays, names)
    wanted, got = run_onnx(model, arrays), run_compiled(model, arrays)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-4, atol=1e-5)
    for have, want in zip(got[1:], wanted[1:]):
        np.testing.assert_array_equal(have[0], want[0])
        np.testing.assert_array_equal(have[1, :, :5], want[1, :, :5])
