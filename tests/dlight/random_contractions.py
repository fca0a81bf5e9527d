"""Random sums and extrema of products: any axes, windows, layouts, types, steps around them.

Floats are small whole numbers, of which sums are exact in every order; integers take all values.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tvm
from tests.dlight.programs import size_of
from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.tir.functor import walk
from tvm.tir.interp.values import numpy_dtype

# types of two factors and of their sum; the largest absolute value of an element
TYPES = (
    ("float32", "float32", "float32", 4), ("float64", "float64", "float64", 4),
    ("float16", "float16", "float32", 4), ("bfloat16", "bfloat16", "float32", 4),
    ("float16", "float16", "float16", 1), ("bfloat16", "bfloat16", "bfloat16", 1),
    ("int8", "int8", "int32", 128), ("uint8", "int8", "int32", 255),
    ("int8", "uint8", "int32", 255), ("uint8", "uint8", "int32", 255),
    ("uint8", "uint8", "uint32", 255), ("int16", "int16", "int32", 1000),
    ("int8", "int8", "int8", 128), ("int32", "int32", "int32", 1000),
    ("int64", "int64", "int64", 1000), ("uint8", "float32", "float32", 9),
    ("float32", "int8", "float32", 9), ("int8", "int8", "float32", 9),
    ("int8", "int16", "int32", 255), ("int8", "int8", "int16", 128),
    ("float32", "float16", "float32", 4), ("uint16", "uint16", "uint32", 1000),
    ("uint8", "uint8", "uint8", 255), ("int8", "int8", "int64", 128),
)  # fmt: skip
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 24, 31, 32, 33, 48, 49, 63, 64, 65, 97)
MOST = 60_000  # steps of the loops, that the interpreter has to take


ODD = (np.nan, np.inf, -np.inf, -0.0)
SMALL = (1, 1, 2, 3, 3, 5)


class Form(NamedTuple):
    """A known kind of kernel: how many axes, and for each operand the axes of its dimensions."""

    spatial: int
    reduced: int
    operands: tuple[tuple[tuple[int, ...], ...], ...]
    small: tuple[int, ...] = ()


FORMS: tuple[Form | None, ...] = (
    None, None, None,
    Form(2, 1, (((0,), (2,)), ((2,), (1,)))),  # products of matrices
    Form(2, 1, (((0,), (2,)), ((1,), (2,)))),
    Form(2, 1, (((2,), (0,)), ((2,), (1,)))),
    Form(3, 1, (((0,), (1,), (3,)), ((0,), (3,), (2,))), (0,)),
    Form(4, 1, (((0,), (1,), (2,), (4,)), ((0,), (1,), (3,), (4,))), (0, 1)),
    Form(3, 1, (((0,), (1,), (3,)), ((3,), (2,)))),
    Form(1, 1, (((1,),), ((1,), (0,)))),  # vectors
    Form(1, 1, (((1,),), ((0,), (1,)))),
    Form(2, 1, (((0,), (2,)), ((1,), (2,))), (0,)),
    Form(4, 3, (((0,), (4,), (2, 5), (3, 6)), ((1,), (4,), (5,), (6,))), (0, 5, 6)),  # convolutions
    Form(4, 3, (((0,), (1, 4), (2, 5), (6,)), ((4,), (5,), (6,), (3,))), (0, 4, 5)),
    Form(3, 2, (((0,), (3,), (2, 4)), ((1,), (3,), (4,))), (0, 4)),
    Form(4, 2, (((0,), (1,), (2, 4), (3, 5)), ((1,), (4,), (5,))), (0, 4, 5)),  # depthwise
    Form(4, 2, (((0,), (1, 4), (2, 5), (3,)), ((4,), (5,), (3,))), (0, 4, 5)),
    Form(4, 2, (((0,), (1,), (2, 4), (3, 5)),), (0, 4, 5)),  # pools
    Form(4, 2, (((0,), (1, 4), (2, 5), (3,)),), (0, 4, 5)),
    Form(5, 3, (((0,), (1,), (5,), (3, 6), (4, 7)), ((1,), (2,), (5,), (6,), (7,))),
         (0, 1, 6, 7)),  # groups
    Form(2, 1, (((0,), (2,), (1,)),)),  # sums along one axis
    Form(1, 1, (((0,), (1,)),)),
    Form(1, 2, (((1,), (0,), (2,)),)),
)  # fmt: skip


class ContractionMaker:
    """Makes one kernel from a seed."""

    def __init__(self, seed: int, empty: bool = True, symbols: bool = True) -> None:
        self.seed, self.random = seed, random.Random(seed)
        rng = self.random
        self.left, self.right, self.total, self.most = rng.choice(TYPES)
        self.sizes: dict[str, int] = {}
        self.empty, self.symbols = empty, symbols
        self.odd = rng.random() < 0.25  # NaN, infinities and signed zeros among the floats
        self.inputs_made: list[te.Tensor] = []
        self.form = rng.choice(FORMS)
        spatial, reduced = rng.choice([1, 2, 2, 3, 3, 4]), rng.choice([0, 1, 1, 1, 2, 2, 3])
        if self.form is not None:
            spatial, reduced = self.form.spatial, self.form.reduced
        self.extents = self._extents(spatial, reduced)
        self.out_extents = self.extents[:spatial]
        self.reduced_extents = self.extents[spatial:]

    def _extents(self, spatial: int, reduced: int) -> list[Any]:
        rng, count = self.random, spatial + reduced
        while True:
            found = [rng.choice(EXTENTS) for _ in range(count)]
            if self.form is not None:
                found = [rng.choice(SMALL) if n in self.form.small else e
                         for n, e in enumerate(found)]  # fmt: skip
            if self.empty and rng.random() < 0.03:
                found[rng.randrange(spatial)] = 0  # a sum of nothing never gets its first value
            if np.prod(found) <= MOST:
                break
        held: list[Any] = list(found)
        if self.symbols and rng.random() < 0.25:
            for place in rng.sample(range(count), rng.choice([1, min(2, count)])):
                name = f"n{place}"
                self.sizes[name] = found[place]
                held[place] = te.size_var(name, "int64")
        return held

    # --- operands ---

    def operand(self, name: str, dtype: str, axes: list[tuple[Any, Any]], must: list[int]) -> Any:
        """A tensor with some of the axes in some order; gives how it is read at the axes' places.

        Axes of the output and of the sum may meet in one dimension, as in a convolution.
        """
        rng = self.random
        spatial = len(self.out_extents)
        chosen = sorted({*must, *(n for n in range(len(axes)) if rng.random() < 0.6)})
        rng.shuffle(chosen)
        windows: list[tuple[int, ...]] = []
        rest = list(chosen)
        if self.form is not None:
            windows, rest = [*self.form.operands[int(name[2:])]], []
            if rng.random() < 0.15:
                rng.shuffle(windows)
        while rest:
            first = rest.pop(0)
            meets = [n for n in rest if (n < spatial) != (first < spatial)]
            if meets and rng.random() < 0.35:
                other = rng.choice(meets)
                rest.remove(other)
                windows.append((min(first, other), max(first, other)))
            else:
                windows.append((first,))
        shape: list[Any] = []
        reads: list[Callable[[list[Any]], Any]] = []
        for window in windows:
            extent, read = self.dimension(window)
            shape.append(extent)
            reads.append(read)
        if not shape:
            shape, reads = [1], [lambda places: 0]
        tensor = te.placeholder(shape, dtype, name)
        self.inputs_made.append(tensor)
        tensor, shift = self.before(tensor)
        if shift is not None:
            reads = [lambda p, r=r, s=s: r(p) + s for r, s in zip(reads, shift)]
        return lambda places: tensor(*(read(places) for read in reads))

    def again(self, read: Callable[[list[Any]], Any], spatial: int) -> Callable[[list[Any]], Any]:
        """The same tensor, at places where two axes of one extent are exchanged."""
        same = [
            (a, b) for a in range(spatial) for b in range(a)
            if self.extents[a] is self.extents[b] or self.extents[a] == self.extents[b]
        ]  # fmt: skip
        if not same:
            return read
        a, b = self.random.choice(same)

        def turned(places: list[Any]) -> Any:
            held = list(places)
            held[a], held[b] = held[b], held[a]
            return read(held)

        return turned

    def dimension(self, window: tuple[int, ...]) -> tuple[Any, Callable[[list[Any]], Any]]:
        """The extent of a dimension that is read along one or two axes, and the index."""
        rng, extents = self.random, self.extents
        if len(window) == 1:
            (n,) = window
            extent = extents[n]
            pick = rng.random() * (1 if self.form is None else 4)
            if pick < 0.08:
                return extent, lambda p: extent - 1 - p[n]
            if pick < 0.14 and isinstance(extent, int):
                step = rng.choice([2, 3])
                return extent * step, lambda p: p[n] * step + 1
            if pick < 0.18 and isinstance(extent, int):
                return max((extent + 1) // 2, 1), lambda p: tir.floordiv(p[n], 2)
            return extent, lambda p: p[n]
        s, r = window
        stride, dilation = rng.choice([1, 1, 1, 2, 3]), rng.choice([1, 1, 1, 2])
        extent = (extents[s] - 1) * stride + (extents[r] - 1) * dilation + 1
        if isinstance(extent, int):
            extent = max(extent, 1)
        if rng.random() < 0.1:  # as a gradient reads
            last = (extents[r] - 1) * dilation
            return extent, lambda p: p[s] * stride + last - p[r] * dilation
        return extent, lambda p: p[s] * stride + p[r] * dilation

    def before(self, tensor: te.Tensor) -> tuple[te.Tensor, list[Any] | None]:
        """What is done to an operand first: nothing, an elementwise step, or padding."""
        rng, dtype = self.random, tensor.dtype
        pick = rng.random()
        if pick < 0.12:
            zero = tir.const(0, dtype)
            return te.compute(tensor.shape, lambda *i: tir.max(tensor(*i), zero), "relu"), None
        if pick < 0.2:
            two = tir.const(1 if self.most == 1 else 2, dtype)
            return te.compute(tensor.shape, lambda *i: tensor(*i) * two, "scaled"), None
        if pick < 0.38:  # the kernel reads further in, of a tensor with a frame
            pads = [rng.choice([0, 0, 1, 2]) for _ in tensor.shape]
            fill = tir.const(0 if rng.random() < 0.7 else 1, dtype)
            shape = [d + 2 * p for d, p in zip(tensor.shape, pads)]

            def padded(*i: Any) -> PrimExpr:
                inside = [
                    test for at, p, d in zip(i, pads, tensor.shape) if p
                    for test in (at >= p, at < d + p)
                ]  # fmt: skip
                value = tensor(*(at - p for at, p in zip(i, pads)))
                return tir.if_then_else(tir.all(*inside), value, fill) if inside else value

            shift = [rng.choice([0, p, 2 * p]) for p in pads]
            return te.compute(shape, padded, "pad_temp"), shift
        return tensor, None

    # --- results ---

    def after(self, value: te.Tensor) -> te.Tensor:
        """Elementwise steps on the result."""
        rng = self.random
        for n in range(rng.choice([0, 0, 1, 2, 3])):
            value = self.step(value, n)
        return value

    def step(self, value: te.Tensor, n: int) -> te.Tensor:
        rng, dtype, shape = self.random, value.dtype, list(value.shape)
        floats = dtype.startswith(("float", "bfloat"))
        name = f"step{n}"

        def beside(axes: list[int]) -> Callable[..., Any]:
            other = te.placeholder(
                [shape[a] for a in axes] or [1], dtype, f"side{len(self.inputs_made)}"
            )
            self.inputs_made.append(other)
            return lambda i: other(*([i[a] for a in axes] or [0]))

        def bias() -> te.Tensor:
            axes = [a for a in range(len(shape)) if rng.random() < 0.4]
            side = beside(axes)
            return te.compute(shape, lambda *i: value(*i) + side(i), name)

        def residual() -> te.Tensor:
            side = beside(list(range(len(shape))))
            two = rng.choice([lambda a, b: a + b, lambda a, b: b - a, tir.max, tir.min])
            return te.compute(shape, lambda *i: two(value(*i), side(i)), name)

        def clip() -> te.Tensor:
            low, high = tir.const(0, dtype), tir.const(6, dtype)
            return te.compute(shape, lambda *i: tir.max(tir.min(value(*i), high), low), name)

        def turned() -> te.Tensor:
            order = list(range(len(shape)))
            rng.shuffle(order)
            back = [order.index(a) for a in range(len(shape))]
            return te.compute(
                [shape[a] for a in order], lambda *i: value(*(i[b] for b in back)), name
            )

        def cast() -> te.Tensor:
            kind = rng.choice(["float32", "int64", "float64", "int32"] if not floats
                              else ["float32", "float64"])  # fmt: skip
            return te.compute(shape, lambda *i: tir.Cast(kind, value(*i)), name)

        def wrapped() -> te.Tensor:
            return te.compute(shape, lambda *i: tir.Cast("int8", value(*i)), name)

        def doubled() -> te.Tensor:
            return te.compute(shape, lambda *i: value(*i) + value(*i), name)

        def half() -> te.Tensor:
            where = rng.randrange(len(shape))
            return te.compute(
                shape,
                lambda *i: tir.Select(
                    tir.floormod(i[where], 2) < 1, value(*i), tir.const(0, dtype)
                ),
                name,
            )

        def flat() -> te.Tensor:
            if len(shape) != 2 or 0 in shape:
                return doubled()
            rows, columns = shape
            return te.compute(
                [rows * columns],
                lambda i: value(tir.floordiv(i, columns), tir.floormod(i, columns)),
                name,
            )  # fmt: skip

        choices = [bias, bias, residual, clip, turned, cast, doubled, half, flat]
        return rng.choice(choices if floats else [*choices, wrapped])()

    def program(self) -> tir.PrimFunc:
        """The whole function."""
        rng = self.random
        spatial = len(self.out_extents)
        over = [te.reduce_axis((0, e), f"r{n}") for n, e in enumerate(self.reduced_extents)]
        axes: list[tuple[Any, Any]] = [(None, e) for e in self.extents]
        count = rng.choice([1, 2, 2, 2, 2])
        if self.form is not None:
            count = len(self.form.operands)
        # between them the operands have all axes of the sum, most of the time
        need = [spatial + n for n in range(len(over))]
        musts = [[n for n in need if rng.random() < 0.8] for _ in range(count)]
        musts[0] = sorted({*musts[0], *(n for n in need if not any(n in m for m in musts))})
        reads = [
            self.operand(f"in{n}", (self.left, self.right)[n], axes, musts[n]) for n in range(count)
        ]
        if count == 2 and rng.random() < 0.08:
            reads[1] = self.again(reads[0], spatial)
        total = self.total
        how = rng.choice([te.sum] * 8 + [te.max, te.min])
        where = rng.random() < 0.05 and how is te.sum and bool(over)

        def body(*i: Any) -> PrimExpr:
            places = [*i, *(axis.var for axis in over)]
            factors = [tir.Cast(total, read(places)) for read in reads]
            value = factors[0]
            for factor in factors[1:]:
                value = value * factor
            if not over:
                return value
            options = {"where": over[0].var > 0} if where else {}
            return how(value, axis=over, **options)

        made = te.compute(self.out_extents, body, "C")
        last = self.after(made)
        told = {extent for tensor in self.inputs_made for extent in tensor.shape}
        for symbol in self.extents:
            if isinstance(symbol, tir.Var) and symbol not in told:  # a window's part only
                self.inputs_made.append(te.placeholder((symbol,), "int8", f"of_{symbol.name}"))
        func = te.create_prim_func([*self.inputs_made, last])
        return func.with_attr("global_symbol", "main")

    # --- arguments ---

    def arguments(self, func: tir.PrimFunc) -> list[np.ndarray[Any, Any]]:
        """The same each time; the last one is the result's."""
        source, found = np.random.default_rng(self.seed), []
        for param in func.params:
            buffer = func.buffer_map[param]
            shape = [size_of(d, self.sizes) for d in buffer.shape]
            found.append(self.values(source, str(buffer.dtype), shape))
        return found

    def values(self, source: np.random.Generator, dtype: str, shape: list[int]) -> Any:
        kind = numpy_dtype(tvm.DataType(dtype))
        most = self.most
        if dtype.startswith(("float", "bfloat")):
            found = source.integers(-min(most, 8), min(most, 8) + 1, shape).astype(kind)
            if self.odd:
                strange = source.choice(np.array(ODD).astype(kind), shape)
                found = np.where(source.random(shape) < 0.02, strange, found)
            return found
        limits = np.iinfo(kind)
        low, high = max(-most, limits.min), min(most, limits.max)
        if source.random() < 0.3:  # only the ends of the range, where sums of pairs are largest
            return source.choice(np.array([low, high], kind), shape)
        return source.integers(low, high, shape, endpoint=True).astype(kind)

    def assert_same(self, found: Any, wanted: Any, note: str) -> None:
        """Equal, but for sums in narrow floats and results that were brought to them."""
        narrow = {self.total, str(wanted.dtype)} & {"float16", "bfloat16"}
        exact = found.dtype.kind in "iub"
        found, wanted = (a if exact else a.astype("float64") for a in (found, wanted))
        if narrow and not exact:
            np.testing.assert_allclose(found, wanted, rtol=2e-2, atol=0.5, err_msg=note)
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=note)


def is_impossible(func: tir.PrimFunc, sizes: dict[str, int]) -> bool:
    """Whether these sizes ask for windows that start before their plane: fewer than no elements."""
    return any(size_of(d, sizes) < 0 for b in func.buffer_map.values() for d in b.shape)


def empty_sum(func: tir.PrimFunc, sizes: dict[str, int]) -> bool:
    """Whether a sum has no steps: its first value is stored in the first one."""
    return any(
        iv.iter_type == tir.IterVar.CommReduce and size_of(iv.dom.extent, sizes) == 0
        for block in walk(func.body) if isinstance(block, tir.Block)
        for iv in block.iter_vars
    )  # fmt: skip
