"""Forms of parallel loops, and who runs them; results are in test_programs.py."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.backend.llvm.kernel import built, i32, kernel, lowered, packed
from tvm.backend.c.codegen import emit_module
from tvm.backend.c.helpers import PARALLEL_POINTER
from tvm.runtime import tensor
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer


def body(b: Buffer) -> s.Stmt:
    i = e.Var("i", "int32")
    return s.For(i, 0, 64, s.ForKind.PARALLEL, s.BufferStore(b, i, [i]))


@pytest.mark.pure
def test_bodies_become_functions_with_restrict_pointers() -> None:
    b = decl_buffer((64,), "int32", "b")
    text = emit_module(lowered({"kernel": kernel([b], body(b))})).text
    assert "kernel_parallel_i(int32_t start, int32_t extent, int32_t* restrict b)" in text
    assert "((TVMValue*)closure)[2].v_ptr = b;" in text
    assert "if (parallel_launch(__tvm_parallel_lambda, closure, 64) != 0) return -1;" in text


@pytest.mark.pure
def test_names_of_captured_variables_may_be_equal() -> None:
    b = decl_buffer((64,), "int32", "b")
    i, one, two = e.Var("i", "int32"), e.Var("start", "int32"), e.Var("start", "int32")
    loop: s.Stmt = s.For(i, 0, 64, s.ForKind.PARALLEL, s.BufferStore(b, one + two, [i]))
    loop = s.LetStmt(one, i32(1), s.LetStmt(two, i32(2), loop))
    text = emit_module(lowered({"kernel": kernel([b], loop)})).text
    assert "int32_t* restrict b, int32_t start_1, int32_t start_2)" in text


@pytest.mark.cpu
def test_a_loaded_library_runs_on_the_process_s_pool() -> None:
    library = built({"f": packed("f", 1, body, "int32")}, "c").library()
    place = library.symbol(PARALLEL_POINTER)
    assert place is not None
    assert ctypes.c_void_p.from_address(place).value


@pytest.mark.cpu
def test_without_a_pool_loops_are_serial() -> None:
    library = built({"f": packed("f", 1, body, "int32")}, "c").library()
    place = library.symbol(PARALLEL_POINTER)
    assert place is not None
    ctypes.c_void_p.from_address(place).value = None
    out = tensor(np.zeros(64, "int32"))
    library["f"](out)
    np.testing.assert_array_equal(out.numpy(), np.arange(64))


COUNT = """
import os, time, numpy as np, tvm
from tests.backend.c.test_parallel import *
module = built({"f": packed("f", 1, body, "int32")}, "c")
for _ in range(20): module["f"](tensor(np.zeros(64, "int32")))
def threads():  # what compiles beside the main thread may be about to end
    time.sleep(0.02)
    return len(os.listdir("/proc/self/task"))
print(min(threads() for _ in range(25)))
"""


@pytest.mark.cpu
@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads as Linux does")
def test_the_number_of_threads_is_that_of_the_pool() -> None:
    counts = [
        int(subprocess.run(
            [sys.executable, "-c", COUNT], capture_output=True, check=True,
            env={**os.environ, "TVM_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": "1",
                 "PYTHONPATH": "."},
        ).stdout)
        for n in ("1", "3")
    ]  # fmt: skip
    assert counts[1] - counts[0] == 2
