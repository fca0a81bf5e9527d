"""Whether a package is there, without loading it."""

from __future__ import annotations

import functools
import importlib.util


@functools.cache
def is_installed(package: str) -> bool:
    """True when `import package` would find something."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False
