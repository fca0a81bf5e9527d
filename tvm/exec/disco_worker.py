"""A worker process of a disco session; the session gives the numbers.

    python -m tvm.exec.disco_worker WORKER_ID NUM_WORKERS NUM_GROUPS READ_FD WRITE_FD

The functions are there for trying a session out.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence

from tvm.ffi import get_global_func, register_global_func
from tvm.runtime import Device, Tensor, tensor
from tvm.runtime.conversion import ShapeTuple, String


@register_global_func("tests.disco.add_one", override=True)
def _add_one(x: int) -> int:
    return x + 1


@register_global_func("tests.disco.add_one_float", override=True)
def _add_one_float(x: float) -> float:
    return x + 0.5


@register_global_func("tests.disco.add_one_tensor", override=True)
def _add_one_tensor(x: Tensor) -> Tensor:
    return tensor(x.numpy() + 1)


@register_global_func("tests.disco.str", override=True)
def _str(x: str) -> str:
    return x + "_suffix"


@register_global_func("tests.disco.str_obj", override=True)
def _str_obj(x: str) -> object:
    return String(x + "_suffix")


@register_global_func("tests.disco.shape_tuple", override=True)
def _shape_tuple(x: Sequence[int]) -> object:
    return ShapeTuple([*x, 4, 5])


@register_global_func("tests.disco.test_callback", override=True)
def _make_callback(device: Device) -> Callable[[str, int], Tensor]:
    """A function that gives parameters by name and number."""
    import numpy as np

    def fget_item(param_name: str, param_index: int) -> Tensor:
        if param_index == 0:
            return tensor(np.full((2, 2), 1, "float32"), device)
        return tensor(np.full((4,), param_index + 1, "float32"), device)

    return fget_item


def main() -> None:
    """Be a worker until the session ends."""
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    get_global_func("runtime.disco.WorkerProcess")(*map(int, sys.argv[1:]))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
