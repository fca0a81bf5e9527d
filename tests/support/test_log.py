"""Loggers stand below `tvm`."""

from __future__ import annotations

import pytest

from tvm.support.log import logger

pytestmark = pytest.mark.pure


def test_name() -> None:
    assert logger("relax.build").name == "tvm.relax.build"
