"""Random programs with blocks: tensor expressions in stages, and views of parts of buffers.

Floats are small multiples of a quarter, and whole numbers are small, so that all results are exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import tvm
from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.script import from_source
from tvm.tir.interp.values import numpy_dtype

KINDS = ("int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64")


class TensorMaker:
    """Stages of tensors: of elements, shifted, transposed or gathered ones, and reductions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.kind = self.random.choice(KINDS)
        self.is_float = self.kind.startswith("float")
        self.rows: Any = self.random.choice([1, 3, 4, 5, te.size_var("n", "int64")])
        self.columns = self.random.choice([1, 2, 4, 7, 8])

    def number(self, index: tir.PrimExpr, extent: Any) -> PrimExpr:
        """An index near to a given one, within bounds."""
        pick = self.random.randrange(4)
        if pick == 0:
            return index
        if pick == 1:
            return tir.floormod(index + self.random.choice([1, 2]), extent)
        if pick == 2:
            return extent - 1 - index
        return tir.floordiv(index, 2)

    def element(self, tensors: list[te.Tensor], i: Any, j: Any, depth: int) -> PrimExpr:
        """A value at (i, j)."""
        rng = self.random
        if depth == 0:
            of = rng.choice(tensors)
            at = (self.number(i, self.rows), self.number(j, self.columns))
            return of(*at[: len(of.shape)])
        a, b = (self.element(tensors, i, j, depth - 1) for _ in range(2))
        inside = rng.choice([i < self.rows - 1, j > 0, tir.floormod(i + j, 2) < 1, a < b])
        forms: list[Callable[[], PrimExpr]] = [
            lambda: a + b, lambda: tir.max(a, b), lambda: tir.min(a, b), lambda: a - b,
            lambda: tir.if_then_else(inside, a, b), lambda: tir.Select(inside, a, b),
            lambda: tir.Cast(self.kind, tir.Cast(rng.choice(["int16", "float32"]), a)),
            lambda: tir.abs(a) if not self.kind.startswith("u") else a,
        ]  # fmt: skip
        return rng.choice(forms)()

    def elements(self, shape: Any, tensors: list[te.Tensor], name: str) -> te.Tensor:
        return te.compute(shape, lambda i, j: self.element(tensors, i, j, 2), name)

    def reduction(self, tensors: list[te.Tensor], name: str) -> te.Tensor:
        rng = self.random
        k = te.reduce_axis((0, self.columns), "k")
        how = rng.choice([te.sum, te.max, te.min])
        where = k.var > 0 if rng.random() < 0.3 and how is te.sum else None
        options = {} if where is None else {"where": where}
        return te.compute(
            (self.rows,), lambda i: how(self.element(tensors, i, k.var, 1), k, **options), name
        )

    def program(self) -> tir.PrimFunc:
        """The whole function; the last stages are its outputs."""
        rng = self.random
        shape = (self.rows, self.columns)
        inputs = [te.placeholder(shape, self.kind, f"in{n}") for n in range(2)]
        known: list[te.Tensor] = list(inputs)
        for n in range(rng.choice([1, 2, 3])):
            if rng.random() < 0.35:
                known.append(self.reduction(known, f"stage{n}"))
            else:
                known.append(self.elements(shape, list(known), f"stage{n}"))
        func = te.create_prim_func([*inputs, known[-1]])
        return func.with_attr("global_symbol", "main")

    def inputs(self) -> list[np.ndarray[Any, Any]]:
        """Arguments, the same each time."""
        source = np.random.default_rng(self.seed)
        rows = self.rows if isinstance(self.rows, int) else 6
        last = self.program_outputs
        shapes = [(rows, self.columns)] * 2 + [(rows, self.columns) if last == 2 else (rows,)]
        return [small_values(source, self.kind, shape) for shape in shapes]

    @property
    def program_outputs(self) -> int:
        """The rank of the output."""
        func = TensorMaker(self.seed).program()
        return len(func.buffer_map[func.params[-1]].shape)


