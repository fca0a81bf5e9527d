"""Compile a program while everything is watched, measure it, and put the report together."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.backend import makes_host_code
from tvm.backend.llvm import jit
from tvm.backend.llvm.target import machine_of
from tvm.driver import compile as compile_module
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.expr import Function
from tvm.runtime import cpu, device, num_threads, tensor
from tvm.runtime.vm import VirtualMachine
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.transform.lower_workspaces import LowerWorkspaces

from . import words as w
from .costs import (
    measure,
    measure_kernel,
    moved_bytes,
    operands_of,
    own_memory,
    predicted_us,
)
from .graph import calls_kernels, calls_of, main_of, sources_of
from .launches import add_resources, gpu_of, launches_of, predict
from .machine_code import code_of
from .memory import memory_of
from .recorder import Recorder
from .roof_programs import roofs
from .sample_inputs import sample_inputs
from .second_choice import build_by_second_choice
from .stages import Life, Texts, lives, pass_runs
from .steps import steps_of
from .work import work_of

Progress = Callable[[str, int, int], None]  # what is done, how far, of how much

_REASON: Final = "schedule_reason"
_OUTLINES: Final = "tir.OutlineParallelLoops"  # loops are in other functions afterwards
_ASK: Final = ("tir.LowerWorkspaces", "tir.LowerTVMBuiltin")  # memory comes of calls afterwards
_THREADS: Final = re.compile(r"\b(\d+) threads\b|a thread for every")


def collect(
    mod: IRModule | PrimFunc,
    target: str | Target = "llvm",
    *,
    title: str = "program",
    code: bool = True,
    times: bool = True,
    alternatives: bool = False,
    inputs: Sequence[Any] | None = None,
    progress: Progress | None = None,
) -> w.Report:
    """Compile `mod`, and tell what was done.

    `code` adds machine code, `times` runs the program on `inputs` (random ones by default), and
    `alternatives` does so once more with the next rule for each kernel. What cannot be told is said
    in `Report.notes`: times of a program with open sizes, say.
    """
    chosen = target if isinstance(target, Target) else Target(target)
    given = IRModule.from_expr(mod) if isinstance(mod, PrimFunc) else mod
    tell: Progress = progress or _silent
    tell("compile", 0, 1)
    recorder = Recorder()
    ctx = PassContext.current()
    watched = PassContext(
        ctx.opt_level, ctx.required_pass, ctx.disabled_pass, [*ctx.instruments, recorder],
        dict(ctx.config),
    )  # fmt: skip
    with watched:
        made = compile_module(given, chosen)
    report = assemble(
        recorder, given, chosen, made, title=title, code=code, times=times, inputs=inputs,
        progress=tell,
    )  # fmt: skip
    if alternatives and times and report.latency_us is not None and "cpu" in chosen.keys:
        tell("alternatives", 0, 1)
        _add_alternatives(report, given, chosen, inputs)
    return report


def assemble(
    recorder: Recorder,
    given: IRModule,
    target: Target,
    made: Any = None,
    *,
    title: str = "program",
    code: bool = True,
    times: bool = True,
    inputs: Sequence[Any] | None = None,
    progress: Progress | None = None,
) -> w.Report:
    """The report of what a recorder saw while `given` was compiled to `made`."""
    tell: Progress = progress or _silent
    report = w.Report(title, str(target), _versions(), compile_us=recorder.seconds * 1e6)
    report.passes = pass_runs(recorder)
    table = w.LineTable()
    texts, life = Texts(table), lives(recorder, given)
    report.sources, locations = sources_of(given)
    lowered = _last_graph(life, given)
    if lowered is not None:
        name, graphs = lowered
        report.calls = calls_of(IRModule(graphs), name, report.sources, locations)
        report.graph = texts.stages(life[name], name, Function)
    if lowered is None:
        report.calls = [w.Call(v.name_hint, "", "", [], []) for v in given.functions]
    names = [n for n in dict.fromkeys(c.kernel for c in report.calls) if n in life]
    for number, name in enumerate(names):
        tell(f"kernel {name}", number, len(names))
        kernel = _kernel(name, life[name], texts, recorder, report)
        if kernel is not None and target.kind.is_gpu:
            forms = [form for *_, form in life[name].forms if isinstance(form, PrimFunc)]
            kernel.launches = launches_of(forms, target.gpu)
        if kernel is not None:
            report.kernels[name] = kernel
            if code and target.kind.traits.machine_code:
                _add_code(kernel, life[name], target, table, report)
    for planned in recorder.planned:
        if lowered is not None and planned.name == lowered[0]:
            report.memory = memory_of(planned)
    report.lines = table.lines
    tell("measure", len(names), len(names))
    _add_machine(report, target, times)
    if target.kind.is_gpu:
        report.gpu = gpu_of(target.gpu)
        predict(report, target.gpu)
        if code and made is not None:
            add_resources(report, made, target)
    if times and made is not None:
        _add_times(report, made, target, inputs)
    return report


def _silent(what: str, done: int, of: int) -> None:
    """Nobody watches."""


def _last_graph(
    life: dict[str, Life], given: IRModule
) -> tuple[str, dict[str, Function]] | None:
    """The name of the graph; it and what it may call, each in its last form of kernels."""
    main = main_of(given)
    if main is None:
        return None
    graphs: dict[str, Function] = {}
    for name, known in life.items():
        forms = [form for *_, form in known.forms if isinstance(form, Function)]
        if forms:
            of_kernels = (form for form in reversed(forms) if calls_kernels(form))
            graphs[name] = next(of_kernels, forms[-1])
    return next(v.name_hint for v, f in given.functions.items() if f is main), graphs


def _kernel(
    name: str, life: Life, texts: Texts, recorder: Recorder, report: w.Report
) -> w.Kernel | None:
    forms = [func for *_, func in life.forms if isinstance(func, PrimFunc)]
    if not forms:
        return None
    told = [s for s in map(recorder.schedule_of, forms) if s is not None]
    scheduled = told[-1] if told else None
    first = scheduled.func if scheduled is not None else forms[0]
    with_reason = [f for f in forms if _REASON in f.attrs]
    reason = str(with_reason[-1].attrs[_REASON]) if with_reason else ""
    operands = operands_of(_widest(forms))
    last = _form_before(life, _OUTLINES, *_ASK)
    if isinstance(last, PrimFunc) and not last.buffer_map:
        operands = [o for o in operands if o.role != "own"] + own_memory(last)
    work = work_of(first)
    return w.Kernel(
        name=name,
        operands=operands,
        flops=None if work is None else sum(work.values()),
        nbytes=moved_bytes(operands),
        rule=scheduled.rule if scheduled is not None else "",
        reason=reason,
        refused=list(scheduled.refused) if scheduled is not None else [],
        stages=texts.stages(life, name, PrimFunc),
        steps=steps_of(scheduled.schedule.trace, recorder) if scheduled is not None else [],
        threads=_threads(reason),
        work=work or {},
    )


def _widest(forms: list[PrimFunc]) -> PrimFunc:
    """The last form whose parameters are still buffers."""
    return next((f for f in reversed(forms) if f.buffer_map), forms[-1])


def _threads(reason: str) -> int:
    found = [int(m[1]) if m[1] else num_threads() for m in _THREADS.finditer(reason)]
    return max(found, default=1)


def _add_code(
    kernel: w.Kernel, life: Life, target: Target, table: w.LineTable, report: w.Report
) -> None:
    last = _whole(life, kernel.name, target)
    if not isinstance(last, PrimFunc) or last.buffer_map:
        report.notes.append(f"{kernel.name} has no machine code: it was not lowered")
        return
    try:
        kernel.code = code_of(last, kernel.name, target, table)
    except TVMError as error:
        report.notes.append(f"{kernel.name} has no machine code of its own: {error}")


def _whole(life: Life, name: str, target: Target) -> object:
    """The last form of a kernel that still has its parallel loops, which is one text."""
    form = _form_before(life, _OUTLINES)
    if form is life.forms[-1][2] or not isinstance(form, PrimFunc):
        return form
    with target:  # what comes behind: memory is asked for
        return LowerWorkspaces()(IRModule({name: form}))[name]


def _form_before(life: Life, *passes: str) -> object:
    """The last form of a kernel before the first of these passes that changed it."""
    names = [name for _, name, _ in life.forms]
    end = min([names.index(name) for name in passes if name in names], default=len(names))
    return life.forms[end - 1][2]


def _add_machine(report: w.Report, target: Target, measured: bool) -> None:
    if "cpu" not in target.keys:
        return
    m = target.cpu
    here = not target.kind.traits.machine_code or jit.is_native(machine_of(target))
    report.machine = w.Machine(
        m.name, m.arch, m.vector_bits, m.vector_registers, m.fma_ports, m.l1d_bytes, m.l2_bytes,
        m.l3_bytes, m.cores, roofs(measure=measured) if here else None,
    )  # fmt: skip
    for call in report.calls:
        kernel = report.kernels.get(call.kernel)
        if kernel is not None:
            call.predicted_us = predicted_us(kernel, report.machine)


def _add_times(
    report: w.Report, made: Any, target: Target, inputs: Sequence[Any] | None
) -> None:
    kind, on_host = target.kind.name, makes_host_code(target)
    dev = cpu() if on_host else device(kind)
    if not on_host and not dev.exist:
        report.notes.append(f"nothing was measured: there is no device of kind {kind} here")
        return
    if not report.graph:
        _add_kernel_times(report, made)
        return
    try:
        vm = VirtualMachine(made, dev)
        arrays = sample_inputs(vm.signature("main").params) if inputs is None else inputs
        given = [tensor(a, dev) if hasattr(a, "__array__") else a for a in arrays]
        measure(report, vm, given)
    except (TVMError, TypeError, ValueError, AttributeError) as error:
        told = " ".join(line.strip() for line in str(error).splitlines()[:2])
        report.notes.append(f"nothing was measured: {told}")


def _add_alternatives(
    report: w.Report, given: IRModule, target: Target, inputs: Sequence[Any] | None
) -> None:
    """Times of the calls with the next rule; they have to be the same calls."""
    recorder = Recorder()
    with PassContext(instruments=[recorder]):
        made = build_by_second_choice(given, target)
    other = assemble(recorder, given, target, made, code=False, inputs=inputs)
    if [c.sources for c in other.calls] != [c.sources for c in report.calls]:
        report.notes.append("alternatives are not told: they split the program in other calls")
        return
    for call, instead in zip(report.calls, other.calls):
        kernel, second = report.kernels.get(call.kernel), other.kernels.get(instead.kernel)
        if kernel is None or second is None or second.reason == kernel.reason:
            continue
        call.alternative_us = instead.measured_us
        kernel.alternative = second.reason


def _add_kernel_times(report: w.Report, made: Any) -> None:
    """Of a program that has kernels only."""
    for call in report.calls:
        try:
            measure_kernel(report.kernels[call.kernel], call, made.mod)
        except (TVMError, TypeError, ValueError, KeyError, AttributeError) as error:
            report.notes.append(f"{call.kernel} was not measured: {str(error).splitlines()[0]}")


def _versions() -> dict[str, str]:
    import numpy

    from tvm.support.libinfo import libinfo

    return {
        "tvm-py": libinfo()["TVM_VERSION"],
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "llvm": ".".join(map(str, jit.llvm_version())),
    }
