"""Options of printing are known by name."""

from __future__ import annotations

import pytest

from tvm.script.printer.config import InvalidNameError, PrinterConfig, config_of

pytestmark = pytest.mark.pure


def test_defaults() -> None:
    config = PrinterConfig()
    assert (config.ir_prefix, config.tir_prefix, config.relax_prefix) == ("I", "T", "R")
    assert config.binding_names == []
    assert PrinterConfig(name="f").binding_names == ["f"]
    assert config.num_context_lines == -1


def test_an_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(TypeError, match="did you mean 'show_meta'") as caught:
        config_of({"show_metas": True})
    assert "legal:" in str(caught.value)


def test_prefixes_are_names() -> None:
    with pytest.raises(InvalidNameError, match="'2I', which is no identifier"):
        PrinterConfig(ir_prefix="2I")
    for name in ("ir_prefix", "tir_prefix", "relax_prefix"):
        with pytest.raises(InvalidNameError, match="is no identifier"):
            PrinterConfig(**{name: ""})
    assert PrinterConfig(module_alias="").module_alias == ""
