"""Special functions, and the most frequent elements: compiled, against torch's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tvm.relax.frontend.torch import from_exported_program

from .running import assert_same, compiled, exported, torch

special = torch.special
_ENDS: Final = torch.tensor([0.0, 1e-3, 19.9, 20.1, 88, 95, -95, 700, torch.nan])
_INFINITE: Final = torch.tensor([torch.inf, -torch.inf])
WIDE = torch.cat([torch.linspace(-30, 30, 61), _ENDS]).double()
POINTS = torch.cat([torch.linspace(-9.7, 30, 101), torch.tensor([0.0, 1e-3, 100, 1e6])])
PARTS = torch.rand(20, generator=torch.Generator().manual_seed(1))
NUMBERS = torch.randint(0, 4, (5, 7, 3), generator=torch.Generator().manual_seed(2))

CASES: Final[dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    **{f.__name__: (f, (WIDE,)) for f in (torch.i0, special.i0e, special.i1, special.i1e)},
    "i0_single": (torch.i0, (WIDE.float(),)),
    **{f"{f.__name__}_infinite": (f, (_INFINITE,)) for f in (special.i0e, special.i1e)},
    **{f"polygamma_{n}": (lambda x, n=n: torch.polygamma(n, x), (POINTS.double(),))
       for n in (1, 2, 5)},
    "polygamma_method": (lambda x: x.polygamma(2), (POINTS[:100],)),
    "zeta": (special.zeta, (torch.tensor([[1.0], [2.0], [2.5], [0.5], [7.0]]), POINTS)),
    "mvlgamma": (lambda x: torch.mvlgamma(x, 3), (PARTS + 2,)),
    "ndtr": (special.ndtr, (WIDE.float(),)),
    "ndtri": (special.ndtri, (torch.cat([PARTS, torch.tensor([0.0, 1.0])]),)),
    "entr": (special.entr, (torch.tensor([0.0, 1, -1, 2, torch.nan, torch.inf]),)),
    "xlog1py": (special.xlog1py, (torch.tensor([0.0, 1, 2]), torch.tensor([-1.0, 2, torch.nan]))),
    **{f"mode_{dim}_{keep}": (lambda x, d=dim, k=keep: tuple(torch.mode(x, d, k)), (NUMBERS,))
       for dim in (0, 1, -1) for keep in (False, True)},
    "mode_float": (lambda x: tuple(torch.mode(x)), (NUMBERS.float(),)),
    "mode_number": (lambda x: tuple(torch.mode(x)), (torch.tensor(3.0),)),
}  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    func, args = CASES[name]
    run = compiled(from_exported_program(exported(func, *args)))
    rtol = 1e-8 if args[0].dtype == torch.float64 else 1e-5
    assert_same(run(*args), func(*args), rtol)


@pytest.mark.cpu
def test_mode_of_open_extents() -> None:
    auto = torch.export.Dim.AUTO

    def both(x: Any) -> tuple[Any, ...]:
        return tuple(torch.mode(x, 1))

    run = compiled(
        from_exported_program(exported(both, NUMBERS, dynamic_shapes=({0: auto, 1: auto},)))
    )
    for x in (NUMBERS, NUMBERS[:2, :4]):
        assert_same(run(x), both(x))
