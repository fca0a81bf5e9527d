"""Helpers that know nothing of compilers: registries, frozen maps, lazy packages, names, dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy import lazy_names

if TYPE_CHECKING:
    from .libinfo import describe, libinfo

__all__ = ["describe", "libinfo"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {name: f"{__name__}.libinfo:{name}" for name in __all__},
    )
