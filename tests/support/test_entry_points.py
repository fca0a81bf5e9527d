"""What installed packages declare is read when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from tvm.support.entry_points import entry_points

pytestmark = pytest.mark.pure


def test_a_group_is_that_of_python() -> None:
    names = {entry.name for entry in entry_points("console_scripts")}
    assert names == {entry.name for entry in metadata.entry_points(group="console_scripts")}
    assert not list(entry_points("tvm.no_such_group"))


def test_targets_need_no_metadata() -> None:
    program = (
        "import sys, tvm; tvm.target.Target('llvm'); print('importlib.metadata' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
