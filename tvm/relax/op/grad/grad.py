"""Operators that gradients are written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, ExprLike, Var
from tvm.relax.op import layout_moves
from tvm.relax.op.declare import (
    OPAQUE,
    Array,
    Expr,
    Infer,
    RelaxOp,
    attrs_class,
    options_of,
    relax_op,
    te,
    topi,
    whole,
)
from tvm.relax.op.layouts import from_plain, letters_of, padding_of, positive, to_plain
from tvm.relax.op.nn.loss import class_weights
from tvm.relax.op.nn.pool import Pool2DAttrs
from tvm.relax.op.shapes import axis_index, check_ndim
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir import op as tir_op
from tvm.tir.buffer import decl_buffer as tir_decl_buffer
from tvm.tir.expr import Select
from tvm.tir.op.arith import const as tir_const
from tvm.tir.stmt import ForKind

NLLLossBackwardAttrs = attrs_class("NLLLossBackwardAttrs", "reduction", "ignore_index")
TakeBackwardAttrs = attrs_class("TakeBackwardAttrs", "axis")


def _identity(
    name: str, parameter: str, doc: str, rule: Callable[..., Any] = lambda ctx, x: x
) -> RelaxOp[[ExprLike]]:
    def build(input: ExprLike) -> Call:
        return op.call(input)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    op = relax_op(f"relax.grad.{name}", f"{parameter}: Expr", reads_shape_variables=True)(build)
    op.infer(rule)
    op.legalize(lambda bb, x: x)
    op.reference(lambda x: x)
    return op


no_grad = _identity("no_grad", "input", "The value itself; no gradient flows through it.")


def _of_variable(ctx: Infer, x: StructInfo) -> StructInfo:
    if not isinstance(ctx.call.args[0], Var):
        raise ctx.error("the input should be a Var", f"{ctx.call.args[0]}", "a variable")
    return x


start_checkpoint = _identity(
    "start_checkpoint", "input", "The value itself; what follows is computed again for gradients.",
    _of_variable,
)  # fmt: skip
end_checkpoint = _identity(
    "end_checkpoint", "input", "The value itself; what was computed again ends here.",
    _of_variable,
)  # fmt: skip


@relax_op(
    "relax.grad.nll_loss_backward",
    "output_grad: Tensor, predictions: Tensor, targets: Tensor, weights: Tensor?",
    NLLLossBackwardAttrs,
    pattern=OPAQUE,
)
def nll_loss_backward(
    output_grad: ExprLike,
    predictions: ExprLike,
    targets: ExprLike,
    weights: ExprLike | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Call:
    """The gradient of `nll_loss` for its predictions."""
    return nll_loss_backward.call(
        output_grad, predictions, targets, weights, reduction=reduction,
        ignore_index=whole(ignore_index, "ignore_index"),
    )  # fmt: skip


@nll_loss_backward.infer
def _nll_backward_info(
    ctx: Infer, output_grad: TensorStructInfo, predictions: TensorStructInfo, *rest: Any, **o: Any
) -> TensorStructInfo:
    if predictions.ndim == 0:
        raise ctx.shape_error("predictions have no classes", "0 dimensions", "1 dimension or more")
    return predictions


@nll_loss_backward.legalize
def _nll_backward_te(
    bb: BlockBuilder,
    output_grad: Expr,
    predictions: Expr,
    targets: Expr,
    weights: Expr | None = None,
    *,
    reduction: str,
    ignore_index: int,
) -> Expr:
    """Stages as formulas have them: every target is a class, negative ones are not looked for."""

    def compute(grad: Any, x: Any, t: Any, given: Any = None) -> Any:
        w = class_weights(x, given)
        at, zero = 0 if len(x.shape) == 1 else 1, tir_const(0, x.dtype)
        if ignore_index >= 0:
            w = te.compute(
                w.shape, lambda i: Select(i.equal(ignore_index), tir_const(0, w.dtype), w(i)),
                name="weights_new",
            )  # fmt: skip
        every = te.compute(t.shape, lambda *i: w(t(*i)), name="all_weights")
        if reduction != "none":
            grad = topi.broadcast_to(grad, t.shape)
        if reduction == "mean":
            grad = topi.divide(grad, topi.sum(every) if t.shape else every)

        def element(*index: Any) -> Any:
            rest = (*index[:at], *index[at + 1 :])
            return Select(index[at].equal(t(*rest)), -every(*rest) * grad(*rest), zero)

        return te.compute(x.shape, element, name="pred_grad")

    operands = [output_grad, predictions, targets, *([] if weights is None else [weights])]
    name = "te_nll_loss_backward_no_weight" if weights is None else "nll_loss_backward"
    return bb.call_te(compute, *operands, primfunc_name_hint=name)


def nll_loss_backward_of_classes(bb: BlockBuilder, call: Call) -> Expr:
    """Legalization in which a target that is ignored needs to be no class: -100, say."""
    assert call.attrs is not None, "the operator has attributes"
    reduction, ignore_index = call.attrs.reduction, int(call.attrs.ignore_index)  # type: ignore[attr-defined]

    def compute(grad: Any, x: Any, t: Any, given: Any = None) -> Any:
        w = class_weights(x, given)
        at = 0 if len(x.shape) == 1 else 1
        zero = tir_const(0, x.dtype)

        def weight(*index: Any) -> Any:
            return tir_op.if_then_else(t(*index) != ignore_index, w(t(*index)), zero)

        every = te.compute(t.shape, weight, name="weights") if t.shape else None
        total = None
        if reduction == "mean":
            total = topi.sum(every) if every is not None else None

        def element(*index: Any) -> Any:
            rest = (*index[:at], *index[at + 1 :])
            share = every(*rest) if every is not None else weight()
            upstream = grad(*rest) if reduction == "none" else grad()
            if total is not None:
                share = share / total()
            elif reduction == "mean":
                share = tir_op.if_then_else(t() != ignore_index, tir_const(1, x.dtype), zero)
            chosen = t(*rest) == index[at].astype(t.dtype)
            return tir_op.if_then_else(chosen, -upstream * share, zero)

        return te.compute(x.shape, element, name="nll_loss_backward")

    return bb.call_te(compute, *call.args, primfunc_name_hint="nll_loss_backward")


@nll_loss_backward.reference
def _nll_backward_numpy(
    output_grad: Array,
    predictions: Array,
    targets: Array,
    weights: Array | None = None,
    *,
    reduction: str,
    ignore_index: int,
) -> Array:
    at = 0 if predictions.ndim == 1 else 1
    w = np.ones(predictions.shape[at], predictions.dtype) if weights is None else weights
    counts = targets != ignore_index
    safe = np.where(counts, targets, 0)
    share = np.where(counts, w[safe], 0)
    if reduction == "mean":
        share = share / share.sum()
    out = np.zeros_like(predictions)
    values = -output_grad * share
    np.put_along_axis(out, np.expand_dims(safe, at), np.expand_dims(values, at), at)
    return out.astype(predictions.dtype)


def _pool_backward(kind: str) -> Any:
    name = f"{kind}_pool2d_backward"

    def build(
        output_grad: ExprLike,
        data: ExprLike,
        pool_size: Any = (1, 1),
        strides: Any = (1, 1),
        padding: Any = (0, 0, 0, 0),
        dilation: Any = (1, 1),
        ceil_mode: bool = False,
        count_include_pad: bool = False,
        layout: str = "NCHW",
        out_layout: str | None = None,
    ) -> Call:
        return op.call(
            output_grad,
            data,
            pool_size=positive(pool_size, 2, f"{name}: pool_size"),
            strides=positive(strides, 2, f"{name}: strides"),
            padding=padding_of(padding, 2),
            dilation=positive(dilation, 2, f"{name}: dilation"),
            ceil_mode=bool(ceil_mode),
            count_include_pad=bool(count_include_pad),
            layout=layout,
            out_layout=layout if out_layout is None else out_layout,
        )

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The gradient of `{kind}_pool2d` for its input."
    op = relax_op(f"relax.grad.{name}", "output_grad: Tensor, data: Tensor", Pool2DAttrs)(build)

    @op.infer
    def info(
        ctx: Infer, output_grad: TensorStructInfo, data: TensorStructInfo, **o: Any
    ) -> TensorStructInfo:
        for what, given, layout in (
            ("output_grad", output_grad, o["out_layout"]), ("data", data, o["layout"]),
        ):  # fmt: skip
            check_ndim(ctx, what, given, sum(letter.isalpha() for letter in layout))
        return data

    @op.legalize
    def te(bb: BlockBuilder, output_grad: Expr, data: Expr, **o: Any) -> Expr:
        return _pool_backward_te(bb, op, kind, output_grad, data, o)

    op.reference(_pool_backward_numpy(kind))
    return op


def _pool_backward_te(
    bb: BlockBuilder, op: Any, kind: str, output_grad: Expr, data: Expr, o: dict[str, Any]
) -> Expr:
    name = f"{kind}_pool2d_backward"
    if o["layout"] != o["out_layout"]:
        return op.call(output_grad, data, **o)  # type: ignore[no-any-return]
    if o["dilation"] == (1, 1):
        return bb.call_te(
            topi.nn.pool_grad, output_grad, data, list(o["pool_size"]), list(o["strides"]),
            list(o["padding"]), kind, o["ceil_mode"], o["count_include_pad"], o["layout"],
            primfunc_name_hint=name,
        )  # fmt: skip
    if o["layout"] != "NCHW":
        return op.call(output_grad, data, **o)  # type: ignore[no-any-return]

    def compute(grad: Any, x: Any) -> Any:
        windows = _Windows(grad, x, o)
        return windows.max_backward() if kind == "max" else windows.avg_backward()

    return bb.call_te(compute, output_grad, data, primfunc_name_hint=name)


class _Windows:
    """The windows of a pool over NCHW, seen from the output and from the input."""

    def __init__(self, grad: Any, data: Any, o: dict[str, Any]) -> None:
        self.grad, self.data = grad, data
        self.size, self.stride, self.dilation = o["pool_size"], o["strides"], o["dilation"]
        self.before, self.after = o["padding"][:2], o["padding"][2:]
        self.include_pad = o["count_include_pad"]
        self.zero = tir_const(0, data.dtype)

    def taps(self, name: str) -> list[Any]:
        return [te.reduce_axis((0, k), name=f"{name}{i}") for i, k in enumerate(self.size)]

    def inputs(self, y: Any, x: Any, taps: Any) -> list[Any]:
        """Where the elements of an output's window lie in the input."""
        return [
            at * self.stride[i] - self.before[i] + taps[i] * self.dilation[i]
            for i, at in enumerate((y, x))
        ]

    def inside(self, position: Any) -> Any:
        bounds = [(p >= 0, p < self.data.shape[2 + i]) for i, p in enumerate(position)]
        return tir_op.all(*(test for pair in bounds for test in pair))

    def from_outputs(self, share: Callable[..., Any]) -> Any:
        """For each input the sum of `share(n, c, y, x, taps)` over the windows it lies in."""
        taps = self.taps("w")

        def element(n: Any, c: Any, h: Any, w: Any) -> Any:
            moved = [
                at + self.before[i] - taps[i] * self.dilation[i] for i, at in enumerate((h, w))
            ]
            y, x = (tir_op.floordiv(m, self.stride[i]) for i, m in enumerate(moved))
            tests = [tir_op.floormod(m, self.stride[i]).equal(0) for i, m in enumerate(moved)]
            tests += [y >= 0, x >= 0, y < self.grad.shape[2], x < self.grad.shape[3]]
            value = tir_op.if_then_else(tir_op.all(*tests), share(n, c, y, x, taps), self.zero)
            return te.sum(value, axis=taps)

        return te.compute(self.data.shape, element, name="pool_backward")

    def avg_backward(self) -> Any:
        def share(n: Any, c: Any, y: Any, x: Any, taps: Any) -> Any:
            count = self.count(0, y) * self.count(1, x)
            return self.grad[n, c, y, x] / tir_op.max(count, 1).astype(self.data.dtype)

        return self.from_outputs(share)

    def count(self, i: int, at: Any) -> Any:
        """How many elements of a window count along one axis."""
        start = at * self.stride[i] - self.before[i]
        limit = self.data.shape[2 + i] + (self.after[i] if self.include_pad else 0)
        step = self.dilation[i]
        high = tir_op.min(self.size[i], tir_op.floordiv(limit - 1 - start, step) + 1)
        if self.include_pad:
            return high
        return high - tir_op.max(0, tir_op.floordiv(step - 1 - start, step))

    def max_backward(self) -> Any:
        shape = self.grad.shape
        taps = self.taps("k")
        lowest = tir_op.min_value(str(self.data.dtype))

        def largest(n: Any, c: Any, y: Any, x: Any) -> Any:
            h, w = self.inputs(y, x, taps)
            value = tir_op.if_then_else(self.inside((h, w)), self.data[n, c, h, w], lowest)
            return te.max(value, axis=taps)

        best = te.compute(shape, largest, name="largest")
        other = self.taps("j")

        def first_largest(n: Any, c: Any, y: Any, x: Any) -> Any:
            h, w = self.inputs(y, x, other)
            value = tir_op.if_then_else(self.inside((h, w)), self.data[n, c, h, w], lowest)
            number = (other[0] * self.size[1] + other[1]).astype("int32")
            last = tir_const(self.size[0] * self.size[1], "int32")
            chosen = value.equal(best[n, c, y, x])
            return te.min(tir_op.if_then_else(chosen, number, last), axis=other)

        first = te.compute(shape, first_largest, name="first")

        def share(n: Any, c: Any, y: Any, x: Any, own: Any) -> Any:
            number = (own[0] * self.size[1] + own[1]).astype("int32")
            mine = first[n, c, y, x].equal(number)
            return tir_op.if_then_else(mine, self.grad[n, c, y, x], self.zero)

        return self.from_outputs(share)


