"""Comparison of arrays, ranges of dtypes, and gradients by differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tvm.error import TVMError, message
from tvm.support.dtype import DataType


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """Fail unless the shapes are the same and |actual - desired| <= atol + rtol * |desired|."""
    found, wanted = _array(actual), _array(desired)
    assert found.shape == wanted.shape, f"shape {found.shape}, wanted {wanted.shape}"
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol, verbose=True)


def _array(value: Any) -> Any:
    return np.asanyarray(value.numpy() if hasattr(value, "numpy") else value)


def get_dtype_range(dtype: str) -> tuple[Any, Any]:
    """The least and the greatest finite value of a dtype."""
    of = DataType(dtype)
    if of.is_bool:
        return 0, 1
    if of.is_integer:
        bits = of.bits if of.is_uint else of.bits - 1
        return (0 if of.is_uint else -(1 << bits)), (1 << bits) - 1
    if of.is_handle:
        raise TVMError(
            message("take the range of a dtype", found=dtype, legal="integers, floats and bool")
        )
    element = str(of.element_of())
    if element in ("float16", "float32", "float64"):
        info: Any = np.finfo(element)
    else:
        import ml_dtypes  # only the narrow types need it

        info = cast(Any, ml_dtypes).finfo(element)
    return info.min, info.max


def check_numerical_grads(
    function: Callable[..., Any],
    input_values: Sequence[Any] | Mapping[str, Any],
    grad_values: Sequence[Any] | Mapping[str, Any],
    function_value: Any = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Compare gradients of a scalar function with central differences.

    Both sets are lists in the order of the parameters, or dicts by their names. Where the slopes
    to the left and to the right differ (a kink, as of `relu` at zero), any slope between them is
    right. The distance of the two gradients may be `atol * sqrt(size) + rtol * |differences|`.
    """
    by_name = isinstance(input_values, Mapping)
    keys = list(input_values) if by_name else list(range(len(input_values)))
    inputs: dict[Any, Any] = {k: np.array(cast(Any, input_values)[k]) for k in keys}

    def value() -> float:
        made = function(**inputs) if by_name else function(*inputs.values())
        return float(np.sum(_array(made)))

    middle = value() if function_value is None else float(np.sum(_array(function_value)))
    given = cast(Any, grad_values)
    for key in given if by_name else range(len(given)):
        grad = _array(given[key])
        x = inputs[key]
        assert grad.shape == x.shape, (
            f"gradient of {key!r} has shape {grad.shape}, the input has {x.shape}"
        )
        found = _differences(x, grad, value, middle, delta)
        distance = float(np.linalg.norm(found - grad))
        limit = atol * float(np.sqrt(grad.size)) + rtol * float(np.linalg.norm(found))
        assert distance <= limit, (
            f"gradient of {key!r} is {distance:g} away from the differences, legal: {limit:g}; "
            f"largest difference {float(np.max(np.abs(found - grad))):g}"
        )


def _differences(
    x: Any, grad: Any, value: Callable[[], float], middle: float, delta: float
) -> Any:
    """The slope at each element, as near to `grad` as the slopes on both sides allow."""
    found = np.zeros(grad.shape, "float64")
    for index in np.ndindex(*x.shape):
        kept = x[index]
        x[index] = kept + delta
        above = value()
        x[index] = kept - delta
        below = value()
        x[index] = kept
        left, right = (middle - below) / delta, (above - middle) / delta
        slope = (left + right) / 2
        if abs(right - left) > 0.1 * max(abs(left), abs(right)):
            slope = float(np.clip(grad[index], min(left, right), max(left, right)))
        found[index] = slope
    return found
