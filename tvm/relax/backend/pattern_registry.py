"""The table of fusion patterns that libraries take over; what was registered later comes first."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from tvm.relax.transform.fuse_ops_by_pattern import FusionPattern

Pattern: TypeAlias = FusionPattern | tuple[Any, ...]
_PATTERNS: Final[list[FusionPattern]] = []
# Where the patterns of a library are: imported when a name that begins so is first looked up.
_HOMES: Final[dict[str, str]] = {
    "cublas": "tvm.relax.backend.cuda.cublas", "cudnn": "tvm.relax.backend.cuda.cudnn",
    "cutlass": "tvm.relax.backend.cuda.cutlass", "hipblas": "tvm.relax.backend.rocm.hipblas",
    "nnapi": "tvm.relax.backend.contrib.nnapi", "coreml": "tvm.relax.backend.metal.coreml",
    "openclml": "tvm.relax.backend.adreno.clml",
}  # fmt: skip


def register_patterns(patterns: Sequence[Pattern]) -> None:
    """Add patterns, given as `FusionPattern` or as tuples of its arguments, least wanted first.

    The same name may be registered more than once; the last one stands for it.
    """
    for pattern in patterns:
        _PATTERNS.append(pattern if isinstance(pattern, FusionPattern) else FusionPattern(*pattern))


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names begin so, most wanted first."""
    for library, home in _HOMES.items():
        if library.startswith(prefix) or prefix.startswith(library):
            importlib.import_module(home)
    return [pattern for pattern in reversed(_PATTERNS) if pattern.name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """The pattern of this name, or None."""
    home = _HOMES.get(name.partition(".")[0])
    if home is not None:
        importlib.import_module(home)
    return next((pattern for pattern in reversed(_PATTERNS) if pattern.name == name), None)
