"""How a kernel is launched on a GPU, what of a multiprocessor it fills, and its least time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tvm.contrib import nvrtc
from tvm.contrib.cubin import Resources, kernel_resources
from tvm.error import TVMError
from tvm.runtime.device_module import DeviceModule
from tvm.support.dtype import DataType
from tvm.target.gpu_model import GpuModel
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.children import children
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk

from . import words as w

_WORD_BYTES = 4


def gpu_of(model: GpuModel) -> w.Gpu:
    """The machine that a target names, as far as it is known."""
    return w.Gpu(
        model.name, model.chip, model.multiprocessors, model.warp_size, model.registers,
        model.shared, model.l2_bytes, model.flops / 1e9, model.bandwidth / 1e9,
    )  # fmt: skip


def launches_of(forms: list[PrimFunc], model: GpuModel) -> list[w.Launch]:
    """The launches of a kernel, as it was before they were cut out as functions of their own."""
    func = next((f for f in reversed(forms) if any(_launches(f.body))), None)
    return [] if func is None else [_launch(region, model) for region in _launches(func.body)]


def _launches(body: s.Stmt) -> Iterator[s.AttrStmt]:
    """The outermost regions of threads."""
    todo: list[s.Stmt] = [body]
    while todo:
        node = todo.pop()
        if _tag(node):
            assert isinstance(node, s.AttrStmt), "a tag is one of an attribute"
            yield node
        else:
            todo += [c for c in reversed(children(node)) if isinstance(c, s.Stmt)]


def _tag(node: object) -> str:
    """The threads that an attribute starts; nothing for other nodes."""
    if isinstance(node, s.AttrStmt) and node.attr_key == "thread_extent":
        return node.node.thread_tag if isinstance(node.node, e.IterVar) else ""
    return ""


def _launch(region: s.AttrStmt, model: GpuModel) -> w.Launch:
    extents: dict[str, int | None] = {}
    shared = own = 0
    for node in walk(region):
        tag = _tag(node)
        if isinstance(node, s.AttrStmt) and tag:
            extents[tag] = node.value.value if isinstance(node.value, e.IntImm) else None
        if isinstance(node, s.Allocate):
            nbytes = _nbytes(node)
            scope = getattr(node.buffer_var.type_annotation, "storage_scope", "")
            if scope.startswith("shared"):
                shared += nbytes
            else:
                own += nbytes
    blocks, threads = (
        _product([v for tag, v in extents.items() if tag.startswith(where)])
        for where in ("blockIdx", "threadIdx")
    )
    words = -(-own // _WORD_BYTES)
    made = w.Launch(blocks, threads, shared, words)
    _fill(made, model, words)
    return made


def _product(extents: list[int | None]) -> int | None:
    known = [extent for extent in extents if extent is not None]
    return math.prod(known) if len(known) == len(extents) else None


def _nbytes(op: s.Allocate) -> int:
    kind = DataType(str(op.dtype))
    sizes = [extent.value for extent in op.extents if isinstance(extent, e.IntImm)]
    known = len(sizes) == len(op.extents)
    return kind.itemsize * math.prod(sizes) if known else 0


def _fill(launch: w.Launch, model: GpuModel, registers: int) -> None:
    """Say what of a multiprocessor is filled with so many registers a thread."""
    if launch.threads is None:
        return
    found = model.occupancy(launch.threads, registers, launch.shared)
    launch.resident, launch.occupancy, launch.limit = found.blocks, found.fraction, found.limit


def add_resources(report: w.Report, made: Any, target: Target) -> None:
    """What NVRTC's code of the kernels takes, for CUDA; a note where it cannot be told."""
    if target.kind.name != "cuda":
        return
    if not nvrtc.available():
        report.notes.append("registers are not told: NVRTC, which compiles CUDA, is not installed")
        return
    model, found = target.gpu, {}
    for text in _cuda_texts(made.mod):
        try:
            found.update(kernel_resources(nvrtc.compile_source(text, "cubin", model.name)))
        except (TVMError, ValueError) as err:
            report.notes.append(f"registers are not told: {str(err).splitlines()[0]}")
            return
    for kernel in report.kernels.values():
        for number, launch in enumerate(kernel.launches):
            name = f"{kernel.name}_kernel" + (f"_{number}" if number else "")
            if name in found:
                _add(launch, found[name], model)


def _add(launch: w.Launch, found: Resources, model: GpuModel) -> None:
    launch.registers, launch.stack = found.registers, found.stack
    launch.shared = found.shared or launch.shared  # memory of a size told at launch is not there
    _fill(launch, model, found.registers)


def _cuda_texts(module: Any) -> Iterator[str]:
    if isinstance(module, DeviceModule) and module.fmt == "cuda":
        yield module.source
    for inner in module.imports:
        yield from _cuda_texts(inner)


def predict(report: w.Report, model: GpuModel) -> None:
    """Give each call the least time that memory and arithmetic leave."""
    for call in report.calls:
        kernel = report.kernels.get(call.kernel)
        if kernel is not None and kernel.nbytes is not None:
            seconds = model.floor_seconds(kernel.nbytes, kernel.flops or 0.0)
            call.predicted_us = None if seconds is None else seconds * 1e6
