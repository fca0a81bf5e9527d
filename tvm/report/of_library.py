"""A report of a library that was compiled before: what it kept of its making, and times."""

from __future__ import annotations

from typing import Any

from tvm.error import TVMError
from tvm.runtime import tensor
from tvm.runtime.vm import VirtualMachine

from . import words as w
from .costs import measure
from .sample_inputs import sample_inputs


def report_of_library(vm: VirtualMachine, title: str, *, times: bool = True) -> w.Report:
    """The kernels of `main` in order, the nodes that they came from, and how long they take."""
    artefact = vm.artefact
    report = w.Report(title, artefact.kind, {})
    report.notes.append("a library keeps no texts of its making: give the model to see them")
    numbers: dict[str, int] = {}
    for call, number in enumerate(artefact.profile_calls.get("main", ())):
        kernel = artefact.kernels[number]
        for name in kernel.sources:
            if name not in numbers:
                numbers[name] = len(report.sources)
                report.sources.append(w.Source(name, "", "", "", name, [], []))
            report.sources[numbers[name]].calls.append(call)
        report.calls.append(w.Call(kernel.name, "", "", [numbers[n] for n in kernel.sources], []))
        if kernel.name not in report.kernels:
            report.kernels[kernel.name] = w.Kernel(
                kernel.name, [], None, None, "", "", [], [], []
            )  # fmt: skip
    if not report.calls:
        report.notes.append("the library runs as bytecode, which has no times by call")
    if times and report.calls:
        try:
            arrays = sample_inputs(vm.signature("main").params)
        except ValueError as error:
            report.notes.append(f"nothing was measured: {error}")
        except TVMError as error:
            report.notes.append(f"nothing was measured: {str(error).splitlines()[0]}")
        else:
            inputs: list[Any] = [tensor(a) for a in arrays]
            measure(report, vm, inputs)
    return report


