"""The digits model, compiled once by the command line for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.digits import MODEL, ONE_IMAGE, tvm_here


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("digits") / "digits.so"
    done = tvm_here("compile", MODEL, "-o", path, "--input-shapes", ONE_IMAGE)
    assert done.returncode == 0, done.stderr
    return path
