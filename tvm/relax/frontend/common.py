"""What all frontends share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tvm.error import message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Function
from tvm.tir.expr import IntImm

if TYPE_CHECKING:
    from tvm.runtime import Tensor


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[Tensor]]]:
    """The module without the weights that its functions carry, and the weights by function.

    The weights are in the attribute `params` of a function, in the order of its last parameters.
    """
    from tvm.runtime import tensor  # modules are made without the runtime; weights are run with it

    detached: dict[str, list[Tensor]] = {}
    functions = dict(mod.functions)
    for var, func in mod.functions.items():
        weights: Any = func.attrs.get("params") if isinstance(func, Function) else None
        if weights is None:
            continue
        arrays = [w.data.numpy() if isinstance(w, Constant) else w.numpy() for w in weights]
        detached[var.name_hint] = [tensor(array) for array in arrays]
        functions[var] = func.without_attr("params")
    return mod.with_functions(functions), detached


def autopad(
    bb: BlockBuilder,
    data: RelaxExpr,
    strides: Sequence[int],
    kernel_shape: Sequence[int],
    dilations: Sequence[int] = (1, 1),
    pad_type: str = "constant",
    deconv: bool = False,
    mode: str = "SAME_UPPER",
    pad_value: float = 0.0,
) -> RelaxExpr:
    """(n, c, spatial...), padded so that windows give ceil(extent / stride) elements an axis.

    The larger half stands behind (`SAME_UPPER`) or before (`SAME_LOWER`) the data. With `deconv`
    the padding is what a transposed convolution adds to extent * stride. `pad_type` and
    `pad_value` are those of `relax.op.nn.pad`.
    """
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise ValueError(
            message("autopad: mode", found=repr(mode), legal="'SAME_UPPER' or 'SAME_LOWER'")
        )
    extents = data.struct_info.shape.values[2:]  # type: ignore[attr-defined]
    width = [0, 0, 0, 0]
    for extent, stride, kernel, dilation in zip(extents, strides, kernel_shape, dilations):
        if not isinstance(extent, IntImm) and not deconv:
            raise ValueError(
                message("autopad", found=f"the extent {extent}", legal="extents that are numbers")
            )
        reach = (kernel - 1) * dilation + 1
        kept = stride if deconv else (extent.value % stride or stride)
        total = max(0, reach - kept)
        small, large = total // 2, total - total // 2
        width += [small, large] if mode == "SAME_UPPER" else [large, small]
    return bb.emit(op.nn.pad(data, width, pad_type, pad_value))
