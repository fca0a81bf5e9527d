"""Quantisation: imported, against torch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program

from .cases import Case, case
from .running import assert_same, check, exported, interpreted

torch = pytest.importorskip("torch")
X = (2, 4, 3)


def channels(*numbers: float) -> Any:
    return torch.tensor(numbers)


CASES = [
    case("tensor", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7), X),
    case(
        "tensor with parameters",
        lambda x, s: torch.fake_quantize_per_tensor_affine(x, s[0], s[0].int(), 0, 15),
        X, ((1,), "positive"),
    ),
    case(
        "channels",
        lambda x, s: torch.fake_quantize_per_channel_affine(
            x, s, channels(0, 3, -2, 1).int(), 1, -8, 7
        ),
        X, ((4,), "positive"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check(case)


def test_what_torch_makes_of_it() -> None:
    def both(x: Any) -> Any:
        zero = channels(0, 1, 2).int()
        rows = torch.fake_quantize_per_channel_affine(x, channels(0.1, 0.2, 0.3), zero, 2, -4, 3)
        return rows, torch.fake_quantize_per_tensor_affine(x, 0.1, 3, -8, 7)

    x = torch.randn(X, generator=torch.Generator().manual_seed(0))
    program = exported(both, x).run_decompositions()
    assert "cachemask" in str(program.graph)
    assert_same(interpreted(from_exported_program(program), [x]), both(x))


def test_integers_and_back() -> None:
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    ops = torch.ops.quantized_decomposed

    def tensors(x: Any) -> Any:
        held = ops.quantize_per_tensor(x, 0.05, 2, -128, 127, torch.int8)
        return held, ops.dequantize_per_tensor(held, 0.05, 2, -128, 127, torch.int8)

    def rows(x: Any) -> Any:
        scale, zero = torch.tensor([0.1, 0.2, 0.3, 0.4]), torch.tensor([0, 5, -3, 1])
        held = ops.quantize_per_channel(x, scale, zero, 1, -8, 7, torch.int8)
        return held, ops.dequantize_per_channel(held, scale, zero, 1, -8, 7, torch.int8)

    check(case("tensors", tensors, X))
    check(case("rows", rows, X))
