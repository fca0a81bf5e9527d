"""Functions of each element: imported, against torch's numbers."""

from __future__ import annotations

import math

import pytest

from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend.torch.elementwise import native_dropout

from .cases import FAMILIES, Case
from .running import check, torch

x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["elementwise"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_erfinv_at_its_ends(dtype: str) -> None:
    points = torch.tensor([0.0, 1e-6, 0.9999, -0.9999999, 1.0, -1.0, 1.5, torch.nan])
    ends = points.to(getattr(torch, dtype))
    check(Case("erfinv", lambda x: torch.erfinv(ends + 0 * x.to(ends.dtype)), ((8,),)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_gamma_functions_from_end_to_end(name: str, dtype: str) -> None:
    given = [0.0, -0.0, 1e-6, 0.3, 0.5, 1.0, 1.001, 1.999, 2.0, 7.9, 8.0, 55.5, 3e4]
    given += [-0.3, -1.0, -1.5, -2.9, -9.25, -20.0, torch.inf, -torch.inf, torch.nan]
    points = torch.tensor(given, dtype=getattr(torch, dtype))
    function = getattr(torch, name)
    check(Case(name, lambda x: function(points + 0 * x.to(points.dtype)), ((len(given),),)))


@pytest.mark.parametrize("name", ["gammaln", "digamma", "psi"])
def test_gamma_functions_by_their_special_names(name: str) -> None:
    function = getattr(torch.special, name)
    check(Case(name, lambda x: function(3 * x + torch.arange(4)), ((3, 4),)))


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_nothing_and_of_infinities(name: str) -> None:
    inf, function = math.inf, getattr(torch, name)
    a = torch.tensor([1, -inf, inf, 2, -inf, inf])
    b = torch.tensor([1, -inf, inf, -inf, 3, -inf])
    check(Case(name, lambda x: function(a + 0 * x, b + 0 * x), ((6,),)))


def test_dropout_in_training_is_refused() -> None:
    with pytest.raises(OpAttributeUnImplemented, match=r"model.eval\(\)"):
        native_dropout(BlockBuilder(), x, 0.5, True)
