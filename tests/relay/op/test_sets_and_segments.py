"""Operators whose results are as long as the data say: distinct values, rows, segments, spectra."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.run import function_of, value_of
from tvm import relay
from tvm.error import DiagnosticError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.pure
RNG = np.random.default_rng(7)


def distinct(x: Any, is_sorted: bool) -> list[Any]:
    values, first, inverse, counts = np.unique(x, True, True, True)
    order = np.arange(len(values)) if is_sorted else np.argsort(first)
    return [values[order], first[order], np.argsort(order)[inverse], [len(values)], counts[order]]


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize(
    ("length", "high", "dtype"), [(1, 3, "int32"), (40, 9, "int64"), (60, 40, "float32")]
)
def test_unique(is_sorted: bool, counted: bool, length: int, high: int, dtype: str) -> None:
    x = RNG.integers(-high, high, length).astype(dtype)
    found, kinds = value_of(lambda v: relay.unique(v, is_sorted, counted).astuple(), [x])
    wanted = distinct(x, is_sorted)
    count = wanted[3][0]
    assert len(found) == len(kinds) == (5 if counted else 4)
    for at, (have, want, kind) in enumerate(zip(found, wanted, kinds)):
        assert kind == relay.TensorType(have.shape, str(have.dtype))
        np.testing.assert_array_equal(have if at in (2, 3) else have[:count], want)


def test_unique_of_unknown_length() -> None:
    v = relay.var("v", relay.TensorType((relay.Any(),), "int32"))
    mod = tvm.IRModule.from_expr(relay.Function([v], relay.unique(v, False).astuple()))
    run = relay.create_executor("vm", mod, tvm.cpu(), "llvm").evaluate()
    for x in ([4, 5, 1, 2, 3, 3, 4, 5], [7, 7]):
        found = [part.numpy() for part in run(np.array(x, "int32"))]
        wanted = distinct(np.array(x), False)
        assert found[3].tolist() == wanted[3]
        np.testing.assert_array_equal(found[2], wanted[2])
        np.testing.assert_array_equal(found[0][: found[3][0]], wanted[0])
    with pytest.raises(DiagnosticError, match="the operand is no vector"):
        value_of(lambda v: relay.unique(v).astuple(), [np.zeros((2, 2), "int32")])


@pytest.mark.parametrize(
    ("length", "n_fft", "hop", "win", "normalized", "onesided"),
    [(20, 8, None, None, False, True), (21, 8, 3, 5, True, True), (16, 7, 2, 7, False, False)],
)
@pytest.mark.parametrize("windowed", [False, True])
def test_stft(length: int, n_fft: int, hop: Any, win: Any, normalized: bool, onesided: bool,
              windowed: bool) -> None:  # fmt: skip
    x = RNG.uniform(-1, 1, (2, length)).astype("float32")
    taps = [RNG.uniform(0, 1, win or n_fft).astype("float32")] if windowed else []
    window = torch.from_numpy(taps[0]) if windowed else torch.ones(win or n_fft)
    wanted = torch.view_as_real(torch.stft(
        torch.from_numpy(x), n_fft, hop or n_fft // 4, win or n_fft, window, False,
        normalized=normalized, onesided=onesided, return_complex=True,
    )).numpy()  # fmt: skip
    found, kind = value_of(
        lambda v, w=None: relay.stft(v, n_fft, hop, win, w, normalized, onesided), [x, *taps]
    )
    assert kind == relay.TensorType(wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_fft": 30}, "signals of 20 for n_fft 30"),
        ({"n_fft": 8, "win_length": 9}, "0 < win_length <= n_fft"),
        ({"n_fft": 8, "hop_length": 0}, "hop_length 0"),
        ({"n_fft": 8, "window": relay.const(np.ones(3, "float32"))}, "a window of 3"),
        ({"n_fft": 8, "window": relay.const(np.ones((8, 1), "float32"))}, "other ranks"),
    ],
)
def test_windows_that_do_not_fit(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DiagnosticError, match=said):
        value_of(lambda v: relay.stft(v, **options), [np.zeros((2, 20), "float32")])


@pytest.mark.parametrize(
    ("before", "after", "whole"),
    [((2, 3, 6), (9, -1), (9, 4)), ((4, 6), (2, -1, 3), (2, 4, 3)), ((12,), (3, 4), (3, 4)),
     ((2, 3), (6,), (6,))],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_sparse_reshape(before: Any, after: Any, whole: Any, dtype: str) -> None:
    flat = np.sort(RNG.choice(int(np.prod(before)), 5, replace=False))
    places = np.stack(np.unravel_index(flat, before), 1).astype(dtype)
    (found, shape), kinds = value_of(
        lambda *v: relay.sparse_reshape(*v).astuple(),
        [places, np.array(before, dtype), np.array(after, dtype)],
    )
    np.testing.assert_array_equal(shape, whole)
    np.testing.assert_array_equal(found, np.stack(np.unravel_index(flat, whole), 1))
    assert kinds == (relay.TensorType(found.shape, dtype), relay.TensorType(shape.shape, dtype))


@pytest.mark.parametrize("executor", ["vm", "debug"])
@pytest.mark.parametrize(
    ("places", "values", "shape", "filled", "given", "empty"),
    [
        ([[0, 1], [0, 3], [2, 0]], [1, 2, 3], [4, 4],
         [[0, 1], [0, 3], [1, 0], [2, 0], [3, 0]], [1, 2, 9, 3, 9], [0, 1, 0, 1]),
        ([[1, 1, 1]], [5], [2, 3, 4], [[0, 0, 0], [1, 1, 1]], [9, 5], [1, 0]),
        ([[0, 1], [1, 0]], [5, 6], [2, 2], [[0, 1], [1, 0]], [5, 6], [0, 0]),
        (np.zeros((0, 2)), [], [2, 5], [[0, 0], [1, 0]], [9, 9], [1, 1]),
    ],
)  # fmt: skip
def test_sparse_fill_empty_rows(
    executor: str, places: Any, values: Any, shape: Any, filled: Any, given: Any, empty: Any
) -> None:
    arrays = [np.array(places, "int64"), np.array(values, "int64"), np.array(shape, "int64"),
              np.array(9, "int64")]  # fmt: skip
    func = function_of(lambda *v: relay.sparse_fill_empty_rows(*v), arrays)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(func))
    run = relay.create_executor(executor, mod, tvm.cpu(), "llvm").evaluate()
    found = [part.numpy() for part in run(*arrays)]
    for have, want, kind in zip(found, (filled, given, empty), mod["main"].ret_type.fields):
        np.testing.assert_array_equal(have, want)
        assert (len(kind.shape), kind.dtype) == (have.ndim, str(have.dtype))


def test_rows_are_of_the_tensor() -> None:
    from tvm.relay.op.sparse import filled_rows

    with pytest.raises(ValueError, match=r"rows 0 \.\.\. 4 of a tensor with 3 rows"):
        filled_rows(np.array([[0, 0], [4, 0]]), np.array([1, 2]), np.array([3, 2]), np.array(0))
    with pytest.raises(DiagnosticError, match="values and default differ in data type"):
        value_of(lambda *v: relay.sparse_fill_empty_rows(*v), [
            np.zeros((1, 2), "int64"), np.zeros(1, "int64"), np.zeros(2, "int64"), np.float32(0)
        ])  # fmt: skip


@pytest.mark.parametrize("executor", ["vm", "debug"])
@pytest.mark.parametrize("count", [None, 5, "value"])
@pytest.mark.parametrize(("shape", "dtype"), [((6,), "float32"), ((6, 2, 3), "int32")])
def test_segment_sum(executor: str, count: Any, shape: Any, dtype: str) -> None:
    x = RNG.integers(-5, 5, shape).astype(dtype)
    ids = np.array([0, 2, 0, 3, 2, 0], "int32")
    number = relay.const(np.array([5], "int32")) if count == "value" else count
    mod = tvm.IRModule.from_expr(
        function_of(lambda v, s: relay.op.segment_sum(v, s, number), [x, ids])
    )
    run = relay.create_executor(executor, mod, tvm.cpu(), "llvm").evaluate()
    wanted = np.zeros((4 if count is None else 5, *shape[1:]), dtype)
    np.add.at(wanted, ids, x)
    found = run(x, ids).numpy()
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == dtype
