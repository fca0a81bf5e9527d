"""Which form of a function a call runs, and what makes a size hot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvm.runtime import hot_sizes
from tvm.runtime.artefact import FunctionInfo, ValueInfo
from tvm.runtime.hot_sizes import HotSizes, SizedFunction, Variant

INFO = FunctionInfo(
    "main",
    (ValueInfo("x", ("n", 3), "float32"), ValueInfo("w", (3,), "float32"),
     ValueInfo("y", ("m",), "float32")),
    (ValueInfo("output", ("n", "m"), "float32"),),
)  # fmt: skip
W = np.zeros(3)


def args(n: int, m: int) -> tuple[Any, ...]:
    return np.zeros((n, 3)), W, np.zeros(m)


class Recorder:
    """A builder that writes a file with the request, or fails."""

    def __init__(self, failure: str = "") -> None:
        self.failure, self.requests = failure, []  # type: ignore[var-annotated]

    def complete(self, func_name: str, shapes: Any) -> dict[str, tuple[int, ...]]:
        return dict(shapes)

    def build(self, func_name: str, shapes: Any, path: Path, *, urgent: bool) -> None:
        if self.failure:
            raise ValueError(self.failure)
        self.requests.append((func_name, dict(shapes), urgent))
        path.write_bytes(b"12345")


def slow(*given: Any) -> str:
    time.sleep(0.002)
    return "general"


def load(path: str, name: str) -> Callable[..., str]:
    return lambda *given: "variant"


def wait_for(machine: HotSizes, state: str) -> Variant:
    end = time.monotonic() + 600
    while time.monotonic() < end:
        found = [one for one in machine.variants if one.state == state]
        if found:
            return found[0]
        time.sleep(0.005)
    raise AssertionError(f"{[(v.state, v.found) for v in machine.variants]}")


def test_calls_run_the_form_of_their_sizes() -> None:
    func = SizedFunction(INFO, slow, None)
    assert func(*args(2, 5)) == "general"
    variant = Variant("main", {"x": (2, 3), "y": (5,)}, "asked for", "ready")
    func.add(func.sizes(variant.shapes), lambda *given: "variant", variant)
    assert func(*args(2, 5)) == "variant"
    assert func(*args(5, 2)) == "general"
    assert func(None, W, "no tensor") == "general"  # what it takes is the function's own to say
    assert func() == "general"
    assert variant.before.calls == 1
    assert variant.after.calls == 1
    assert variant.gain() is not None


def test_short_calls_of_one_size_are_tried_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "SAMPLED_SECONDS", 1e3)  # one call in 256 is timed
    func = SizedFunction(INFO, lambda x, w, y: ("general", *x.shape), None)
    looks: list[tuple[int, ...]] = []

    def fixed(x: Any, w: Any, y: Any) -> Any:
        looks.append(x.shape)
        if x.shape != (2, 3) or y.shape != (5,):
            raise ValueError("sizes")
        if x[0, 0]:
            raise ArithmeticError("values")
        return "variant"

    func.add(((2, 3), (5,)), fixed, Variant("main", {}, "asked for", "ready"))
    assert func(*args(4, 5)) == ("general", 4, 3)
    assert looks == []
    for _ in range(600):
        assert func(*args(2, 5)) == "variant"
    assert func(*args(4, 5)) == ("general", 4, 3)
    assert looks[-1] == (4, 3)  # which was tried
    assert func(*args(4, 5)) == ("general", 4, 3)
    assert looks.count((4, 3)) == 1  # and is not again, as sizes change
    for _ in range(2000):
        func(*args(2, 5))
    with pytest.raises(ArithmeticError, match="values"):  # of a call of the right sizes
        func(np.ones((2, 3)), W, np.zeros(5))


def test_a_size_that_took_long_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "HOT_SECONDS", 0.01)
    builder = Recorder()
    machine = HotSizes(builder, load)
    func = machine.watched(INFO, slow)
    for _ in range(12):
        func(*args(2, 5))
    ready = wait_for(machine, "ready")
    assert builder.requests == [("main", {"x": (2, 3), "y": (5,)}, False)]
    assert ready.nbytes == 5
    assert func(*args(2, 5)) == "variant"
    assert func(*args(3, 5)) == "general"
    assert "main(x: 2x3, y: 5) hot, ready" in str(machine.report())


def test_short_calls_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "HOT_SECONDS", 0.0)
    monkeypatch.setattr(hot_sizes, "MIN_SECONDS", 10.0)
    machine = HotSizes(Recorder(), load)
    func = machine.watched(INFO, slow)
    for _ in range(5):
        func(*args(2, 5))
    assert machine.variants == []


def test_the_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "HOT_SECONDS", 0.0)
    monkeypatch.setenv("TVM_HOT_SIZES", "0")
    machine = HotSizes(Recorder(), load)
    func = machine.watched(INFO, slow)
    for _ in range(5):
        func(*args(2, 5))
    assert machine.variants == []
    assert "not watched" in str(machine.report())


def test_what_fails_is_told_and_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "HOT_SECONDS", 0.0)
    machine = HotSizes(Recorder("no room"), load)
    func = machine.watched(INFO, slow)
    for _ in range(5):
        assert func(*args(2, 5)) == "general"
    wait_for(machine, "failed")
    func(*args(2, 5))
    assert len(machine.variants) == 1
    assert "failed: no room" in str(machine.report())


def test_there_are_never_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "HOT_SECONDS", 0.0)
    monkeypatch.setattr(hot_sizes, "MAX_VARIANTS", 2)
    builder = Recorder()
    machine = HotSizes(builder, load)
    func = machine.watched(INFO, slow)
    for n in range(1, 6):
        func(*args(n, 5))
    end = time.monotonic() + 600
    while any(v.state == "compiling" for v in machine.variants) and time.monotonic() < end:
        time.sleep(0.005)
    assert [v.state for v in machine.variants] == ["ready", "ready", "failed", "failed", "failed"]
    assert len(builder.requests) == 2


def test_accounts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "MAX_SIZES", 3)
    func = SizedFunction(INFO, slow, None)
    for n in range(1, 8):
        func(*args(n, 5))
    assert len(func._accounts) == 3


def test_quick_calls_are_timed_now_and_then() -> None:
    timed = 0

    def quick(*given: Any) -> int:
        return 1

    func = SizedFunction(INFO, quick, None)
    note = func._note

    def counted(*given: Any) -> None:
        nonlocal timed
        timed += 1
        note(*given)

    func._note = counted  # type: ignore[method-assign]
    for _ in range(1000):
        func(*args(2, 5))
    assert timed < 500
    (account,) = func._accounts.values()
    assert account.calls <= 1000 + 256


def test_another_size_comes_while_the_least_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot_sizes, "MAX_SIZES", 2)
    monkeypatch.setattr(hot_sizes, "SAMPLED_SECONDS", 0.0)  # each call is timed
    func = SizedFunction(INFO, lambda *given: None, None)
    others: list[threading.Thread] = []

    class Accounts(dict[Any, Any]):
        def __getitem__(self, sizes: Any) -> Any:
            if not others:
                others.append(threading.Thread(target=func, args=args(4, 1)))
                others[0].start()
                others[0].join(0.05)
            return super().__getitem__(sizes)

    func._accounts = Accounts()
    for n in (1, 2):
        func(*args(n, 1))
    next(iter(func._accounts.values())).seconds = -1.0  # it is the one to go
    func(*args(3, 1))
    others[0].join()
    assert len(func._accounts) == 2
