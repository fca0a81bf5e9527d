"""Maps that a caller gives: what programs read of them, as rows of tensors.

A map is a Python dict of strings or integers to numbers or strings; strings in a result are codes
(`tvm.runtime.strings`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from tvm.error import ArgumentValueError, message
from tvm.ffi import register_global_func

from ._tensor import Tensor, tensor
from .strings import encode

# What ONNX Runtime writes for a key that a sparse map of strings lacks.
_NO_TEXT: Final = "0.f"


@register_global_func("tvm.contrib.maps.given", override=True)
def given(value: Any, name: str, keys: str, values: str) -> Any:
    """The caller's map, whose keys and values are of the types that a model declares."""
    kinds = {"text": (str,), "int64": (int,)}.get(values, (int, float))
    keyed = str if keys == "text" else int
    where = f"argument {name!r}"
    if not isinstance(value, Mapping):
        raise TypeError(message(where, found=type(value).__name__, legal="a dict"))
    for key, held in value.items():
        if not isinstance(key, keyed) or not isinstance(held, kinds):
            found = f"{type(key).__name__} to {type(held).__name__}"
            raise TypeError(message(where, found=found, legal=f"a dict of {keys} to {values}"))
    return value


@register_global_func("tvm.contrib.maps.vectorize", override=True)
def vectorize(values: Any, dtype: str, *keys: Any) -> Tensor:
    """The values (1, n) of n keys; what the map lacks is 0 or the empty string."""
    missing = "" if dtype == "text" else 0
    return _row([values.get(key, missing) for key in keys], dtype)


@register_global_func("tvm.contrib.maps.cast", override=True)
def cast(values: Any, dtype: str, most: int) -> Tensor:
    """The values (1, n) in the order of their integer keys, in another type.

    With `most` of 0 or more it is (1, most): each value stands where its key says, between zeros;
    keys beyond are left out. Raises ArgumentValueError for a negative key there.
    """
    keys = sorted(int(key) for key in values)
    found = {key: _cast(values[key], dtype) for key in keys}
    if most < 0:
        return _row([found[key] for key in keys], dtype)
    if keys and keys[0] < 0:
        raise ArgumentValueError(
            message("a sparse map", found=f"the key {keys[0]}", legal="keys of 0 or more")
        )
    missing = _NO_TEXT if dtype == "text" else 0
    return _row([found.get(key, missing) for key in range(most)], dtype)


def _cast(value: Any, dtype: str) -> Any:
    if dtype == "text":
        return str(value) if isinstance(value, str) else f"{np.float32(value):f}"
    read: Callable[[Any], Any] = int if dtype == "int64" else float
    try:
        return read(value)
    except (ValueError, OverflowError):
        raise ArgumentValueError(
            message("a cast of a map", found=repr(value)[:80], legal=f"text of a {dtype}")
        ) from None


def _row(values: list[Any], dtype: str) -> Tensor:
    if dtype == "text":
        return encode(np.array([values], object).reshape(1, len(values)))
    return tensor(np.array(values, dtype).reshape(1, len(values)))
