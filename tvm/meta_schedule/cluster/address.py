"""Clusters by their addresses.

    ray://HOST[:10001]    Ray        ray://local     a cluster of this machine alone
    dask://HOST[:8786]    Dask       tcp://HOST:8786 the same      dask://local
"""

from __future__ import annotations

from typing import Final

from tvm.error import ArgumentValueError, message

from .cluster import Cluster

_SCHEMES: Final = ("ray", "dask", "tcp")
_LEGAL: Final = "ray://HOST:PORT, dask://HOST:PORT, tcp://HOST:PORT; local for HOST"


def is_address(text: object) -> bool:
    """Whether a name of a runner is the address of a cluster."""
    return isinstance(text, str) and text.partition("://")[0] in _SCHEMES and "://" in text


def cluster_at(address: str, cores: int | None = None) -> Cluster:
    """Join the cluster of an address; a local one has `cores` cores, or all."""
    scheme, _, host = address.partition("://")
    if not is_address(address) or not host:
        raise ArgumentValueError(
            message("the address of a cluster", found=repr(address), legal=_LEGAL)
        )
    if scheme == "ray":
        from .ray_engine import RayEngine  # which needs its extra

        return Cluster(RayEngine(host, cores))
    from .dask_engine import DaskEngine

    return Cluster(DaskEngine(host, cores))
