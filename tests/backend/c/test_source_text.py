"""A C file has its parts in order, each once."""

from __future__ import annotations

import pytest

from tvm.backend.c.source_text import SourceText
from tvm.error import TVMError

pytestmark = pytest.mark.pure


def test_parts_come_in_order() -> None:
    source = SourceText()
    source.functions.append("int32_t f(void) { return 0; }\n")
    source.prototypes["f"] = "int32_t f(void);"
    source.constant("static const float one = 1;")
    assert source.declare("outside", "float", ("float",)) == "outside"
    source.need("max_f32")
    text = source.text()
    places = [text.index(part) for part in ("#include", "max_f32", "extern float outside(float);",
                                            "one", "f(void);", "f(void) {")]  # fmt: skip
    assert places == sorted(places)
    assert "#include <math.h>" in text


def test_an_outside_function_has_one_form() -> None:
    source = SourceText()
    source.declare("outside", "float", ("float",))
    with pytest.raises(TVMError, match="two forms of it"):
        source.declare("outside", "float", ("double",))
    assert source.externals == ("outside",)


def test_functions_of_the_c_library_come_with_their_header() -> None:
    source = SourceText()
    source.declare("memset", "void*", ("void*", "int32_t", "int64_t"))
    assert "#include <string.h>" in source.text()
    assert source.externals == ()


def test_a_packed_function_has_one_slot() -> None:
    source = SourceText()
    assert source.slot("a.b", "a_b") == source.slot("a.b", "a_b") == "fn_a_b"
    assert source.slot("a_b", "a_b") != "fn_a_b"
