"""Operators that are split up as torch defines them."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program

from .cases import Case, case
from .running import assert_same, check, exported, interpreted

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "case",
    [
        case("weight norm", lambda v, g: torch._weight_norm(v, g, 0), (3, 4), (3, 1)),
        case("matrix power", lambda x: torch.linalg.matrix_power(x, 3), (4, 4)),
        case("close", lambda x, y: torch.isclose(x, y, atol=0.5), (3, 4), (3, 4)),
        case("sum to a size", lambda x: x.sum_to_size(1, 4), (3, 4)),
        case("trapezoid", lambda x: torch.trapezoid(x, dx=0.5), (3, 4)),
        case("mean but NaN", lambda x: torch.nanmean(x / (x > 0), 1), (3, 4)),
    ],
    ids=lambda case: case.name,
)
def test_operators_by_others(case: Case) -> None:
    check(case)


def test_a_convolution_with_normed_weights() -> None:
    norm = torch.nn.utils.parametrizations.weight_norm
    model = torch.nn.Sequential(norm(torch.nn.Conv1d(2, 3, 3)), torch.nn.GELU()).eval()
    x = torch.randn(1, 2, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        wanted = model(x)
    assert_same(interpreted(from_exported_program(exported(model, x)), [x]), wanted)


def test_what_cannot_be_split_up_is_said_under_its_own_name() -> None:
    def two(x: Any) -> Any:
        return torch._weight_norm(x, x[:, :1], 0), torch.linalg.eigvals(x)

    program = exported(two, torch.eye(3))
    with pytest.raises(NotImplementedError, match=r"linalg_eigvals.default: linalg_eigvals"):
        from_exported_program(program)
