"""Whether a candidate computes what a program that is known to be right computes."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tvm.error import TVMError, message
from tvm.runtime import Module, tensor

from .utils import T_ARGUMENT_LIST

MAX_OFF: Final = 1e-3  # of the largest value: sums in another order differ by less


class WrongResultError(TVMError):
    """A candidate that computes something else than its program."""


def check_results(candidate: Module, reference: Module, args: T_ARGUMENT_LIST) -> None:
    """Run both on copies of the arguments; a WrongResultError where they leave other numbers."""
    before = [arg.numpy() for arg in args]
    after = []
    for module in (reference, candidate):
        given = [tensor(array, arg.device) for array, arg in zip(before, args)]
        module[module.entry_name](*given)
        after.append([arg.numpy() for arg in given])
    for number, (right, found) in enumerate(zip(*after)):
        off = largest_difference(right, found)
        if not off <= MAX_OFF:
            raise WrongResultError(
                message(
                    "wrong result", found=f"argument {number} is off by {off:.2g} of its largest",
                    legal=f"{MAX_OFF:g} at most",
                )
            )  # fmt: skip


def largest_difference(right: npt.NDArray[Any], found: npt.NDArray[Any]) -> float:
    """As a share of the largest finite value; infinite where only one is finite or a number."""
    wide_right, wide_found = right.astype(np.float64), found.astype(np.float64)
    same = (wide_right == wide_found) | (np.isnan(wide_right) & np.isnan(wide_found))
    if same.all():
        return 0.0
    finite = np.abs(wide_right[np.isfinite(wide_right)])
    largest = float(finite.max()) if finite.size else 0.0
    off = float(np.abs(wide_right[~same] - wide_found[~same]).max())
    return off / largest if largest and np.isfinite(off) else float("inf")
