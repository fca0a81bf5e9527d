"""Write functions on distributed tensors as what each worker does with its own pieces.

    def f(x: R.DTensor((128, 128), "float32", "mesh[0]", "S[1]")):
        y = R.dist.call_tir_local_view(cls.g, (x,), R.DTensor((128, 128), ..., "S[1]"))
        ->
    def f(x: R.Tensor((128, 128), "float32")):
        x_1: R.Tensor((128, 64), "float32") = R.ccl.scatter_from_worker0(x, num_workers=2, axis=1)
        y = R.call_tir(cls.g, (x_1,), R.Tensor((128, 64), "float32"))

The first worker brings the whole of every tensor; tuples of tensors (packed weights) come in
pieces, and results stay in pieces. Operators work on pieces (`local_operator`); what packed
functions and kernels compute is theirs. There is one mesh, of one dimension.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tvm.arith import Analyzer
from tvm.error import CheckError, TVMError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.local_operator import cut_axis, local_operator
from tvm.relax.distributed.struct_info import DTensorStructInfo, PlacementSpecKind
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    If,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Var,
    VarBinding,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.op.ccl import allreduce, broadcast_from_worker0, scatter_from_worker0
from tvm.relax.op.distributed import redistribute_replica_to_shard
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo, const_int
from tvm.relax.transform.pass_form import relax_functions_pass
from tvm.relax.transform.rebuild import all_bindings, replace_operands, vars_used
from tvm.tir.op import arith as ops

_CACHE = "vm.builtin.attention_kv_cache_"
# Functions of the runtime that have another name before they take pieces.
_PACKED: Final = {
    f"vm.builtin.distributed.attention_kv_cache_{name}": f"{_CACHE}{name}"
    for name in ("append", "view")
}


@relax_functions_pass("LowerDistIR", opt_level=1)
def LowerDistIR(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No distributed tensor is left in any function."""
    values = [*func.params, *(b.var for b in all_bindings(func))]
    spread = [one for v in values for one in _distributed(v.struct_info_)]
    spread.extend(_distributed(func.ret_struct_info))
    if not spread:
        return func
    first = spread[0].device_mesh
    for info in spread:
        mesh = info.device_mesh
        if len(mesh.shape) != 1:
            raise _mesh_error(f"shape {mesh.shape}", "a mesh of one dimension")
        if mesh is not first and not structural_equal(mesh, first):
            raise _mesh_error(f"{mesh} beside {first}", "one mesh for a function")
    return _Lowering(BlockBuilder(mod)).function(func)


def _mesh_error(found: str, legal: str) -> TVMError:
    return TVMError(message("LowerDistIR: the mesh", found=found, legal=legal))


def _distributed(info: StructInfo | None) -> Iterator[DTensorStructInfo]:
    """The distributed tensors of a value."""
    if isinstance(info, TupleStructInfo):
        for field in info.fields:
            yield from _distributed(field)
    elif isinstance(info, DTensorStructInfo):
        yield info


def local_info(info: StructInfo) -> StructInfo:
    """What one worker holds of a value."""
    if isinstance(info, TupleStructInfo):
        return TupleStructInfo([local_info(field) for field in info.fields], info.span)
    if not isinstance(info, DTensorStructInfo):
        return info
    tensor = info.tensor_sinfo
    if tensor.values is None:
        return tensor
    extents = list(tensor.values)
    analyzer = Analyzer()
    for workers, spec in zip(info.device_mesh.shape, info.placement.dim_specs):
        if spec.kind is PlacementSpecKind.kSharding:
            known = const_int(extents[spec.axis])
            if known is not None and known % workers:
                raise CheckError(
                    message(
                        f"LowerDistIR: the pieces of {info}",
                        found=f"extent {known} for {workers} workers",
                        legal="a multiple of the number of workers",
                    )
                )
            pieces = ops.floordiv(extents[spec.axis], ops.const(workers, "int64"))
            extents[spec.axis] = analyzer.simplify(pieces)
    return TensorStructInfo(extents, tensor.dtype)


def _brought_info(info: StructInfo) -> StructInfo:
    """What is given for a parameter: a whole tensor, but of tuples each worker's own pieces."""
    return info.tensor_sinfo if isinstance(info, DTensorStructInfo) else local_info(info)


