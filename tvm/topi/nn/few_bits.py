"""Products with packed weights, of few bits above all, and rows of tables of them.

    y[i, n] = sum over k of x[i, k] * scale[n, k // group] * (q[n, k] - zero[n, k // group])

Weights lie so that a vector has the same input of 16 outputs: no sum across a vector is needed, and
a load, a shift and a conversion give 16 numbers.

    float32, float16   q  (outputs / 16, inputs, 16)       themselves, with no scale
    bfloat16           q  (outputs / 16, inputs / 2, 16)   two inputs in a word of uint32, the first
                                                           one lower; no scale
    int8, int4, int2   q  (outputs / 16, inputs / n, 16)   n = 4, 8, 16 numbers without sign in a
                                                           word of uint32, the first input lowest;
                                                           zero: half the range, or an array
    scale, zero           (outputs / 16, inputs / group, 16)

Few rows read the weights for four rows at a time, scale sums of 32 products, and have several sums
under way. More rows widen a panel of weights into memory that stays in the first cache, and
multiply it with 12 rows at a time. Where a CPU multiplies bytes, kernels of few rows do so when the
target is known (`byte_products`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tvm import tir
from tvm.error import ArgumentValueError, message
from tvm.tir.stmt import ForKind
from tvm.topi.kernel import Kernel
from tvm.topi.loops import let, load, local, loop, sequence, store, when

Array = NDArray[Any]
GROUP: Final = 32      # weights with one scale
LANES: Final = 16      # outputs side by side
PANEL: Final = 256     # inputs of a panel: 2 x 16 x 256 numbers are 32 KB
ROWS: Final = (12, 4, 1)
MAX_GEMV_ROWS: Final = 8         # rows that read the weights anew, four at a time
CHAINS: Final = 2       # sums under way for one result


FORMATS: Final = ("float32", "float16", "bfloat16", "int8", "int4")
MADE_FOR: Final = "tvm.few_bits"  # attribute of a kernel: what it was made for


@dataclass(frozen=True)
class Packed:
    """Weights (outputs, inputs) in a format; inputs are a multiple of `group`, that of 32."""

    outputs: int
    inputs: int
    format: str
    group: int = GROUP              # weights with one scale
    scale_dtype: str = "float16"
    zeros: bool = False             # an array of zero points, of the scales' dtype
    digits: int = 3                 # of 8 bits each, that inputs have at least within 32 of them

    @property
    def bits(self) -> int:
        """Of a whole number; 0 for other formats."""
        return int(self.format[3:]) if self.format.startswith("int") else 0

    @property
    def offset(self) -> int:
        """The number that usually stands for zero."""
        return 1 << self.bits >> 1

    @property
    def per_word(self) -> int:
        """How many numbers an element of the array holds."""
        return 32 // self.bits if self.bits else 2 if self.format == "bfloat16" else 1

    @property
    def dtype(self) -> str:
        """Of the array."""
        return self.format if self.per_word == 1 else "uint32"

    @property
    def blocks(self) -> int:
        """Of outputs."""
        return -(-self.outputs // LANES)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the array."""
        return self.blocks, self.inputs // self.per_word, LANES

    @property
    def scale_shape(self) -> tuple[int, int, int] | None:
        """Of the scales, if there are any."""
        return (self.blocks, self.inputs // self.group, LANES) if self.bits else None


class Weights:
    """The parameters of a kernel that hold weights: numbers, then scales, then zero points."""

    def __init__(self, kernel: Kernel, form: Packed) -> None:
        self.form = form
        shape, dtype = form.scale_shape, form.scale_dtype
        self.q = kernel.buffer("q", form.shape, form.dtype)
        self._scale = kernel.buffer("scale", shape, dtype) if shape else None
        self._zero = kernel.buffer("zero", shape, dtype) if shape and form.zeros else None

    @property
    def has_zero(self) -> bool:
        """Whether numbers stand for others, some steps lower."""
        return self.form.bits > 0

    def number(self, block: Any, k: Any, lane: Any, odd: Any = None) -> Any:
        """What stands for an input and an output, in float32; `odd` is k % 2, if it is known."""
        if self.form.format == "bfloat16":
            return self._half(block, k, lane, tir.floormod(k, 2) if odd is None else odd)
        bits, count = self.form.bits, self.form.per_word
        if not bits:
            return load(self.q, block, k, lane).astype("float32")
        word = load(self.q, block, tir.floordiv(k, count), lane)
        moved = tir.shift_right(word, (tir.floormod(k, count) * bits).astype("uint32"))
        masked = tir.bitwise_and(moved, tir.const((1 << bits) - 1, "uint32"))
        return tir.reinterpret("int32", masked).astype("float32")

    def _half(self, block: Any, k: Any, lane: Any, odd: Any) -> Any:
        """One of the two numbers of a word: a float32 has that of bfloat16 as its upper half."""
        word = load(self.q, block, tir.floordiv(k, 2), lane)
        if isinstance(odd, int):
            upper = tir.const(0xFFFF0000, "uint32")
            lower = tir.shift_left(word, tir.const(16, "uint32"))
            bits = tir.bitwise_and(word, upper) if odd else lower
        else:
            moved = tir.shift_right(word, (odd * 16).astype("uint32"))
            bits = tir.shift_left(moved, tir.const(16, "uint32"))
        return tir.reinterpret("float32", bits)

    def zero(self, block: Any, part: Any, lane: Any) -> Any:
        """The number that stands for 0 in 32 inputs."""
        if self._zero is None:
            return tir.const(float(self.form.offset), "float32")
        return load(self._zero, block, self._group(part), lane).astype("float32")

    def scaled(self, value: Any, block: Any, part: Any, lane: Any) -> Any:
        """A number, or a sum of products of 32 inputs, times its scale."""
        if self._scale is None:
            return value
        return value * load(self._scale, block, self._group(part), lane).astype("float32")

    def weight(
        self, block: Any, k: Any, lane: Any, part: Any = None, odd: Any = None
    ) -> Any:
        """The weight of an input and an output in float32."""
        part = tir.floordiv(k, GROUP) if part is None else part
        value = self.number(block, k, lane, odd)
        if self.has_zero:
            value = value - self.zero(block, part, lane)
        return self.scaled(value, block, part, lane)

    def _group(self, part: Any) -> Any:
        return tir.floordiv(part, self.form.group // GROUP)


def pack(weights: Array, form: str, group: int = GROUP) -> tuple[Array, Array | None]:
    """Weights (outputs, inputs) in float32 as they lie in memory, rounded to the nearest.

    Rows that are missing to 16, and columns to `group`, are zeros. The second array: scales, one
    for `group` weights of a row.
    """
    outputs, inputs = weights.shape
    padded = np.zeros((-(-outputs // LANES) * LANES, -(-inputs // group) * group), "float32")
    padded[:outputs, :inputs] = weights
    if not form.startswith("int"):
        dtype = np.dtype(ml_dtypes.bfloat16 if form == "bfloat16" else form)
        with np.errstate(over="ignore"):
            rounded = padded.astype(dtype)
        _check_finite(rounded, weights, form)
        lanes = in_lanes(rounded)
        return (in_pairs(lanes) if form == "bfloat16" else lanes), None
    groups = padded.reshape(len(padded), -1, group)
    if form == "int8":
        scale = np.abs(groups).max(-1) / 127
    else:  # the largest number takes -8, or -2: one step more than 7, or 1
        largest = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)[..., 0]
        scale = largest / -(1 << int(form[3:]) >> 1)
    with np.errstate(over="ignore"):
        scale = scale.astype("float16")
    _check_finite(scale, weights, form)
    return pack_numbers(*_rounded(groups, scale, form), form)


def _check_finite(rounded: Array, weights: Array, form: str) -> None:
    """Nothing became infinite that is not so; integers have no form of what is no number."""
    finite = np.isfinite(rounded.astype("float32"))
    if finite.all() or (not form.startswith("int") and not np.isfinite(weights).all()):
        return
    top = np.abs(weights).max()
    raise ArgumentValueError(
        message(f"weights as {form}", found=f"{top} among them",
                legal="finite numbers whose scales fit into float16, or another format")
    )  # fmt: skip


def in_lanes(rows: Array) -> Array:
    """(outputs, inputs) -> (outputs / 16, inputs, 16); rows that are missing are zeros."""
    missing = -len(rows) % LANES
    if missing:
        rows = np.concatenate([rows, np.zeros((missing, rows.shape[1]), rows.dtype)])
    lanes = rows.reshape(-1, LANES, rows.shape[1]).swapaxes(1, 2)
    return np.ascontiguousarray(lanes)


def _in_rows(lanes: Array) -> Array:
    """(outputs / 16, inputs, 16) -> (outputs, inputs)"""
    return np.ascontiguousarray(lanes.swapaxes(1, 2)).reshape(-1, lanes.shape[1])


def _rounded(groups: Array, scale: Array, form: str) -> tuple[Array, Array]:
    step = scale.astype("float32")[..., None]
    high = (1 << int(form[3:]) >> 1) - 1
    low = -high if form == "int8" else -high - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        numbers = np.where(step != 0, np.rint(groups / step), 0)
    return np.clip(numbers, low, high).astype("int8"), scale


def pack_numbers(numbers: Array, scale: Array, form: str) -> tuple[Array, Array]:
    """Numbers (outputs, ...) of int8 and scales (outputs, groups), as they lie in memory."""
    bits = int(form[3:])
    lanes = in_lanes(numbers.reshape(len(numbers), -1)).astype("int32") + (1 << bits >> 1)
    return in_words(lanes, bits), in_lanes(np.asarray(scale, "float16"))


def in_pairs(lanes: Array) -> Array:
    """Numbers of 16 bits, (outputs / 16, inputs, 16), two inputs a word."""
    bits = lanes.view("uint16").astype("uint32")
    return np.ascontiguousarray(bits[:, ::2] | bits[:, 1::2] << np.uint32(16))


def in_words(lanes: Array, bits: int) -> Array:
    """Numbers without sign, (outputs / 16, inputs, 16), as many inputs a word as it holds."""
    blocks, inputs, _ = lanes.shape
    count = 32 // bits
    numbers = lanes.astype("uint32").reshape(blocks, inputs // count, count, LANES)
    words = np.zeros((blocks, inputs // count, LANES), "uint32")
    for i in range(count):
        words |= numbers[:, :, i] << np.uint32(bits * i)
    return words


def unpack(q: Array, scale: Array | None, form: str) -> Array:
    """The weights (outputs, inputs) that the arrays stand for, in float32."""
    if form.startswith("int"):
        bits = int(form[3:])
        shifts = np.arange(0, 32, bits, dtype="uint32")[:, None]
        numbers = (q[:, :, None] >> shifts & np.uint32((1 << bits) - 1)).astype("int32")
        q = (numbers - (1 << bits >> 1)).reshape(q.shape[0], -1, LANES)
    if form == "bfloat16":
        halves = np.stack([q << np.uint32(16), q & np.uint32(0xFFFF0000)], axis=2)
        q = halves.view("float32").reshape(q.shape[0], -1, LANES)
    values = q.astype("float32")
    if scale is not None:
        group = values.shape[1] // scale.shape[1]
        values *= np.repeat(scale.astype("float32"), group, axis=1)
    return _in_rows(values)


def product(
    name: str, form: Packed, rows: int | None, few_rows: Callable[..., tir.Stmt] | None = None
) -> tir.PrimFunc:
    """The kernel (x (rows, inputs), q, scales, y (rows, outputs)) on float32; rows None: any.

    `few_rows` makes the part for few rows in another way, which a target has.
    """
    kernel = Kernel(name)
    count: Any = kernel.size("rows") if rows is None else rows
    x = kernel.buffer("x", (count, form.inputs), "float32")
    weights = Weights(kernel, form)
    y = kernel.buffer("y", (count, form.outputs), "float32")
    if kernel.lanes == 1:
        return kernel.func(_each_element(kernel, weights, count, x, y))
    few = (few_rows or _few_rows)(kernel, weights, count, x, y)
    if rows == 1:
        func = kernel.func(few)
        return func if few_rows else _told(func, form, rows)
    width = 2 if form.blocks % 2 == 0 else 1
    many = kernel.rows(
        (form.blocks // width,), lambda b: _many_rows(weights, width, count, b * width, x, y)
    )
    func = kernel.func(many if rows is not None else when(count <= MAX_GEMV_ROWS, few, many))
    return func if few_rows else _told(func, form, rows)


def _told(func: tir.PrimFunc, form: Packed, rows: int | None) -> tir.PrimFunc:
    """The kernel with what it was made for, if another form of it may be chosen."""
    return func.with_attr(MADE_FOR, {**asdict(form), "rows": rows or 0}) if form.bits else func


def _each_element(
    kernel: Kernel, weights: Weights, rows: Any, x: tir.Buffer, y: tir.Buffer
) -> tir.Stmt:
    """A thread for each result."""

    def element(i: Any, n: Any) -> tir.Stmt:
        block, lane = tir.floordiv(n, LANES), tir.floormod(n, LANES)

        def add(total: tir.Buffer, k: Any) -> tir.Stmt:
            value = load(x, i, k) * weights.weight(block, k, lane)
            return store(total, load(total, 0) + value, 0)

        return local("float32", lambda total: sequence(
            store(total, 0.0, 0),
            serial(weights.form.inputs, lambda k: add(total, k), "k"),
            store(y, load(total, 0), i, n),
        ))  # fmt: skip

    return kernel.rows((rows, weights.form.outputs), element)


def vector(body: Callable[[Any], tir.Stmt]) -> tir.Stmt:
    return loop(tir.const(LANES, "int64"), body, "lane", ForKind.VECTORIZED)


def serial(extent: int, body: Callable[[Any], tir.Stmt], name: str) -> tir.Stmt:
    return loop(tir.const(extent, "int64"), body, name)


def unrolled(extent: int, body: Callable[[int], tir.Stmt]) -> tir.Stmt:
    return sequence(*(body(i) for i in range(extent)))


def in_groups(
    count: Any, sizes: tuple[int, ...], body: Callable[[Any, int], tir.Stmt]
) -> tir.Stmt:
    """`body(row, high)` for groups of so many rows, the largest first."""
    found, first = [], tir.const(0, "int64")
    for high in sizes:
        times = tir.floordiv(count - first, high)
        found.append(loop(times, lambda i, f=first, h=high: body(f + i * h, h), f"rows{high}"))
        first = first + times * high
    return sequence(*found)


def _few_rows(
    kernel: Kernel, weights: Weights, rows: Any, x: tir.Buffer, y: tir.Buffer
) -> tir.Stmt:
    """At most MAX_GEMV_ROWS rows. Zero points are left to sums of inputs, as what masking leaves:

    a number of 4 bits at position t of a word is masked, not moved, and so counts 16 ** t times;
    inputs are divided by 16 ** t (exactly). Likewise for other widths.
    """
    form, last = weights.form, weights.form.per_word - 1
    parts, most = form.inputs // GROUP, 1 if rows == 1 else MAX_GEMV_ROWS

    def prepare(moved: tir.Buffer, sums: tir.Buffer, r: Any, p: Any) -> tir.Stmt:
        at = r * parts + p

        def one(k: int) -> tir.Stmt:
            value = load(x, r, p * GROUP + k)
            position = k % form.per_word
            share = value * 2.0 ** -(position * form.bits if position < last else 0)
            return sequence(
                store(sums, load(sums, at) - value, at), store(moved, share, at * GROUP + k)
            )

        return sequence(store(sums, 0.0, at), unrolled(GROUP, one))

    def blocks(read: Callable[..., Any], less: Callable[..., Any] | None) -> tir.Stmt:
        def block(b: Any) -> tir.Stmt:
            return in_groups(rows, (1,) if rows == 1 else (4, 2, 1), lambda row, high: (
                _sums_of_block(weights, b, y, row, high, read, less)
            ))  # fmt: skip

        return kernel.rows((form.blocks,), block)

    if not weights.has_zero:
        return blocks(lambda r, k: load(x, r, k), None)
    return scratch(most * form.inputs, "moved", lambda moved: scratch(
        most * parts, "sums", lambda sums: sequence(
            loop(tir.const(0, "int64") + rows, lambda r: serial(
                parts, lambda p: prepare(moved, sums, r, p), "part"
            ), "row"),
            blocks(lambda r, k: load(moved, r * form.inputs + k),
                   lambda r, p: load(sums, r * parts + p)),
        ),
    ))  # fmt: skip


def scratch(
    size: int, name: str, body: Callable[[Any], tir.Stmt], dtype: str = "float32"
) -> tir.Stmt:
    """Memory that all threads see."""
    buffer = tir.decl_buffer((size,), dtype, name)
    inner = tir.DeclBuffer(buffer, body(buffer))
    return tir.Allocate(buffer.data, dtype, [size], tir.const(True), inner)


def _sums_of_block(
    weights: Weights, block: Any, y: tir.Buffer, row: Any, high: int, read: Callable[..., Any],
    less: Callable[..., Any] | None,
) -> tir.Stmt:  # fmt: skip
    """16 results of `high` rows; `less(r, p)` is what zero points count times, in 32 inputs."""
    form, chains = weights.form, max(CHAINS // high, 1)

    def number(k: int, position: Any, lane: Any) -> Any:
        bits, count = form.bits, form.per_word
        if not bits:
            return weights.number(block, position, lane, k % 2)
        word, at = load(weights.q, block, tir.floordiv(position, count), lane), bits * (k % count)
        if at == 32 - bits:  # the sign bit: as a number without sign it is not converted
            moved = tir.shift_right(word, tir.const(at, "uint32"))
            return tir.reinterpret("int32", moved).astype("float32")
        masked = tir.bitwise_and(word, tir.const(((1 << bits) - 1) << at, "uint32"))
        return tir.reinterpret("int32", masked).astype("float32")

    def group(acc: tir.Buffer, part: tir.Buffer, widened: tir.Buffer, g: Any) -> tir.Stmt:
        def term(k: int) -> tir.Stmt:
            position = g * GROUP + k

            def product(r: int) -> Callable[[Any], tir.Stmt]:
                at = (r * chains + k % chains) * LANES

                def lane(i: Any) -> tir.Stmt:
                    value = load(widened, i) * read(row + r, position)
                    if k >= chains:
                        value = load(part, at + i) + value
                    elif k == 0 and less is not None:
                        value = weights.zero(block, g, i) * less(row + r, g) + value
                    return store(part, value, at + i)

                return lane

            return sequence(
                vector(lambda i: store(widened, number(k, position, i), i)),
                unrolled(high, lambda r: vector(product(r))),
            )

        def scaled(r: int) -> Callable[[Any], tir.Stmt]:
            def lane(i: Any) -> tir.Stmt:
                total: Any = load(part, r * chains * LANES + i)
                for chain in range(1, chains):
                    total = total + load(part, (r * chains + chain) * LANES + i)
                whole = load(acc, r * LANES + i) + weights.scaled(total, block, g, i)
                return store(acc, whole, r * LANES + i)

            return lane

        return sequence(unrolled(GROUP, term), unrolled(high, lambda r: vector(scaled(r))))

    def body(acc: tir.Buffer, part: tir.Buffer, widened: tir.Buffer) -> tir.Stmt:
        return sequence(
            unrolled(high, lambda r: vector(lambda i: store(acc, 0.0, r * LANES + i))),
            serial(form.inputs // GROUP, lambda g: group(acc, part, widened, g), "group"),
            unrolled(high, lambda r: store_lanes(
                form, block, lambda i: load(acc, r * LANES + i),
                lambda value, n: store(y, value, row + r, n),
            )),
        )  # fmt: skip

    return local("float32", lambda acc: local("float32", lambda part: local(
        "float32", lambda widened: body(acc, part, widened), LANES, "widened"
    ), high * chains * LANES, "part"), high * LANES, "acc")  # fmt: skip


def store_lanes(
    form: Packed, block: Any, value: Callable[[Any], Any], put: Callable[[Any, Any], tir.Stmt]
) -> tir.Stmt:
    """Store 16 results; the last block may have fewer."""
    whole = vector(lambda i: put(value(i), block * LANES + i))
    left = form.outputs % LANES
    if not left:
        return whole
    few = serial(left, lambda i: put(value(i), block * LANES + i), "i")
    return when(block < form.blocks - 1, whole, few)


def _many_rows(
    weights: Weights, width: int, rows: Any, block: Any, x: tir.Buffer, y: tir.Buffer
) -> tir.Stmt:
    form = weights.form
    size = next(p for p in (PANEL, PANEL // 2, PANEL // 4, GROUP) if form.inputs % p == 0)

    def widen(panel: tir.Buffer, start: Any) -> tir.Stmt:
        def group(g: Any) -> tir.Stmt:
            def term(k: int, w: int) -> tir.Stmt:
                position = start + g * GROUP + k

                def lane(i: Any) -> tir.Stmt:
                    part = tir.floordiv(start, GROUP) + g
                    value = weights.weight(block + w, position, i, part, k % 2)
                    return store(panel, value, ((g * GROUP + k) * width + w) * LANES + i)

                return vector(lane)

            return unrolled(GROUP, lambda k: unrolled(width, lambda w: term(k, w)))

        return serial(size // GROUP, group, "group")

    def tile(panel: tir.Buffer, start: Any, row: Any, high: int) -> tir.Stmt:
        """Results of so many rows: what the panels before gave, and this one's share."""

        def step(acc: tir.Buffer, k: Any) -> tir.Stmt:
            def lane(r: int, w: int) -> Callable[[Any], tir.Stmt]:
                at = (r * width + w) * LANES
                return lambda i: store(
                    acc, load(acc, at + i)
                    + load(panel, (k * width + w) * LANES + i) * load(x, row + r, start + k), at + i
                )  # fmt: skip

            return unrolled(high, lambda r: unrolled(width, lambda w: vector(lane(r, w))))

        def begin(acc: tir.Buffer) -> tir.Stmt:
            def one(r: int, w: int) -> tir.Stmt:
                at = (r * width + w) * LANES
                return old_lanes(form, block + w, lambda n, i: store(
                    acc, tir.if_then_else(start == 0, tir.const(0, "float32"), load(y, row + r, n)),
                    at + i,
                ))  # fmt: skip

            return unrolled(high, lambda r: unrolled(width, lambda w: one(r, w)))

        def end(acc: tir.Buffer) -> tir.Stmt:
            def one(r: int, w: int) -> tir.Stmt:
                at = (r * width + w) * LANES
                return store_lanes(form, block + w, lambda i: load(acc, at + i),
                                    lambda value, n: store(y, value, row + r, n))  # fmt: skip

            return unrolled(high, lambda r: unrolled(width, lambda w: one(r, w)))

        return local("float32", lambda acc: sequence(
            begin(acc), serial(size, lambda k: step(acc, k), "k"), end(acc)
        ), high * width * LANES, "acc")  # fmt: skip

    def all_rows(panel: tir.Buffer, start: Any) -> tir.Stmt:
        return in_groups(rows, ROWS, lambda row, high: tile(panel, start, row, high))

    return local("float32", lambda panel: serial(form.inputs // size, lambda p: let(
        p * size, lambda start: sequence(widen(panel, start), all_rows(panel, start)), "start"
    ), "panel"), size * width * LANES, "panel")  # fmt: skip


def old_lanes(form: Packed, block: Any, put: Callable[[Any, Any], tir.Stmt]) -> tir.Stmt:
    whole = vector(lambda i: put(block * LANES + i, i))
    left = form.outputs % LANES
    if not left:
        return whole
    few = serial(left, lambda i: put(block * LANES + i, i), "i")
    return when(block < form.blocks - 1, whole, few)


def rows_of(name: str, form: Packed) -> tir.PrimFunc:
    """The kernel (ids (n,) int32, q, scales, out (n, inputs)) that reads rows of a table."""
    kernel = Kernel(name)
    count = kernel.size("count")
    ids = kernel.buffer("ids", (count,), "int32")
    weights = Weights(kernel, form)
    out = kernel.buffer("out", (count, form.inputs), "float32")

    def element(i: Any, k: Any) -> tir.Stmt:
        n = load(ids, i).astype("int64")
        block, lane = tir.floordiv(n, LANES), tir.floormod(n, LANES)
        return store(out, weights.weight(block, k, lane), i, k)

    def row(i: Any) -> tir.Stmt:
        return serial(form.inputs, lambda k: element(i, k), "k")

    if kernel.lanes == 1:
        return kernel.func(kernel.rows((count, form.inputs), element))
    return kernel.func(kernel.rows((count,), row))
