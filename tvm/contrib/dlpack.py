"""Compiled functions that take the tensors of another library, which keep their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.error import message
from tvm.runtime import from_dlpack


def convert_func(
    tvm_func: Callable[..., Any], tensor_type: type, to_dlpack_func: Callable[[Any], Any]
) -> Callable[..., Any]:
    """A function that passes on its arguments, tensors of `tensor_type` by DLPack."""
    if not callable(tvm_func):
        raise TypeError(
            message("convert_func", found=type(tvm_func).__name__, legal="a function or module")
        )

    def converted(*args: Any) -> Any:
        return tvm_func(*[
            from_dlpack(to_dlpack_func(arg)) if isinstance(arg, tensor_type) else arg
            for arg in args
        ])  # fmt: skip

    return converted


def to_pytorch_func(tvm_func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes PyTorch's tensors."""
    import torch

    return convert_func(tvm_func, torch.Tensor, lambda tensor: tensor.detach())
