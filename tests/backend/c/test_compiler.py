"""The options of the C compiler."""

from __future__ import annotations

import pytest

from tvm.backend.c.compiler import FLAGS, options_of
from tvm.backend.c.source_text import SourceText
from tvm.target import Target

pytestmark = pytest.mark.cpu


def test_a_target_may_name_its_cpu() -> None:
    assert options_of(Target("c")) == list(FLAGS)
    assert options_of(Target("c -mcpu=cortex-a72"))[-1] == "-mcpu=cortex-a72"
    assert options_of(Target("c -march=armv8-a"))[-1] == "-march=armv8-a"


def test_the_file_tells_the_options_that_are_used() -> None:
    assert f"cc {' '.join(FLAGS)} -shared" in SourceText().text()
