"""Results that are views of inputs, in compiled graphs: their memory, strides and writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm.relax.frontend.torch import relax_dynamo

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu


def turned(x: Any, y: Any) -> Any:
    return x.view(16, 2, 4, 8).transpose(0, 1), y * 2


def after_a_write(x: Any, y: Any) -> Any:
    y += 1
    return y.exp(), x.view(16, 2, 4, 8).transpose(0, 1), x[..., 1::2], x[2:5, :1]


def alone(x: Any, y: Any) -> Any:
    return x[3:]


def compiled(func: Any, dynamic: bool) -> Any:
    torch._dynamo.reset()
    return torch.compile(func, backend=relax_dynamo(), dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("func", [turned, after_a_write, alone])
def test_values_strides_and_memory(func: Callable[..., Any], dynamic: bool) -> None:
    x, y = torch.randn(16, 2, 32), torch.randn(3)
    with torch.no_grad():
        wanted = func(x, y.clone())
        got = compiled(func, dynamic)(x, y.clone())
    pairs = [(wanted, got)] if isinstance(wanted, torch.Tensor) else list(zip(wanted, got))
    assert len(pairs) == (1 if isinstance(wanted, torch.Tensor) else len(wanted))
    for want, have in pairs:
        torch.testing.assert_close(have, want)
        if want.untyped_storage().data_ptr() == x.untyped_storage().data_ptr():
            assert have.stride() == want.stride()
            assert have.data_ptr() == want.data_ptr()


def test_a_write_to_the_result_is_one_to_the_input() -> None:
    x = torch.zeros(16, 2, 32)
    with torch.no_grad():
        compiled(turned, True)(x, torch.ones(3))[0].add_(1)
    assert bool((x == 1).all())


def split(x: Any) -> Any:
    return x[2:], x.t(), x.sin()


@pytest.mark.parametrize("dynamic", [True, False])
def test_views_have_gradients(dynamic: bool) -> None:
    x = torch.randn(6, 4, requires_grad=True)
    grads = []
    for run in (split, compiled(split, dynamic)):
        results = run(x)
        grads.append(torch.autograd.grad(sum((one * one).sum() for one in results), x)[0])
    torch.testing.assert_close(grads[1], grads[0])
