"""Writes through views, and when they are left to torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.frontend.torch.functionalize import functionalized
from tvm.relax.frontend.torch.inplace import writes

from .running import assert_same, exported, interpreted, module_of

torch = pytest.importorskip("torch")

REWRITTEN: dict[str, Callable[..., Any]] = {}
LEFT: dict[str, Callable[..., Any]] = {}


def case(table: dict[str, Callable[..., Any]]) -> Callable[[Any], Any]:
    def register(func: Any) -> Any:
        table[func.__name__] = func
        return func

    return register


def rewritten(program: Any) -> Any:
    return functionalized(program, lambda _: True)


@case(REWRITTEN)
def one_level(x: Any) -> Any:
    y = x * 2
    y[1].add_(1)
    return y


@case(REWRITTEN)
def two_levels(x: Any) -> Any:
    y = x * 2
    y[:, 1:3][0].mul_(x[0, :2])
    return y, y.sum()


@case(REWRITTEN)
def the_written_view_is_read(x: Any) -> Any:
    y = x * 2
    row = y[-1]
    row.mul_(3)
    return row + 1, y


@case(REWRITTEN)
def what_the_write_gives_is_read_after_another(x: Any) -> Any:
    y = x * 2
    row = y[0].mul_(3)
    y += x
    return row, y


@case(REWRITTEN)
def an_overlapping_view(x: Any) -> Any:
    y = x * 2
    column, deep = y[:, 1], y[:, 1:].transpose(0, 1)[0]
    before = column + 0
    y[2] -= 5
    return column, deep, before, y


@case(REWRITTEN)
def a_view_apart(x: Any) -> Any:
    y = x * 2
    apart = y[0]
    y[2].fill_(7)
    return apart, y


@case(REWRITTEN)
def a_write_to_the_whole(x: Any) -> Any:
    y = x * 2
    row = y[1]
    y.add_(1)
    return row, y


@case(REWRITTEN)
def a_write_through_one_of_two_views(x: Any) -> Any:
    y = x * 2
    first, second = y[0:2], y[1:3]
    first.mul_(second + 1)
    second += first.sum()
    return first, second, y


@case(REWRITTEN)
def a_loop(x: Any) -> Any:
    y = torch.zeros(3, 4)
    for i in range(3):
        y[i] = x[i] + (y[i - 1] if i else 0)
        y[i, i] /= 2
    return y


@case(REWRITTEN)
def columns_divided(x: Any) -> Any:
    grid = torch.stack([x, x + 1], -1).unsqueeze(0) + 0.5
    grid[..., 0] /= 8
    grid[..., 1] /= 4
    return grid.clamp(0, 1)


@case(REWRITTEN)
def a_view_of_an_input_is_returned(x: Any) -> Any:
    y = x * 2
    y[0] += x[1]
    return x[1], x.view(-1), y


@case(REWRITTEN)
def copies(x: Any) -> Any:
    y = torch.empty(3, 4)
    y[0].copy_(x[1])
    y[1:] = 3
    y[2, 1:].copy_(x[0, 0])
    y[:, 3].copy_(torch.arange(3))
    return y


@case(REWRITTEN)
def copies_to_integers(x: Any) -> Any:
    y = torch.zeros(3, 4, dtype=torch.int64)
    y[1].copy_(x[0] * 10)
    return y


@case(REWRITTEN)
def filled_by_a_tensor(x: Any) -> Any:
    y = x * 2
    y[1].fill_(x[0, 0])
    y[2, ::2].zero_()
    return y


@case(REWRITTEN)
def index_put(x: Any) -> Any:
    y = x * 2
    part = y[1:]
    part.index_put_((torch.tensor([0, 1]), torch.tensor([2, 3])), x[0, :2])
    part.index_put_((torch.tensor([1, 1]),), x[:2], accumulate=True)
    return y, part


@case(REWRITTEN)
def where_masked(x: Any) -> Any:
    y = x * 2
    y[1].masked_fill_(x[1] > 0, -1)
    return y


@case(REWRITTEN)
def shapes(x: Any) -> Any:
    y = x * 2
    y.view(-1)[5].add_(1)
    y.permute(1, 0)[2].mul_(3)
    y.t()[0, 1:].add_(2)
    y.unsqueeze(-1)[1, :, 0].sub_(1)
    y[:1].squeeze(0).mul_(4)
    y[1:].squeeze(0).mul_(4)
    y.view(3, 2, 2).permute(2, 0, 1)[1, 2].neg_()
    y.transpose(-1, 0)[:, -1].detach().add_(9)
    return y


@case(REWRITTEN)
def slices(x: Any) -> Any:
    y = x * 2
    y[:, -2:].add_(1)
    y[-2:-1, 1::2].add_(2)
    y[2:9].add_(3)
    y[3:].add_(4)
    y[2:1].add_(5)
    return y


@case(REWRITTEN)
def a_repeated_view_is_read(x: Any) -> Any:
    y = x[0] * 2
    wide = y.expand(3, 4)
    y[1:3] += 1
    return wide + x


@case(REWRITTEN)
def a_copy_of_before(x: Any) -> Any:
    y = x * 2
    old = y.clone()
    y[0] = 0
    old[1] = 1
    return old, y


@case(REWRITTEN)
def a_reshape_after_all_writes(x: Any) -> Any:
    y = x * 2
    y[0] = 1
    return y.t().reshape(-1), y.contiguous().flatten()


@case(REWRITTEN)
def a_dropout(x: Any) -> Any:
    y = torch.nn.functional.dropout(x * 2, training=False)
    y[0] += 1
    return y


@case(LEFT)
def a_reshape_from_before(x: Any) -> Any:
    y = x * 2
    line = y.reshape(-1)
    y[0] += 1
    return line


@case(LEFT)
def a_view_of_a_reshape_from_before(x: Any) -> Any:
    y = x * 2
    line = y.flatten()[2:]
    y[0] += 1
    return line * 2


@case(LEFT)
def a_write_to_a_reshape(x: Any) -> Any:
    y = x * 2
    y.reshape(-1)[2:].add_(1)
    return y


@case(LEFT)
def parts_from_before(x: Any) -> Any:
    y = x * 2
    first, second = y.split(2, 1)
    y[0] += 1
    return first, second


@case(LEFT)
def a_part_is_written(x: Any) -> Any:
    y = x * 2
    for part in y.unbind(0):
        part.add_(1)
    return y


@case(LEFT)
def an_operator_that_may_give_its_operand(x: Any) -> Any:
    y = x * 2
    same = y.type_as(x)
    y[0] += 1
    return same


@case(LEFT)
def a_wider_operand(x: Any) -> Any:
    y = x * 2
    y[0].add_(x[1].double())
    return y


@case(LEFT)
def compared_in_place(x: Any) -> Any:
    y = x * 2
    y[0].gt_(0)
    return y


@case(LEFT)
def the_shape_is_changed(x: Any) -> Any:
    y = x * 2
    row = y[0]
    row.unsqueeze_(0)
    y[0] += 1
    return row


@pytest.mark.parametrize("name", REWRITTEN)
def test_rewritten(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    func = REWRITTEN[name]
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    program = exported(func, torch.ones(3, 4))
    assert any(writes(node) for node in program.graph.nodes)
    made = rewritten(program)
    assert made is not None
    assert not any(writes(node) for node in made.graph_module.graph.nodes)
    assert any(writes(node) for node in program.graph.nodes), "the given program is not changed"
    wanted = func(x.clone())
    weights = [program.constants[spec.target] for spec in made.graph_signature.input_specs[:-1]]
    found = torch.fx.Interpreter(made.graph_module).run(*weights, x.clone())
    assert_same(found, wanted)  # as torch runs what was made
    monkeypatch.delattr(type(program), "run_decompositions")
    assert_same(interpreted(from_exported_program(program), [x]), wanted)


@pytest.mark.parametrize("name", LEFT)
def test_left_to_torch(name: str) -> None:
    func = LEFT[name]
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    program = exported(func, torch.ones(3, 4))
    assert rewritten(program) is None
    assert_same(interpreted(from_exported_program(program), [x]), func(x.clone()))


def written_input(x: Any) -> Any:
    x[0].add_(1)
    return x * 2


def view_of_written_input(x: Any) -> Any:
    view = x.view(-1)
    view[2:4] = 1
    return x + 1


def input_through_an_identity(x: Any) -> Any:
    y = torch.nn.functional.dropout(x, training=False)
    y[0] = 3
    return x + y


@pytest.mark.parametrize("func", [written_input, view_of_written_input, input_through_an_identity])
def test_writes_to_inputs_are_left_to_torch(func: Any) -> None:
    program = exported(func, torch.ones(3, 4))
    assert rewritten(program) is None
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning, match="the model changes"):
        mod = from_exported_program(program)
    assert_same(interpreted(mod, [x]), func(x.clone()))


def test_writes_to_buffers_are_left_to_torch() -> None:
    class Counter(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x: Any) -> Any:
            self.seen[0] += 1
            return x + self.seen

    assert rewritten(exported(Counter().eval(), torch.ones(3))) is None


def test_running_statistics_are_left_to_torch() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        y[0] += 1
        return norm(y)

    norm = torch.nn.BatchNorm1d(4)
    made = module_of(func)
    made.norm = norm
    assert rewritten(torch.export.export(made.train(), (torch.ones(3, 4),))) is None
    assert rewritten(torch.export.export(made.eval(), (torch.ones(3, 4),))) is not None


def test_operators_without_a_converter_are_left_to_torch() -> None:
    assert functionalized(exported(one_level, torch.ones(3, 4)), lambda _: False) is None


def test_an_open_extent() -> None:
    def rows(x: Any) -> Any:
        y = x * 2
        y[:, 1] += 1
        y[:, 2:].mul_(3)
        return y

    def last(x: Any) -> Any:
        y = x * 2
        y[-1:] += 1
        return y

    args = (torch.ones(3, 4),)
    options = {"dynamic_shapes": ({0: torch.export.Dim("n", min=2)},)}
    program = torch.export.export(module_of(rows), args, **options)
    assert rewritten(program) is not None
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    assert_same(interpreted(from_exported_program(program), [x]), rows(x.clone()))
    assert rewritten(torch.export.export(module_of(last), args, **options)) is None
