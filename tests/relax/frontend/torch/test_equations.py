"""Linear algebra: imported, against torch's numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.frontend.torch import from_exported_program

from .cases import FAMILIES, Case, torch
from .running import assert_same, check, compiled, exported, flat


@pytest.mark.parametrize("case", FAMILIES["equations"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def _several(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.linalg.det(a), torch.linalg.inv(a), torch.linalg.solve(a, a[..., :2])


@pytest.mark.cpu
def test_matrices_of_open_size() -> None:
    auto = torch.export.Dim.AUTO
    given = [torch.randn(batch, n, n) + 3 * torch.eye(n).flip(0)
             for batch, n in ((3, 4), (2, 2), (1, 7))]  # fmt: skip
    program = exported(_several, given[0], dynamic_shapes=({0: auto, 1: auto, 2: auto},))
    run = compiled(from_exported_program(program))
    for a in given:
        assert_same(run(a), _several(a))


@pytest.mark.cpu
def test_what_torch_refuses_shows() -> None:
    singular, negative = torch.ones(2, 3, 3), -torch.eye(3)
    run = compiled(from_exported_program(exported(torch.linalg.inv, singular)))
    assert not np.isfinite(flat(run(singular))[0]).all()
    run = compiled(from_exported_program(exported(torch.linalg.cholesky, negative)))
    assert np.isnan(flat(run(negative))[0]).any()


def _infos(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (torch.linalg.inv_ex(a)[1], torch.linalg.cholesky_ex(a)[1],
            torch.linalg.solve_ex(a, a)[1], torch.linalg.lu_factor_ex(a)[2])  # fmt: skip


@pytest.mark.cpu
def test_info_says_which_pivot_is_wrong() -> None:
    """None, the second of a matrix of ones, a zero in the middle, the first of a negative one."""
    given = torch.stack([torch.eye(3), torch.ones(3, 3), torch.diag(torch.tensor([1.0, 0.0, 1.0])),
                         -torch.eye(3), torch.zeros(3, 3)])  # fmt: skip
    auto = torch.export.Dim.AUTO
    for shapes in (None, ({0: auto, 1: auto, 2: auto},)):
        run = compiled(from_exported_program(exported(_infos, given, dynamic_shapes=shapes)))
        assert_same(run(given), _infos(given))
    assert [int(n) for n in _infos(given)[0]] == [0, 2, 2, 0, 1]
