"""Bodies that become functions of their own: parallel loops and compute scopes.

A parallel loop stores what its body uses in a closure on the stack and hands a task function to
the pool; the task takes its share of the iterations and runs the body.

    for i in T.parallel(n): B[i] = A[i]
    ->  closure = {A, B, n};  TVMBackendParallelLaunch(__tvm_parallel_lambda, closure, n)
        __tvm_parallel_lambda(id, env, closure):  body(n*id/count, n*(id+1)/count, A, B)

The body gets its pointers as parameters, since only parameters can carry `noalias`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.ir.type import PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .module_text import Signature
from .types import element_bytes, memory_type, quoted, value_type

if TYPE_CHECKING:
    from .codegen import FunctionEmitter

_MOST_TASKS = 2147483647


def captured(body: s.Stmt, known: dict[e.Var, str]) -> list[e.Var]:
    """The variables defined outside that `body` uses, in the order of first use."""
    found: dict[e.Var, None] = {}
    for node in walk(body):
        if isinstance(node, e.Var):
            found.setdefault(node)
        elif isinstance(node, (e.BufferLoad, s.BufferStore)):
            found.setdefault(node.buffer.data)
    return [var for var in found if var in known]


def _param_attributes(emit: FunctionEmitter, variables: list[e.Var]) -> list[str]:
    return [pointer_attributes(var, emit.noalias and var in emit.roots) for var in variables]


def pointer_attributes(var: e.Var, noalias: bool) -> str:
    """What is promised of a pointer parameter: its own memory, and whole elements."""
    if not var.dtype.is_handle:
        return ""
    pointee = getattr(var.type_annotation, "element_type", None)
    dtype = pointee.dtype if isinstance(pointee, PrimType) else None
    known = dtype is not None and not (dtype.is_void or dtype.is_custom)
    align = f"align {element_bytes(dtype)}" if known and dtype is not None else ""
    return " ".join(part for part in ("noalias" if noalias else "", align) if part)


def outline_scope(emit: FunctionEmitter, op: s.AttrStmt) -> None:
    """Make an internal function of the body of a compute scope, and call it."""
    variables = captured(op.body, emit.values)
    asked = op.value.value if isinstance(op.value, e.StringImm) else "compute"
    name = emit.module.names.fresh(asked, ".")
    signature = Signature(name, "i32", tuple(value_type(v.dtype) for v in variables))
    inner = emit.child(signature, [v.name for v in variables], _param_attributes(emit, variables))
    inner.adopt(emit, variables, inner.out.params)
    inner.emit(op.body)
    if not any(isinstance(n, (s.For, s.While, e.BufferLoad)) for n in walk(op.body)):
        # only calls: optimizing would inline every kernel at every call
        inner.out.attributes = "#1"
    inner.close()
    given = ", ".join(f"{value_type(v.dtype)} {emit.values[v]}" for v in variables)
    emit.check(emit.out.temp(f"call i32 {quoted(name)}({given})"))
    if emit.out.signature.packed:
        emit.out.attributes = "#1"  # what is left here runs once a call


def launch_parallel_loop(emit: FunctionEmitter, op: s.For) -> None:
    """Hand the iterations of `op` to the pool."""
    out = emit.out
    index = value_type(op.loop_var.dtype)
    start, extent = emit.visit_index(op.min), emit.visit_index(op.extent)
    variables = [v for v in captured(op.body, emit.values) if v is not op.loop_var]
    base = emit.module.names.fresh(f"{out.signature.name}.parallel.{op.loop_var.name}", ".")
    body = _body_function(emit, op, variables, base + ".body")
    kinds = [index, index, *(memory_type(v.dtype) for v in variables)]
    sizes = [op.loop_var.dtype, op.loop_var.dtype, *(v.dtype for v in variables)]
    offsets, total = _layout(sizes)
    name = emit.module.names.fresh("__tvm_parallel_lambda", ".")
    task = _task_function(emit, body, variables, kinds, offsets, name)
    closure = out.alloca("i8", total, 16, "closure")
    held = [emit.to_memory(v.dtype, emit.values[v]) for v in variables]
    for kind, offset, value in zip(kinds, offsets, [start, extent, *held]):
        place = closure if offset == 0 else out.temp(
            f"getelementptr inbounds i8, ptr {closure}, i64 {offset}"
        )  # fmt: skip
        out.line(f"store {kind} {value}, ptr {place}, align 8")
    count = _task_count(emit, op, extent)
    callee = emit.module.declare("TVMBackendParallelLaunch", "i32", "ptr, ptr, i32")
    emit.check(out.temp(f"call i32 {callee}(ptr {quoted(task)}, ptr {closure}, i32 {count})"))


def _layout(dtypes: list[DataType]) -> tuple[list[int], int]:
    """Byte offsets of fields, each on a multiple of eight bytes."""
    offsets, place = [], 0
    for dtype in dtypes:
        offsets.append(place)
        size = element_bytes(dtype) * dtype.lanes
        place += (size + 7) // 8 * 8
    return offsets, max(place, 8)


def _task_count(emit: FunctionEmitter, op: s.For, extent: str) -> str:
    """At most one task an iteration; the pool takes fewer when it has fewer threads.

    A loop may say how many iterations make a task (`parallel_grain`): below two of them it is run
    where it stands.
    """
    grain = op.annotations.get("parallel_grain")
    if isinstance(grain, (int, e.IntImm)) and int(grain) > 1:
        kind = value_type(op.loop_var.dtype)
        extent = emit.out.temp(f"sdiv {kind} {extent}, {int(grain)}")
        return _at_least_one(emit, _as_count(emit, op, extent))
    if isinstance(op.extent, e.IntImm):
        return str(min(max(op.extent.value, 0), _MOST_TASKS))
    return _as_count(emit, op, extent)


def _at_least_one(emit: FunctionEmitter, count: str) -> str:
    some = emit.out.temp(f"icmp sgt i32 {count}, 1")
    return emit.out.temp(f"select i1 {some}, i32 {count}, i32 1")


def _as_count(emit: FunctionEmitter, op: s.For, extent: str) -> str:
    if op.loop_var.dtype.bits <= 32:
        return emit.cast(op.loop_var.dtype, DataType("int32"), extent)
    kind = value_type(op.loop_var.dtype)
    small = emit.out.temp(f"icmp slt {kind} {extent}, {_MOST_TASKS}")
    chosen = emit.out.temp(f"select i1 {small}, {kind} {extent}, {kind} {_MOST_TASKS}")
    return emit.out.temp(f"trunc {kind} {chosen} to i32")


def _body_function(
    emit: FunctionEmitter, op: s.For, variables: list[e.Var], name: str
) -> Signature:
    """The body for iterations [begin, end)."""
    index = value_type(op.loop_var.dtype)
    signature = Signature(name, "i32", (index, index, *(value_type(v.dtype) for v in variables)))
    names = ["begin", "end", *(v.name for v in variables)]
    attributes = ["", "", *_param_attributes(emit, variables)]
    inner = emit.child(signature, names, attributes, parallel_allowed=False)
    inner.adopt(emit, variables, inner.out.params[2:])
    inner.take_ahead(op)
    inner.counted_loop(op, inner.out.params[0], inner.out.params[1])
    inner.emit(s.SeqStmt([]))
    inner.close()
    return signature


def _task_function(
    emit: FunctionEmitter,
    body: Signature,
    variables: list[e.Var],
    kinds: list[str],
    offsets: list[int],
    name: str,
) -> str:
    """What the pool calls: task `id` of `count` takes its share of the iterations."""
    signature = Signature(name, "i32", ("i32", "ptr", "ptr"))
    task = emit.child(signature, ["id", "env", "closure"], ["", "", ""])
    out, (number, env, closure) = task.out, task.out.params
    place = out.temp(f"getelementptr inbounds i8, ptr {env}, i64 8")
    count = out.temp(f"load i32, ptr {place}, align 4")
    fields = []
    for kind, offset in zip(kinds, offsets):
        place = out.temp(f"getelementptr inbounds i8, ptr {closure}, i64 {offset}")
        fields.append(out.temp(f"load {kind}, ptr {place}, align 8"))
    wide_count, wide_id = (out.temp(f"zext i32 {v} to i64") for v in (count, number))
    index = kinds[0]
    extent = fields[1] if index == "i64" else out.temp(f"sext {index} {fields[1]} to i64")
    first = out.temp(f"mul nsw i64 {extent}, {wide_id}")
    last = out.temp(f"add nsw i64 {first}, {extent}")
    bounds = []
    for product in (first, last):
        bound = out.temp(f"sdiv i64 {product}, {wide_count}")
        if index != "i64":
            bound = out.temp(f"trunc i64 {bound} to {index}")
        bounds.append(out.temp(f"add nsw {index} {bound}, {fields[0]}"))
    values = [task.from_memory(v.dtype, field) for v, field in zip(variables, fields[2:])]
    given = ", ".join(f"{k} {v}" for k, v in zip(body.params, [*bounds, *values]))
    task.return_value(out.temp(f"call i32 {quoted(body.name)}({given})"))
    out.finish()
    return name
