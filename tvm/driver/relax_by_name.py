"""Relax's own functions under the names by which scripts look them up.

    tvm.get_global_func("relax.analysis.well_formed")(mod)

What a package offers is found as `relax.<package>.<name>`; operators as `relax.op.<name>`, and
those of a group as `relax.op.<group>.<name>`.
"""

from __future__ import annotations

import importlib
from typing import Final

from tvm.ffi import register_global_func

from .found_by_name import at_first_call

PACKAGES: Final = (
    "analysis", "dpl", "op", "op.builtin", "op.ccl", "op.distributed", "op.grad", "op.image",
    "op.memory", "op.nn", "op.vision", "op.vm", "transform",
)  # fmt: skip


def _names(package: str) -> list[str]:
    module = importlib.import_module(f"tvm.relax.{package}")
    return [name for name in module.__all__ if callable(getattr(module, name))]


FUNCTIONS: Final[dict[str, str]] = {
    f"relax.{package}.{name}": f"tvm.relax.{package}:{name}"
    for package in PACKAGES
    for name in _names(package)
}

for _name, _home in FUNCTIONS.items():
    register_global_func(_name, at_first_call(_home), override=True)
