"""Networks rewritten."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend import nn

pytestmark = pytest.mark.pure


class Network(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(2, 3)
        self.layers = nn.ModuleList([nn.ReLU(), nn.ModuleList([nn.Linear(3, 3)])])
        self.cache = nn.KVCache(1, [2])
        self.size = 7


def test_each_visit_gets_the_name() -> None:
    seen: list[tuple[str, str]] = []

    class Looks(nn.Mutator):
        def visit_module(self, name: str, node: nn.Module) -> Any:
            seen.append((name, "module"))
            return super().visit_module(name, node)

        def visit_modulelist(self, name: str, node: nn.ModuleList) -> Any:
            seen.append((name, "list"))
            return super().visit_modulelist(name, node)

        def visit_param(self, name: str, node: nn.Parameter) -> Any:
            seen.append((name, "param"))
            return super().visit_param(name, node)

        def visit_effect(self, name: str, node: nn.Effect) -> Any:
            seen.append((name, "effect"))
            return super().visit_effect(name, node)

    network = Network()
    assert Looks().visit("", network) is network
    assert seen == [
        ("first", "module"), ("first.weight", "param"), ("first.bias", "param"),
        ("layers", "list"), ("layers.0", "module"), ("layers.1", "list"),
        ("layers.1.0", "module"), ("layers.1.0.weight", "param"), ("layers.1.0.bias", "param"),
        ("cache", "effect"),
    ]  # fmt: skip


def test_what_a_visit_gives_takes_the_place() -> None:
    class Quiet(nn.Mutator):
        def visit_module(self, name: str, node: nn.Module) -> Any:
            if isinstance(node, nn.ReLU):
                return nn.SiLU()
            return self.visit(name, node)

        def visit_param(self, name: str, node: nn.Parameter) -> Any:
            return nn.Parameter(node.shape, "float16") if name.endswith("weight") else node

    network = Quiet().visit("net", Network())
    assert isinstance(network.layers[0], nn.SiLU)
    assert [p.dtype for p in network.parameters()] == ["float16", "float32"] * 2
