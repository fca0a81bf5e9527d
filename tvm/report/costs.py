"""What a kernel computes and moves at least, how long that takes at the roofs, how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.runtime import cpu, tensor
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor

from . import words as w
from .graph import extents_text
from .sample_inputs import sample_inputs
from .timeline import timeline_of


def operands_of(func: PrimFunc) -> list[w.Operand]:
    """The parameters of a kernel, and the memory that it has for itself."""
    seen = _Accesses()
    seen.visit_stmt(func.body)
    found: list[w.Operand] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is not None:
            role = "written" if buffer.data in seen.written else "read"
            found.append(_operand(buffer, role))
    return found + [_operand(buffer, "own") for buffer in seen.own]


def own_memory(func: PrimFunc) -> list[w.Operand]:
    """The memory that a kernel has for itself, as it was lowered."""
    seen = _Accesses()
    seen.visit_stmt(func.body)
    return seen.allocated


def moved_bytes(operands: Sequence[w.Operand]) -> int | None:
    """Bytes that go in and out at least: each parameter once."""
    sizes = [o.nbytes for o in operands if o.role != "own"]
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def predicted_us(kernel: w.Kernel, machine: w.Machine) -> float | None:
    """Microseconds at the lower of the two roofs: operations, and bytes of the parameters.

    Operations of each kind of arithmetic have a roof of their own. It is a bound: data are taken
    to come from the innermost level that holds all of them.
    """
    roofs = machine.roofs
    if roofs is None or kernel.flops is None or kernel.nbytes is None:
        return None
    threads = min(kernel.threads, roofs.threads)
    work = kernel.work or {"float32": kernel.flops}
    computing = sum(
        [n / _of(roofs.peaks.get(kind) or roofs.peaks["float32"], threads)
         for kind, n in work.items()]
    )  # fmt: skip
    level = _level(kernel.nbytes, machine, threads)
    return max(computing, kernel.nbytes / _of(roofs.gbytes[level], threads)) / 1e3


def _of(rate: w.Rate, threads: int) -> float:
    """What so many threads reach at most."""
    return min(rate.all, rate.one * threads)


def _level(nbytes: int, machine: w.Machine, threads: int) -> str:
    if nbytes <= machine.l2_bytes * threads:
        return "L2"
    return "L3" if nbytes <= machine.l3_bytes * machine.cores else "memory"


def measure(report: w.Report, vm: Any, inputs: Sequence[Any], runs: int = 10) -> None:
    """Time `main`, as a whole and call by call: the least of several runs goes into the report.

    Whatever else the machine does can only add to a time.
    """
    profiles = [vm.profile("main", *inputs).calls for _ in range(runs)]
    rows = [_of_kernels(report, calls) for calls in profiles]
    told = [call for call in report.calls if call.kernel in report.kernels]
    names = [call.kernel for call in told]
    if all([str(row["Name"]) for row in one] == names for one in rows):
        for number, call in enumerate(told):
            call.measured_us = min(one[number]["Duration (us)"].microseconds for one in rows)
            call.times = int(rows[0][number]["Count"].value)
            if call.predicted_us is not None:
                call.predicted_us *= call.times
        numbers = iter([n for n, call in enumerate(report.calls) if call.kernel in report.kernels])
        every = [str(row["Name"]) in report.kernels for row in profiles[0]]
        report.timeline = timeline_of(
            vm, inputs, [next(numbers) if own else None for own in every]
        )
        _note_missing(report)
    else:
        report.notes.append("times by call are missing: the profile has other calls than the graph")
    evaluate = vm.time_evaluator("main", vm.devices[0], number=1, repeat=runs)
    report.latency_us = float(evaluate(*inputs).min) * 1e6


def _note_missing(report: w.Report) -> None:
    shown = sum(1 for lap in report.timeline if lap.task < 0)
    made = sum(call.times for call in report.calls if call.kernel in report.kernels)
    if shown < made:
        report.notes.append(f"the timeline shows the first {shown:,} of {made:,} calls")


def _of_kernels(report: w.Report, rows: Sequence[Any]) -> list[Any]:
    """The rows of a profile that are calls of kernels, not of the machine's own functions."""
    return [row for row in rows if str(row["Name"]) in report.kernels]


def measure_kernel(kernel: w.Kernel, call: w.Call, func: Any, runs: int = 10) -> None:
    """Time one kernel by itself, on arrays of its sizes."""
    arrays = sample_inputs([_Param(o) for o in kernel.operands if o.role != "own"])
    evaluate = func.time_evaluator(kernel.name, cpu(), number=1, repeat=runs, min_repeat_ms=1)
    call.measured_us = float(evaluate(*map(tensor, arrays)).min) * 1e6


class _Param:
    """An operand as the maker of arrays takes it."""

    def __init__(self, operand: w.Operand) -> None:
        self.name = operand.name
        self.dtype = operand.dtype
        words = operand.shape.strip("[]").split(", ")
        self.shape: tuple[int | str, ...] = tuple(
            [int(word) if word.isdecimal() else word for word in words if word]
        )


class _Accesses(StmtExprVisitor):
    """Which buffers are written, which are allocated."""

    def __init__(self) -> None:
        super().__init__()
        self.written: set[e.Var] = set()
        self.own: list[Buffer] = []
        self.allocated: list[w.Operand] = []

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        self.written.add(op.buffer.data)
        super().visit_buffer_store_(op)

    def visit_block_(self, op: s.Block) -> None:
        self.own.extend(op.alloc_buffers)
        for region in op.match_buffers:
            if region.buffer.data in self.written:
                self.written.add(region.source.buffer.data)
        super().visit_block_(op)

    def visit_allocate_(self, op: s.Allocate) -> None:
        pointer: Any = op.buffer_var.type_annotation
        size = _product(op.extents, str(op.dtype))
        shape = extents_text(op.extents)
        scope = getattr(pointer, "storage_scope", "") or "global"
        self.allocated.append(
            w.Operand(op.buffer_var.name, str(op.dtype), f"[{shape}]", size, scope, "own")
        )
        super().visit_allocate_(op)


def _operand(buffer: Buffer, role: str) -> w.Operand:
    shape = extents_text(buffer.shape)
    scope = buffer.scope() if callable(buffer.scope) else str(buffer.scope)
    return w.Operand(
        buffer.name, str(buffer.dtype), f"[{shape}]", _nbytes(buffer), scope or "global", role
    )


def _nbytes(buffer: Buffer) -> int | None:
    return _product(buffer.shape, str(buffer.dtype))


def _product(extents: Sequence[Any], dtype: str) -> int | None:
    kind = DataType(dtype)
    bits = kind.bits * max(kind.lanes, 1)
    for extent in extents:
        if not isinstance(extent, e.IntImm):
            return None
        bits *= extent.value
    return -(-bits // 8)
