"""Write functions on distributed tensors as what each worker does with its own pieces.

    def f(x: R.DTensor((128, 128), "float32", "mesh[0]", "S[1]")):
        y = R.dist.call_tir_local_view(cls.g, (x,), R.DTensor((128, 128), ..., "S[1]"))
        ->
    def f(x: R.Tensor((128, 128), "float32")):
        x_1: R.Tensor((128, 64), "float32") = R.ccl.scatter_from_worker0(x, num_workers=2, axis=1)
        y = R.call_tir(cls.g, (x_1,), R.Tensor((128, 64), "float32"))

The first worker brings the whole of every tensor; tuples of tensors (packed weights) come in
pieces, and results stay in pieces. Meshes have one dimension.
"""

from __future__ import annotations

from tvm.arith import Analyzer
from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.distributed.struct_info import DTensorStructInfo, PlacementSpecKind
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    Function,
    MatchCast,
    SeqExpr,
    Var,
    VarBinding,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.op.ccl import broadcast_from_worker0, scatter_from_worker0
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import replace_operands
from tvm.tir.op import arith as ops


@relax_pass("LowerDistIR")
def LowerDistIR(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No distributed tensor is left in any function."""
    infos = [p.struct_info_ for p in func.params] + [func.ret_struct_info]
    if not any(_is_distributed(info) for info in infos):
        return func
    return _Lowering(BlockBuilder(mod)).function(func)


def _is_distributed(info: StructInfo | None) -> bool:
    if isinstance(info, TupleStructInfo):
        return any(_is_distributed(field) for field in info.fields)
    return isinstance(info, DTensorStructInfo)


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
        for old in func.params:
            info = old.struct_info
            param = Var(old.name_hint, _brought_info(info), old.span)
            params.append(param)
            self._new[old] = param
            if isinstance(info, DTensorStructInfo):
                value = self._bb.normalize(_brought(param, info))
                piece = Var("gv", value.struct_info_)
                first.append(VarBinding(piece, value, old.span))
                self._new[old] = piece
        blocks = [BindingBlock(first)]
        for block in func.body.blocks:
            bindings = [self._binding(binding) for binding in block.bindings]
            blocks.append(type(block)(bindings, block.span))
        result = self._operands(func.body.body)
        body = SeqExpr(merge_blocks(blocks), result, func.body.span)
        body.struct_info_ = local_info(func.ret_struct_info)
        return Function(
            params, body, local_info(func.ret_struct_info), func.is_pure, func.attrs, func.span
        )

    def _operands(self, value: RelaxExpr) -> RelaxExpr:
        def replace(expr: RelaxExpr) -> RelaxExpr | None:
            if isinstance(expr, Constant) and _is_distributed(expr.struct_info_):
                return Constant(expr.data, None, expr.span)
            return self._new.get(expr)

        return replace_operands(value, replace)

    def _binding(self, binding: Binding) -> Binding:
        value = self._value(binding.value)
        old = binding.var
        var = type(old)(old.vid, value.struct_info_, old.span)
        self._new[old] = var
        if isinstance(binding, MatchCast):
            return MatchCast(var, value, local_info(binding.struct_info), binding.span)
        return VarBinding(var, value, binding.span)

    def _value(self, value: RelaxExpr) -> RelaxExpr:
        new = self._operands(value)
        if not isinstance(new, Call):
            return self._bb.normalize(new)
        op = new.op
        infos = [local_info(info) for info in new.sinfo_args]
        if isinstance(op, Op) and op.name == "relax.dist.call_tir_local_view":
            op = Op.get("relax.call_tir")
        elif isinstance(op, Op) and op.name == "relax.dist.redistribute":
            raise TVMError(
                message(
                    "LowerDistIR: R.dist.redistribute is left",
                    legal="LegalizeRedistribute before",
                )
            )
        return self._bb.normalize(Call(op, new.args, new.attrs, infos, new.span))


def _brought(param: Var, info: DTensorStructInfo) -> Call:
    """How the first worker's tensor comes to all of them."""
    specs = info.placement.dim_specs
    if len(specs) != 1:
        raise TVMError(
            message(
                "LowerDistIR: the mesh",
                found=f"shape {info.device_mesh.shape}",
                legal="a mesh of one dimension",
            )
        )
    if specs[0].kind is PlacementSpecKind.kSharding:
        return scatter_from_worker0(param, info.device_mesh.shape[0], specs[0].axis)
    return broadcast_from_worker0(param)
