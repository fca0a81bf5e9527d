"""What all frontends share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tvm.error import OpAttributeInvalid, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Function
from tvm.tir.expr import IntImm
from tvm.topi.nn.pad import mirror_pad, pad, replicate_pad

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

    The larger half stands behind (`SAME_UPPER`) or before (`SAME_LOWER`) the data. With `deconv` it
    is what kernel - 1 leaves of that. `pad_type` is "constant" (of `pad_value`), "edge" or
    "reflect"; the padding is a kernel at once.
    """
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise ValueError(
            message("autopad: mode", found=repr(mode), legal="'SAME_UPPER' or 'SAME_LOWER'")
        )
    if pad_type not in _PADS:
        raise OpAttributeInvalid(
            message("autopad: pad_type", found=repr(pad_type), legal=", ".join(map(repr, _PADS)))
        )
    extents = data.struct_info.shape.values[2:]  # type: ignore[attr-defined]
    before, after = [0, 0], [0, 0]
    for extent, stride, kernel, dilation in zip(extents, strides, kernel_shape, dilations):
        if not isinstance(extent, IntImm):
            raise ValueError(
                message("autopad", found=f"the extent {extent}", legal="extents that are numbers")
            )
        reach = (kernel - 1) * dilation + 1
        total = max(0, reach - (extent.value % stride or stride))
        if deconv:
            total = kernel - 1 - total
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return bb.emit_te(_PADS[pad_type], data, before, after, *_arguments(pad_type, pad_value))


_PADS: Final[dict[str, Callable[..., Any]]] = {
    "constant": pad, "edge": replicate_pad, "reflect": mirror_pad,
}  # fmt: skip


def _arguments(pad_type: str, pad_value: float) -> tuple[Any, ...]:
    return {"constant": (pad_value,), "reflect": ("REFLECT",)}.get(pad_type, ())
