"""Builders: modules become files of compiled code, whatever may go wrong on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .builder import Builder, BuilderInput, BuilderResult, PyBuilder, create
from .local_builder import LocalBuilder

if TYPE_CHECKING:
    from .cluster_builder import ClusterBuilder, DaskBuilder, RayBuilder

__all__ = [
    "Builder", "BuilderInput", "BuilderResult", "ClusterBuilder", "DaskBuilder", "LocalBuilder",
    "PyBuilder", "RayBuilder", "create",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Builders of clusters, once somebody asks: nodes use local ones."""
    if name in ("ClusterBuilder", "DaskBuilder", "RayBuilder"):
        from . import cluster_builder

        return getattr(cluster_builder, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
