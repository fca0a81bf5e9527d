"""Random numbers by keys."""

from .threefry import normal, threefry_generate, threefry_split, uniform

__all__ = ["normal", "threefry_generate", "threefry_split", "uniform"]
