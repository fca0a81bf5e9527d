"""When a write needs no rewriting of the program."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.frontend.torch.inplace import plainly_written, writes, written_tensors

from .running import assert_same, exported, interpreted

torch = pytest.importorskip("torch")


def nodes_of(func: Any) -> list[Any]:
    return list(exported(func, torch.ones(3, 4)).graph_module.graph.nodes)


def test_writes() -> None:
    nodes = nodes_of(lambda x: torch.relu_(x * 2))
    assert [writes(node) for node in nodes if node.op == "call_function"] == [False, True]


@pytest.mark.parametrize(
    ("func", "plain"),
    [
        (lambda x: torch.relu_(x * 2), True),
        (lambda x: torch.relu_((x * 2).add_(1)), True),
        (lambda x: torch.relu_(x), False),
        (lambda x: torch.relu_((x * 2)[0]), True),
        (lambda x: torch.relu_((x * 2).reshape(-1)[2:]), True),
        (lambda x: torch.relu_(x[0]), False),
        (lambda x: torch.relu_(x.reshape(-1)), False),
        (lambda x: torch.relu_((x * 2).expand(2, 3, 4)[0]), False),
    ],
    ids=[
        "of its own", "twice", "of an input", "of a view", "of a view of a view",
        "of a view of an input", "of what may be a view of an input", "of elements that repeat",
    ],
)  # fmt: skip
def test_plain(func: Any, plain: bool) -> None:
    assert plainly_written(nodes_of(func)) == plain


def test_a_view_from_before_the_write() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        row = y[0]
        y.add_(1)
        return row, y

    assert not plainly_written(nodes_of(func))


def test_a_view_of_what_is_read_later() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        y[0].add_(1)
        return y.sum()

    assert not plainly_written(nodes_of(func))


def test_two_views_of_one_tensor() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        first, second = y[0], y[0:2]
        return first.add_(1), second

    assert not plainly_written(nodes_of(func))


def test_a_view_of_what_was_written_before() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        z = y.add_(1)
        part = z[1:].mul_(3)
        return part + y.mean()

    assert not plainly_written(nodes_of(func))


def test_a_view_of_what_was_read_before() -> None:
    """As in blocks that add to the first channels of what they concatenate."""

    def func(x: Any) -> Any:
        y = torch.cat([x * 2, x + 1])
        total = y.sum()
        part = y[:4]
        part += x.mean()
        return part * total

    program = exported(func, torch.ones(3, 4))
    assert plainly_written(list(program.graph_module.graph.nodes))
    x = torch.randn(3, 4)
    assert_same(interpreted(from_exported_program(program), [x]), func(x))


@pytest.mark.parametrize(
    "func",
    [
        lambda x: (x.clone().add_(1), x * 2),
        lambda x: (x.detach().clone().relu_(), x - 1),
        lambda x: (torch.empty_like(x).copy_(x).sub_(1), x * 3),
    ],
    ids=["a copy of an input", "a copy of a view", "what was copied into"],
)
def test_a_copy_is_written(func: Any) -> None:
    """What was copied stays as it was."""
    x = torch.randn(3, 4)
    program = exported(func, x.clone())
    assert plainly_written(list(program.graph_module.graph.nodes))
    assert_same(interpreted(from_exported_program(program), [x]), func(x))


def test_what_was_copied_is_written() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        z = y.clone()
        return y.mul_(3), z

    program = exported(func, torch.ones(3, 4))
    assert plainly_written(list(program.graph_module.graph.nodes))
    x = torch.randn(3, 4)
    assert_same(interpreted(from_exported_program(program), [x]), func(x))


def test_tensors_that_are_written() -> None:
    """A copy is a tensor of its own; what a write gives is the tensor that it wrote to."""
    nodes = nodes_of(lambda x: (x * 2).clone().add_(1))
    tensors = written_tensors(nodes)
    assert tensors is not None
    assert {str(one): str(root) for one, root in tensors.items()} == {
        "mul": "mul", "clone": "clone", "add_": "clone",
    }  # fmt: skip