def _pool_backward_numpy(kind: str) -> Callable[..., Array]:
    def numpy(output_grad: Array, data: Array, **o: Any) -> Array:
        letters = letters_of("NC", 2)
        x = to_plain(data, o["layout"], letters)
        grad = to_plain(output_grad, o["out_layout"], letters)
        out = np.zeros(x.shape, np.float64)
        (kh, kw), (sh, sw), (dh, dw) = o["pool_size"], o["strides"], o["dilation"]
        top, left, bottom, right = o["padding"]
        for n, c, y, z in np.ndindex(*grad.shape):
            rows = np.arange(kh) * dh + y * sh - top
            columns = np.arange(kw) * dw + z * sw - left
            inside = (rows < x.shape[2] + bottom).sum() * (columns < x.shape[3] + right).sum()
            rows = rows[(rows >= 0) & (rows < x.shape[2])]
            columns = columns[(columns >= 0) & (columns < x.shape[3])]
            window = x[n, c][np.ix_(rows, columns)]
            if kind == "max":
                i, j = np.unravel_index(int(window.argmax()), window.shape)
                out[n, c, rows[i], columns[j]] += grad[n, c, y, z]
            else:
                count = inside if o["count_include_pad"] else window.size
                out[n, c][np.ix_(rows, columns)] += grad[n, c, y, z] / max(count, 1)
        return from_plain(out.astype(data.dtype), o["layout"], letters)

    return numpy