def small_values(source: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Any:
    """Small whole numbers, or multiples of a quarter."""
    kind_of_array = numpy_dtype(tvm.DataType(kind))
    if kind.startswith("float"):
        return (source.integers(-8, 9, shape) / 4).astype(kind_of_array)
    return source.integers(0 if kind.startswith("u") else -4, 9, shape).astype(kind_of_array)


VIEWS = """
@T.prim_func
def main(a: T.Buffer(({rows}, {columns}), "{kind}"), b: T.Buffer(({rows}, {columns}), "{kind}")):
    for i, j in T.grid({tiles}, {strips}):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(a[{region}])
            T.writes(b[{region}])
            {strides}
            source = T.match_buffer(a[{region}], {shape}, "{kind}"{source})
            out = T.match_buffer(b[{region}], {shape}, "{kind}"{out})
            scratch = T.alloc_buffer({shape}, "{kind}", scope="{scope}")
            for {names} in T.grid({extents}):
                with T.block("fill"):
                    {places} = T.axis.remap("{letters}", [{names}])
                    scratch[{places}] = source[{places}] {operator} {number}
{loops}
"""


class ViewMaker:
    """A function that works on tiles, through views of them with strides known or not."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, random.Random(seed)
        self.kind = self.random.choice(KINDS)
        self.tile = (self.random.choice([1, 2, 4]), self.random.choice([2, 4, 8]))
        self.counts = (self.random.choice([1, 2, 3]), self.random.choice([1, 2]))

    def program(self) -> tir.PrimFunc:
        """The whole function."""
        rng = self.random
        high, wide = self.tile
        flat = high == 1 and rng.random() < 0.5
        shape = (wide,) if flat else self.tile
        letters = "ijk"[: len(shape)]
        names = [f"{letter}_" for letter in letters]
        places = [f"w{letter}" for letter in letters]
        turned = list(places)
        axis = rng.randrange(len(shape))
        turned[axis] = f"{shape[axis] - 1} - {turned[axis]}"
        open_strides = rng.random() < 0.5
        strides = {name: [f"{name}{n}" for n in range(len(shape))] for name in ("s", "t")}
        declared = "".join(f"{v} = T.int32(); " for vs in strides.values() for v in vs)
        options = {
            name: f", strides=[{', '.join(vs)}], offset_factor=1" if open_strides else
            ", offset_factor=1" for name, vs in strides.items()
        }  # fmt: skip
        row = f"vi * {high}" if flat else f"vi * {high}:vi * {high} + {high}"
        text = VIEWS.format(
            rows=high * self.counts[0], columns=wide * self.counts[1], kind=self.kind,
            tiles=self.counts[0], strips=self.counts[1],
            region=f"{row}, vj * {wide}:vj * {wide} + {wide}",
            shape=f"({', '.join(map(str, shape))},)",
            strides=declared if open_strides else "pass", source=options["s"], out=options["t"],
            scope=rng.choice(["global", "local"]), names=", ".join(names),
            extents=", ".join(map(str, shape)), places=", ".join(places),
            letters="S" * len(shape), operator=rng.choice(["+", "-", "*"]),
            loops=self.stores(shape, names, places, turned),
            number=f"T.{self.kind}({rng.choice([1, 2, 3])})",
        )  # fmt: skip
        found = from_source(text)
        assert isinstance(found, tir.PrimFunc)
        return found

    def stores(
        self, shape: tuple[int, ...], names: list[str], places: list[str], turned: list[str]
    ) -> str:
        """The loops that write the view, the innermost of any kind."""
        kinds = ["serial"] * len(shape)
        kinds[-1] = self.random.choice(["serial", "vectorized", "unroll"])
        place = ", ".join(places)
        lines = [f"for {n} in T.{k}({e}):" for n, k, e in zip(names, kinds, shape)] + [
            'with T.block("store"):',
            f'{place} = T.axis.remap("{"S" * len(shape)}", [{", ".join(names)}])',
        ]
        depth = len(lines) - 1
        lines = ["    " * (3 + n) + line for n, line in enumerate(lines)]
        last = f"out[{place}] = scratch[{', '.join(turned)}] + source[{place}]"
        return "\n".join([*lines, "    " * (3 + depth) + last])

    def inputs(self) -> list[np.ndarray[Any, Any]]:
        """Arguments, the same each time."""
        source = np.random.default_rng(self.seed)
        shape = (self.tile[0] * self.counts[0], self.tile[1] * self.counts[1])
        return [small_values(source, self.kind, shape) for _ in range(2)]
