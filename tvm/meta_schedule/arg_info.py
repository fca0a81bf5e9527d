"""What the arguments of a kernel are: enough to allocate them on the machine that measures it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.error import ArgumentValueError, message
from tvm.ffi.object import Object
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.transform import RemoveWeightLayoutRewriteBlock


class ArgInfo(Object):
    """One argument."""

    __slots__ = ()

    def as_json(self) -> Any:
        """Plain lists, strings and numbers."""
        raise ArgumentValueError(
            f"{type(self).__name__}.as_json: an ArgInfo of no kind; legal: TensorInfo, or another "
            "class that says what the argument is"
        )

    @staticmethod
    def from_json(json_obj: Any) -> ArgInfo:
        """The argument that `as_json` described."""
        whole = isinstance(json_obj, (list, tuple)) and len(json_obj) == 3
        if not whole or json_obj[0] != "TENSOR":
            raise _malformed(json_obj)
        return TensorInfo.from_json(json_obj)

    @staticmethod
    def from_prim_func(func: PrimFunc) -> list[ArgInfo]:
        """The arguments of a function."""
        found: list[ArgInfo] = []
        for param in func.params:
            buffer = func.buffer_map.get(param)
            if buffer is None:
                raise ArgumentValueError(
                    message(
                        "ArgInfo.from_prim_func: a parameter is no buffer",
                        found=f"{param.name}: {param.dtype}",
                        legal="a function of buffers",
                    )
                )
            found.append(TensorInfo(str(buffer.dtype), [_number(d) for d in buffer.shape]))
        return found

    @staticmethod
    def from_entry_func(mod: IRModule, remove_preproc: bool = True) -> list[ArgInfo]:
        """The arguments of the entry function; by default as they are once weights lie as the
        kernel wants them."""
        if remove_preproc:
            mod = RemoveWeightLayoutRewriteBlock(skip_tensor_rewrite=True)(mod)
        return ArgInfo.from_prim_func(entry_func(mod))


class TensorInfo(ArgInfo):
    """A tensor of a data type and shape."""

    __slots__ = ("dtype", "shape")

    def __init__(self, dtype: str, shape: Sequence[int]) -> None:
        self.dtype: Final = str(DataType(dtype))  # refuses what is no data type
        self.shape: Final = tuple([int(extent) for extent in shape])

    def as_json(self) -> Any:
        """`["TENSOR", dtype, shape]`."""
        return ["TENSOR", self.dtype, list(self.shape)]

    @staticmethod
    def from_json(json_obj: Any) -> TensorInfo:
        """The tensor that `as_json` described."""
        _, dtype, shape = json_obj
        numbers = isinstance(shape, (list, tuple)) and all(isinstance(d, int) for d in shape)
        if not isinstance(dtype, str) or not numbers:
            raise _malformed(json_obj)
        return TensorInfo(dtype, shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorInfo):
            return NotImplemented
        return (self.dtype, self.shape) == (other.dtype, other.shape)

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape))

    def __str__(self) -> str:
        return f'TensorInfo("{self.dtype}", {list(self.shape)})'

    __repr__ = __str__


def entry_func(mod: IRModule) -> PrimFunc:
    """The function that is called from outside: the marked one, `main`, or the only one."""
    funcs = {g.name_hint: f for g, f in mod.functions.items() if isinstance(f, PrimFunc)}
    marked = [f for f in funcs.values() if f.attrs.get("tir.is_entry_func", False)]
    if len(marked) == 1:
        return marked[0]
    if "main" in funcs:
        return funcs["main"]
    if len(funcs) == 1:
        return next(iter(funcs.values()))
    raise ArgumentValueError(
        message(
            "meta_schedule: the module has no entry function",
            found=f"functions {sorted(funcs)}",
            legal="one TIR function, or one that is called main or has the attribute "
            "tir.is_entry_func",
        )
    )


def _number(extent: Any) -> int:
    if isinstance(extent, IntImm):
        return int(extent.value)
    raise ArgumentValueError(
        message(
            "ArgInfo: a tensor of unknown size cannot be allocated",
            found=f"extent {extent}",
            legal="shapes of literals; specialize the function first",
        )
    )


def _malformed(json_obj: Any) -> ArgumentValueError:
    return ArgumentValueError(
        message(
            "ArgInfo.from_json: the value describes no argument",
            found=repr(json_obj),
            legal='["TENSOR", dtype, shape]',
        )
    )
