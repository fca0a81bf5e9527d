"""Tensors on their way between Python functions and compiled ones: torch's, numpy's, our own.

Memory is shared through DLPack wherever both sides can; torch is used only where a caller has
imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tvm.error import ShapeError, message

if TYPE_CHECKING:
    from tvm.runtime import Device

Convert: TypeAlias = Callable[[Any], Any]
_SEQUENCES: Final = ("Array", "List")


def torch() -> Any:
    """The torch module, if the caller has imported it."""
    return sys.modules.get("torch")


def is_torch(value: Any) -> bool:
    """True for torch's tensors."""
    library = torch()
    return library is not None and isinstance(value, getattr(library, "Tensor", ()))


def to_runtime(value: Any, device: Device) -> Any:
    """A value as compiled functions take it; tensors of other libraries lend their memory."""
    from tvm.runtime import Tensor, from_dlpack, tensor

    if is_torch(value):
        shared = from_dlpack(value.detach().contiguous())
        return shared if shared.device == device else shared.copyto(device)
    if isinstance(value, np.ndarray):
        return tensor(value, device)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(to_runtime(one, device) for one in value)
    return value


def to_torch(value: Any) -> Any:
    """A value with torch's tensors in place of ours and of numpy's arrays."""
    from tvm.runtime import Tensor

    library = torch()
    assert library is not None, "the caller found a torch tensor"
    if isinstance(value, Tensor):
        return library.utils.dlpack.from_dlpack(value)
    if isinstance(value, np.ndarray):
        shared = value.flags.c_contiguous and value.flags.writeable
        return library.from_numpy(value if shared else value.copy())
    if isinstance(value, (list, tuple)) or type(value).__name__ in _SEQUENCES:
        return tuple(to_torch(one) for one in value)
    return value


def to_numpy(value: Any) -> Any:
    """A value with numpy's arrays in place of tensors."""
    if is_torch(value):
        return value.detach().cpu().numpy()
    if hasattr(value, "numpy"):
        return value.numpy()
    if isinstance(value, (list, tuple)) or type(value).__name__ in _SEQUENCES:
        return tuple(to_numpy(one) for one in value)
    return value


def torch_dtype(dtype: object) -> Any:
    """Torch's data type of this name."""
    return getattr(torch(), str(dtype))


def same_kind_as(args: Iterable[Any]) -> Convert:
    """What turns results into the kind of tensor that the arguments are; torch's win."""
    if any(is_torch(leaf) for leaf in leaves(args)):
        return to_torch
    return lambda value: value


def leaves(values: Iterable[Any]) -> Iterable[Any]:
    """The values that are no sequences, in order."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from leaves(value)
        else:
            yield value


def shapes_of(args: Sequence[Any]) -> list[tuple[int, ...]]:
    """The shapes of the tensors among the arguments."""
    found = [leaf.shape for leaf in leaves(args) if hasattr(leaf, "shape")]
    return [tuple(int(extent) for extent in shape) for shape in found]


def shape_from_arguments(
    extents: Sequence[int | None], args: Sequence[Any], what: str
) -> tuple[int, ...]:
    """A shape in which each unknown extent is that of the first argument of the same rank."""
    known = shapes_of(args)
    same_rank = [shape for shape in known if len(shape) == len(extents)]
    found: list[int] = []
    for at, extent in enumerate(extents):
        if extent is not None:
            found.append(extent)
            continue
        candidates = same_rank or [shape for shape in known if len(shape) > at]
        if not candidates:
            raise ShapeError(
                message(
                    f"{what}: extent {at} of the result",
                    found=f"symbolic, and arguments of shapes {known}",
                    legal="a number, or an argument of the same rank",
                )
            )
        found.append(candidates[0][at])
    return tuple(found)
