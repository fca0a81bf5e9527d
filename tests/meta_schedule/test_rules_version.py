"""The version of the rules that records were found with."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import tvm
from tvm.meta_schedule.rules_version import rules_version

pytestmark = pytest.mark.pure


def test_form() -> None:
    version, _, digest = rules_version().partition("+")
    assert version == tvm.__version__
    assert re.fullmatch("[0-9a-f]{16}", digest)


def test_the_same_in_every_process() -> None:
    asked = "from tvm.meta_schedule.rules_version import rules_version as v; print(v())"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert done.stdout.strip() == rules_version()
