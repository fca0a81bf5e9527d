"""Bodies that become functions of their own: parallel loops and compute scopes.

A parallel loop stores what its body uses in a structure on the stack and hands a task function to
`parallel_launch`; the task takes its share of the iterations and runs the body.

    for i in T.parallel(n): B[i] = A[i]
    ->  struct f_parallel_i closure = {0, n, A, B};  parallel_launch(task, &closure, n)
        task(id, env, closure):  body(n * id / count, n * (id + 1) / count, A, B)

The body gets its pointers as parameters, since only parameters can be `restrict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.backend.c_family.code import ADD, Code
from tvm.backend.c_family.names import c_name
from tvm.support.naming import NameTable
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.functor import walk

from .names import KEYWORDS
from .source_text import Signature
from .types import memory_type, value_type, variable_type

if TYPE_CHECKING:
    from .codegen import FunctionEmitter

_MOST_TASKS: Final = 2147483647


def _captured(body: s.Stmt, known: dict[e.Var, Code]) -> list[e.Var]:
    """The variables defined outside that `body` uses, in the order of first use."""
    found: dict[e.Var, None] = {}
    for node in walk(body):
        if isinstance(node, e.Var):
            found.setdefault(node)
        elif isinstance(node, (e.BufferLoad, s.BufferStore)):
            found.setdefault(node.buffer.data)
    return [var for var in found if var in known]


def _kind(emit: FunctionEmitter, var: e.Var) -> str:
    """The type under which a variable is passed on; a vector goes by its array."""
    if var.dtype.is_vector:
        return memory_type(var.dtype.element_of()) + "*"
    inner = emit.pointees.get(var)
    return variable_type(var) if inner is None else inner + "*"


def _given(emit: FunctionEmitter, var: e.Var) -> str:
    value = emit.values[var]
    emit.out.read(value)
    return value


def outline_scope(emit: FunctionEmitter, op: s.AttrStmt) -> None:
    """Make an internal function of the body of a compute scope, and call it."""
    variables = _captured(op.body, emit.values)
    asked = c_name(getattr(op.value, "value", None) or f"{emit.out.signature.name}_compute")
    name = emit.module.names.fresh(asked)
    signature = Signature(name, "int32_t", tuple(_kind(emit, v) for v in variables), private=True)
    inner = emit.child(signature, [v.name for v in variables], variables)
    inner.adopt(emit, variables, inner.out.params)
    inner.emit(op.body)
    inner.close()
    emit.check(f"{name}({', '.join(_given(emit, v) for v in variables)})")


def launch_parallel_loop(emit: FunctionEmitter, op: s.For) -> None:
    """Hand the iterations of `op` to the pool."""
    out, module = emit.out, emit.module
    module.need("parallel_launch")
    index = value_type(op.loop_var.dtype)
    start, extent = emit.value(op.min), emit.value(op.extent)
    variables = [v for v in _captured(op.body, emit.values) if v is not op.loop_var]
    kinds = [_kind(emit, v) for v in variables]
    inside = c_name(out.signature.name).rstrip("_")
    base = module.names.fresh(f"{inside}_parallel_{c_name(op.loop_var.name)}")
    body = _body_function(emit, op, variables, kinds, base + "_body")
    fields = _fields(variables)
    _closure_type(emit, base, index, kinds, fields)
    task = _task_function(emit, body, index, fields, base)
    given = [start, extent, *[_given(emit, v) for v in variables]]
    closure = out.fresh("closure")
    out.line(f"struct {base} {closure} = {{{', '.join(given)}}};")
    count: str = extent
    if op.loop_var.dtype.bits > 32:
        count = f"{extent.at(ADD)} < {_MOST_TASKS} ? (int32_t)({extent}) : {_MOST_TASKS}"
    launch = f"parallel_launch({task}, &{closure}, {count})"
    if isinstance(op.extent, e.IntImm):
        emit.check(launch)
        return
    # zero tasks would mean "as many as there are threads"
    out.line(f"if ({extent.at(ADD)} > 0 && {launch} != 0) {emit.failure()}")


def _fields(variables: list[e.Var]) -> list[str]:
    """Distinct names for the captured variables in the closure."""
    table = NameTable(["start", "extent", *KEYWORDS])
    return [table.fresh(c_name(var.name)) for var in variables]


def _closure_type(
    emit: FunctionEmitter, base: str, index: str, kinds: list[str], fields: list[str]
) -> None:
    rows = [f"  {kind} {name};" for kind, name in zip(kinds, fields)]
    lines = [f"struct {base} {{", f"  {index} start, extent;", *rows, "};"]
    emit.module.constant("\n".join(lines))


def _body_function(
    emit: FunctionEmitter, op: s.For, variables: list[e.Var], kinds: list[str], name: str
) -> Signature:
    """The body for iterations [begin, end)."""
    index = value_type(op.loop_var.dtype)
    signature = Signature(name, "int32_t", (index, index, *kinds), private=True)
    names = ["begin", "end", *(v.name for v in variables)]
    inner = emit.child(signature, names, [None, None, *variables], parallel_allowed=False)
    inner.adopt(emit, variables, inner.out.params[2:])
    begin, end = inner.out.params[:2]
    for param in (begin, end):
        inner.out.read(param)
    inner.counted_loop(op, Code(begin), Code(end))
    inner.emit(s.SeqStmt([]))
    inner.close()
    return signature


def _task_function(
    emit: FunctionEmitter, body: Signature, index: str, fields: list[str], base: str
) -> str:
    """What the pool calls: task `id` of `count` takes its share of the iterations."""
    name = base + "_task"
    bounds = [
        f"({index})((int64_t)c->extent * {number} / env->num_task) + c->start"
        for number in ("task_id", "(task_id + 1)")
    ]
    given = ", ".join([*bounds, *[f"c->{field}" for field in fields]])
    head = f"static int32_t {name}(int32_t task_id, TVMParallelEnv* env, void* closure)"
    emit.module.prototypes[name] = f"{head};"
    emit.module.functions.append(
        f"{head} {{\n  struct {base}* c = closure;\n  return {body.name}({given});\n}}\n"
    )
    return name
