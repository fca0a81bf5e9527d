"""Sorts and running sums and products become kernels for the target that computes them.

    lv = R.sort(x, axis=1)         ->    lv = R.call_tir(sort, (x,), ...)

On a GPU the kernels are those of `topi.gpu`, or calls of Thrust where the target has it; running
sums along the last axis scan a row by a block of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import tvm.topi.gpu as topi_gpu
from tvm import dlight, topi
from tvm.contrib.thrust import can_use_thrust
from tvm.dlight.base.transform import SCHEDULED, first_schedule
from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, module_pass
from tvm.relax import op as _op
from tvm.relax.expr import Call, Function, ShapeExpr, is_call_of
from tvm.relax.struct_info import TensorStructInfo
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops

from .gpu_generic.cumsum import gpu_2d_continuous_cumsum
from .utils import BackendDispatcher

_SORT: Final = "tvm.contrib.thrust.sort"
_SUM: Final = "tvm.contrib.thrust.sum_scan"
_SPARE_BYTES: Final = 8 * 1024 * 1024  # of a library's workspace, besides what grows with the data


class SortScanDispatcher(BackendDispatcher):
    """Replaces the calls; `calls_to_update` are kernels that have no threads yet."""

    calls_to_update: dict[GlobalVar, Target]

    def __init__(self, mod: IRModule) -> None:
        super().__init__(mod)
        self.calls_to_update = {}

    def apply_dlight_gpu_fallback(self) -> None:
        """Give threads to the kernels that wait for them."""
        for var, target in self.calls_to_update.items():
            func = self.builder_.get()[var]
            assert isinstance(func, PrimFunc), "a kernel"
            with target:
                after = first_schedule(func, target, [dlight.gpu.Fallback()])
            if after is not None:
                self.builder_.update_func(var, after.with_attr(SCHEDULED, True))

    def visit_call_(self, call: Call) -> RelaxExpr:
        rule = _RULES.get(call.op.name) if isinstance(call.op, Op) else None
        if rule is None:
            return super().visit_call_(call)
        target = self._get_target(call.struct_info)
        new = super().visit_call_(call)
        assert isinstance(new, Call), "visiting keeps calls of operators"
        with target:
            return rule(self, new, target)

    # --- the operators ---

    def sort(self, call: Call, target: Target) -> RelaxExpr:
        """Elements in order."""
        attrs: Any = call.attrs
        order = {"axis": attrs["axis"], "is_ascend": not attrs["descending"]}
        if self._by_thrust(call, target, _SORT):
            order["workspace"] = self.allocate_workspace(call)
            return self._made(topi_gpu.sort_thrust, call, **order)
        return self._for_target("sort", call, target, order)

    def argsort(self, call: Call, target: Target) -> RelaxExpr:
        """Places of elements in order."""
        attrs: Any = call.attrs
        order = {"axis": attrs["axis"], "is_ascend": not attrs["descending"],
                 "dtype": str(attrs["dtype"])}  # fmt: skip
        if self._by_thrust(call, target, _SORT):
            order["workspace"] = self.allocate_workspace(call)
            return self._made(topi_gpu.argsort_thrust, call, **order)
        return self._for_target("argsort", call, target, order)

    def topk(self, call: Call, target: Target) -> RelaxExpr:
        """The largest elements."""
        attrs: Any = call.attrs
        order = {"k": attrs["k"], "axis": attrs["axis"], "ret_type": attrs["ret_type"],
                 "is_ascend": not attrs["largest"], "dtype": str(attrs["dtype"])}  # fmt: skip
        if self._by_thrust(call, target, _SORT):
            order["workspace"] = self.allocate_workspace(call)
            return self._with_threads(self._made(topi_gpu.topk_thrust, call, **order), target)
        return self._for_target("topk", call, target, order)

    def scan(self, call: Call, target: Target) -> RelaxExpr:
        """Running sums and products."""
        attrs: Any = call.attrs
        sums = is_call_of(call, "relax.cumsum")
        axis = None if attrs["axis"] is None else int(attrs["axis"])
        dtype = attrs["dtype"]
        how: dict[str, Any] = {"axis": axis, "exclusive": attrs["exclusive"]}
        how["dtype"] = str(dtype) if dtype is not None and not DataType(dtype).is_void else None
        gpu = self.is_gpu_target(target)
        if sums and self._by_thrust(call, target, _SUM):
            out = call.struct_info
            assert isinstance(out, TensorStructInfo), "sums are tensors"
            return self._made(
                topi_gpu.scan_thrust, call, output_dtype=str(out.dtype),
                exclusive=bool(attrs["exclusive"]), workspace=self.allocate_workspace(call),
            )  # fmt: skip
        if gpu and sums and not attrs["exclusive"] and self._is_last(call):
            return self._by_rows(call)
        return self._for_target("cumsum" if sums else "cumprod", call, target, how)

    # --- how calls are made ---

    def _for_target(
        self, name: str, call: Call, target: Target, options: dict[str, Any]
    ) -> RelaxExpr:
        """The function of `topi`, or of `topi.gpu`, some of whose stages have no threads yet."""
        if not self.is_gpu_target(target):
            return self._made(getattr(topi, name), call, **options)
        return self._with_threads(self._made(getattr(topi_gpu, name), call, **options), target)

    def _made(self, func: Callable[..., Any], call: Call, **options: Any) -> RelaxExpr:
        return self.builder_.call_te(func, call.args[0], **options)

    def _with_threads(self, made: RelaxExpr, target: Target) -> RelaxExpr:
        if isinstance(made, Call) and isinstance(made.args[0], GlobalVar):
            self.calls_to_update[made.args[0]] = target
        return made

    def _by_thrust(self, call: Call, target: Target, name: str) -> bool:
        return self._is_last(call) and can_use_thrust(target, name)

    def _is_last(self, call: Call) -> bool:
        """Whether the elements that are sorted or summed lie next to each other."""
        info = call.args[0].struct_info
        attrs: Any = call.attrs
        axis = attrs["axis"]
        shape = info.values if isinstance(info, TensorStructInfo) else None
        return axis is not None and bool(shape) and int(axis) in (-1, len(shape or ()) - 1)

    def _by_rows(self, call: Call) -> RelaxExpr:
        """The kernel for rows, on the tensor seen as a matrix."""
        data, out = call.args[0], call.struct_info
        info = data.struct_info
        assert isinstance(info, TensorStructInfo) and info.values is not None, "asked before"
        assert isinstance(out, TensorStructInfo), "sums are tensors"
        rows = ops.const(1, "int64")
        for extent in info.values[:-1]:
            rows = ops.multiply(rows, extent)
        matrix = ShapeExpr([rows, info.values[-1]])
        kernel = gpu_2d_continuous_cumsum(in_dtype=str(info.dtype), out_dtype=str(out.dtype))
        var = self.builder_.add_func(kernel, "gpu_2d_continuous_cumsum")
        flat = _op.call_pure_packed(
            "vm.builtin.reshape", data, matrix, sinfo_args=TensorStructInfo(matrix, info.dtype)
        )
        sums = _op.call_tir(
            var, (self.builder_.emit(flat),), out_sinfo=TensorStructInfo(matrix, out.dtype)
        )
        shape = ShapeExpr(info.values)
        return _op.call_pure_packed(
            "vm.builtin.reshape", self.builder_.emit(sums), shape, sinfo_args=out
        )

    # --- memory for libraries ---

    def estimate_thrust_workspace_size(self, call: Call) -> Any:
        """Bytes that Thrust may need: most algorithms take as much as their data, or less."""
        info = call.args[0].struct_info
        if not isinstance(info, TensorStructInfo) or info.values is None:
            raise TVMError(
                message(
                    "DispatchSortScan: memory for Thrust", found=f"{info}",
                    where=str(call), legal="a tensor whose shape is known, if by symbols",
                )
            )  # fmt: skip
        count = ops.const(1, "int64")
        for extent in info.values:
            count = ops.multiply(count, extent)
        element = (info.dtype.bits + 7) // 8
        if not is_call_of(call, "relax.cumsum"):
            element += 8  # the places
        return ops.add(ops.multiply(count, 8 * element), _SPARE_BYTES)

    def allocate_workspace(self, call: Call) -> RelaxExpr:
        """A tensor of bytes for Thrust."""
        size = ShapeExpr([self.estimate_thrust_workspace_size(call)])
        return self.builder_.emit(
            _op.builtin.alloc_tensor(size, "uint8", runtime_device_index=0)
        )


_RULES: Final[dict[str, Callable[[SortScanDispatcher, Call, Target], RelaxExpr]]] = {
    "relax.sort": SortScanDispatcher.sort,
    "relax.argsort": SortScanDispatcher.argsort,
    "relax.topk": SortScanDispatcher.topk,
    "relax.cumsum": SortScanDispatcher.scan,
    "relax.cumprod": SortScanDispatcher.scan,
}


@module_pass(opt_level=0, name="DispatchSortScan")
class DispatchSortScan:
    """No sort, argsort, topk, cumsum or cumprod is left."""

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        dispatcher = SortScanDispatcher(mod)
        for var, func in mod.functions_items():
            if isinstance(func, Function):
                after = dispatcher.visit_expr(func)
                assert isinstance(after, Function), "visiting keeps functions"
                dispatcher.builder_.update_func(var, after)
        dispatcher.apply_dlight_gpu_fallback()
        return dispatcher.builder_.finalize()
