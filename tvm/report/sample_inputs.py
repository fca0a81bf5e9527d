"""Arrays to measure with: standard normal floats, small integers; always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SEED: Final = 0


class Value(Protocol):
    """A parameter: an extent is a number, or the name of a size that is open."""

    @property
    def name(self) -> str: ...

    @property
    def shape(self) -> tuple[int | str, ...]: ...

    @property
    def dtype(self) -> str: ...


def sample_inputs(params: Sequence[Value]) -> list[NDArray[np.generic]]:
    """One array for each parameter; ValueError where a size is open."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    made: list[NDArray[np.generic]] = []
    for param in params:
        shape = [dim for dim in param.shape if isinstance(dim, int)]
        if len(shape) < len(param.shape):
            raise ValueError(f"{param.name} leaves dimensions open")
        if param.dtype.startswith(("int", "uint", "bool")):
            made.append(rng.integers(0, 2, shape).astype(param.dtype))
        else:
            made.append(rng.standard_normal(shape).astype(_numpy_dtype(param.dtype)))
    return made


def _numpy_dtype(name: str) -> Any:
    """Also the narrow floats that numpy itself does not know."""
    import numpy as np

    if name in {"float16", "float32", "float64"}:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
