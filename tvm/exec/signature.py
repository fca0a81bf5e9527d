"""What a compiled function takes and gives, and arrays that fit it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tvm.error import message
from tvm.exec.command import Mistake
from tvm.exec.shapes import show_shape
from tvm.report.sample_inputs import Value, sample_inputs
from tvm.support.dtype import DataType
from tvm.support.suggest import did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

def record(values: Sequence[Value]) -> list[dict[str, object]]:
    return [{"name": v.name, "shape": list(v.shape), "dtype": v.dtype} for v in values]


def show(value: Value) -> str:
    return f"{value.name}: {value.dtype} {show_shape(value.shape)}"


def in_order(
    params: Sequence[Value], arrays: Mapping[str, NDArray[np.generic]], where: str
) -> list[NDArray[np.generic]]:
    """The arrays in the order of the parameters they are named for; no more, no fewer.

    Names are settled here, and types that no input has; other types and shapes are the compiled
    function's own to check.
    """
    names = [p.name for p in params]
    legal = ", ".join(map(show, params))
    for name in arrays:
        if name not in names:
            near = did_you_mean(name, names)
            asked = f"{where} has an array {name!r}, which is no input{near}"
            raise Mistake(message(asked, legal=legal))
    missing = [name for name in names if name not in arrays]
    if missing:
        found = f"{len(arrays)} of {len(names)} inputs; missing: {', '.join(missing)}"
        raise Mistake(message(f"{where} lacks inputs", found=found, legal=legal))
    return [_typed(arrays[param.name], param, where) for param in params]


def _typed(array: NDArray[np.generic], param: Value, where: str) -> NDArray[np.generic]:
    """The array; narrow floats, of which numpy's files keep the size alone, as their type."""
    from tvm.runtime._tensor import numpy_dtype

    if array.dtype.kind in "biuf":
        return array
    wanted = numpy_dtype(DataType(param.dtype))
    if array.dtype.kind == "V" and array.dtype in (wanted, f"V{wanted.itemsize}"):
        return array.view(wanted)
    asked = f"{where} has an array {param.name!r} of a type that no input has"
    raise Mistake(message(asked, found=str(array.dtype), legal=show(param)))


def random_arrays(params: Sequence[Value]) -> dict[str, NDArray[np.generic]]:
    """Arrays for a measurement: standard normal floats, small integers; always the same."""
    for param in params:
        if any(not isinstance(dim, int) for dim in param.shape):
            found = f"{show(param)} leaves dimensions open"
            legal = "--inputs with arrays of the sizes to measure"
            raise Mistake(message("no inputs to measure with", found=found, legal=legal))
    return dict(zip([param.name for param in params], sample_inputs(params)))
