"""Instruments: order of calls, skipping, failing on entry, timing, printing."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_transform import named
from tvm.ir.instrument import (
    DumpIR,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)
from tvm.ir.transform import PassContext, Sequential

pytestmark = pytest.mark.pure


def recorder(events: list[str], run: bool = True, fail: bool = False):
    @pass_instrument
    class Recorder:
        def enter_pass_ctx(self) -> None:
            if fail:
                raise ValueError("no entry")
            events.append("enter")

        def exit_pass_ctx(self) -> None:
            events.append("exit")

        def should_run(self, mod, info) -> bool:
            return run

        def run_before_pass(self, mod, info) -> None:
            events.append(f"before {info.name}")

        def run_after_pass(self, mod, info) -> None:
            events.append(f"after {info.name}")

    return Recorder()


def test_order_of_calls() -> None:
    events: list[str] = []
    with PassContext(instruments=[recorder(events)]):
        named("a", events)(tvm.IRModule())
    assert events == ["enter", "before a", "a", "after a", "exit"]


def test_one_no_skips_the_pass_unless_required() -> None:
    events: list[str] = []
    with PassContext(instruments=[recorder(events, run=False)]):
        named("a", events)(tvm.IRModule())
    assert events == ["enter", "exit"]
    events.clear()
    with PassContext(instruments=[recorder(events, run=False)], required_pass=["a"]):
        named("a", events)(tvm.IRModule())
    assert "a" in events


def test_failing_entry_leaves_those_that_entered() -> None:
    events: list[str] = []
    ctx = PassContext(instruments=[recorder(events), recorder([], fail=True)])
    with pytest.raises(ValueError, match="no entry"), ctx:
        raise AssertionError("the body must not run")
    assert events == ["enter", "exit"]
    assert ctx.instruments == []
    first, second = (recorder(events) for _ in range(2))
    first.exit_pass_ctx = lambda: events.append("exit first")
    second.exit_pass_ctx = lambda: events.append("exit second")
    events.clear()
    with pytest.raises(ValueError, match="no entry"):
        PassContext(instruments=[first, second, recorder([], fail=True)]).__enter__()
    assert events == ["enter", "enter", "exit second", "exit first"], "the last is left first"
    assert PassContext.current() is not ctx


def test_override_instruments() -> None:
    first: list[str] = []
    second: list[str] = []
    with PassContext(instruments=[recorder(first)]) as ctx:
        ctx.override_instruments([recorder(second)])
        assert first == ["enter", "exit"]
    assert second == ["enter", "exit"]


def test_timing_renders_a_tree() -> None:
    timing = PassTimingInstrument()
    with PassContext(instruments=[timing]):
        Sequential([named("inner", [])], name="outer")(tvm.IRModule())
        lines = timing.render().splitlines()
    assert lines[0].startswith("outer: ")
    assert lines[1].startswith("\tinner: ")
    assert PassTimingInstrument.render() == ""


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    with PassContext(instruments=[PassPrintingInstrument(["a"], ["b"])]):
        Sequential([named("a", []), named("b", [])])(tvm.IRModule())
    out = capsys.readouterr().out
    assert "Print IR before: a" in out
    assert "Print IR after: b" in out
    assert "after: a" not in out
    with PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        named("a", [])(tvm.IRModule())
    out = capsys.readouterr().out
    assert "Before Running Pass: The meta data of the pass - pass name: a" in out
    assert "After Running Pass: The meta data of the pass - pass name: a" in out


def test_dump_numbers_the_steps() -> None:
    steps: list[tuple[int, str]] = []
    with PassContext(instruments=[DumpIR(lambda i, name, mod: steps.append((i, name)))]):
        Sequential([named("a", []), named("b", [])], name="s")(tvm.IRModule())
    assert steps == [(0, "a"), (1, "b"), (2, "s")]
