"""Dropouts in training are left out of imported programs, and a warning names them."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program, from_fx

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu
functional = torch.nn.functional


class Calls(torch.nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, func: Any) -> None:
        super().__init__()
        self.func = func

    def forward(self, x: Any) -> Any:
        return self.func(x)


class Holds(torch.nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x)


def said(run: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return [one for one in seen if "in training" in str(one.message)]


def both(model: Any, x: Any) -> list[list[Any]]:
    program = torch.export.export(model, (x,))
    traced = torch.fx.symbolic_trace(model)
    info = [(tuple(x.shape), "float32")]
    return [said(lambda: from_exported_program(program)), said(lambda: from_fx(traced, info))]


DROPPING = {
    "dropout": lambda x: functional.dropout(functional.dropout(x, 0.3)),
    "alpha_dropout": lambda x: functional.alpha_dropout(x, 0.3, True),
    "feature_dropout": lambda x: functional.dropout1d(x, 0.3),
    "scaled_dot_product_attention": lambda x: functional.scaled_dot_product_attention(
        x, x, x, dropout_p=0.2
    ),
}


@pytest.mark.parametrize("name", DROPPING)
def test_one_warning_an_import_names_the_operator(name: str) -> None:
    for seen in both(Calls(DROPPING[name]), torch.ones(2, 3, 4)):
        assert len(seen) == 1
        assert seen[0].filename == __file__
        word = str(seen[0].message).removeprefix("torch: ").split(" in training")[0]
        assert word in (name, "dropout1d")


KEEPING = {
    "off": lambda x: functional.dropout(x, 0.3, False),
    "never": lambda x: functional.dropout(x, 0.0),
    "alpha": lambda x: functional.alpha_dropout(x, 0.3),
    "attention": lambda x: functional.scaled_dot_product_attention(x, x, x),
}


@pytest.mark.parametrize("name", KEEPING)
def test_nothing_is_said_where_nothing_is_left_out(name: str) -> None:
    assert both(Calls(KEEPING[name]), torch.ones(2, 3, 4)) == [[], []]


@pytest.mark.parametrize("training", [True, False])
def test_modules(training: bool) -> None:
    model = Holds(torch.nn.Sequential(torch.nn.Dropout(), torch.nn.Dropout1d(0.0)))
    for seen in both(model.train(training), torch.ones(2, 3, 4)):
        assert len(seen) == training


def test_converters_of_ones_own_are_not_warned_of() -> None:
    traced = torch.fx.symbolic_trace(Holds(torch.nn.Dropout()))
    own = {torch.nn.Dropout: lambda node, importer: importer.env[node.args[0]]}
    assert not said(lambda: from_fx(traced, [((2,), "float32")], custom_convert_map=own))
