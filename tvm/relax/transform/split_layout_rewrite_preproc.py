"""Kernels that first change the layout of their weights are split: the change comes before.

    def f(X, W, Out):                       def f_weight_prepack(W, V): V[...] = W[...]
        V[...] = W[...]                     def f_prepacked(X, V, Out): Out[...] = X[...] * V[...]
        Out[...] = X[...] * V[...]    ->
    y = R.call_tir(f, (x, w))               v = R.call_tir(f_weight_prepack, (w,))
                                            y = R.call_tir(f_prepacked, (x, v))

Blocks that change a layout have the annotation `meta_schedule.layout_rewrite_preproc`. What is
done to weights can then be done once, before the model runs (`LiftTransformParams`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    Call,
    DataflowVar,
    Function,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.op.base import call_tir
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import map_bindings, vars_of_dataflow, with_value
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements
from tvm.tir.renew_defs import renew_defs
from tvm.tir.stmt import Block, BlockRealize, SeqStmt, Stmt

_MARK = "meta_schedule.layout_rewrite_preproc"
_OF_THE_WHOLE = ("global_symbol", "layout_free_buffers")  # attributes that neither half has


@dataclass(frozen=True)
class _Split:
    """The two halves of a kernel, and for each changed buffer its operand index."""

    prepack: GlobalVar
    compute: GlobalVar
    operand_indices: tuple[int, ...]
    results: tuple[Buffer, ...]


def SplitLayoutRewritePreproc() -> Sequential:
    """Every call of such a kernel is one of its first half and one of its second."""
    return Sequential([_split_kernels(), RemoveUnusedWork()], name="SplitLayoutRewritePreproc")


@relax_module_pass("SplitLayoutRewritePreproc")
def _split_kernels(mod: IRModule, ctx: PassContext) -> IRModule:
    bb = BlockBuilder(mod)
    splits: dict[GlobalVar, _Split] = {}
    for var, func in mod.functions_items():
        if isinstance(func, PrimFunc):
            found = _split(bb, var.name_hint, func)
            if found is not None:
                splits[var] = found
    if not splits:
        return mod

    inside: set[Var] = set()

    def on_binding(binding: Binding) -> Sequence[Binding]:
        return _two_calls(bb, binding, splits, binding.var in inside)

    for var, func in mod.functions_items():
        if isinstance(func, Function):
            inside.update(vars_of_dataflow(func))
            new = map_bindings(func, on_binding)
            if new is not func:
                bb.update_func(var, new)
    made = bb.get()
    left = {v: f for v, f in made.functions.items() if v not in splits}
    return made.with_functions(left)


# --- kernels ---


def _split(bb: BlockBuilder, name: str, func: PrimFunc) -> _Split | None:
    root = func.body
    if not isinstance(root, BlockRealize):
        return None
    body = root.block.body
    stmts = list(body.seq) if isinstance(body, SeqStmt) else [body]
    first = [stmt for stmt in stmts if _is_marked(stmt)]
    if not first or len(first) == len(stmts):
        return None
    pairs = [_rewritten(name, stmt) for stmt in first]
    by_buffer = {buffer: i for i, var in enumerate(func.params)
                 if (buffer := func.buffer_map.get(var)) is not None}  # fmt: skip
    operand_indices = []
    for source, result in pairs:
        if source not in by_buffer or result not in root.block.alloc_buffers:
            raise CheckError(
                message(
                    f"SplitLayoutRewritePreproc: {name}",
                    found=f"a layout change from {source.name} to {result.name}",
                    legal="from a parameter to a buffer that is allocated in the kernel",
                )
            )
        operand_indices.append(by_buffer[source])
    results = [result for _, result in pairs]
    sources = [func.params[i] for i in operand_indices]
    made = [var.copy_with_suffix("_rewrite") for var in sources]
    buffers = {var: func.buffer_map[var] for var in sources} | dict(zip(made, results))
    done = [_unmarked(stmt) for stmt in first]
    attrs = {key: value for key, value in func.attrs.items() if key not in _OF_THE_WHOLE}
    prepack = PrimFunc([*sources, *made], _body(root, done, []), func.ret_type, buffers, attrs)
    changed = dict(zip(sources, results))
    rest = [stmt for stmt in stmts if not any(stmt is one for one in first)]
    allocated = [buffer for buffer in root.block.alloc_buffers if buffer not in results]
    compute = PrimFunc(
        func.params, _body(root, rest, allocated), func.ret_type, {**func.buffer_map, **changed},
        attrs, func.span,
    )  # fmt: skip
    return _Split(
        bb.add_func(renew_defs(prepack), f"{name}_weight_prepack"),
        bb.add_func(renew_defs(compute), f"{name}_prepacked"),
        tuple(operand_indices), tuple(results),
    )  # fmt: skip


def _body(root: BlockRealize, stmts: Sequence[Stmt], allocated: Sequence[Buffer]) -> Stmt:
    """Some statements of a root block, in one of their own."""
    old = root.block
    body = stmts[0] if len(stmts) == 1 else SeqStmt(stmts)
    block = Block(
        [], [], [], old.name_hint, body, None, allocated, [], old.annotations, old.span
    )
    return BlockRealize([], root.predicate, block, root.span)


def _is_marked(stmt: Stmt) -> bool:
    return any(node.annotations.get(_MARK) for node in statements(stmt, Block))


class _Unmarked(StmtExprMutator):
    def visit_block_(self, op: Block) -> Stmt:
        kept = {key: value for key, value in op.annotations.items() if key != _MARK}
        if len(kept) == len(op.annotations):
            return super().visit_block_(op)
        return Block(
            op.iter_vars, op.reads, op.writes, op.name_hint, op.body, op.init, op.alloc_buffers,
            op.match_buffers, kept, op.span,
        )  # fmt: skip


def _unmarked(stmt: Stmt) -> Stmt:
    """A layout change as an ordinary loop nest."""
    return _Unmarked().visit_stmt(stmt)


def _rewritten(name: str, stmt: Stmt) -> tuple[Buffer, Buffer]:
    """The buffer that a layout change reads, and the one that it writes."""
    (block,) = [n for n in statements(stmt, Block) if n.annotations.get(_MARK)]
    if len(block.reads) != 1 or len(block.writes) != 1:
        raise CheckError(
            message(
                f"SplitLayoutRewritePreproc: block {block.name_hint} of {name}",
                found=f"{len(block.reads)} buffers read, {len(block.writes)} written",
                legal="one of each",
            )
        )
    return block.reads[0].buffer, block.writes[0].buffer


# --- calls ---


def _two_calls(
    bb: BlockBuilder, binding: Binding, splits: dict[GlobalVar, _Split], in_dataflow: bool
) -> Sequence[Binding]:
    call = binding.value
    if not is_call_of(call, "relax.call_tir"):
        return (binding,)
    kernel, operands = call.args[0], call.args[1]
    split = splits.get(kernel) if isinstance(kernel, GlobalVar) else None
    if split is None or not isinstance(operands, Tuple):
        return (binding,)
    infos = [_info(buffer) for buffer in split.results]
    kind = DataflowVar if in_dataflow else Var
    given = [operands.fields[i] for i in split.operand_indices]
    first = bb.normalize(
        call_tir(split.prepack, Tuple(given), infos if len(infos) > 1 else infos[0])
    )
    packed = kind(bb.get_unique_name("lv"), first.struct_info_)
    made: list[Binding] = [VarBinding(packed, first, binding.span or call.span)]
    fields: list[RelaxExpr] = list(operands.fields)
    for i, index in enumerate(split.operand_indices):
        fields[index] = packed
        if len(infos) > 1:
            item = bb.normalize(TupleGetItem(packed, i))
            one = kind(bb.get_unique_name("lv"), item.struct_info_)
            made.append(VarBinding(one, item, binding.span or call.span))
            fields[index] = one
    second = Call(
        call.op, [split.compute, Tuple(fields), *call.args[2:]], call.attrs, call.sinfo_args,
        call.span,
    )  # fmt: skip
    value = bb.normalize(second)
    result = kind(bb.get_unique_name("lv"), value.struct_info_)
    made.append(VarBinding(result, value, binding.span or call.span))
    return (*made, with_value(binding, result))


def _info(buffer: Buffer) -> TensorStructInfo:
    if not all(isinstance(extent, IntImm) for extent in buffer.shape):
        raise CheckError(
            message(
                f"SplitLayoutRewritePreproc: {buffer.name}",
                found=f"Currently does not support rewrite buffer with dynamic shape: "
                f"{list(buffer.shape)}",
                legal="a shape of numbers",
            )
        )
    return TensorStructInfo([int(e) for e in buffer.shape], str(buffer.dtype))  # type: ignore[call-overload]
