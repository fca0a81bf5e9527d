"""Recurrent layers of exported programs."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm.error import OpAttributeUnImplemented
from tvm.relax.frontend.torch import from_exported_program, from_fx

from .running import assert_same, interpreted

torch = pytest.importorskip("torch")
nn = torch.nn
LAYERS = [
    (nn.LSTM(4, 5), (6, 3, 4)),
    (nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True, proj_size=3), (3, 6, 4)),
    (nn.LSTM(4, 5, bias=False), (6, 4)),
    (nn.GRU(4, 5, 2, bidirectional=True), (6, 3, 4)),
    (nn.RNN(4, 5, nonlinearity="relu"), (6, 3, 4)),
    (nn.RNN(4, 5, batch_first=True), (3, 6, 4)),
]  # fmt: skip
CELLS = [
    nn.LSTMCell(4, 5), nn.GRUCell(4, 5), nn.RNNCell(4, 5), nn.RNNCell(4, 5, nonlinearity="relu"),
]  # fmt: skip


@pytest.mark.parametrize(("layer", "shape"), LAYERS)
def test_layers(layer: Any, shape: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    mod = from_exported_program(torch.export.export(layer.eval(), (x,)))
    assert_same(interpreted(mod, [x]), layer(x))


@pytest.mark.parametrize("cell", CELLS)
def test_cells(cell: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 4)
    assert_same(interpreted(from_exported_program(torch.export.export(cell, (x,))), [x]), cell(x))


def test_states_may_be_given() -> None:
    torch.manual_seed(0)
    args = torch.randn(6, 3, 4), torch.randn(1, 3, 5), torch.randn(1, 3, 5)
    layer = nn.LSTM(4, 5)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            return self.layer(x, (h, c))

    mod = from_exported_program(torch.export.export(Outer(), args))
    assert_same(interpreted(mod, args), layer(args[0], args[1:]))


def test_a_sequence_of_any_length_is_refused() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.GRU(4, 5)

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0]

    steps = tvm.tir.SizeVar("steps", "int64")
    with pytest.raises(OpAttributeUnImplemented, match="legal: a number of steps"):
        from_fx(torch.fx.symbolic_trace(Outer()), [((steps, 3, 4), "float32")])
