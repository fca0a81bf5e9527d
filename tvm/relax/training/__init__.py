"""What training needs beside the gradient pass."""

from . import utils

__all__ = ["utils"]
