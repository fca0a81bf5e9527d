"""URLs, tables and connections: what is refused, and with which words."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from tvm.error import TVMError
from tvm.meta_schedule.database import SQLDatabase
from tvm.meta_schedule.database.sql_tables import is_url

pytestmark = pytest.mark.pure


def test_which_names_are_urls() -> None:
    assert is_url("sqlite:///a.db")
    assert is_url("postgresql://h/d")
    assert not any(is_url(name) for name in ("json", "a/b", "sqlite:a", "http://x", None, 3))


@pytest.mark.parametrize(
    ("given", "found"),
    [("records.db", "'records.db'"), ("mysql://a/b", "'mysql://a/b'"), ("sqlite://", "'sqlite:"),
     ("postgresql://h:x/d", "postgresql://...")],
)  # fmt: skip
def test_no_such_url(given: str, found: str) -> None:
    with pytest.raises(TVMError, match=r"legal: sqlite:///PATH, postgresql://USER@HOST") as raised:
        SQLDatabase(given)
    assert f"found: {found}" in str(raised.value)


def test_nowhere_to_write(tmp_path: Path) -> None:
    with pytest.raises(TVMError, match=r"the database sqlite:///.*\n  found: unable to open"):
        SQLDatabase(f"sqlite:///{tmp_path}/none/records.db")
    (tmp_path / "text.db").write_text("no database, but a text of some length" * 100)
    with pytest.raises(TVMError, match=r"found: file is not a database"):
        SQLDatabase(f"sqlite:///{tmp_path}/text.db")


def test_no_server() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(TVMError, match=r"tuner:\*\*\*@127.0.0.1:1/x\n  found: connection") as err:
        SQLDatabase("postgresql://tuner:secret@127.0.0.1:1/x")
    assert "secret" not in str(err.value)


def test_another_form_of_tables(sqlite: str, tmp_path: Path) -> None:
    SQLDatabase(sqlite).close()
    with sqlite3.connect(tmp_path / "records.db") as raw:
        raw.execute("UPDATE tvm_facts SET value = '7'")
    with pytest.raises(TVMError, match=r"found: tables of form 7\n  legal: form 1, which"):
        SQLDatabase(sqlite)