max_pool2d_backward = _pool_backward("max")
avg_pool2d_backward = _pool_backward("avg")
for _declared in (max_pool2d_backward, avg_pool2d_backward):
    _declared.follow_layout(layout_moves.pooled_back)


@relax_op(
    "relax.grad.take_backward", "output_grad: Tensor, x: Tensor, indices: Tensor",
    TakeBackwardAttrs,
)  # fmt: skip
def take_backward(
    output_grad: ExprLike, x: ExprLike, indices: ExprLike, axis: int | None = None
) -> Call:
    """The gradient of `take` for its first operand."""
    return take_backward.call(output_grad, x, indices, axis=axis)


@take_backward.infer
def _take_backward_info(
    ctx: Infer,
    output_grad: TensorStructInfo,
    x: TensorStructInfo,
    indices: TensorStructInfo,
    *,
    axis: int | None,
) -> TensorStructInfo:
    if axis is not None and x.ndim != -1:
        axis_index(ctx, axis, x.ndim)
    return x


@take_backward.legalize
def _take_backward_te(
    bb: BlockBuilder,
    output_grad: Expr,
    x: Expr,
    indices: Expr,
    *,
    axis: int | None,
    kind: ForKind = ForKind.SERIAL,
) -> Expr:
    from tvm.topi.loops import load, loop, sequence, store  # only legalisation needs them
    from tvm.topi.scatter_elements import element_indices

    def compute(grad: Any, te_x: Any, te_indices: Any) -> Any:
        at = 0 if axis is None else axis % len(te_x.shape)
        lead, rest = topi.utils.prod(te_x.shape[:at]), topi.utils.prod(te_x.shape[at + 1 :])
        count = topi.utils.prod(te_indices.shape)

        def run(ins: Any, outs: Any) -> Any:
            [out] = outs

            def clear(i: Any) -> Any:
                return store(out, tir_const(0, te_x.dtype), *element_indices(i, te_x.shape))

            def row(fused: Any) -> Any:
                i, j = tir_op.floordiv(fused, rest), tir_op.floormod(fused, rest)

                def step(k: Any) -> Any:
                    index = load(ins[2], *element_indices(k, te_indices.shape))
                    goal = i * rest * te_x.shape[at] + index * rest + j
                    to = element_indices(goal, te_x.shape)
                    of = element_indices(i * rest * count + k * rest + j, grad.shape)
                    return store(out, load(out, *to) + load(ins[0], *of), *to)

                return loop(count, step, "serial")

            cleared = loop(topi.utils.prod(te_x.shape), clear, kind=kind)
            return sequence(cleared, loop(lead * rest, row, "parallel", kind))

        out = tir_decl_buffer(te_x.shape, te_x.dtype, "out_buf")
        return te.extern(
            [te_x.shape], [grad, te_x, te_indices], run, dtype=[te_x.dtype], out_buffers=[out],
            name="take_backward", tag="take_backward",
        )  # fmt: skip

    return bb.call_te(compute, output_grad, x, indices, primfunc_name_hint="take_backward")


def _take_backward_in_parallel(bb: BlockBuilder, call: Call) -> Expr:
    return _take_backward_te(bb, *call.args, **options_of(call), kind=ForKind.PARALLEL)


# For `LegalizeOps` where kernels are for programs that run: TVM's own loops are one thread's work.
FOR_PIPELINES: Final = {
    "relax.grad.nll_loss_backward": nll_loss_backward_of_classes,
    "relax.grad.take_backward": _take_backward_in_parallel,
}


@take_backward.reference
def _take_backward_numpy(
    output_grad: Array, x: Array, indices: Array, *, axis: int | None
) -> Array:
    out = np.zeros_like(x)
    at = 0 if axis is None else axis % x.ndim
    moved = np.moveaxis(out, at, 0)
    lead = list(range(at, at + indices.ndim))
    np.add.at(moved, indices, np.moveaxis(output_grad, lead, range(indices.ndim)))
    return out
