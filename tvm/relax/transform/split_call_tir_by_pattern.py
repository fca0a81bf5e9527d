"""Kernels that begin with what a library does are split: a call of the library, and the rest.

    def fused(X, W, B, Z):          def unfused_epilogue(Y, B, Z): Z = Y + B
        Y = X @ W
        Z = Y + B               ->
    y = R.call_tir(fused,           lv = R.call_dps_packed(ExternFunc("fused"), (x, w), ...)
        (x, w, b), ...)             y = R.call_tir(unfused_epilogue, (lv, b), ...)

`fcodegen` gets the matches of the first blocks and gives the library's source, how many matches it
covers, and the buffers of the library's function, the result last. The source goes with the
`ExternFunc` (attributes `c_source`, `c_source_fmt`), `{global_symbol}` in it is its name; the build
compiles it. A kernel whose covered blocks have several results, or sizes that only a call tells,
stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    DataflowVar,
    ExternFunc,
    Function,
    Tuple,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.op.base import call_dps_packed, call_tir
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.dead_code_elimination import called_functions
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import map_bindings, vars_of_dataflow, with_value
from tvm.relax.transform.tir_pattern import MatchResult, match_leading, top_statements
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, walk
from tvm.tir.renew_defs import renew_defs
from tvm.tir.stmt import Block, BlockRealize, BufferStore, SeqStmt, Stmt

Codegen = Callable[[list[MatchResult]], Sequence[Any]]


@dataclass(frozen=True)
class _Split:
    """The library's function with its operands; what is left, if anything, with its own."""

    library: ExternFunc
    operands: tuple[int, ...]
    result: Buffer
    rest: GlobalVar | None
    rest_operands: tuple[int, ...] = ()


@relax_module_pass("SplitCallTIRByPattern")
def SplitCallTIRByPattern(
    mod: IRModule, ctx: PassContext, patterns: Sequence[PrimFunc], fcodegen: Codegen
) -> IRModule:
    """Every call of such a kernel is one of the library's function and one of the rest."""
    bb = BlockBuilder(mod)
    splits: dict[GlobalVar, _Split] = {}
    for var, func in mod.functions_items():
        if isinstance(func, PrimFunc):
            split = _split(bb, var.name_hint, func, list(patterns), fcodegen)
            if split is not None:
                splits[var] = split
    if not splits:
        return mod
    inside: set[Var] = set()
    called: set[GlobalVar] = set()

    def on_binding(binding: Binding) -> Sequence[Binding]:
        return _two_calls(bb, binding, splits, called, binding.var in inside)

    for var, func in mod.functions_items():
        if isinstance(func, Function):
            inside.update(vars_of_dataflow(func))
            new = map_bindings(func, on_binding)
            if new is not func:
                bb.update_func(var, new)
    made = bb.get()
    used = {var for func in made.functions.values() for var in called_functions(func)}
    gone = called | {split.rest for split in splits.values() if split.rest is not None}
    kept = {
        var: func
        for var, func in made.functions.items()
        if var not in gone or var in used or "global_symbol" in func.attrs
    }
    return made.with_functions(kept)


# --- kernels ---


