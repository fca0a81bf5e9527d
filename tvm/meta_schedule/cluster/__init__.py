"""Building and measuring on many machines, by an engine that others wrote: Ray or Dask."""

from .address import cluster_at, is_address
from .cluster import Cluster, Engine, LostError, Node, NoNodeError

__all__ = ["Cluster", "Engine", "LostError", "NoNodeError", "Node", "cluster_at", "is_address"]
