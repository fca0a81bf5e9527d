"""Shapes and orders of axes: imported, against torch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import relax
from tvm.error import ShapeError
from tvm.relax.frontend.torch import from_exported_program

from .cases import FAMILIES, Case
from .running import assert_same, check, exported, interpreted

torch = pytest.importorskip("torch")
x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


@pytest.mark.parametrize("case", FAMILIES["shape"], ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "func",
    [
        lambda x: x.unbind(1),
        lambda x: x.repeat(x.shape[0], 1, 2, 1),
        lambda x: x.repeat(1, x.shape[2], 1, 1),
        lambda x: torch.tensor_split(x, 2, 1),
        lambda x: torch.nn.functional.local_response_norm(x, 2),
        lambda x: torch.nn.functional.scaled_dot_product_attention(
            x, x[:, :2], x[:, :2], enable_gqa=True
        ),
    ],
)
def test_one_axis_has_to_be_known(func: Any) -> None:
    auto = torch.export.Dim.AUTO
    x = torch.randn(3, 4, 5, 6, generator=torch.Generator().manual_seed(0))
    shapes = ({0: auto, 2: auto},)
    program = exported(func, x, dynamic_shapes=shapes)
    mod = from_exported_program(program)
    for size in (3, 2):
        part = x[:size, :, : size + 1].contiguous()
        assert_same(interpreted(mod, [part]), func(part))


@pytest.mark.parametrize("func", [lambda x: x.squeeze(0), lambda x: x.squeeze()])
def test_open_extents_that_are_squeezed_are_other_than_one(func: Any) -> None:
    """Torch traces them so; with extent 1 there would be an axis less."""
    x = torch.ones(3, 1, 2)
    mod = from_exported_program(exported(func, x, dynamic_shapes=({0: torch.export.Dim.AUTO},)))
    for count in (3, 2):
        assert_same(interpreted(mod, [x[:count]]), func(x[:count]))
    with pytest.raises(ShapeError, match=r"found: \(1,\)"):
        interpreted(mod, [x[:1]])


@pytest.mark.parametrize("dim", [0, -1, (0,)])
def test_scalars_have_nothing_to_squeeze(dim: Any) -> None:
    x = torch.tensor(3.0)
    mod = from_exported_program(exported(lambda x: x.squeeze(dim) + 1, x))
    assert_same(interpreted(mod, [x]), x + 1)
