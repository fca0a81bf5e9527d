"""Arithmetic of integers and bits: imported, against torch's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.frontend.torch import from_exported_program

from .cases import FAMILIES, Case, torch
from .running import check, compiled, exported, flat


@pytest.mark.parametrize("case", FAMILIES["integers"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.cpu
def test_special_floats() -> None:
    inf, nan = float("inf"), float("nan")
    a = torch.tensor([1e-42, 0.0, -0.0, 0.0, 3.0, inf, inf, nan, 1.0, -inf])
    b = torch.tensor([0.0, 1.0, -1.0, -0.0, inf, inf, 0.0, 1.0, nan, 0.0])
    for func, given in ((torch.nextafter, (a, b)), (lambda x: tuple(torch.frexp(x)), (a,))):
        run = compiled(from_exported_program(exported(func, *given)))
        for have, want in zip(flat(run(*given)), flat(func(*given))):
            np.testing.assert_array_equal(have, want)
            real = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(have)[real], np.signbit(want)[real])
