"""Work in the compiler ends at its next checkpoint once its time limit is over."""

from __future__ import annotations

import concurrent.futures
import threading

import pytest

import tvm
from tvm import te, tir
from tvm.error import CallCancelled, CallTimeout, TVMError
from tvm.runtime import time_limit
from tvm.support.apart import hearing_signals
from tvm.support.checkpoint import checkpoint, wait_for

pytestmark = pytest.mark.pure


def _doubled() -> tir.PrimFunc:
    x = te.placeholder((8,), name="x")
    return te.create_prim_func([x, te.compute((8,), lambda i: x[i] * 2.0, name="y")])


def test_without_a_limit_all_goes_on() -> None:
    checkpoint("anything")
    with time_limit(1000.0):
        checkpoint("anything")


def test_no_further_pass_begins() -> None:
    begun = []

    @tvm.transform.module_pass(opt_level=0, name="Ends")
    def ends(mod: tvm.IRModule, _: object) -> tvm.IRModule:
        begun.append("Ends")
        limit.cancel()
        return mod

    @tvm.transform.module_pass(opt_level=0, name="Next")
    def follows(mod: tvm.IRModule, _: object) -> tvm.IRModule:
        begun.append("Next")
        return mod

    mod = tvm.IRModule({"main": _doubled()})
    passes = tvm.transform.Sequential([ends, follows])
    with time_limit() as limit, pytest.raises(CallCancelled, match="before Next"):
        passes(mod)
    assert begun == ["Ends"]
    begun.clear()
    ends_by_itself = tvm.transform.Sequential([follows])
    ends_by_itself(mod)
    assert begun == ["Next"]


def test_a_schedule_stays_whole() -> None:
    sch = tir.Schedule(_doubled())
    (loop,) = sch.get_loops(sch.get_block("y"))
    with time_limit() as limit:
        limit.cancel()
        with pytest.raises(CallCancelled, match="before split"):
            sch.split(loop, [2, None])
    sch.split(loop, [2, None])
    assert len(sch.trace.insts) == 3


def test_nobody_waits_for_work_in_c_any_more() -> None:
    ended = threading.Event()
    with time_limit() as limit:
        threading.Timer(0.01, limit.cancel).start()
        with pytest.raises(CallCancelled):
            hearing_signals(lambda: ended.wait(60))
    ended.set()
    assert hearing_signals(lambda: 3) == 3


def test_nobody_waits_for_a_future_any_more() -> None:
    never: concurrent.futures.Future[int] = concurrent.futures.Future()
    with time_limit() as limit:
        threading.Timer(0.01, limit.cancel).start()
        with pytest.raises(CallCancelled, match="before the next task"):
            wait_for(never, "the next task")
    never.set_result(1)
    wait_for(never, "the next task")


def test_arithmetic_is_a_step_of_its_own() -> None:
    """One that was not asked before: what is remembered takes no time."""
    x = tir.Var("x", "int64")
    asked = (x * 6151 + 3079) // 769 + x * 1543
    with time_limit() as limit:
        limit.cancel()
        with pytest.raises(CallCancelled, match="before arithmetic"):
            tvm.arith.Analyzer().simplify(asked)
    assert tvm.arith.Analyzer().can_prove((x + x) % 2 == 0)


def test_an_end_that_is_taken_for_a_failure_is_the_end() -> None:
    """Of the work: who tries several ways says that none went."""

    def attempts() -> None:
        try:
            checkpoint("the first way")
        except TVMError as err:
            raise ValueError("no way") from err

    with pytest.raises(CallTimeout, match="the first way was to begin") as caught:
        with time_limit(0.0):
            attempts()
    assert str(caught.value.__cause__) == "no way"
    with pytest.raises(ValueError, match=r"^other$"), time_limit():
        raise ValueError("other")
