"""Random graphs of layers over images and tokens, of odd sizes, in both layouts, sizes open or not.

What trained networks are made of: convolutions of every kind with what follows them, norms, pools,
resizing, squeeze and excite, shuffles, residual sums, attention and products over tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm import relax
from tvm.relax import op

from .random_typed_graphs import Grower, TypedGraph, Unfit, Value

CHANNELS = (1, 2, 3, 4, 6, 8, 12, 16, 17, 24, 32)
SIZES = (1, 2, 3, 5, 7, 8, 9, 12, 14, 16, 19)
MOST = 40_000  # elements of a value
WORK = 3_000_000  # products of a layer: the interpreter computes them as well


class _Images(Grower):
    """Values are (n, c, h, w); the channels are numbers, the others may be symbols."""

    kind = "float32"

    def image(self) -> Value:
        return self.take(lambda v: len(v.shape) == 4 and 0 not in v.shape)

    def channels(self, v: Value) -> int:
        return v.shape[1]

    def weights(self, *shape: int, scale: float | None = None) -> Any:
        fan = int(np.prod(shape[1:])) if scale is None else 0
        values = self.rng.standard_normal(shape) * (scale or 1.3 / np.sqrt(max(fan, 1)))
        if self.rng.random() < 0.25:
            return self.input(shape, self.kind, values.astype(self.kind)).expr
        return self.constant(values, self.kind)

    def extent(self, size: int) -> Any:
        return super().extent(size) if size > 2 else size

    def extents(self, v: Value) -> list[Any]:
        return list(v.expr.struct_info.shape.values)

    def add(self, name: str, expr: Any) -> Value:
        """A result that is kept if it is neither empty nor large."""
        before = len(self.values)
        var = self.bb.emit(expr)
        shape = self.sizes(var)
        if shape is None or 0 in shape or int(np.prod(shape)) > MOST:
            raise Unfit
        self.values.append(Value(var, shape, self.kind, False))
        self.names.append(name)
        assert len(self.values) == before + 1
        return self.values[-1]

    def symbolic_size(self, size: int) -> Any:
        """A size that is open in the graph if the graph is; channels are numbers."""
        return self.extent(size)

    # --- layers ---

    def conv(self) -> None:
        v = self.image()
        n, c, h, w = v.shape
        kernel = tuple(min(int(self.rng.choice([1, 1, 2, 3, 3, 5, 7])), s + 2) for s in (h, w))
        if self.rng.random() < 0.5:
            kernel = (kernel[0],) * 2
        apart = self.pick(1, 1, 1, 2)
        pads = [self.below(k // 2 + 2) for k in (*kernel, *kernel)]
        if self.rng.random() < 0.5:
            pads = [k // 2 * apart for k in (*kernel, *kernel)]
        groups = self.pick(1, 1, 1, c, *(g for g in (2, 3, 4) if c % g == 0))
        filters = int(self.rng.choice(CHANNELS))
        filters = c if groups == c else max(groups, filters // groups * groups)
        strides = (self.pick(1, 1, 2, 3), self.pick(1, 1, 2))
        reach = [apart * (k - 1) + 1 for k in kernel]
        if h + pads[0] + pads[2] < reach[0] or w + pads[1] + pads[3] < reach[1]:
            raise Unfit
        if n * filters * h * w * c // groups * kernel[0] * kernel[1] > WORK:
            raise Unfit
        shape = (filters, c // groups, *kernel)
        options: Any = {
            "strides": strides, "padding": pads, "dilation": apart, "groups": groups,
        }  # fmt: skip
        if self.rng.random() < 0.3:
            x = self.bb.emit(op.permute_dims(v.expr, [0, 2, 3, 1]))
            form = self.pick("HWIO", "OHWI")
            order = {"HWIO": [2, 3, 1, 0], "OHWI": [0, 2, 3, 1]}[form]
            values = self.rng.standard_normal(shape) * 1.3 / np.sqrt(np.prod(shape[1:]))
            weight = self.constant(np.ascontiguousarray(values.transpose(order)), self.kind)
            y = self.bb.emit(
                op.nn.conv2d(x, weight, data_layout="NHWC", kernel_layout=form, **options)
            )
            y = self.after(y, 3, filters)
            made = self.add("conv2d NHWC", op.permute_dims(y, [0, 3, 1, 2]))
        else:
            y = self.bb.emit(op.nn.conv2d(v.expr, self.weights(*shape), **options))
            made = self.add(f"conv2d {kernel} g{groups}", self.after(y, 1, filters))
        same = [x for x in self.values[:-1] if x.shape == made.shape]
        if same and self.rng.random() < 0.5:
            total = self.bb.emit(op.add(made.expr, same[self.below(len(same))].expr))
            self.add("residual", op.nn.relu(total))

    def after(self, y: Any, axis: int, channels: int) -> Any:
        """Bias, norm and activation as networks have them behind a convolution."""
        shape = [channels if i == axis else 1 for i in range(4)]
        if self.rng.random() < 0.6:
            y = self.bb.emit(op.add(y, self.weights(*shape, scale=0.5)))
        if self.rng.random() < 0.4:
            numbers = [self.weights(channels, scale=0.5) for _ in range(3)]
            spread = self.constant(self.rng.uniform(0.3, 2, channels), self.kind)
            y = self.bb.emit(op.nn.batch_norm(y, *numbers, spread, axis, training=False)[0])
        name = self.pick("none", "relu", "clip", "silu", "hardswish", "leaky", "prelu", "gelu")
        return {
            "none": lambda: y,
            "relu": lambda: op.nn.relu(y),
            "clip": lambda: op.clip(y, 0, 6),
            "silu": lambda: op.nn.silu(y),
            "hardswish": lambda: op.multiply(
                y, op.divide(op.clip(op.add(y, self.constant(3, self.kind)), 0, 6),
                             self.constant(6, self.kind))
            ),
            "leaky": lambda: op.nn.leakyrelu(y, 0.1),
            "prelu": lambda: op.nn.prelu(y, self.weights(channels, scale=0.3), axis),
            "gelu": lambda: op.nn.gelu(y),
        }[name]()  # fmt: skip

    def transposed(self) -> None:
        v = self.image()
        n, c, h, w = v.shape
        groups = self.pick(1, 1, c if c <= 8 else 1)
        filters = int(self.rng.choice([1, 3, 4, 8])) * groups
        kernel, stride = self.pick(2, 3, 4), self.pick(1, 2, 2, 3)
        pads = self.below(min(kernel, 2))
        more = self.below(stride)
        if n * c * h * w * filters // groups * kernel**2 > WORK:
            raise Unfit
        weight = self.weights(c, filters // groups, kernel, kernel)
        y = op.nn.conv2d_transpose(v.expr, weight, stride, pads, more, groups=groups)
        self.add(f"conv2d_transpose {kernel}/{stride}", self.after(self.bb.emit(y), 1, filters))

    def line(self) -> None:
        """A convolution over one axis: audio, time series."""
        v = self.image()
        n, c, h, w = v.shape
        extents = self.extents(v)
        if n * c * h * w * 16 * 5 > WORK:
            raise Unfit
        x = self.bb.emit(op.reshape(v.expr, [extents[0], c, extents[2] * extents[3]]))
        kernel, filters, stride = self.pick(1, 3, 5), self.pick(4, 8, 16), self.pick(1, 1, 2)
        if h * w + kernel // 2 * 2 < kernel:
            raise Unfit
        y = self.bb.emit(op.nn.conv1d(x, self.weights(filters, c, kernel), stride, kernel // 2))
        y = self.bb.emit(op.nn.relu(op.add(y, self.weights(1, filters, 1, scale=0.3))))
        if self.rng.random() < 0.4:
            up = self.pick(2, 3)
            weight = self.weights(filters, 6, up + 1)
            y = self.bb.emit(op.nn.conv1d_transpose(y, weight, up, 1))
        self.add("conv1d", op.expand_dims(y, 2))

    def volume(self) -> None:
        v = self.image()
        n, c, h, w = v.shape
        if n * c * h * w * 4 * 27 > WORK or n < 2:
            raise Unfit
        x = self.bb.emit(op.expand_dims(op.permute_dims(v.expr, [1, 0, 2, 3]), 0))
        kernel = (self.pick(1, 2), self.pick(1, 3), self.pick(1, 3))
        pads = [k // 2 for k in kernel]
        if n + 2 * pads[0] < kernel[0]:
            raise Unfit
        y = self.bb.emit(op.nn.conv3d(x, self.weights(4, c, *kernel), padding=pads))
        self.add("conv3d", op.squeeze(op.nn.relu(y), [0]))

    def pool(self) -> None:
        v = self.image()
        _, _, h, w = v.shape
        kernel = tuple(min(int(self.rng.choice([1, 2, 3, 3, 5])), s) for s in (h, w))
        pads = [self.below(k) // 2 + self.below(k) // 2 for k in (*kernel, *kernel)]
        pads = [min(p, k // 2) for p, k in zip(pads, (*kernel, *kernel))]
        ceil = self.pick(True, False) and self.kind == "float32"
        make = self.pick(op.nn.max_pool2d, op.nn.avg_pool2d)
        counts = self.pick(True, False) if make is op.nn.avg_pool2d else False
        strides = (self.pick(1, 2), self.pick(1, 2, 3))
        y = make(v.expr, kernel, strides, pads, 1, ceil, counts)
        made = self.sizes(self.bb.emit(y))
        for i in range(2):  # a window that lies in the padding alone has no largest element
            if made is None or (made[2 + i] - 1) * strides[i] >= (h, w)[i] + pads[i]:
                raise Unfit
        self.add(f"pool {kernel} {'ceil' if ceil else ''}", y)

    def adaptive(self) -> None:
        v = self.image()
        if self.symbolic:
            raise Unfit
        sizes = [self.pick(1, 2, 3), self.pick(1, 5)]
        self.add("adaptive", op.nn.adaptive_avg_pool2d(v.expr, sizes))

    def normed(self) -> None:
        v = self.image()
        c = v.shape[1]
        gamma, beta = self.weights(c, scale=0.5), self.weights(c, scale=0.5)
        name = self.pick("instance", "group", "layer", "rms")
        if name == "instance":
            y = op.nn.instance_norm(v.expr, gamma, beta, 1, [2, 3], 0.1)
        elif name == "group":
            groups = self.pick(*(g for g in (1, 2, 3, 4, 8) if c % g == 0))
            y = op.nn.group_norm(v.expr, gamma, beta, groups, 1, [2, 3], 0.1)
        else:
            x = self.bb.emit(op.permute_dims(v.expr, [0, 2, 3, 1]))
            y = op.nn.layer_norm(x, gamma, beta, [-1], 0.1) if name == "layer" else (
                op.nn.rms_norm(x, gamma, [-1], 0.1)
            )
            y = op.permute_dims(self.bb.emit(y), [0, 3, 1, 2])
        self.add(f"{name}_norm", y)

    def excite(self) -> None:
        v = self.image()
        c, few = v.shape[1], self.pick(1, 2, 4)
        mean = self.bb.emit(op.mean(v.expr, [2, 3], True))
        y = self.bb.emit(op.nn.relu(op.nn.conv2d(mean, self.weights(few, c, 1, 1))))
        y = self.bb.emit(op.sigmoid(op.nn.conv2d(y, self.weights(c, few, 1, 1))))
        self.add("squeeze and excite", op.multiply(v.expr, y))

    def resize(self) -> None:
        v = self.image()
        extents = self.extents(v)
        method = self.pick("nearest_neighbor", "linear", "cubic")
        mode = self.pick("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
        if method == "nearest_neighbor":
            mode = self.pick("half_pixel", "asymmetric")
        sizes = self.pick(
            [e * 2 for e in extents[2:]], [e * 3 for e in extents[2:]],
            [self.pick(1, 4, 7, 11), self.pick(2, 5, 13)],
        )  # fmt: skip
        rounding = "floor" if mode == "asymmetric" else "round_prefer_floor"
        y = op.image.resize2d(v.expr, sizes, None, "NCHW", method, mode, rounding)
        self.add(f"resize {method} {mode}", y)

    def shuffled(self) -> None:
        v = self.image()
        c, extents = v.shape[1], self.extents(v)
        groups = self.pick(*([g for g in (2, 3, 4) if c % g == 0] or [1]))
        name = self.pick("channels", "pixels", "halves", "turned")
        if name == "channels":
            x = self.bb.emit(op.reshape(v.expr, [extents[0], groups, c // groups, *extents[2:]]))
            x = self.bb.emit(op.permute_dims(x, [0, 2, 1, 3, 4]))
            y = op.reshape(x, extents)
        elif name == "pixels" and c % 4 == 0:
            y = op.nn.pixel_shuffle(v.expr, 2)
        elif name == "halves" and c % 2 == 0:
            parts = self.bb.emit(op.split(v.expr, 2, 1))
            gate = op.sigmoid(parts[1])
            y = op.multiply(parts[0], gate)
        else:
            y = op.permute_dims(v.expr, [0, 1, 3, 2])
        self.add(f"shuffle {name}", y)

    def joined(self) -> None:
        v = self.image()
        same = [x for x in self.values if x.shape[0] == v.shape[0] and x.shape[2:] == v.shape[2:]]
        other = same[self.below(len(same))]
        self.add("concat", op.concat([v.expr, other.expr], 1))

    def padded(self) -> None:
        v = self.image()
        if min(v.shape[2:]) < 3:
            raise Unfit
        widths = [0, 0, 0, 0, *(self.below(3) for _ in range(4))]
        mode = self.pick("constant", "reflect", "replicate")
        self.add(f"pad {mode}", op.nn.pad(v.expr, widths, mode, 0.0))

    def cut(self) -> None:
        v = self.image()
        axis = self.pick(1, 2, 3)
        begin = self.below(v.shape[axis])
        y = op.strided_slice(v.expr, [axis], [begin], [v.shape[axis]], [self.pick(1, 2)])
        self.add("slice", y)

    def tokens(self) -> None:
        """An image as tokens: a product, attention, a product, and back."""
        v = self.image()
        n, c, h, w = v.shape
        extents = self.extents(v)
        heads = self.pick(*(g for g in (1, 2, 4) if c % g == 0))
        if n * (h * w) ** 2 * c > WORK or n * h * w * c * 2 * c > WORK:
            raise Unfit
        x = self.bb.emit(op.reshape(v.expr, [extents[0], c, extents[2] * extents[3]]))
        x = self.bb.emit(op.permute_dims(x, [0, 2, 1]))
        count = extents[2] * extents[3]
        q, k, values = (
            self.bb.emit(op.reshape(
                op.add(
                    op.matmul(x, self.weights(c, c, scale=0.8 / np.sqrt(c))),
                    self.weights(c, scale=0.2),
                ),
                [extents[0], count, heads, c // heads],
            ))
            for _ in range(3)
        )  # fmt: skip
        mixed = self.bb.emit(op.nn.attention(q, k, values, causal_mask=self.pick(None, "TopLeft")))
        mixed = self.bb.emit(op.reshape(mixed, [extents[0], count, c]))
        scale = 0.8 / np.sqrt(c)
        x = self.bb.emit(op.add(x, op.matmul(mixed, self.weights(c, c, scale=scale))))
        wide = self.bb.emit(op.nn.gelu(op.matmul(x, self.weights(c, 2 * c, scale=scale))))
        x = self.bb.emit(op.add(x, op.matmul(wide, self.weights(2 * c, c, scale=scale / 2))))
        back = self.bb.emit(op.permute_dims(x, [0, 2, 1]))
        self.add("tokens", op.reshape(back, extents))

    def over(self) -> None:
        v = self.image()
        name = self.pick("softmax", "log_softmax", "mean", "max", "sum", "cumsum")
        axis = self.pick(1, 2, 3, -1)
        if name in ("softmax", "log_softmax"):
            y = getattr(op.nn, name)(v.expr, axis)
        elif name == "cumsum":
            y = op.divide(op.cumsum(v.expr, axis), self.constant(8, self.kind))
        else:
            axes = self.pick([1], [2], [3], [2, 3], [1, 3])
            x = self.bb.emit(op.clip(v.expr, -4, 4))
            y = getattr(op, name)(x, axes, True)
            if name == "sum":
                y = op.divide(y, self.constant(16, self.kind))
        self.add(name, y)

    def layers(self) -> list[Callable[[], None]]:
        return [
            self.conv, self.conv, self.conv, self.conv, self.transposed, self.line, self.volume,
            self.pool, self.pool, self.adaptive, self.normed, self.excite, self.resize,
            self.shuffled, self.joined, self.padded, self.cut, self.tokens, self.over,
        ]  # fmt: skip


def image_graph(seed: int, length: int = 6, symbolic: bool | None = None) -> TypedGraph:
    """A graph of about so many layers; `symbolic`: whether batch and sizes are symbols."""
    grower = _Images(seed, symbolic)
    grower.odd = False
    rng = grower.rng
    with grower.bb.function("main"):
        with grower.bb.dataflow():
            shape = (
                grower.pick(1, 1, 2, 3), int(rng.choice(CHANNELS)), int(rng.choice(SIZES)),
                int(rng.choice(SIZES)),
            )  # fmt: skip
            info = relax.TensorStructInfo(
                [s if i == 1 else grower.extent(s) for i, s in enumerate(shape)], grower.kind
            )
            var = relax.Var("x", info)
            grower.params.append(var)
            grower.arrays.append(rng.standard_normal(shape).astype(grower.kind))
            grower.values.append(Value(var, shape, grower.kind, False))
            tries = 0
            while len(grower.names) < length and tries < 30 * length:
                tries += 1
                steps = grower.layers()
                try:
                    steps[grower.below(len(steps))]()
                except Unfit:
                    continue
            chosen = grower.values[-3:]
            fields = [grower.bb.emit_output(v.expr) for v in chosen]
        grower.bb.emit_func_output(relax.Tuple(fields), grower.params)
    return TypedGraph(grower.bb.get(), grower.arrays, [False] * len(chosen), grower.names)
