"""Pages of sequences: shared, copied before they change, let go, and found again."""

from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.runtime.kv_pages import PageTable

pytestmark = pytest.mark.pure


def _table(pages: int = 8) -> tuple[PageTable, list[tuple[int, int, int]]]:
    copies: list[tuple[int, int, int]] = []
    return PageTable(pages, 4, lambda *what: copies.append(what)), copies


def test_sequences_take_pages_and_give_them_back() -> None:
    table, copies = _table()
    one = table.add(3)
    table.reserve(one, 5)
    assert [table.slot(one, i) for i in range(5)] == [0, 1, 2, 3, 4]
    table.pop(3, 1)
    assert table.available == 7
    table.remove(3)
    assert table.available == 8
    assert copies == []


def test_a_shared_page_is_copied_by_the_first_who_writes() -> None:
    table, copies = _table()
    one = table.add(0)
    table.reserve(one, 8)
    table.fork(0, 1)
    two = table.sequences[1]
    table.truncate(two, 6)
    assert two.pages == one.pages
    table.reserve(two, 1)
    assert copies == [(1, 2, 2)]
    assert [one.pages, two.pages] == [[0, 1], [0, 2]]
    table.remove(0)
    assert table.available == 6


def test_a_window_drops_whole_pages_behind_its_sinks() -> None:
    table, _ = _table()
    one = table.add(0)
    one.window, one.sinks, one.offset = 6, 1, 1
    table.reserve(one, 15)
    table.slide(one)
    # tokens 0 and 10..14 stay, in pages 0, 2 and 3
    assert [table.slot(one, i) for i in range(6)] == [0, 10, 11, 12, 13, 14]
    assert one.pages == [0, 2, 3]
    table.reserve(one, 2)
    assert table.slot(one, 7) == 4  # the page that was let go is taken again
    with pytest.raises(TVMError, match="0 to 7"):
        table.pop(0, 8)


def test_a_full_table_says_so() -> None:
    table, _ = _table(1)
    one = table.add(0)
    with pytest.raises(TVMError, match="1 pages of 4 tokens"):
        table.reserve(one, 5)
