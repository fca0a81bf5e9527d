"""Frames nest, close in order, and complain about what stands in the wrong place."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvm.error import ScriptError
from tvm.script.ir_builder import IRBuilder, IRBuilderFrame
from tvm.script.ir_builder import tir as build

pytestmark = pytest.mark.pure


class Note(IRBuilderFrame):
    __slots__ = ("log", "name")

    def __init__(self, name: str, log: list[str]) -> None:
        super().__init__()
        self.name = name
        self.log = log

    def finish(self) -> None:
        self.log.append(self.name)


def test_frames_without_with_last_to_the_end_of_the_frame_around() -> None:
    log: list[str] = []
    with IRBuilder(), Note("outer", log):
        Note("a", log).open_to_end()
        Note("b", log).open_to_end()
        with Note("inner", log):
            Note("c", log).open_to_end()
    assert log == ["c", "inner", "b", "a", "outer"]


def test_callbacks_run_last_first_before_the_frame_finishes() -> None:
    log: list[str] = []
    with IRBuilder(), Note("outer", log) as frame:
        frame.add_callback(lambda: log.append("1"))
        frame.add_callback(lambda: log.append("2"))
    assert log == ["2", "1", "outer"]


def fail_inside(log: list[str]) -> None:
    with Note("outer", log):
        Note("a", log).open_to_end()
        raise ZeroDivisionError


def test_an_error_drops_the_open_frames() -> None:
    log: list[str] = []
    with IRBuilder() as builder:
        with pytest.raises(ZeroDivisionError):
            fail_inside(log)
        assert builder.frames == []
    assert log == []


def test_thousands_of_open_frames_close_without_recursion() -> None:
    log: list[str] = []
    with IRBuilder(), Note("outer", log):
        for _ in range(5000):
            Note("x", log).open_to_end()
    assert len(log) == 5001


def test_misuse_is_named() -> None:
    assert not IRBuilder.is_in_scope()
    with pytest.raises(ScriptError, match="no builder is in scope"):
        IRBuilder.current()
    with IRBuilder() as builder:
        with pytest.raises(ScriptError, match="no result exists"):
            builder.get()
        with pytest.raises(ScriptError, match="no frame is open"):
            builder.last_frame()


def test_a_result_is_given_as_often_as_asked_for() -> None:
    with IRBuilder() as builder, build.prim_func():
        build.func_name("main")
        build.evaluate(0)
    assert builder.get() is builder.get()


@pytest.mark.parametrize(
    ("package", "made"),
    [
        ("tir", "tir.Var('x', 'int64')"),
        ("tir", "tir.decl_buffer((4,), 'float32')"),
        ("relax", "relax.Var('x', relax.TensorStructInfo((4,), 'float32'))"),
    ],
)
def test_objects_are_named_whatever_was_imported_before(package: str, made: str) -> None:
    name = "name_hint" if package == "relax" else "name"
    text = (
        f"from tvm import {package}; from tvm.script.ir_builder import IRBuilder; "
        f"print(IRBuilder.name('named', {made}).{name})"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "named"
