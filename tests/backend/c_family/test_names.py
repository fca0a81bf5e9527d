"""Names of TIR as identifiers."""

from __future__ import annotations

import pytest

from tvm.backend.c_family.names import c_name

pytestmark = pytest.mark.pure


def test_other_letters_are_replaced() -> None:
    assert [c_name(n) for n in ("a.b", "2x", "größe", "", "ok_1")] == [
        "a_b", "v_2x", "gr__e", "v_", "ok_1",
    ]  # fmt: skip
