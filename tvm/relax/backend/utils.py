"""What passes for outside libraries share: where a value lives, and whether a match leaks."""

from __future__ import annotations

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.transform.fuse_ops_by_pattern import PatternCheckContext
from tvm.support.dtype import DataType
from tvm.target import Target


class BackendDispatcher(PyExprMutator):
    """A mutator that picks implementations by the target of what they compute."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)

    @staticmethod
    def is_gpu_target(target: Target) -> bool:
        """True for a target whose kernels run on a GPU."""
        return "gpu" in target.keys

    @staticmethod
    def get_shape_dtype(expr: RelaxExpr) -> tuple[RelaxExpr | None, DataType]:
        """Shape and data type of a tensor."""
        info = expr.struct_info
        if not isinstance(info, TensorStructInfo):
            raise TVMError(
                message(
                    "get_shape_dtype: the expression is no tensor",
                    found=f"{expr} with struct info {info}",
                    legal="an expression whose struct info is a TensorStructInfo",
                )
            )
        return info.shape, info.dtype

    def _get_target(self, sinfo: StructInfo) -> Target:
        """The target of the value's device, or the current one."""
        if isinstance(sinfo, TupleStructInfo) and sinfo.fields:
            return self._get_target(sinfo.fields[0])
        vdevice = sinfo.vdevice if isinstance(sinfo, TensorStructInfo) else None
        target = Target.current() if vdevice is None else vdevice.target
        if not isinstance(target, Target):
            raise TVMError(
                message(
                    "Target not found: the value names no device and there is no current target",
                    found=str(sinfo),
                    legal="a tensor with a vdevice, or `with tvm.target.Target(...)` around",
                )
            )
        return target


def has_leaking_intermediate_variables(context: PatternCheckContext) -> bool:
    """True if something outside of a match uses a value within it, other than its result."""
    inside = set(context.matched_bindings)
    result = context.value_to_bound_var[context.matched_expr]
    return any(
        user not in inside
        for var in inside
        if var is not result
        for user in context.var_usages.get(var, ())
    )
