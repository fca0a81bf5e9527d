from __future__ import annotations

import pytest

from tvm.ir import SourceName, Span
from tvm.tir.interp.errors import out_of_bounds

pytestmark = pytest.mark.pure


def test_message_names_buffer_index_and_extent() -> None:
    span = Span(SourceName("f.py"), 3, 3, 1, 5)
    error = out_of_bounds("load from", "A", 1, 9, 8, span)
    assert isinstance(error, IndexError)
    text = str(error)
    assert text.splitlines()[0] == "load from buffer A in dimension 1"
    assert "index 9, the extent is 8" in text
    assert "f.py" in text
    assert "legal: 0 <= index < 8" in text
