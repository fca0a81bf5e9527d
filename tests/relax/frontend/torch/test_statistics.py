"""Quantiles, medians, covariances, trapezoids: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from .cases import Case, case, torch
from .running import check, check_traced


def _holed(x: torch.Tensor) -> torch.Tensor:
    """With NaNs and an infinity; of the first row nothing else is left."""
    holes = torch.where(x > 0.8, torch.nan, torch.where(x < -1.5, torch.inf, x))
    return torch.where(torch.arange(x.shape[0])[:, None] == 0, torch.nan, holes)


SHARES = torch.tensor([0.0, 0.3, 0.5, 1.0])
STATISTICS = [
    *[
        case(f"quantile, {how}", lambda x, how=how: torch.quantile(x, 0.3, 1, interpolation=how),
             (3, 6))
        for how in ("linear", "lower", "higher", "midpoint", "nearest")
    ],
    case("quantiles", lambda x: torch.quantile(x, SHARES, 0, keepdim=True), (5, 2)),
    case("quantiles of all", lambda x: torch.quantile(x, SHARES), (5, 2)),
    case("quantiles of a number", lambda x: torch.quantile(x, SHARES, 0, True), ()),
    case("quantile beside NaNs", lambda x: torch.quantile(_holed(x), 0.5, 1), (4, 7)),
    case("nanquantile", lambda x: torch.nanquantile(_holed(x), SHARES, 1), (4, 7)),
    case("nanmedian of ints", lambda x: (x.nanmedian(), *x.nanmedian(1)), ((4, 7), "int64")),
    case("nanmedian", lambda x: torch.nanmedian(_holed(x)[1:]), (4, 7)),
    case("nanmedian of rows", lambda x: torch.nanmedian(_holed(x)[1:], 1, True), (4, 8)),
    case("trapezoid", lambda x: torch.trapezoid(x, dx=0.5, dim=0), (4, 3)),
    case("trapezoid at places", torch.trapezoid, (4, 3), (3,)),
    case("cumulative_trapezoid", lambda x, p: torch.cumulative_trapezoid(x, p, dim=0),
         (4, 3), (4,)),
]  # fmt: skip

# torch reads their weights, and so exports none of them
COVARIANCES = [
    case("cov", torch.cov, (3, 6)),
    case("cov of one row", lambda x: torch.cov(x, correction=0), (6,)),
    case("cov, weighted", lambda x, w: torch.cov(
        x, fweights=torch.tensor([1, 3, 2, 1]), aweights=w), (3, 4), ((4,), "positive")),
    case("corrcoef", torch.corrcoef, (3, 6)),
    case("corrcoef of one row", torch.corrcoef, (6,)),
]  # fmt: skip


@pytest.mark.parametrize("case", STATISTICS, ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "case", [*STATISTICS[:7], *STATISTICS[-3:], *COVARIANCES], ids=lambda case: case.name
)
def test_numbers_of_traced_functions(case: Case) -> None:
    check_traced(case)
