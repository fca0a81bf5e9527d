"""Another size of the batch: parameters get another extent along an axis.

    ChangeBatch({data: 0}, batch_size=16)      %data: Tensor[(1, 3, 8, 8)] -> Tensor[(16, 3, 8, 8)]
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay.expr import Var
from tvm.relay.function import Function
from tvm.relay.rewrite import substitute
from tvm.relay.ty import TensorType

from .function_pass import function_pass


@function_pass(opt_level=1)
class ChangeBatch:
    """Gives each variable of `data` the extent `batch_size` along the axis that stands with it."""

    def __init__(self, data: Mapping[Var, int], batch_size: int = 16) -> None:
        self.data = {var.vid: axis for var, axis in data.items()}
        self.batch_size = batch_size

    def transform_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        params = [self._changed(param) for param in func.params]
        given: dict[object, RelaxExpr] = {p.vid: new for p, new in zip(func.params, params)}
        body = substitute(func.body, given)
        return Function(params, body, None, func.type_params, func.attrs, func.span)

    def _changed(self, param: Var) -> Var:
        if param.vid not in self.data:
            return param
        found = param.type_annotation
        if not isinstance(found, TensorType):
            raise TVMError(f"ChangeBatch: %{param.name_hint} is no tensor; legal: tensors")
        shape = list(found.shape)
        shape[self.data[param.vid]] = self.batch_size  # type: ignore[call-overload]
        return Var(param.name_hint, TensorType(shape, found.dtype), param.span)
