"""Orders, and places where something holds: imported, against torch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program, from_fx

from .cases import FAMILIES, Case
from .running import assert_same, check, compiled, exported, interpreted, module_of

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("case", FAMILIES["sorting"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.cpu
def test_how_many_follows_from_values() -> None:
    def func(x: Any) -> Any:
        held = torch.nonzero(x > 0)
        return held * 2, torch.unique(held, return_counts=True)[1], x[x > 0].sum()

    wanted = torch.randn(6, 4)
    run = compiled(from_exported_program(exported(func, torch.randn(6, 4))))
    assert_same(run(wanted), func(wanted))


@pytest.mark.parametrize("flags", [{}, {"return_counts": True}, {"return_inverse": True}])
def test_traced_unique_gives_what_is_asked_for(flags: dict[str, bool]) -> None:
    def func(x: Any) -> Any:
        return torch.unique(x, **flags)

    values = torch.tensor([3.0, 1.0, 3.0, 2.0])
    mod = from_fx(torch.fx.symbolic_trace(module_of(func)), [((4,), "float32")])
    assert_same(interpreted(mod, [values]), func(values))
