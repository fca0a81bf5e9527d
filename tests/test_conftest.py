"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import compare_golden

pytestmark = pytest.mark.pure


def test_golden_text_is_compared_and_updated(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "test.txt"
    with pytest.raises(AssertionError, match="run pytest with --update-golden"):
        compare_golden(path, "one\n", update=False)
    compare_golden(path, "one\n", update=True)
    compare_golden(path, "one\n", update=False)
    with pytest.raises(AssertionError):
        compare_golden(path, "two\n", update=False)


def test_compile_cache_is_not_that_of_the_user() -> None:
    assert "pytest" in os.environ["TVM_CACHE_DIR"]
