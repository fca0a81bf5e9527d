"""Operators on images."""

from .image import resize2d

__all__ = ["resize2d"]
