from __future__ import annotations

import pytest

from tvm.support.json_text import from_json


def test_texts() -> None:
    assert from_json('{"a": [1, null]}') == {"a": [1, None]}
    assert from_json(b"[true]") == [True]


@pytest.mark.parametrize("text", ["", "{", "nul", "[" * 100_000 + "]" * 100_000])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|nested too deeply"):
        from_json(text)
