"""Figures of CPUs, beside what LLVM says of these."""

from __future__ import annotations

import pytest

from tests.covering import few
from tvm.target.cpu_table import TABLE
from tvm.target.llvm_questions import ask_llvm

pytestmark = pytest.mark.cpu
# "apple-latest" is another name of the newest
NAMED = [name for name in TABLE if name != "apple-latest"]


@pytest.mark.parametrize("name", few(NAMED, 4))
def test_the_table_says_nothing_that_llvm_denies(name: str) -> None:
    """Each named CPU has at least the features that the table gives it."""
    found = ask_llvm(f"{TABLE[name].arch}-linux-gnu", name)
    assert name in found.cpus
    assert TABLE[name].features <= found.on
