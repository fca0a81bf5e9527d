from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.tir.function import PrimFunc
from tvm.tir.transform import InstrumentProfileIntrinsics

pytestmark = pytest.mark.pure


@T.prim_func
def program(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8, 8), "int32")) -> None:
    for i in range(8):  # 1
        for j in range(4):  # 2
            for k in range(2):  # 3
                A[i, j * 2 + k] = 1
        for j in T.parallel(4):  # 4
            for k in range(2):  # 5
                for m in range(1):  # 6
                    B[i, j * 2 + k] = m
    for i in range(8):  # 7
        B[i, i] = 2


def marks(func: PrimFunc = program, **config: object) -> list[int]:
    """The numbers of the starts, in the order of the text."""
    options = {f"tir.{key}": value for key, value in config.items()}
    with PassContext(config={"tir.reset_start_id": True, **options}):
        mod = InstrumentProfileIntrinsics()(IRModule({"main": func}))
    text = mod["main"].script()
    starts = [int(p.split(")")[0]) for p in text.split("start_profile_intrinsic(")[1:]]
    ends = [int(p.split(")")[0]) for p in text.split("end_profile_intrinsic(")[1:]]
    assert sorted(starts) == sorted(ends)
    return starts


def test_loops_side_by_side() -> None:
    assert marks(lwp_disable_func_prof=True) == [2, 4]  # 1 and 7 stand in no loop


def test_functions() -> None:
    assert marks() == [0, 2, 4]


def test_depth() -> None:
    assert marks(instr_siblings=False, lwp_disable_func_prof=True) == [1]
    both = {"instr_siblings": False, "lwp_disable_func_prof": True}
    assert marks(lwp_max_depth=1, **both) == [1, 2, 4]
    # within the parallel loop 4 nothing is marked
    assert marks(lwp_max_depth=9, lwp_min_height=0, **both) == [1, 2, 3, 4, 7]


def test_height() -> None:
    assert marks(lwp_min_height=0, lwp_disable_func_prof=True) == [2, 4]
    assert marks(lwp_min_height=2, lwp_disable_func_prof=True) == [4]


def test_behind_a_taller_loop() -> None:
    @T.prim_func
    def two(A: T.Buffer((8, 8), "int32")) -> None:
        for i in range(8):  # 1
            for j in range(4):  # 2
                for k in range(2):  # 3
                    A[i, j + k] = 1
            for j in range(4):  # 4
                A[i, j] = 2

    assert marks(two, lwp_disable_func_prof=True) == [2, 4]


def test_numbers_go_on() -> None:
    mod = IRModule({"main": program})
    with PassContext(config={"tir.reset_start_id": True}):
        InstrumentProfileIntrinsics()(mod)
    text = InstrumentProfileIntrinsics()(mod)["main"].script()
    assert "T.start_profile_intrinsic(8)" in text
