"""The gradient of a convolution by its kernel, as an operator.

It shares the options of `nn.conv2d`: `data_layout` is that of the result's gradient,
`kernel_layout` that of the data, `out_layout` that of the kernel.
"""

from __future__ import annotations

from typing import Any

from tvm import te
from tvm.error import TVMError, message
from tvm.ir.type import Type
from tvm.relay.expr import Call
from tvm.relay.op.declare import OUT_FUSABLE, Expr, Relate, relay_op, topi
from tvm.relay.op.relations import extents, tensor, tensor_type

from .conv import arranged, letters
from .utils import get_pad_tuple2d

_KERNELS = ("OIHW", "OHWI", "HWIO")


def _pair(value: Any) -> tuple[int, int]:
    first, second = (value, value) if isinstance(value, int) else value
    return int(first), int(second)


def _type(ctx: Relate) -> Type | None:
    grad, data, o = tensor(ctx, 0), tensor(ctx, 1), ctx.attrs
    if grad is None or data is None:
        return None
    if len(grad.shape) != 4 or len(data.shape) != 4:
        raise ctx.fail("the operands do not have four dimensions", "four each")
    outer, inner = letters(o.data_layout, extents(grad)), letters(o.kernel_layout, extents(data))
    height, width = o.kernel_size
    sizes = {"O": outer["C"], "I": inner["C"] // int(o.groups), "H": height, "W": width}
    return tensor_type(arranged(o.out_layout, sizes), o.out_dtype or grad.dtype)


def _weight_gradient(grad: te.Tensor, data: te.Tensor, **o: Any) -> te.Tensor:
    """Each element of the kernel: the sum over images and positions where it met the data."""
    of_grad, of_data, of_kernel = o["data_layout"], o["kernel_layout"], o["out_layout"]
    axes = [of_grad.index(s) for s in "NCHW"]
    own = [of_data.index(s) for s in "NCHW"]
    top, left, bottom, right = o["padding"]
    before, after = [0] * 4, [0] * 4
    for axis, low, high in ((own[2], top, bottom), (own[3], left, right)):
        before[axis], after[axis] = low, high
    padded = topi.nn.pad(data, before, after)
    images, filters, rows, columns = (grad.shape[at] for at in axes)
    per_group = data.shape[own[1]] // o["groups"]
    height, width = o["kernel_size"]
    n, y, x = (te.reduce_axis((0, extent), name=name)
               for extent, name in ((images, "n"), (rows, "y"), (columns, "x")))  # fmt: skip
    dtype = o["out_dtype"] or grad.dtype

    def at(*index: Any) -> Any:
        found = dict(zip(of_kernel, index))
        first = found["O"] // (filters // o["groups"]) * per_group  # channel of its group
        g = {"N": n, "C": found["O"], "H": y, "W": x}
        d = {
            "N": n, "C": first + found["I"],
            "H": y * o["strides"][0] + found["H"] * o["dilation"][0],
            "W": x * o["strides"][1] + found["W"] * o["dilation"][1],
        }  # fmt: skip
        left_hand = grad(*[g[s] for s in of_grad]).astype(dtype)
        right_hand = padded(*[d[s] for s in of_data]).astype(dtype)
        return te.sum(left_hand * right_hand, axis=[n, y, x])

    sizes = {"O": filters, "I": per_group, "H": height, "W": width}
    made: te.Tensor = te.compute([sizes[s] for s in of_kernel], at, name="backward_weight")
    return made


@relay_op("nn.conv2d_backward_weight", "Conv2DAttrs", operands=("grad", "data"), level=2,
          relation=_type, pattern=OUT_FUSABLE, hidden=("grad_layout",),
          lower=lambda bb, grad, data, **o: bb.call_te(_weight_gradient, grad, data, **o)
          )  # fmt: skip
def conv2d_backward_weight(
    grad: Expr, data: Expr, strides: Any = (1, 1), padding: Any = (0, 0), dilation: Any = (1, 1),
    groups: int = 1, channels: int | None = None, kernel_size: Any = None,
    grad_layout: str = "NCHW", data_layout: str = "NCHW", kernel_layout: str = "OIHW",
    out_dtype: str = "",
) -> Call:  # fmt: skip
    """The gradient by the kernel of `nn.conv2d(data, kernel)` whose result has gradient `grad`.

    `kernel_size` has to be told: strides leave it open. A TVMError for other layouts.
    """
    if kernel_size is None:
        raise TVMError("conv2d_backward_weight: no kernel_size; legal: (height, width)")
    for name, value, legal in (("grad_layout", grad_layout, ("NCHW", "NHWC")),
                               ("data_layout", data_layout, ("NCHW", "NHWC")),
                               ("kernel_layout", kernel_layout, _KERNELS)):  # fmt: skip
        if value not in legal:
            raise TVMError(message(f"conv2d_backward_weight: {name}", found=repr(value),
                                   legal=", ".join(legal)))  # fmt: skip
    return conv2d_backward_weight.call(
        grad, data, strides=_pair(strides), padding=get_pad_tuple2d(padding),
        dilation=_pair(dilation), groups=int(groups), channels=channels,
        kernel_size=_pair(kernel_size), data_layout=grad_layout, kernel_layout=data_layout,
        out_layout=kernel_layout, out_dtype=out_dtype,
    )  # fmt: skip


__all__ = ["conv2d_backward_weight"]
