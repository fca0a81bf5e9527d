"""Runtimes of other projects are found by the names of the functions they register."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tvm
from tvm.contrib import coreml_runtime, tflite_runtime
from tvm.ffi import register_global_func, remove_global_func


@pytest.fixture
def calls() -> Iterator[list[Any]]:
    """What stand-ins of the runtimes were asked, in order."""
    told: list[Any] = []

    def module(*given: Any) -> Any:
        told.append(given)
        names = ("set_input", "invoke", "get_output", "set_num_threads", "get_num_outputs")
        return {name: lambda *args, name=name: told.append((name, *args)) for name in names}

    kinds = ("tflite_runtime", "edgetpu_runtime", "coreml_runtime")
    for kind in kinds:
        register_global_func(f"tvm.{kind}.create", module, override=True)
    yield told
    for kind in kinds:
        remove_global_func(f"tvm.{kind}.create")


@pytest.mark.parametrize("target", ["cpu", "edge_tpu"])
def test_tflite(calls: list[Any], target: str) -> None:
    runner = tflite_runtime.create(b"model", tvm.cpu(0), target)
    runner.set_num_threads(2)
    runner.set_input(0, 5)
    runner.invoke()
    runner.get_output(1)
    assert bytes(calls[0][0]) == b"model"
    asked = [("set_num_threads", 2), ("set_input", 0, 5), ("invoke",), ("get_output", 1)]
    assert calls[1:] == asked


def test_coreml(calls: list[Any]) -> None:
    runner = coreml_runtime.create("main", "net.mlmodelc", tvm.cpu(0))
    runner.set_input("x", 5)
    runner.invoke()
    runner.get_output(0)
    assert calls[0] == ("main", "net.mlmodelc")
    assert calls[1:] == [("set_input", "x", 5), ("invoke",), ("get_output", 0)]


def test_a_runtime_that_nobody_registered() -> None:
    with pytest.raises(ValueError, match=r"tvm\.tflite_runtime\.create"):
        tflite_runtime.create(b"", tvm.cpu(0))
