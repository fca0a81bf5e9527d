"""The language that backends take: what is left of TensorIR when all passes have run.

A function for a backend

- has a `target`, and for parameters scalars and pointers, no buffers;
- is made of allocations, lets, loops, branches, asserts, stores, evaluated calls and attributes,
  without blocks; loops are serial, or to be unrolled or vectorized by whoever compiles the code
  (which may leave them); in a kernel they may be parallel, and the thread runs them alone;
- on a host allocates what the stack has room for, in constant sizes; other memory it takes and
  gives back by calls, and an attribute `tir.on_failure` says what is to be done where one in its
  body fails;
- reads and writes flat buffers, with one index, in allocations or behind pointers;
- has values of types that its target has: bool, integers of at most 64 bits, floats, addresses,
  and vectors of them;
- calls operators that lowering leaves, functions of its own module by `GlobalVar`, and packed
  functions by name or symbol, without a value;
- uses variables where they are defined; threads are those of `thread_extent`, in kernels.

Each rule names the pass that brings programs to this form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.recursion import nested_programs
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.stmt import ForKind

from .undefined_vars import free_variables

# Kinds of nodes that are gone, and the pass that replaces them.
_GONE: Final[dict[type, str]] = {
    s.Block: "tir.LowerOpaqueBlock",
    s.BlockRealize: "tir.LowerOpaqueBlock",
    s.BufferRealize: "tir.FlattenBuffer",
    e.ProducerLoad: "te.create_prim_func",
    e.Reduce: "te.create_prim_func",
}
# Operators that have no value any more.
_PACKED_CALLS: Final = ("tir.tvm_call_packed_lowered", "tir.tvm_call_cpacked_lowered")
# Operators that are gone, likewise.
_GONE_CALLS: Final[dict[str, str]] = {
    "tir.tvm_call_packed": "tir.LowerTVMBuiltin",
    "tir.tvm_call_cpacked": "tir.LowerTVMBuiltin",
    "tir.tvm_call_trace_packed": "tir.LowerTVMBuiltin",
    "tir.tvm_call_trace_packed_lowered": "tir.LowerPackedCalls",
    "tir.tvm_stack_make_array": "tir.LowerTVMBuiltin",
    "tir.tvm_stack_make_shape": "tir.LowerTVMBuiltin",
    "tir.tvm_thread_allreduce": "tir.LowerThreadAllreduce",
}
_GONE_LOOPS: Final[dict[ForKind, str]] = {
    ForKind.THREAD_BINDING: "tir.UnifyThreadBinding",
}


@explained
def verify_lowered(mod: IRModule) -> None:
    """A TVMError names the first part of each function that no backend takes."""
    names = {var.name_hint for var in mod.functions}
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            with nested_programs():
                fault = next(lowered_faults(func, names), None)
            if fault is not None:
                found, legal = fault
                raise TVMError(
                    message(
                        "code for a function that is not lowered",
                        found=found,
                        where=f"function {var.name_hint}",
                        legal=legal,
                    )
                )


def lowered_faults(func: PrimFunc, functions: set[str]) -> Iterator[tuple[str, str]]:
    """What is found, and what would be legal; `functions` are those of the module."""
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        yield "no attribute `target`", "functions to which tir.BindTarget has given one"
        return
    if func.buffer_map:
        names = ", ".join(buffer.name for buffer in func.buffer_map.values())
        yield f"parameters that are still buffers: {names}", "functions after tir.MakePackedAPI"
    for var in free_variables(func.body, list(func.params)):
        yield f"variable {var.name}, which is not defined", "parameters, lets and loop variables"
    for node in walk(func.body):
        yield from _faults_of(node, target, functions)


def _faults_of(
    node: object, target: Target, functions: set[str]
) -> Iterator[tuple[str, str]]:
    replaced_by = _GONE.get(type(node))
    if replaced_by is not None:
        yield f"a {type(node).__name__}", f"functions after {replaced_by}"
    elif isinstance(node, s.For):
        replaced_by = _GONE_LOOPS.get(node.kind)
        if replaced_by is not None:
            loop = f"loop {node.loop_var.name} of kind {node.kind.name.lower()}"
            yield loop, f"functions after {replaced_by}"
        elif node.kind is ForKind.PARALLEL and not target.kind.is_gpu:
            yield f"parallel loop {node.loop_var.name}", "functions after tir.OutlineParallelLoops"
    elif isinstance(node, s.AttrStmt):
        if node.attr_key == "thread_extent" and not target.kind.is_gpu:
            yield f"threads in a function for {target.kind}", "functions after tir.SplitHostDevice"
        elif node.attr_key == "compute_scope":
            yield "a compute scope", "functions after tir.OutlineParallelLoops"
    elif isinstance(node, s.Allocate):
        if not target.kind.is_gpu and not all(isinstance(x, e.IntImm) for x in node.extents):
            found = f"memory {node.buffer_var.name} of a size that is not constant"
            yield found, "functions after tir.LowerWorkspaces"
    elif isinstance(node, s.AllocateConst):
        if node.data is None:
            found = f"constant {node.buffer_var.name} without data"
            yield found, "constants that hold their data, and not an entry of the module's"
    elif isinstance(node, (s.BufferStore, e.BufferLoad)) and len(node.indices) > 1:
        access = f"buffer {node.buffer.name} with {len(node.indices)} indices"
        yield access, "one index: functions after tir.FlattenBuffer"
    elif isinstance(node, e.Call):
        yield from _faults_of_call(node, functions)
    if isinstance(node, PrimExpr):
        yield from _faults_of_type(node.dtype, target)


def _faults_of_call(call: e.Call, functions: set[str]) -> Iterator[tuple[str, str]]:
    if isinstance(call.op, GlobalVar):
        if call.op.name_hint not in functions:
            yield f"a call of {call.op.name_hint}", ", ".join(sorted(functions))
        return
    replaced_by = _GONE_CALLS.get(call.op.name)
    if call.op.name in _PACKED_CALLS and not call.dtype.is_void:
        replaced_by = "tir.LowerPackedCalls"
    if replaced_by is not None:
        yield f"a call of {call.op.name}", f"functions after {replaced_by}"


def _faults_of_type(dtype: DataType, target: Target) -> Iterator[tuple[str, str]]:
    if dtype.is_custom:
        yield f"a value of {dtype}", "functions after tir.LowerCustomDatatypes"
    elif dtype.is_floating and dtype.bits < 32 and not target.has_float(dtype.element_of()):
        yield f"a value of {dtype}", "functions after tir.LegalizeNarrowFloats"
    elif dtype.is_integer and dtype.bits > 64:
        yield f"a value of {dtype}", "integers of at most 64 bits"
