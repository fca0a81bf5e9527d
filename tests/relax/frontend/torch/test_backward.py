"""The way back through convolutions, average pools and attention is compiled, and torch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program, relax_dynamo

from .running import assert_same, exported, interpreted

torch = pytest.importorskip("torch")
aten = torch.ops.aten


def _normal(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


CONVOLUTIONS = {
    "plain": ((2, 3, 8, 9), (4, 3, 3, 3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    "strided": ((2, 4, 9, 8), (6, 4, 3, 3), [2, 2], [1, 1], [1, 1], False, [0, 0], 1),
    "grouped": ((2, 4, 9, 8), (6, 2, 3, 3), [1, 1], [0, 1], [2, 2], False, [0, 0], 2),
    "frames": ((2, 4, 9), (6, 4, 3), [2], [0], [1], False, [0], 1),
    "volumes": ((1, 2, 5, 6, 5), (3, 2, 2, 2, 2), [2] * 3, [1] * 3, [1] * 3, False, [0] * 3, 1),
    "transposed": ((2, 4, 5, 6), (4, 3, 3, 3), [2, 2], [1, 1], [1, 1], True, [1, 1], 1),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    shape, kernel, *options = CONVOLUTIONS[name]
    x, w = _normal(*shape), _normal(*kernel)
    grad = _normal(*aten.convolution(x, w, None, *options).shape)

    def func(grad: Any, x: Any, w: Any) -> Any:
        bias = [grad.shape[1]]
        return aten.convolution_backward(grad, x, w, bias, *options, [True, True, True])

    mod = from_exported_program(exported(func, grad, x, w))
    assert_same(interpreted(mod, [grad, x, w]), func(grad, x, w), rtol=1e-3)


@pytest.mark.parametrize(
    "options",
    [([2, 2], [], [0, 0], False, True, None), ([3, 3], [2, 2], [1, 1], False, True, None),
     ([3, 3], [2, 2], [1, 1], False, False, None), ([3, 3], [2, 2], [1, 1], False, False, 5)],
)  # fmt: skip
def test_average_pools(options: Any) -> None:
    x = _normal(2, 3, 8, 9)
    grad = _normal(*aten.avg_pool2d(x, *options).shape)

    def func(grad: Any, x: Any) -> Any:
        return aten.avg_pool2d_backward(grad, x, *options)

    mod = from_exported_program(exported(func, grad, x))
    assert_same(interpreted(mod, [grad, x]), func(grad, x))


@pytest.mark.parametrize(("causal", "masked"), [(False, False), (True, False), (False, True)])
def test_attention(causal: bool, masked: bool) -> None:
    q, k, v, grad = (_normal(2, 3, 6, 4) + i / 4 for i in range(4))
    options = {"attn_mask": _normal(6, 6) if masked else None, "scale": 0.4}
    out, sums = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, **options)

    def func(grad: Any, q: Any, k: Any, v: Any, out: Any, sums: Any) -> Any:
        return aten._scaled_dot_product_flash_attention_for_cpu_backward(
            grad, q, k, v, out, sums, 0.0, causal, **options
        )

    given = grad, q, k, v, out, sums
    mod = from_exported_program(exported(func, *given))
    assert_same(interpreted(mod, list(given)), func(*given), rtol=1e-3)


def test_a_network_with_pictures_is_compiled_both_ways() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.AvgPool2d(2))
    x = _normal(2, 3, 8, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that a graph runs on torch's operators
        fast = torch.compile(model, backend=relax_dynamo())
        fast(x).square().sum().backward()
    found = [p.grad for p in model.parameters()]
    model.zero_grad()
    model(x).square().sum().backward()
    for one, param in zip(found, model.parameters()):
        torch.testing.assert_close(one, param.grad, rtol=1e-3, atol=1e-3)
