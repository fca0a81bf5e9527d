"""Graphs within graphs: branches, loops, slices one by one; exported, and by torch.compile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program, relax_dynamo

from .running import assert_same, exported, interpreted

torch = pytest.importorskip("torch")
nn = torch.nn


def test_a_branch_is_a_choice() -> None:
    def func(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,))

    mod = from_exported_program(exported(func, torch.ones(3)))
    assert_same(interpreted(mod, [torch.ones(3)]), torch.full((3,), 2.0))
    assert_same(interpreted(mod, [-torch.ones(3)]), torch.full((3,), -2.0))


class Forked(nn.Module):
    """Two ways with weights, one of which checks a number when it is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.small, self.large = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x: Any, n: Any) -> Any:
        def short(x: Any, n: Any) -> Any:
            return self.small(x), n + 1

        def long(x: Any, n: Any) -> Any:
            rows = n.item()
            torch._check(rows >= 0)
            torch._check(rows <= 2)
            return self.large(x) * torch.ones(rows).sum(), n * 2

        return torch.cond(x.sum() > 0, short, long, (x, n))


def test_only_the_branch_that_is_taken_is_computed() -> None:
    torch.manual_seed(0)
    model, x, two, nine = Forked().eval(), torch.ones(5, 4), torch.tensor(2), torch.tensor(9)
    program = exported(model, x, two, dynamic_shapes=({0: torch.export.Dim.DYNAMIC}, None))
    run = relax.VirtualMachine(tvm.compile(from_exported_program(program), "llvm"), tvm.cpu())
    for given in ((x, nine), (-x[:2], two), (x[:3], two)):
        got = run["main"](*(tvm.runtime.tensor(v.numpy()) for v in given))
        for a, b in zip(got, model(*given)):
            np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(tvm.error.TVMError, match="9"):
        run["main"](*(tvm.runtime.tensor(v.numpy()) for v in (-x, nine)))


class Repeats(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        from torch._higher_order_ops.while_loop import while_loop

        def body(number: Any, a: Any) -> tuple[Any, Any]:
            return number + 1, self.lin(a) * 0.5 + a + 1

        return while_loop(lambda number, a: number < 7, body, (torch.tensor(0), x))


class Scans(torch.nn.Module):
    """A recurrence along the first axis; both extents are open."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x: Any, h: Any) -> Any:
        from torch._higher_order_ops.scan import scan

        def combine(state: Any, row: Any) -> tuple[Any, Any]:
            new = torch.tanh(self.lin(state) + row)
            return new, new * 2

        return scan(combine, h, x, dim=0)


@pytest.mark.filterwarnings("ignore")
def test_a_scan_of_open_extents() -> None:
    torch.manual_seed(0)
    model, some = Scans().eval(), torch.export.Dim.DYNAMIC
    example = (torch.randn(5, 2, 3), torch.randn(2, 3))
    program = torch.export.export(model, example, dynamic_shapes=({0: some, 1: some}, {0: some}))
    mod = from_exported_program(program)
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    for rows, batch in ((5, 2), (1, 3), (40, 2)):
        args = [torch.randn(rows, batch, 3), torch.randn(batch, 3)]
        with torch.no_grad():
            wanted = model(*args)
        found = machine["main"](*[tvm.runtime.tensor(x.numpy()) for x in args])
        for have, want in zip(found, wanted):
            np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def test_a_loop_is_a_function_that_calls_itself() -> None:
    torch.manual_seed(0)
    model, x = Repeats().eval(), torch.randn(2, 3)
    mod = from_exported_program(torch.export.export(model, (x,)))
    with torch.no_grad():
        assert_same(interpreted(mod, [x]), model(x))


def _mapped(x: Any) -> Any:
    from torch._higher_order_ops.map import map as each

    return each(lambda row, y: (row * y, row.sum()), x, x.sum(0))


def _branched(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * x.shape[0], (x,))


def _repeated(x: Any) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda a: a.abs().sum() > 1, lambda a: (a / 2,), (x,))


def _scanned(x: Any) -> Any:
    from torch._higher_order_ops.scan import scan

    return scan(lambda state, row: (state + row, state * row), x.sum(0), x, reverse=True)


def _in_batches(x: Any) -> Any:
    return torch.vmap(lambda row: (row * row).sum() + row)(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("func", [_mapped, _in_batches], ids=lambda func: func.__name__)
def test_slices_one_by_one(func: Any) -> None:
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    some = torch.export.Dim.DYNAMIC
    mod = from_exported_program(exported(func, x, dynamic_shapes=({0: some},)))
    for rows in (x, x[:3] - 1):
        assert_same(interpreted(mod, [rows]), func(rows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "func", [_branched, _repeated, _scanned, _mapped, _in_batches], ids=lambda func: func.__name__
)
def test_compiled_by_torch(func: Any) -> None:
    torch._dynamo.reset()
    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True, fullgraph=True)
    x = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    for rows in (x, x[:3] - 1):
        with torch.no_grad():
            assert_same(fast(rows), func(rows))


def test_a_part_that_is_computed_again() -> None:
    """A checkpoint asks for that on the way back; forward it is as any part."""
    torch._dynamo.reset()
    layer, x = nn.Linear(3, 2), torch.ones(4, 3)

    def func(x: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(lambda a: layer(a).sin(), x, use_reentrant=False)

    with torch.no_grad():
        assert_same(torch.compile(func, backend=relax_dynamo(), dynamic=True)(x), func(x))
