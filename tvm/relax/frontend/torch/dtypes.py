"""Torch's data types: their names here, and which one the result of several operands has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from tvm.error import DTypeError, message
from tvm.relax.expr import Constant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ALIASES: Final = {
    "float": "float32", "double": "float64", "half": "float16", "short": "int16", "int": "int32",
    "long": "int64",
}  # fmt: skip
KNOWN: Final = (
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16",
    "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
_WIDTH: Final = {
    "bool": 0, "uint8": 1, "int8": 1, "uint16": 2, "int16": 2, "uint32": 4, "int32": 4,
    "uint64": 8, "int64": 8, "float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2,
    "float32": 4, "float64": 8,
}  # fmt: skip
DEFAULT_FLOAT: Final = "float32"
# what the two parts of a complex number are
COMPLEX: Final = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


class UnknownDType(DTypeError, NotImplementedError):
    """A data type of torch that Relax has not."""


def dtype_name(dtype: Any) -> str:
    """The name of a data type: of a torch.dtype, of its text, or of what torch also calls it."""
    name = str(dtype).lower().removeprefix("torch.")
    name = _ALIASES.get(name, name)
    if name not in KNOWN:
        raise UnknownDType(
            message("a data type of torch", found=str(dtype), legal=", ".join(KNOWN))
        )
    return name


def is_float(dtype: str) -> bool:
    return "float" in dtype


def category(dtype: str) -> int:
    """0 for truth values, 1 for integers, 2 for floats."""
    return 2 if is_float(dtype) else int(dtype != "bool")


def promote(a: str, b: str) -> str:
    """The data type that holds values of both, of the higher category."""
    if a == b:
        return a
    if category(a) != category(b):
        return max(a, b, key=category)
    if category(a) == 1 and a.startswith("u") != b.startswith("u"):
        signed, unsigned = (b, a) if a.startswith("u") else (a, b)
        width = max(_WIDTH[signed], 2 * _WIDTH[unsigned])
        return f"int{8 * min(width, 8)}"
    if _WIDTH[a] == _WIDTH[b]:
        return "float32"  # float16 with bfloat16
    return max(a, b, key=_WIDTH.__getitem__)


def result_type(tensors: Iterable[str], scalars: Iterable[str], numbers: Iterable[str]) -> str:
    """The data type of an operation on tensors, tensors without axes, and Python's numbers.

    Of a later group only the category counts, when it is higher: an int32 tensor and a float
    make the default float, a float16 tensor and a float32 scalar stay float16.
    """
    groups = [_promoted(tensors), _promoted(scalars), _promoted(numbers)]
    found: str | None = None
    for group in groups:
        if group is not None and (found is None or category(group) > category(found)):
            found = group
    assert found is not None, "an operation has an operand"
    return found


def _promoted(names: Iterable[str]) -> str | None:
    found: str | None = None
    for name in names:
        found = name if found is None else promote(found, name)
    return found


def number_dtype(value: Any) -> str:
    """The data type that a number of Python has by itself."""
    if isinstance(value, bool):
        return "bool"
    return DEFAULT_FLOAT if isinstance(value, float) else "int64"


def tensor_array(tensor: Any) -> NDArray[Any]:
    """The values of a tensor of torch, on the host, as numpy holds them."""
    host = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    name = dtype_name(host.dtype)
    if name == "bfloat16" or name.startswith("float8"):
        return _raw(host, name)
    array: NDArray[Any] = host.numpy()
    return array


def _raw(host: Any, name: str) -> NDArray[Any]:
    """Types that torch does not give to numpy go as plain bits."""
    import ml_dtypes
    import torch

    bits = torch.int16 if name == "bfloat16" else torch.uint8
    kind: np.dtype[Any] = getattr(ml_dtypes, name)
    array: NDArray[Any] = host.view(bits).numpy().view(kind)
    return array


def tensor_constant(tensor: Any) -> Constant:
    """A tensor of torch as a constant of Relax; later changes of the tensor do not reach it."""
    return Constant(tensor_array(tensor).copy())