def _split(
    bb: BlockBuilder, name: str, func: PrimFunc, patterns: list[PrimFunc], fcodegen: Codegen
) -> _Split | None:
    stmts = top_statements(func)
    matches = match_leading(stmts, patterns) if stmts else []
    if not matches or stmts is None:
        return None
    answer = list(fcodegen([match for match, _ in matches]))
    if not answer or int(answer[1]) == 0:
        return None
    code, count, buffers = str(answer[0]), int(answer[1]), list(answer[2])
    covered = sum(length for _, length in matches[:count])
    first, rest = stmts[:covered], stmts[covered:]
    param_index = {func.buffer_map[p]: i for i, p in enumerate(func.params) if p in func.buffer_map}
    seen = [node.buffer for stmt in rest for node in walk(stmt) if isinstance(node, _ACCESS)]
    live = [b for b in _written(first) if b in param_index or b in seen]
    if len(live) != 1 or not all(isinstance(extent, IntImm) for extent in live[0].shape):
        return None
    if buffers[-1:] != live or any(buffer not in param_index for buffer in buffers[:-1]):
        raise CheckError(
            message(
                f"SplitCallTIRByPattern: the buffers that fcodegen gives for {name}",
                found=", ".join(buffer.name for buffer in buffers) or "none",
                legal=f"parameters of {name} that are read, then {live[0].name}",
            )
        )
    library = ExternFunc(name).with_attrs(
        {"c_source": code.replace("{global_symbol}", name), "c_source_fmt": "cu"}
    )
    operands = tuple(param_index[buffer] for buffer in buffers[:-1])
    if not rest:
        return _Split(library, operands, live[0], None)
    if live[0] in param_index:
        return None  # a result of the kernel itself, which the rest reads
    kept = [i for b, i in param_index.items() if b in seen]
    epilogue = _epilogue(func, rest, live[0], [func.params[i] for i in kept])
    outputs = _written(rest)
    inputs = tuple(i for b, i in param_index.items() if b in seen and b not in outputs)
    return _Split(
        library, operands, live[0], bb.add_func(renew_defs(epilogue), "unfused_epilogue"), inputs
    )


_ACCESS = (BufferLoad, BufferStore)


def _written(stmts: Sequence[Stmt]) -> list[Buffer]:
    """The buffers that statements store to, in order, each once."""
    stores = [node for stmt in stmts for node in statements(stmt, BufferStore)]
    return list(dict.fromkeys(store.buffer for store in stores))


def _epilogue(
    func: PrimFunc, stmts: Sequence[Stmt], result: Buffer, kept: Sequence[TirVar]
) -> PrimFunc:
    """The rest of a kernel; the library's result is its first parameter."""
    assert isinstance(func.body, BlockRealize), "it has top statements"
    root = func.body.block
    body = stmts[0] if len(stmts) == 1 else SeqStmt(stmts)
    seen = {node.buffer for node in walk(body) if isinstance(node, _ACCESS)}
    allocated = [buffer for buffer in root.alloc_buffers if buffer in seen and buffer != result]
    block = Block(
        [], [], [], root.name_hint, body, None, allocated, [], root.annotations, root.span
    )
    made = TirVar(f"{result.name}_handle", "handle")
    buffers = {made: result, **{param: func.buffer_map[param] for param in kept}}
    return PrimFunc(
        [made, *kept], BlockRealize([], func.body.predicate, block, func.body.span),
        func.ret_type, buffers, func.attrs, func.span,
    ).without_attr("global_symbol").without_attr("op_pattern")  # fmt: skip


# --- calls ---


def _two_calls(
    bb: BlockBuilder, binding: Binding, splits: dict[GlobalVar, _Split],
    called: set[GlobalVar], in_dataflow: bool,
) -> Sequence[Binding]:  # fmt: skip
    call = binding.value
    if not is_call_of(call, "relax.call_tir") or len(call.args) != 2:
        return (binding,)
    kernel, given = call.args
    split = splits.get(kernel) if isinstance(kernel, GlobalVar) else None
    if split is None or not isinstance(given, Tuple) or not isinstance(kernel, GlobalVar):
        return (binding,)
    called.add(kernel)
    operands: list[RelaxExpr] = [given.fields[i] for i in split.operands]
    out = call.sinfo_args[0]
    if split.rest is None:
        whole = call_dps_packed(split.library, Tuple(operands), out)
        return (with_value(binding, bb.normalize(whole)),)
    shape = [int(extent) for extent in split.result.shape]  # type: ignore[call-overload]
    info = TensorStructInfo(shape, str(split.result.dtype))
    first = bb.normalize(call_dps_packed(split.library, Tuple(operands), info))
    kind = DataflowVar if in_dataflow else Var
    made = kind(bb.get_unique_name("lv"), first.struct_info_)
    rest = Tuple([made, *(given.fields[i] for i in split.rest_operands)])
    second = bb.normalize(call_tir(split.rest, rest, out))
    return VarBinding(made, first, binding.span or call.span), with_value(binding, second)
