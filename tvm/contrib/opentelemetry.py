"""Spans of OpenTelemetry for compilations and calls of programs.

    with tvm.transform.PassContext(instruments=[SpanInstrument()]):
        executable = tvm.compile(mod, "llvm")       # a span a pass, within each other

    trace_calls(vm)                                 # a span a call of the virtual machine

The spans go where the application sends its others; without an SDK they cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tvm.error import message
from tvm.ir.instrument import PassInstrument
from tvm.ir.module import IRModule
from tvm.ir.transform import PassInfo
from tvm.runtime.vm import VirtualMachine

__all__ = ["SpanInstrument", "span", "trace_calls"]


class SpanInstrument(PassInstrument):
    """A span for each pass, within the span of the pass that runs it."""

    def __init__(self, tracer: Any = None) -> None:
        super().__init__("SpanInstrument")
        self._tracer = tracer or _tracer()
        self._open: list[tuple[str, Any, Any]] = []

    def exit_pass_ctx(self) -> None:
        while self._open:       # passes that ended with an exception
            self._end()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        manager = self._tracer.start_as_current_span(f"tvm.pass {info.name}")
        made = manager.__enter__()
        made.set_attribute("tvm.pass", info.name)
        made.set_attribute("tvm.functions.before", len(mod.functions))
        self._open.append((info.name, manager, made))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        while self._open and self._open[-1][0] != info.name:
            self._end()
        if self._open:
            self._open[-1][2].set_attribute("tvm.functions.after", len(mod.functions))
            self._end()

    def _end(self) -> None:
        _, manager, _ = self._open.pop()
        manager.__exit__(None, None, None)


def trace_calls(vm: VirtualMachine, tracer: Any = None) -> None:
    """Let each call that programs of the machine make be a span: `tvm.call NAME`.

    They run as bytecode from then on, as with any instrument of the machine.
    """
    source = tracer or _tracer()
    open_: list[Any] = []

    def around(func: Any, name: str, before: bool, result: Any, *args: Any) -> None:
        if before:
            manager = source.start_as_current_span(f"tvm.call {name}")
            made = manager.__enter__()
            made.set_attribute("tvm.call", name)
            shapes = [str(tuple(a.shape)) for a in args if hasattr(a, "shape")]
            made.set_attribute("tvm.shapes", ", ".join(shapes))
            open_.append(manager)
        elif open_:
            open_.pop().__exit__(None, None, None)

    vm.set_instrument(around)


@contextmanager
def span(name: str, tracer: Any = None, **attributes: Any) -> Iterator[Any]:
    """A span around a stage of one's own, such as the import of a model."""
    with (tracer or _tracer()).start_as_current_span(name) as made:
        for key, value in attributes.items():
            made.set_attribute(key, value)
        yield made


def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError as err:
        asked, legal = "spans need the package opentelemetry-api", 'pip install "tvm-py[otel]"'
        raise ImportError(message(asked, found=str(err), legal=legal)) from err
    return trace.get_tracer("tvm")
