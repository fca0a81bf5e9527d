"""Tables of text."""

from __future__ import annotations

import pytest

from tvm.meta_schedule.table import format_table

pytestmark = pytest.mark.pure


def test_columns_are_as_wide_as_needed() -> None:
    assert format_table(("ID", "Name"), [(0, "conv2d"), (12, "x"), ("", 1.5)]) == (
        " ID |   Name \n"
        "-------------\n"
        "  0 | conv2d \n"
        " 12 |      x \n"
        "    | 1.5000 \n"
        "-------------\n"
    )
