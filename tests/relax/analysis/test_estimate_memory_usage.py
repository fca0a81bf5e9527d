"""The estimate of memory, before and after planning."""

from __future__ import annotations

import pytest

import tvm
from tvm.relax.analysis import estimate_memory_usage
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@I.ir_module(check_well_formed=False)
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        s = R.memory.alloc_storage(R.shape([32]), 0, "global", "float32")
        a = R.memory.alloc_tensor(s, 0, R.shape([2, 4]), R.dtype("float32"))
        b = R.memory.alloc_tensor(s, 0, R.shape([8]), R.dtype("float32"))
        c = R.builtin.alloc_tensor(R.shape([2, 4]), R.dtype("float16"), 0)
        d = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), 0)
        return c


def test_text() -> None:
    assert estimate_memory_usage(Module) == (
        "Memory usage estimation:\n"
        "- Function main:\n"
        " * Without memory planning, there are 3 constant-size memory allocation(s) with total size"
        " 7.451e-08 GB, and 1 dynamic-size allocation(s).\n"
        " * With memory planning, there are 2 constant-size memory allocation(s) with total size"
        " 4.47e-08 GB.\n"
        " * Memory planning reduces constant memory size to 60.0%.\n"
    )


def test_functions_and_empty_modules() -> None:
    assert estimate_memory_usage(Module["main"]).startswith(
        "Memory usage estimation:\n- Function foo:\n"
    )

    @R.function
    def nothing(x: R.Tensor((2,), "float32")):
        return x

    two = estimate_memory_usage(tvm.IRModule({"a": nothing, "b": Module["main"]}))
    without, with_some = two.split("- Function b:\n")
    assert without.endswith("0.0 GB.\n\n")  # an empty line where nothing is allocated
    assert with_some.endswith("60.0%.\n")
    assert "\n\n" not in with_some
    assert "reduces" not in estimate_memory_usage(nothing)
