"""Packages that only some users need: imported when first used, named when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tvm.error import TVMError, message


def extra_package(module: str, extra: str, purpose: str, instead: str = "") -> Any:
    """The module of a package that `pip install "tvm-py[extra]"` brings; `purpose` needs it.

    `instead` is what else would be legal.
    """
    try:
        return import_module(module)
    except ImportError as problem:
        raise TVMError(
            message(f"{purpose} needs the package {module.partition('.')[0]}",
                    found=str(problem),
                    legal=f'pip install "tvm-py[{extra}]"' + (instead and f", or {instead}"))
        ) from None  # fmt: skip
