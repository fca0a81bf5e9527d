"""Draws from distributions become kernels for the target that computes them.

    lv = R.multinomial_from_uniform(p, u, i)  ->  lv = R.cumsum(p, axis=1)
                                                  gv = R.call_tir(get_sample_index, (lv, u, i), ...)

On a GPU one kernel sums and searches.
"""

from __future__ import annotations

from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, module_pass
from tvm.relax import op as _op
from tvm.relax.expr import Call, Function, ShapeExpr, is_call_of
from tvm.tir.expr import IntImm

from .gpu_generic.sampling import generic_get_sample_index, gpu_multinomial_from_uniform
from .utils import BackendDispatcher


class SamplingDispatcher(BackendDispatcher):
    """Replaces the calls."""

    def visit_call_(self, call: Call) -> RelaxExpr:
        """The kernels for `multinomial_from_uniform`; other calls as they are."""
        if not is_call_of(call, "relax.multinomial_from_uniform"):
            return super().visit_call_(call)
        target, result = self._get_target(call.struct_info), call.struct_info
        new = super().visit_call_(call)
        assert isinstance(new, Call), "visiting keeps calls of operators"
        prob, uniform, indices = new.args
        kinds = [str(self.get_shape_dtype(x)[1]) for x in new.args]
        for name, operand in (("uniform_sample", uniform), ("sample_indices", indices)):
            self._check_column(name, operand)
        attrs: Any = call.attrs
        types = (kinds[0], kinds[1], kinds[2], str(attrs["dtype"]))
        if self.is_gpu_target(target):
            kernel = gpu_multinomial_from_uniform(*types)
            var = self.builder_.add_func(kernel, "gpu_multinomial_from_uniform")
            return _op.call_tir(var, [prob, uniform, indices], out_sinfo=result)
        sums = _op.cumsum(prob, axis=1, dtype=types[0], exclusive=False)
        kernel = generic_get_sample_index(*types)
        var = self.builder_.add_func(kernel, "get_sample_index")
        return _op.call_tir(var, [sums, uniform, indices], out_sinfo=result)

    def _check_column(self, name: str, operand: RelaxExpr) -> None:
        shape, _ = self.get_shape_dtype(operand)
        values = shape.values if isinstance(shape, ShapeExpr) else ()
        if len(values) == 2 and isinstance(values[1], IntImm) and values[1].value == 1:
            return
        raise TVMError(
            message(
                f"DispatchSampling: {name} should be a 2D tensor with shape (N, 1)",
                found=f"{operand.struct_info}", legal="one column",
            )
        )  # fmt: skip


@module_pass(opt_level=0, name="DispatchSampling")
class DispatchSampling:
    """No `multinomial_from_uniform` is left."""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        dispatcher = SamplingDispatcher(mod)
        for var, func in mod.functions_items():
            if isinstance(func, Function):
                after = dispatcher.visit_expr(func)
                assert isinstance(after, Function), "visiting keeps functions"
                dispatcher.builder_.update_func(var, after)
        return dispatcher.builder_.finalize()