class _Lowering:
    def __init__(self, bb: BlockBuilder) -> None:
        self._bb = bb
        self._new: dict[RelaxExpr, RelaxExpr] = {}

    def function(self, func: Function) -> Function:
        params: list[Var] = []
        first: list[Binding] = []
        blocks = func.body.blocks
        returned = set(vars_used(func.body.body))
        for old in func.params:
            info = old.struct_info
            param = Var(old.name_hint, _brought_info(info), old.span)
            params.append(param)
            self._new[old] = param
            if isinstance(info, DTensorStructInfo):
                value = self._bb.normalize(_brought(param, info))
                # one dataflow block that holds all readers of the piece keeps it to itself
                inner = len(blocks) == 1 and isinstance(blocks[0], DataflowBlock)
                kind = DataflowVar if inner and old not in returned else Var
                piece = kind("gv", value.struct_info_)
                first.append(VarBinding(piece, value, old.span))
                self._new[old] = piece
        rest = self._seq(func.body)
        # where the function begins with a dataflow block, the pieces are part of it
        begin = type(rest.blocks[0]) if rest.blocks else BindingBlock
        body = SeqExpr(merge_blocks([begin(first), *rest.blocks]), rest.body, rest.span)
        result = local_info(func.ret_struct_info)
        body.struct_info_ = result
        return Function(params, body, result, func.is_pure, func.attrs, func.span)

    def _seq(self, seq: SeqExpr) -> SeqExpr:
        blocks = []
        for block in seq.blocks:
            bindings = [new for binding in block.bindings for new in self._binding(binding)]
            blocks.append(type(block)(bindings, block.span))
        last: list[Binding] = []
        result = self._operands(seq.body, last)
        if last:
            blocks.append(BindingBlock(last))
        return SeqExpr(blocks, result, seq.span)

    def _operands(self, value: RelaxExpr, before: list[Binding]) -> RelaxExpr:
        """The value on pieces; `before` gets the bindings of constants that are cut."""

        def replace(expr: RelaxExpr) -> RelaxExpr | None:
            info = expr.struct_info_
            if not isinstance(expr, Constant) or not isinstance(info, DTensorStructInfo):
                return self._new.get(expr)
            whole = Constant(expr.data, None, expr.span)
            axis = cut_axis(info)
            if axis is None:
                return whole
            call = redistribute_replica_to_shard(whole, info.device_mesh.shape[0], axis)
            return self._bound(call, Var, before)

        return replace_operands(value, replace)

    def _bound(self, value: RelaxExpr, kind: type[Var], bindings: list[Binding]) -> Var:
        value = self._bb.normalize(value)
        var = kind("gv", value.struct_info_)
        bindings.append(VarBinding(var, value, value.span))
        return var

    def _binding(self, binding: Binding) -> list[Binding]:
        old = binding.var
        bindings: list[Binding] = []
        value = self._value(binding.value, old, bindings)
        var = type(old)(old.vid, value.struct_info_, old.span)
        self._new[old] = var
        if isinstance(binding, MatchCast):
            info = local_info(binding.struct_info)
            bindings.append(MatchCast(var, value, info, binding.span))
        else:
            bindings.append(VarBinding(var, value, binding.span))
        return bindings

    def _value(self, value: RelaxExpr, var: Var, before: list[Binding]) -> RelaxExpr:
        if isinstance(value, If):
            cond = self._operands(value.cond, before)
            yes, no = self._seq(value.true_branch), self._seq(value.false_branch)
            return self._bb.normalize(If(cond, yes, no, value.span))
        if not isinstance(value, Call):
            return self._bb.normalize(self._operands(value, before))
        op = value.op
        if isinstance(op, Op) and op.name == "relax.dist.redistribute":
            raise CheckError(
                message(
                    "LowerDistIR: R.dist.redistribute is left",
                    legal="LegalizeRedistribute before",
                )
            )
        local = local_operator(value, var.struct_info)
        args = [self._operands(arg, before) for arg in value.args]
        at = _cache_shape(value, op) if isinstance(op, ExternFunc) else local.shape
        piece = local_info(var.struct_info)
        if at is not None and isinstance(piece, TensorStructInfo) and piece.values is not None:
            args[at] = ShapeExpr(piece.values, args[at].span)
        if isinstance(op, Op) and op.name == "relax.dist.call_tir_local_view":
            op = Op.get("relax.call_tir")
        elif isinstance(op, ExternFunc):
            name = _PACKED.get(op.global_symbol, op.global_symbol)
            op = op if name == op.global_symbol else ExternFunc(name, op.struct_info_, op.span)
        else:
            op = self._operands(op, before)
        infos = [local_info(info) for info in value.sinfo_args]
        new = Call(op, args, value.attrs, infos, value.span)
        if local.combine is not None:
            part = self._bound(new, DataflowVar if isinstance(var, DataflowVar) else Var, before)
            new = allreduce(part, local.combine)
            new.span = value.span
        return self._bb.normalize(new)


def _cache_shape(call: Call, func: ExternFunc) -> int | None:
    """Which operand is the shape in which a cache is asked for what it holds."""
    is_view = _PACKED.get(func.global_symbol, func.global_symbol) == f"{_CACHE}view"
    return len(call.args) - 1 if is_view and isinstance(call.args[-1], ShapeExpr) else None


def _brought(param: Var, info: DTensorStructInfo) -> Call:
    """How the first worker's tensor comes to all of them."""
    axis = cut_axis(info)
    if axis is not None:
        return scatter_from_worker0(param, info.device_mesh.shape[0], axis)
    return broadcast_from_worker0(param)
