"""Kernels that Triton compiles, for `T.call_kernel`."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Final

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.type import PointerType, PrimType
from tvm.runtime import Module
from tvm.runtime.cuda_module import CUDAModule
from tvm.runtime.device_api.api import DYNAMIC_SHARED
from tvm.support.dtype import DataType
from tvm.support.kernel_info import KernelInfo
from tvm.tir.expr import IntImm, Var, as_expr

from .external_kernel import BLOCKS, BaseKernel

_WARP: Final = 32
_NAMES: Final[Mapping[str, str]] = {
    "float16": "fp16", "float32": "fp32", "float64": "fp64", "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5", "bool": "i1",
}  # fmt: skip


class TritonKernel(BaseKernel):
    """A function decorated by `triton.jit`; its constexpr parameters get Python numbers."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def compile_to_device_module(
        self, launch_args: Any, *args: Any, **kwargs: Any
    ) -> tuple[str, Module, list[Any]]:
        """`launch_args` are the extents of blocks; Triton says how many threads a block has."""
        if not isinstance(launch_args, (list, tuple)) or not 0 < len(launch_args) < 4:
            raise ValueError(
                message(
                    "call a Triton kernel",
                    found=f"launch arguments {launch_args}",
                    legal="one to three extents, of blockIdx",
                )
            )
        signature, constants, values = _sorted_arguments(self.func, args, kwargs)
        compiled = _compile(self.func, signature, constants)
        about = compiled.metadata
        tags = ["threadIdx.x", *BLOCKS[: len(launch_args)]]
        extents: list[Any] = [about.num_warps * _WARP, *launch_args]
        if about.shared:
            tags.append(DYNAMIC_SHARED)
            extents.append(about.shared)
        types = [str(value.dtype) for value in values]
        text = str(compiled.asm["ptx"])
        # kernels end with pointers to scratch memory of Triton's own, which none of these use
        types += ["handle"] * max(_parameter_count(text) - len(types), 0)
        scratch = [IntImm("int64", 0)] * (len(types) - len(values))
        name = str(about.name)
        module = CUDAModule(
            text.encode(), "ptx", {name: KernelInfo(tuple(types), tuple(tags))},
            str(getattr(self.func, "src", "")),
        )  # fmt: skip
        return name, module, [*values, *scratch, *extents]


def _sorted_arguments(
    func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, Any], list[PrimExpr]]:
    """Triton's types of all parameters, values of the constexpr ones, the others' values."""
    names = [param.name for param in func.params]
    if len(args) > len(names):
        raise TypeError(
            message(
                f"call Triton kernel {func.__name__!r}",
                found=f"{len(args)} arguments",
                legal=f"{len(names)}: {', '.join(names)}",
            )
        )
    given = {**dict(zip(names, args)), **kwargs}
    if set(given) != set(names) or len(given) != len(args) + len(kwargs):
        raise TypeError(
            message(
                f"call Triton kernel {func.__name__!r}",
                found=f"arguments {', '.join(given)}",
                legal=f"each once: {', '.join(names)}",
            )
        )
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    values: list[PrimExpr] = []
    for param in func.params:
        value = given[param.name]
        if param.is_constexpr:
            signature[param.name] = "constexpr"
            constants[param.name] = getattr(value, "value", value)
        else:
            values.append(as_expr(value))
            signature[param.name] = _type_of(values[-1])
    return signature, constants, values


def _type_of(value: PrimExpr) -> str:
    """The type in Triton's words: "*fp32" for a pointer to float32."""
    if not value.dtype.is_handle:
        return _name(value.dtype)
    kind = value.type_annotation if isinstance(value, Var) else None
    if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
        return "*" + _name(kind.element_type.dtype)
    raise TypeError(
        message(
            "call a Triton kernel",
            found=f"pointer {value} to an unknown type",
            legal="the data of a buffer, as A.data",
        )
    )


def _name(dtype: DataType) -> str:
    text = str(dtype)
    if text not in _NAMES and dtype.is_integer and dtype.lanes == 1:
        return f"{'u' if dtype.is_uint else 'i'}{dtype.bits}"
    if text not in _NAMES:
        raise TypeError(
            message(
                "call a Triton kernel",
                found=f"an argument of dtype {dtype}",
                legal="integers, " + ", ".join(_NAMES),
            )
        )
    return _NAMES[text]


def _compile(func: Any, signature: dict[str, str], constants: dict[str, Any]) -> Any:
    try:
        compiler: Any = importlib.import_module("triton.compiler")
    except ImportError as err:
        raise CheckError(
            message("compile a Triton kernel", found="no package triton", legal="install triton")
        ) from err
    target = None
    if _without_driver():
        target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 80, _WARP)
    source = compiler.ASTSource(fn=func, signature=signature, constexprs=constants)
    return compiler.compile(source, target=target)


def _without_driver() -> bool:
    """No GPU is here to ask for its kind: the text is made for one that newer ones can run."""
    active: Any = importlib.import_module("triton.runtime.driver").driver
    try:
        active.active.get_current_target()
    except (RuntimeError, OSError):
        return True
    return False


def _parameter_count(ptx: str) -> int:
    entry = ptx[ptx.index(".entry") :]
    return entry[: entry.index(")")].count(".param")


__all__ = ["TritonKernel"]
