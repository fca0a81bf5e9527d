"""Long calls end: by their time limit, when cancelled, by Ctrl-C; and what comes after works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import CallCancelled, CallTimeout
from tvm.runtime import time_limit
from tvm.runtime.threads import config_threads
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
ENDLESS = 1 << 40  # iterations: hours


@T.prim_func
def serial(a: T.Buffer((1,), "int64"), n: T.int64) -> None:
    for i in range(n):
        a[0] = a[0] * T.int64(3) + i


@T.prim_func
def nested(a: T.Buffer((64,), "int64"), n: T.int64) -> None:
    for i in range(n):
        for j in range(64):
            a[j] = a[j] * T.int64(3) + i


@T.prim_func
def two_sizes(a: T.Buffer((64,), "int64"), n: T.int64) -> None:
    for i in range(n):
        for j in range(n // T.int64(1 << 20)):
            a[j % T.int64(64)] = a[j % T.int64(64)] * T.int64(3) + i


@T.prim_func
def parallel(a: T.Buffer((64,), "int64"), n: T.int64) -> None:
    for i in T.parallel(64):
        for j in range(n):
            a[i] = a[i] * T.int64(3) + j


@T.prim_func
def one_task_is_long(a: T.Buffer((64,), "int64"), n: T.int64) -> None:
    for i in T.parallel(2):
        for j in range(n * T.Cast("int64", i)):
            a[i] = a[i] * T.int64(3) + j


@T.prim_func
def until(a: T.Buffer((1,), "int64"), n: T.int64) -> None:
    a[0] = T.int64(0)
    while a[0] < n:
        a[0] = T.bitwise_and(a[0] * T.int64(3) + T.int64(1), n - T.int64(1))


KERNELS = {
    "serial": (serial, 1), "nested": (nested, 64), "two_sizes": (two_sizes, 64),
    "parallel": (parallel, 64), "one_task_is_long": (one_task_is_long, 64), "until": (until, 1),
}  # fmt: skip


@pytest.fixture(autouse=True)
def two_threads() -> Any:
    """Pool threads take part, whatever the machine."""
    config_threads(2)
    yield
    config_threads(0)


def built(name: str) -> tuple[Callable[[int], None], Any]:
    kernel, size = KERNELS[name]
    func = tvm.compile(kernel, target="llvm")[kernel.attrs["global_symbol"]]
    numbers = tvm.runtime.tensor(np.zeros(size, "int64"))
    func(numbers, 4)  # linked, and right
    return lambda n: func(numbers, n), numbers


@pytest.mark.parametrize("name", KERNELS)
def test_a_time_limit_ends_a_kernel(name: str) -> None:
    if name == "until":
        return  # its right call does not end either: below
    call, numbers = built(name)
    with pytest.raises(CallTimeout, match=r"(?s)at most 50 ms.*kernel .* runs after \d+ ms"):
        with time_limit(0.05):
            call(ENDLESS)
    numbers.copyfrom(np.zeros(numbers.shape, "int64"))
    call(4)
    if name == "serial":
        assert numbers.numpy()[0] == ((0 * 3 + 1) * 3 + 2) * 3 + 3


def test_a_time_limit_ends_a_while_loop() -> None:
    func = tvm.compile(until, target="llvm")["until"]
    numbers = tvm.runtime.tensor(np.zeros(1, "int64"))
    with pytest.raises(CallTimeout, match="kernel until runs"), time_limit(0.05):
        func(numbers, ENDLESS)
    assert isinstance(CallTimeout("x"), TimeoutError)


def test_another_thread_cancels() -> None:
    call, _ = built("serial")
    with time_limit() as limit:
        timer = threading.Timer(0.05, limit.cancel)
        timer.start()
        with pytest.raises(CallCancelled, match="kernel serial, after"):
            call(ENDLESS)
        timer.join()


def test_limits_nest_and_the_first_holds() -> None:
    call, _ = built("serial")
    with time_limit(0.05), time_limit(60), pytest.raises(CallTimeout):
        call(ENDLESS)
    with time_limit() as outer, time_limit(60):
        outer.cancel()
        with pytest.raises(CallCancelled):
            call(ENDLESS)
    call(4)
    with pytest.raises(ValueError, match="0 to 1e9 seconds"), time_limit(-1):
        pass


@pytest.mark.parametrize("name", ["serial", "parallel", "one_task_is_long"])
def test_signals_of_python_are_heard(name: str) -> None:
    """Whatever the handler raises arrives as it is; a handler that returns lets the call go on."""
    call, _ = built(name)
    heard: list[int] = []

    class Heard(Exception):
        pass

    def handler(number: int, frame: object) -> None:
        heard.append(number)
        if len(heard) == 2:
            raise Heard("twice")

    ended = threading.Event()

    def send() -> None:  # again and again: signals that come together are heard as one
        while not ended.wait(0.03):
            os.kill(os.getpid(), signal.SIGINT)

    def send_and_call() -> None:
        sender.start()
        call(ENDLESS)

    before = signal.signal(signal.SIGINT, handler)
    sender = threading.Thread(target=send)
    try:
        with pytest.raises(Heard, match="twice"):
            send_and_call()
    finally:
        ended.set()
        sender.join()
        signal.signal(signal.SIGINT, before)
    call(4)


def test_other_threads_have_limits_of_their_own() -> None:
    call, _ = built("serial")
    found: list[BaseException] = []

    def work() -> None:
        try:
            with time_limit(0.05):
                call(ENDLESS)
        except CallTimeout as err:
            found.append(err)

    with time_limit(600):
        thread = threading.Thread(target=work)
        thread.start()
        call(1000)
        thread.join()
    assert len(found) == 1


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_calls_of_a_machine_have_timeouts(mode: str) -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(relax.op.add(x, x))
        builder.emit_func_output(out)
    vm = relax.VirtualMachine(relax.build(builder.get(), "llvm", exec_mode=mode), tvm.cpu())
    given = np.ones((4, 4), "float32")
    np.testing.assert_array_equal(vm.invoke("main", given, timeout=60).numpy(), given + given)
    np.testing.assert_array_equal(vm.invoke("main", given).numpy(), given + given)
    if mode == "bytecode":
        with pytest.raises(CallTimeout, match="was to begin after"):
            vm.invoke("main", given, timeout=0)


def test_exported_libraries_are_heard_too(tmp_path: Any) -> None:
    path = str(tmp_path / "long.so")
    tvm.compile(serial, target="llvm").export_library(path)
    func = tvm.runtime.load_module(path)["serial"]
    numbers = tvm.runtime.tensor(np.zeros(1, "int64"))
    with pytest.raises(CallTimeout, match="kernel serial"), time_limit(0.05):
        func(numbers, ENDLESS)


DAEMONS = """
import threading, time, numpy as np, tvm
from tests.runtime.test_interruption import serial
func = tvm.compile(serial, target="llvm")["serial"]
numbers = [tvm.runtime.tensor(np.zeros(1, "int64")) for _ in range(4)]
func(numbers[0], 4)
def work(i):
    while True:
        func(numbers[i], 10 if i % 2 else 3_000_000)
for i in range(4):
    threading.Thread(target=work, args=(i,), daemon=True).start()
time.sleep(0.2)
raise SystemExit(7)
"""


def test_daemon_threads_inside_kernels_let_python_end() -> None:
    done = subprocess.run([sys.executable, "-c", DAEMONS], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (7, b"")
