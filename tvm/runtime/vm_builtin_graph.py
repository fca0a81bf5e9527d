"""`vm.builtin.cuda_graph.*`: storage that a machine keeps, and launches that it repeats.

Storage is made at the first run. The launches of a region are repeated by calling its function:
what a recorded graph saves is the time of the launches, not their meaning.
"""

from __future__ import annotations

import weakref
from typing import Any

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
    """The result of a region on these operands; sizes on which it depends are the last of them."""
    return capture_func(*args)
