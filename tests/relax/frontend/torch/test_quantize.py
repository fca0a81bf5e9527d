"""Quantisation: imported, against torch's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm.relax.expr import is_call_of
from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.transform.fold_dequantize import FoldDequantize
from tvm.relax.transform.rebuild import all_bindings

from .cases import Case, case
from .running import assert_same, check, compiled, exported, interpreted

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


def test_a_scale_for_each_token() -> None:
    """With zero points and without; results of torch are of float64 where scales are."""
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    ops = torch.ops.quantized_decomposed

    def even(x: Any) -> Any:
        scale, zero = ops.choose_qparams_per_token(x, torch.int8)
        held = ops.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
        real = ops.dequantize_per_token(held, scale, zero, -128, 127, torch.int8, torch.float32)
        return scale, held, real

    def uneven(x: Any) -> Any:
        scale, zero = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
        held = ops.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
        real = ops.dequantize_per_token(held, scale, zero, -128, 127, torch.int8, torch.float32)
        return scale, zero, held, real

    check(case("even", even, X))
    check(case("uneven", uneven, X))
    check(case("above zero", uneven, (X, "positive")))


def test_groups_of_weights() -> None:
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    ops = torch.ops.quantized_decomposed

    def both(x: Any) -> Any:
        scale = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.25]])
        zero = torch.tensor([[1, 0], [-2, 3], [0, 0]])
        held = ops.quantize_per_channel_group(x, scale, zero, -8, 7, torch.int8, 4)
        given = (-8, 7, torch.int8, 4, torch.float32)
        real = ops.dequantize_per_channel_group(held, scale, zero, *given)
        return held, real, ops.dequantize_per_channel_group(held, scale, None, *given)

    check(case("groups", both, (3, 8)))


def test_convolutions_of_exported_programs_become_integer_ones() -> None:
    """The graph that torch's export quantisation makes: scales, integers, and back."""
    pytest.importorskip("torch.ao.quantization.fx._decomposed")
    ops = torch.ops.quantized_decomposed

    class Quantised(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            generator = torch.Generator().manual_seed(0)
            weight = torch.randint(-127, 128, (8, 4, 3, 3), generator=generator)
            self.register_buffer("weight", weight.to(torch.int8))
            self.register_buffer("scale", torch.rand(8, generator=generator) / 64 + 0.01)
            self.register_buffer("zero", torch.zeros(8, dtype=torch.int64))

        def forward(self, x: Any) -> Any:
            held = ops.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8)
            x = ops.dequantize_per_tensor(held, 0.05, 3, -128, 127, torch.int8)
            w = ops.dequantize_per_channel(
                self.weight, self.scale, self.zero, 0, -127, 127, torch.int8
            )
            y = torch.relu(torch.nn.functional.conv2d(x, w, padding=1))
            return ops.quantize_per_tensor(y, 0.5, -128, -128, 127, torch.int8)

    x = torch.randn((1, 4, 8, 8), generator=torch.Generator().manual_seed(1))
    model = Quantised()
    mod = from_exported_program(exported(model, x))
    after = FoldDequantize()(mod)
    main: Any = after["main"]
    call: Any = next(
        b.value for b in all_bindings(main) if is_call_of(b.value, "relax.nn.conv2d")
    )
    assert call.struct_info.dtype == "int32"
    (found,) = [out.numpy() for out in compiled(mod)(x)]
    off = np.abs(found.astype("int32") - model(x).numpy().astype("int32"))
    assert off.max() <= 1
    assert (off > 0).mean() < 0.01
