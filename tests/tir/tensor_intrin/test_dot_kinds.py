"""The table of instructions that sum products, and the names of intrinsics."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.tensor_intrin.dot_kinds import DOTS, dot_name, register_dot

pytestmark = pytest.mark.pure


def test_vectors_are_filled() -> None:
    for form, dot in DOTS.items():
        assert dot.group * (32 // dot.group) == 32, form
        assert dot.lanes in (4, 8, 16), form


def test_an_intrinsic_is_made_when_it_is_asked_for() -> None:
    name = register_dot("vnni512", "uint8", "int8")
    assert name == dot_name("vnni512", "uint8", "int8", False) == "dot_vnni512_uint8_int8"
    made = TensorIntrin.get(name)
    assert register_dot("vnni512", "uint8", "int8") == name
    assert TensorIntrin.get(name) is made
    assert register_dot("vnni512", "uint8", "int8", swapped=True) == name + "_swapped"


def test_rules_load_no_parser() -> None:
    program = "import sys, tvm.dlight.cpu; print('tvm.script.parser.core' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
