"""Watchers of passes: timing, printing, and users' own."""

from __future__ import annotations

import functools
import inspect
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tvm.ffi.object import Object
from tvm.support.lazy import lazy_names

from .module import IRModule
from .transform import PassInfo

# It needs the interpreters, which stand far above.
__getattr__ = lazy_names(__name__, {"Validate": "tvm.testing.validate:Validate"})


class PassInstrument(Object):
    """Called around passes; a subclass or a decorated class overrides what it needs."""

    def __init__(self, name: str | None = None) -> None:
        self.name = type(self).__name__ if name is None else name

    def __repr__(self) -> str:
        return self.name

    def enter_pass_ctx(self) -> None:
        """Called when the context is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when the context is left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether the pass shall run; one no among the instruments is enough to skip it."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called before a pass that will run."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Called with the module that the pass made."""


_METHODS = ("enter_pass_ctx", "exit_pass_ctx", "should_run", "run_before_pass", "run_after_pass")


def pass_instrument(pi_cls: Any = None) -> Any:
    """Make a class with any of the instrument's methods an instrument class."""

    def create(cls: Any) -> Any:
        if not inspect.isclass(cls):
            raise TypeError("pi_cls must be a class")

        class PyPassInstrument(PassInstrument):
            def __init__(self, *args: Any, **kwargs: Any) -> None:
                super().__init__(cls.__name__)
                self._inst = cls(*args, **kwargs)
                for method in _METHODS:
                    own = getattr(self._inst, method, None)
                    if own is not None:
                        setattr(self, method, own)

            def __getattr__(self, name: str) -> Any:
                if name == "_inst":
                    raise AttributeError(name)
                return getattr(self._inst, name)

        functools.update_wrapper(PyPassInstrument, cls, updated=())
        return PyPassInstrument

    return create(pi_cls) if pi_cls else create


class _Timed:
    """One run of a pass, with the passes that ran inside it."""

    __slots__ = ("inner", "name", "seconds", "start")

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = time.perf_counter()
        self.seconds = 0.0
        self.inner: list[_Timed] = []


class _Timings(threading.local):
    def __init__(self) -> None:
        self.root = _Timed("root")
        self.open: list[_Timed] = [self.root]


_TIMINGS = _Timings()


class PassTimingInstrument(PassInstrument):
    """Measures how long each pass takes; `render()` gives the tree of the current context."""

    def __init__(self) -> None:
        super().__init__("PassTimingInstrument")

    def enter_pass_ctx(self) -> None:
        _TIMINGS.root = _Timed("root")
        _TIMINGS.open = [_TIMINGS.root]

    def exit_pass_ctx(self) -> None:
        _TIMINGS.root = _Timed("root")
        _TIMINGS.open = [_TIMINGS.root]

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        timed = _Timed(info.name)
        _TIMINGS.open[-1].inner.append(timed)
        _TIMINGS.open.append(timed)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        timed = _TIMINGS.open.pop()
        timed.seconds = time.perf_counter() - timed.start

    @staticmethod
    def render() -> str:
        """One line a pass: its time, the time without inner passes, and its share, in us and %."""
        total = sum(timed.seconds for timed in _TIMINGS.root.inner) or 1.0
        lines: list[str] = []
        stack = [(timed, 0, total) for timed in reversed(_TIMINGS.root.inner)]
        while stack:
            timed, depth, parent = stack.pop()
            inner = sum(child.seconds for child in timed.inner)
            lines.append(
                "\t" * depth
                + f"{timed.name}: {timed.seconds * 1e6:.0f}us "
                f"[{(timed.seconds - inner) * 1e6:.0f}us] "
                f"({timed.seconds / total * 100:.2f}%; "
                f"{timed.seconds / (parent or 1.0) * 100:.2f}%)"
            )
            stack.extend((child, depth + 1, timed.seconds) for child in reversed(timed.inner))
        return "".join(line + "\n" for line in lines)


class PassPrintingInstrument(PassInstrument):
    """Prints the module before or after the named passes."""

    def __init__(
        self, print_before_pass_names: Sequence[str], print_after_pass_names: Sequence[str]
    ) -> None:
        super().__init__("PassPrintingInstrument")
        self.print_before_pass_names = list(print_before_pass_names)
        self.print_after_pass_names = list(print_after_pass_names)

    def run_before_pass(self, mod: IRModule, pass_info: PassInfo) -> None:
        if pass_info.name in self.print_before_pass_names:
            print(f"Print IR before: {pass_info.name}\n{mod}\n")

    def run_after_pass(self, mod: IRModule, pass_info: PassInfo) -> None:
        if pass_info.name in self.print_after_pass_names:
            print(f"Print IR after: {pass_info.name}\n{mod}\n")


class PrintAfterAll(PassInstrument):
    """Prints the module after every pass."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"After Running Pass: {info}\n{mod}")


class PrintBeforeAll(PassInstrument):
    """Prints the module before every pass."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        print(f"Before Running Pass: {info}\n{mod}")


class DumpIR(PassInstrument):
    """Hands the module after every pass to a function, as (number, pass name, module)."""

    def __init__(self, sink: Callable[[int, str, IRModule], None]) -> None:
        super().__init__("DumpIR")
        self._sink = sink
        self._count = 0

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self._sink(self._count, info.name, mod)
        self._count += 1
