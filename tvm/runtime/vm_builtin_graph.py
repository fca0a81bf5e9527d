"""`vm.builtin.cuda_graph.*`: storage that a machine keeps, and launches that it repeats.

Storage is made at the first run. A region runs as it is at first, which loads its kernels, and is
recorded at the next run, on devices that record launches; after that one call repeats them all.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ._tensor import Tensor
from .device_api.kinds import find_api
from .vm_builtin import _builtin

_KEPT: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()


@_builtin("cuda_graph.get_cached_alloc")
def get_cached_alloc(vm: Any, alloc_func: Any, index: int) -> Any:
    """What `alloc_func` gave this machine at its first run."""
    kept = _KEPT.setdefault(vm, {})
    if int(index) not in kept:
        kept[int(index)] = alloc_func()
    return kept[int(index)]


@_builtin("cuda_graph.run_or_capture")
def run_or_capture(
    vm: Any, capture_func: Any, args: Any, entry_index: int, shape_expr: Any = None
) -> Any:
    """The result of a region on these operands; sizes on which it depends are the last of them.

    A recording is for the sizes and the memory of the operands that it was made with.
    """
    device = vm.devices[0]
    api = find_api(device.type)
    if api is None:
        return capture_func(*args)
    key = (int(entry_index), tuple(_told_apart([args, shape_expr])))
    regions = _RECORDED.setdefault(vm, {})
    found = regions.get(key)
    if found is not None:
        found.repeat()
        return found.result
    if key not in regions and len(regions) < _MAX_RECORDINGS:
        regions[key] = None  # to be recorded next time
    elif key in regions:
        made = api.record(device.index, lambda: capture_func(*args))
        if made is not None:
            regions[key] = _Recording(*made)
            made[1]()
            return made[0]
    return capture_func(*args)


def _told_apart(values: Any) -> Iterator[Any]:
    """What a recording depends on: addresses of tensors, and numbers."""
    for value in values:
        if isinstance(value, Tensor):
            yield value.data_ptr()
            yield tuple(map(int, value.shape))
        elif hasattr(value, "__iter__"):
            yield from _told_apart(value)
        else:
            yield value


class _Recording(NamedTuple):
    """What a region gave, and a function that does its launches again."""

    result: Any
    repeat: Any


_MAX_RECORDINGS: Final = 256  # a machine
_RECORDED: weakref.WeakKeyDictionary[Any, dict[Any, _Recording | None]] = (
    weakref.WeakKeyDictionary()
)
