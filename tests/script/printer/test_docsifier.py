"""Names are unique in sight and free again when their frame ends."""

from __future__ import annotations

import pytest

from tvm.script.printer import doc as d
from tvm.script.printer.config import PrinterConfig
from tvm.script.printer.doc_printer import to_python_script
from tvm.script.printer.docsifier import Docsifier, identifier, rule

pytestmark = pytest.mark.pure


def test_names_are_numbered_and_freed() -> None:
    printer = Docsifier(PrinterConfig())
    keep = [object() for _ in range(5)]
    with printer.frame() as outer:
        assert printer.define(keep[0], outer, "i").name == "i"
        with printer.frame() as inner:
            assert printer.define(keep[1], inner, "i").name == "i_1"
            assert printer.define(keep[2], inner, "i").name == "i_2"
        assert printer.define(keep[3], outer, "i").name == "i_1"
        assert not printer.is_defined(keep[1])
    assert printer.name_doc(keep[0]) is None


def test_the_words_of_the_dialects_are_no_names() -> None:
    printer = Docsifier(PrinterConfig(tir_prefix="tt"))
    assert printer.fresh_name("tt") == "tt_1"
    assert printer.fresh_name("R") == "R_1"
    names = [printer.fresh_name(name) for name in ("I", "cls", "Module")]
    assert names == ["I_1", "cls_1", "Module"]
    printer.reserve("Mine")
    assert printer.fresh_name("Mine") == "Mine_1"


@pytest.mark.parametrize(
    ("hint", "name"),
    [("a.b", "a_b"), ("for", "for_"), ("", "v"), ("3x", "v_3x"), ("threadIdx.x", "threadIdx_x")],
)
def test_identifiers(hint: str, name: str) -> None:
    assert identifier(hint) == name


class _Thing:
    TYPE_KEY = "test.Thing"


def test_what_has_no_rule_goes_to_the_metadata_once() -> None:
    printer = Docsifier(PrinterConfig())
    thing, other = _Thing(), _Thing()
    texts = [to_python_script(printer.expr(t)) for t in (thing, other, thing)]
    assert texts == [f'metadata["test.Thing"][{i}]' for i in (0, 1, 0)]


def test_plain_values_print_as_themselves_sorted_by_key() -> None:
    printer = Docsifier(PrinterConfig())
    doc = printer.expr({"b": [1, 2.5, None], "a": (True, "x")})
    assert to_python_script(doc) == '{"a": [True, "x"], "b": [1, 2.5, None]}'


class _Shown:
    pass


@rule(_Shown)
def _shown(value: _Shown, printer: Docsifier) -> d.ExprDoc:
    return d.IdDoc("plain")


@rule(_Shown, token="special")
def _shown_special(value: _Shown, printer: Docsifier) -> d.ExprDoc:
    return d.IdDoc("special")


def test_a_dialect_may_have_a_rule_of_its_own() -> None:
    printer = Docsifier(PrinterConfig())
    assert to_python_script(printer.expr(_Shown())) == "plain"
    with printer.frame(None, "special"):
        assert to_python_script(printer.expr(_Shown())) == "special"
