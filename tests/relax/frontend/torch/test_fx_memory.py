"""Traced graphs that write to tensors with other names and views, compared with torch."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

import tvm
from tvm.relax.frontend.torch import from_fx

from .running import assert_same, interpreted, module_of

torch = pytest.importorskip("torch")
nn = torch.nn
fx = torch.fx
Function = Callable[[Any], Any]


def chained(x: Any) -> Any:
    y = x * 2
    y.add_(1).mul_(2)
    return y


def named_by_a_write(x: Any) -> Any:
    y = x * 2
    z = nn.functional.relu(y, inplace=True)
    y.mul_(3)
    return z.add_(1) * y


def conversion_of_one_type(x: Any) -> Any:
    y = x.to(torch.float32)
    y.add_(1)
    z = x.type_as(y)
    z.float().mul_(2)
    return x + y


def conversion_of_another_type(x: Any) -> Any:
    y = x.to(torch.float64)
    y.add_(1)
    z = x.to(torch.float32, copy=True)
    z.mul_(3)
    return x + y + z


def views_from_before(x: Any) -> Any:
    y = x * 2
    flat, row = y.view(-1), y[0].unsqueeze(0)
    column, wide = y.t(), y.expand(3, 2, 4)
    y.add_(1)
    return flat.sum() + row, column.T, wide


def parts_from_before(x: Any) -> Any:
    y = x * 2
    left, right = y.chunk(2, 1)
    first, second = y.unbind(0)
    y.mul_(3)
    return left * right, first + second


def parts_have_no_common_element(x: Any) -> Any:
    left, right = (x * 2).chunk(2, 1)
    left.add_(1)
    return torch.cat([left, right], 1)


def through_views_of_views(x: Any) -> Any:
    part = (x * 2).view(-1)
    whole = part.add_(1).view(2, 4)
    part.mul_(2)
    return whole


def laid_out(x: Any) -> Any:
    y = x * 2
    same, flat = y.contiguous(), y.flatten()
    same.add_(1)
    return y, flat


@pytest.mark.parametrize(
    "func",
    [
        chained, named_by_a_write, conversion_of_one_type, conversion_of_another_type,
        views_from_before, parts_from_before, parts_have_no_common_element,
        through_views_of_views, laid_out,
    ],
)  # fmt: skip
def test_writes_are_seen(func: Function) -> None:
    x = torch.rand(2, 4)
    given = x.clone()
    mod = from_fx(fx.symbolic_trace(module_of(func)), [((2, 4), "float32")])
    assert_same(interpreted(mod, [x]), func(given))


def test_a_module_that_writes() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            y = x * 2
            self.relu(y.sub_(1)).add_(1)
            return y

    x = torch.rand(2, 4)
    mod = from_fx(fx.symbolic_trace(Model()), [((2, 4), "float32")])
    assert_same(interpreted(mod, [x]), Model()(x.clone()))


def sibling(x: Any) -> Any:
    y = x * 2
    first, second = y[0], y[:, 1]
    first.add_(1)
    return second


def whole_of_a_part(x: Any) -> Any:
    y = x * 2
    y.chunk(2, 1)[0].add_(1)
    return y


def whole_of_a_flat(x: Any) -> Any:
    y = x * 2
    y.reshape(-1).add_(1)
    return y


def perhaps_a_copy(x: Any) -> Any:
    y = x * 2
    z = y.t().reshape(-1)
    y.add_(1)
    return z


def written_through_what_may_be_a_copy(x: Any) -> Any:
    y = x * 2
    y.t().contiguous().add_(1)
    return y


@pytest.mark.parametrize(
    "func",
    [sibling, whole_of_a_part, whole_of_a_flat, perhaps_a_copy, written_through_what_may_be_a_copy],
)
def test_refused(func: Function) -> None:
    """Nothing tells what the other reader would see, or only a copy back would show it."""
    with pytest.raises(tvm.error.TVMError, match="'add_', a write to a view"):
        from_fx(fx.symbolic_trace(module_of(func)), [((2, 4), "float32")])


def test_a_part_that_is_put_back() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_method("mul", (x, 2))
    row = graph.call_function(operator.getitem, (y, 0))
    flat = graph.call_method("view", (y, -1))
    more = graph.call_function(operator.iadd, (row, 1))
    graph.call_function(operator.setitem, (y, 0, more))
    graph.output((graph.call_method("add", (y, row)), flat))
    model = fx.GraphModule(nn.Module(), graph)
    given = torch.rand(2, 4)
    mod = from_fx(model, [((2, 4), "float32")])
    assert_same(interpreted(mod, [given]), model(given.clone()))
