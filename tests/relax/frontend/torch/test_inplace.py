"""When a write needs no rewriting of the program."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend.torch.inplace import plainly_written, writes

from .running import exported

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
        (lambda x: torch.relu_((x * 2)[0]), False),
        (lambda x: torch.relu_((x * 2).reshape(-1)), False),
    ],
    ids=["of its own", "twice", "of an input", "of a view", "of what may be a view"],
)
def test_plain(func: Any, plain: bool) -> None:
    assert plainly_written(nodes_of(func)) == plain


def test_a_view_from_before_the_write() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        row = y[0]
        y.add_(1)
        return row, y

    assert not plainly_written(nodes_of(func))
