"""All of `tvm.tir.analysis` under the module name that TVM gives it."""

from typing import Any

import tvm.tir.analysis as _package


def __getattr__(name: str) -> Any:
    return getattr(_package, name)


def __dir__() -> list[str]:
    return dir(_package)
