"""Compilers that take parts of a program, as targets: `--target "cutlass, cuda"`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

from tvm.ir.module import IRModule

from .errors import TVMCException


class Codegen(NamedTuple):
    """The function that cuts out the parts: `module:name`; the option of passes for the rest."""

    partition: str
    config_key: str | None = None

    def __getitem__(self, key: Any) -> Any:
        """`config_key` and `pass_pipeline` by name, as scripts of v0.18 ask for them."""
        if key in ("config_key", "pass_pipeline"):
            return getattr(self, key)
        return tuple(self)[key]

    @property
    def pass_pipeline(self) -> Callable[..., Any]:
        """The function (mod, params, **options) -> mod with the parts cut out."""
        module, _, name = self.partition.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


_PARTNERS: Final = "tvm.relay.op.contrib"
REGISTERED_CODEGEN: Final = {
    name: Codegen(f"{_PARTNERS}.{module}:partition_for_{module}", config)
    for name, module, config in (
        ("compute-library", "arm_compute_lib", None),
        ("cmsis-nn", "cmsisnn", "relay.ext.cmsisnn.options"),
        ("bnns", "bnns", None),
        ("clml", "clml", None),
        ("cublas", "cublas", None),
        ("cudnn", "cudnn", None),
        ("cutlass", "cutlass", None),
    )
}


def get_codegen_names() -> list[str]:
    """The names of those compilers."""
    return list(REGISTERED_CODEGEN)


def get_codegen_by_target(name: str) -> Codegen:
    """The compiler of a name; TVMCException if there is none."""
    if name not in REGISTERED_CODEGEN:
        legal = ", ".join(REGISTERED_CODEGEN)
        raise TVMCException(f"Composite target {name} is not defined in TVMC; legal: {legal}")
    return REGISTERED_CODEGEN[name]


def partition(mod: IRModule, params: Any, target: Mapping[str, Any]) -> IRModule:
    """The module with the parts cut out that the compiler of a parsed target takes."""
    pipeline = get_codegen_by_target(target["name"]).pass_pipeline
    takes_params = "params" in inspect.signature(pipeline).parameters
    found: IRModule = pipeline(mod, *([params] if takes_params else []), **target["opts"])
    return found
