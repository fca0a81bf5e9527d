"""Padding: imported, against torch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.pad import pad

from .cases import FAMILIES, Case
from .running import check, torch

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["pad"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match="constant, reflect, replicate, circular"):
        pad(BlockBuilder(), x, [1, 1], "mirror")


@pytest.mark.parametrize(
    "widths", [(-4, 5, 0, 0), (2, -5, 1, 1), (-1, 2, 0, -1), (-2, -1, 3, -1)]
)
def test_what_is_cut_off_is_repeated_all_the_same(widths: tuple[int, ...]) -> None:
    def func(x: Any) -> Any:
        return torch.nn.functional.pad(x, widths, "replicate")

    check(Case("replicate", func, ((2, 3, 4, 4),)))
