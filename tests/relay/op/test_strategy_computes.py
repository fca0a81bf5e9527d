"""Functions of `topi` in strategies, by their wrappers: the same tensors as an operator's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.relay.op.test_own_strategies import selected, var
from tvm import relay, te, topi
from tvm.relay.op.strategy import generic
from tvm.relay.testing import run_infer_type
from tvm.tir import interp

pytestmark = pytest.mark.pure
X = var("x", 2, 3, 6, 6)
MATRIX = var("m", 4, 6)
BOXES = var("b", 2, 6, 6)


def key() -> Any:
    return var("k", 10, dtype="uint64")


def ints(*shape: int) -> Any:
    return var("i", *shape, dtype="int64")


CASES: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "topk": (lambda: relay.topk(MATRIX, 2, 0, dtype="int64").astuple(), topi.topk),
    "searchsorted": (lambda: relay.searchsorted(MATRIX, MATRIX), topi.searchsorted),
    "dilation2d": (
        lambda: relay.image.dilation2d(X, var("w", 3, 2, 2)), topi.image.dilation2d_nchw,
    ),
    "deformable_conv2d": (
        lambda: relay.nn.deformable_conv2d(X, var("o", 2, 18, 4, 4), var("w", 4, 3, 3, 3)),
        topi.nn.deformable_conv2d_nchw,
    ),
    "multibox_prior": (
        lambda: relay.vision.multibox_prior(X, (0.5, 0.2), (1.0, 2.0)),
        topi.vision.ssd.multibox_prior,
    ),
    "get_valid_counts": (
        lambda: relay.vision.get_valid_counts(BOXES, 0.3).astuple(),
        topi.vision.get_valid_counts,
    ),
    "regular_nms": (
        lambda: relay.vision.regular_non_max_suppression(
            var("b", 2, 6, 4), var("s", 2, 6, 3), 2, 4, 2, 0.5, 0.1).astuple(),
        topi.vision.regular_non_max_suppression,
    ),
    "roi_align": (
        lambda: relay.vision.roi_align(X, var("r", 2, 5), (2, 2), 1.0),
        topi.vision.rcnn.roi_align_nchw,
    ),
    "correlation": (
        lambda: relay.nn.correlation(X, X, 1, 2, 1, 1, 2, True, "NCHW"),
        topi.nn.correlation_nchw,
    ),
    "dft": (lambda: relay.dft(MATRIX, MATRIX).astuple(), topi.dft),
    "stft": (lambda: relay.stft(MATRIX, 4, 2, 4, var("w", 4)), topi.stft),
    "scatter_elements": (
        lambda: relay.scatter_elements(MATRIX, ints(2, 6), var("u", 2, 6), 0, "add"),
        topi.scatter_elements,
    ),
    "einsum": (lambda: relay.einsum([MATRIX, MATRIX], "ij,kj->ik"), topi.einsum),
    "threefry_split": (
        lambda: relay.random.threefry_split(key()),
        topi.random.threefry_split,
    ),
    "layout_transform": (
        lambda: relay.layout_transform(X, "NCHW", "NHWC"), topi.layout_transform,
    ),
    "bitserial_dense": (
        lambda: relay.nn.bitserial_dense(
            var("d", 3, 32, dtype="int16"), var("w", 5, 32, dtype="int16"), 5, 2, 1),
        topi.nn.bitserial_dense,
    ),
}  # fmt: skip


def numbers(inputs: Any, outputs: Any) -> Any:
    random = np.random.default_rng(4)
    given = []
    for t in inputs:
        shape = [int(e) for e in t.shape]
        if t.dtype == "float32":
            values = np.sort(random.random(shape or 1), -1).reshape(shape)
        else:
            values = random.integers(0, 2, shape)
        given.append(np.asarray(values, t.dtype))
    found = [np.zeros([int(e) for e in t.shape], t.dtype) for t in outputs]
    unique = list(dict.fromkeys(inputs))
    interp.run(te.create_prim_func([*inputs, *outputs]), *given[: len(unique)], *found)
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_function_gives_what_the_operator_does(name: str) -> None:
    build, compute = CASES[name]
    call = build()
    _, own, inputs = selected(call)
    typed = run_infer_type(call)
    wrapped = getattr(generic, f"wrap_compute_{name}")(compute)
    made = wrapped(typed.attrs, inputs, typed.checked_type)
    assert isinstance(made, list)
    for have, want in zip(numbers(inputs, made), numbers(inputs, own), strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


def test_tensors_that_are_one_are_copied() -> None:
    tensor, other = te.placeholder((2, 3)), te.placeholder((2, 3))
    assert generic.copy_if_identical(tensor, other) is other
    assert generic.copy_if_identical(tensor, tensor) is not tensor


def test_windows_need_no_function() -> None:
    call = relay.sliding_window(MATRIX, 0, [2, 3], [1, 2])
    _, own, inputs = selected(call)
    typed = run_infer_type(call)
    made = generic.wrap_compute_sliding_window()(typed.attrs, inputs, typed.checked_type)
    np.testing.assert_array_equal(numbers(inputs, made)[0], numbers(inputs, own)[0])


def test_a_batch_norm_takes_its_statistics_as_they_are() -> None:
    call = relay.nn.batch_norm(X, *[var(n, 3) for n in "gbmv"], epsilon=0.25).astuple()
    typed = run_infer_type(call)
    inputs = [te.placeholder([int(e) for e in a.checked_type.shape]) for a in typed.args]
    made = generic.wrap_compute_batch_norm(topi.nn.batch_norm)(typed.attrs, inputs, None)
    random = np.random.default_rng(4)
    x, gamma, beta, mean, var_ = (
        random.random([int(e) for e in t.shape]).astype("float32") for t in inputs
    )
    out = np.zeros_like(x)
    interp.run(te.create_prim_func([*inputs, made[0]]), x, gamma, beta, mean, var_, out)
    scale, shift, mean, var_ = (v[:, None, None] for v in (gamma, beta, mean, var_))
    np.testing.assert_allclose(
        out, (x - mean) / np.sqrt(var_ + 0.25) * scale + shift, rtol=1e-5, atol=1e-6
    )
