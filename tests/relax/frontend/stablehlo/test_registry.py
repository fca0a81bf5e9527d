"""The table of converters."""

from __future__ import annotations

import pytest

from tvm.relax.frontend.stablehlo.registry import convert, converters


def test_converters_by_name() -> None:
    found = converters()
    assert {"stablehlo.add", "stablehlo.while", "chlo.erf", "func.call"} <= found.keys()
    assert all(callable(converter) for converter in found.values())


def test_one_name_has_one_converter() -> None:
    converters()
    with pytest.raises(AssertionError, match=r"stablehlo\.add is declared twice"):
        convert("stablehlo.add")(print)
