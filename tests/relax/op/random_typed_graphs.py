"""Random graphs over tensors of every type and size, odd numbers and empty tensors among them.

A value is exact where every way to compute it gives the same bits: small multiples of a quarter and
whole numbers. Comparisons, roundings, sorts and casts to integers take only those, so that a
difference in the last place never becomes a step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tvm import relax, tir
from tvm.arith import Analyzer
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.struct_info import TensorStructInfo
from tvm.support.dtype import DataType
from tvm.tir.interp.values import numpy_dtype

FLOATS = ("float32", "float32", "float64", "float16", "bfloat16")
SIGNED = ("int8", "int16", "int32", "int64")
WHOLE = (*SIGNED, "uint8", "uint16", "uint32", "uint64")
EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 33)
MOST = 6000  # elements of a value
FACTORS = ("float32", "float64", "int8", "uint8", "float16", "bfloat16", "int32")
ODD = (np.nan, np.inf, -np.inf, -0.0, 0.0)


class Value(NamedTuple):
    """An expression, its extents when it runs, its type, and whether its bits are told."""

    expr: Any
    shape: tuple[int, ...]
    dtype: str
    exact: bool = True

    @property
    def is_float(self) -> bool:
        return self.dtype.startswith(("float", "bfloat"))

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))


def _ordered(v: Value) -> bool:
    """Something of which every way to compute it says what is the largest."""
    return len(v.shape) > 0 and v.exact and 0 not in v.shape and v.dtype != "bool"


class TypedGraph(NamedTuple):
    """A module with `main`, its arguments, and which of the results are exact."""

    module: IRModule
    arrays: list[Any]
    exact: list[bool]
    ops: list[str]


class Unfit(Exception):
    """The step has no operands in this graph."""


class Grower:
    def __init__(self, seed: int, symbolic: bool | None) -> None:
        self.rng = np.random.default_rng(seed)
        self.bb = relax.BlockBuilder()
        self.params: list[relax.Var] = []
        self.arrays: list[Any] = []
        self.values: list[Value] = []
        self.names: list[str] = []
        chosen = bool(self.rng.random() < 0.35)
        self.symbolic = chosen if symbolic is None else symbolic
        self.odd = bool(self.rng.random() < 0.3)
        self.symbols: dict[int, tir.Var] = {}

    # --- choices ---

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def below(self, most: int) -> int:
        return int(self.rng.integers(most))

    def take(self, fits: Callable[[Value], bool] = lambda _: True) -> Value:
        found = [v for v in self.values if fits(v)]
        if not found:
            raise Unfit
        return found[-1 - int(self.below(len(found)) * self.rng.random())]

    # --- inputs ---

    def extent(self, size: int) -> Any:
        """The number, or a symbol that will be the number."""
        if not self.symbolic or size < 3:
            return size
        if size not in self.symbols:
            self.symbols[size] = tir.Var(f"n{size}", "int64")
        return self.symbols[size]

    def numbers(self, shape: tuple[int, ...], dtype: str) -> Any:
        kind = numpy_dtype(DataType(dtype))
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if dtype.startswith(("float", "bfloat")):
            found = (self.rng.integers(-16, 17, shape) / 4).astype(kind)
            if self.odd:
                strange = self.rng.choice(np.array(ODD).astype(kind), shape)
                found = np.where(self.rng.random(shape) < 0.1, strange, found)
            return found
        limits = np.iinfo(kind)
        if dtype not in ("int32", "int64") and self.rng.random() < 0.5:
            return self.rng.integers(limits.min, limits.max, shape, kind, endpoint=True)
        return self.rng.integers(max(limits.min, -9), 10, shape).astype(kind)

    def input(self, shape: tuple[int, ...], dtype: str, array: Any = None) -> Value:
        info = TensorStructInfo([self.extent(s) for s in shape], dtype)
        var = relax.Var(f"x{len(self.params)}", info)
        self.params.append(var)
        self.arrays.append(np.asarray(self.numbers(shape, dtype) if array is None else array))
        return Value(var, shape, dtype)

    def constant(self, array: Any, dtype: str) -> Any:
        return relax.const(np.asarray(array).astype(numpy_dtype(DataType(dtype))), dtype)

    def beside(self, value: Value) -> Value:
        """Another operand that broadcasts with a value: known, an input, or a constant."""
        same = [v for v in self.values if v.dtype == value.dtype and v.shape == value.shape]
        if same and self.rng.random() < 0.5:
            return same[self.below(len(same))]
        shape = value.shape
        if self.rng.random() < 0.6:
            shape = tuple(s if self.rng.random() < 0.6 else 1 for s in shape)
            shape = shape[self.below(len(shape) + 1) :]
        if self.rng.random() < 0.3:
            made = self.constant(self.numbers(shape, value.dtype), value.dtype)
            return Value(made, shape, value.dtype)
        return self.input(shape, value.dtype)

    def keep(self, name: str, expr: Any, exact: bool) -> None:
        """A result is a value from now on."""
        var = self.bb.emit(expr)
        parts = [var]
        if isinstance(var.struct_info, relax.TupleStructInfo):
            parts = [self.bb.emit(var[i]) for i in range(len(var.struct_info.fields))]
        for part in parts:
            shape = self.sizes(part)
            if shape is not None and int(np.prod(shape)) <= MOST:
                self.values.append(Value(part, shape, str(part.struct_info.dtype), exact))
        self.names.append(name)

    def sizes(self, expr: Any) -> tuple[int, ...] | None:
        info = expr.struct_info
        if not isinstance(info, TensorStructInfo) or info.shape is None:
            return None
        if not isinstance(info.shape, relax.ShapeExpr):
            return None
        known = {var: tir.IntImm("int64", size) for size, var in self.symbols.items()}
        found = [
            Analyzer().simplify(tir.stmt_functor.substitute(e, known)) for e in info.shape.values
        ]
        told = all(isinstance(e, tir.IntImm) for e in found)
        return tuple(int(e) for e in found) if told else None

    def tamed(self, expr: Any, dtype: str) -> Any:
        """Held within small bounds, so that sums and products are exact and never overflow."""
        if dtype in ("int32", "int64") or dtype.startswith(("float", "bfloat")):
            return op.clip(self.bb.emit(expr), -8, 8)
        return expr

    # --- steps: each adds a value ---

    def unary(self) -> None:
        v = self.take(lambda v: v.dtype != "bool")
        name = self.pick("negative", "abs", "sign", "square", "clip", "double")
        if name in ("negative", "abs") and v.dtype.startswith("u"):
            raise Unfit
        made = {
            "negative": lambda: op.negative(v.expr), "abs": lambda: op.abs(v.expr),
            "sign": lambda: op.sign(v.expr),
            "square": lambda: self.tamed(op.multiply(v.expr, v.expr), v.dtype),
            "clip": lambda: op.clip(v.expr, 0, self.pick(3, 6)),
            "double": lambda: self.tamed(op.add(v.expr, v.expr), v.dtype),
        }[name]()  # fmt: skip
        self.keep(name, made, v.exact and (name != "square" or not v.is_float))

    def smooth(self) -> None:
        v = self.take(lambda v: v.is_float)
        name = self.pick(
            "exp", "tanh", "sigmoid", "erf", "sin", "cos", "sqrt", "rsqrt", "log", "atan",
            "silu", "gelu", "relu", "leakyrelu", "selu", "softplus", "sinh", "asinh", "gelu_tanh",
        )  # fmt: skip
        make = getattr(op, name, None) or getattr(op.nn, name, None)
        if make is None:
            raise Unfit
        x = v.expr
        if name in ("sqrt", "rsqrt", "log"):
            x = self.bb.emit(op.add(self.bb.emit(op.abs(x)), self.constant(0.5, v.dtype)))
        self.keep(name, make(x), v.exact and name == "relu")

    def rounding(self) -> None:
        v = self.take(lambda v: v.is_float and v.exact)
        self.keep("round", getattr(op, self.pick("floor", "ceil", "round", "trunc"))(v.expr), True)

    def question(self) -> None:
        v = self.take(lambda v: v.is_float)
        self.keep("is", getattr(op, self.pick("isnan", "isinf", "isfinite"))(v.expr), True)

    def binary(self) -> None:
        v = self.take(lambda v: v.dtype != "bool")
        w = self.beside(v)
        name = self.pick("add", "subtract", "multiply", "maximum", "minimum")
        a, b = (v, w) if self.rng.random() < 0.5 else (w, v)
        made = getattr(op, name)(a.expr, b.expr)
        exact = v.exact and w.exact and not (name == "multiply" and v.is_float)
        self.keep(name, self.tamed(made, v.dtype), exact)

    def division(self) -> None:
        v = self.take(lambda v: v.dtype != "bool")
        divisor = self.constant(self.pick(2, 3, 4, 5, 7), v.dtype)
        name = self.pick("divide", "floor_divide", "floor_mod", "mod")
        if v.is_float:
            self.keep("divide", op.divide(v.expr, self.constant(self.pick(2, 4, -0.5), v.dtype)),
                      False)  # fmt: skip
            return
        if name == "divide":
            raise Unfit
        self.keep(name, getattr(op, name)(v.expr, divisor), True)

    def comparison(self) -> None:
        v = self.take(lambda v: v.exact and v.dtype != "bool")
        w = self.beside(v)
        if not w.exact:
            raise Unfit
        name = self.pick("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
        self.keep(name, getattr(op, name)(v.expr, w.expr), True)

    def bits(self) -> None:
        v = self.take(lambda v: v.dtype in WHOLE)
        if self.rng.random() < 0.3:
            most = 3 if v.dtype in ("int32", "int64") else DataType(v.dtype).bits - 1
            by = self.constant(self.below(most), v.dtype)
            side = self.pick(op.left_shift, op.right_shift)
            self.keep("shift", self.tamed(side(v.expr, by), v.dtype), True)
            return
        w = self.beside(v)
        name = self.pick("bitwise_and", "bitwise_or", "bitwise_xor")
        self.keep(name, getattr(op, name)(v.expr, w.expr), True)

    def truth(self) -> None:
        v = self.take(lambda v: v.dtype == "bool")
        if self.rng.random() < 0.3:
            self.keep("logical_not", op.logical_not(v.expr), True)
            return
        w = self.beside(v)
        name = self.pick("logical_and", "logical_or", "logical_xor")
        self.keep(name, getattr(op, name)(v.expr, w.expr), True)

    def where(self) -> None:
        v = self.take()
        flags = [f for f in self.values if f.dtype == "bool" and f.shape == v.shape]
        flag = flags[self.below(len(flags))] if flags else self.input(v.shape, "bool")
        w = self.beside(v)
        self.keep("where", op.where(flag.expr, v.expr, w.expr), v.exact and w.exact)

    def cast(self) -> None:
        v = self.take(lambda v: v.exact)
        to = self.pick(*FLOATS, *WHOLE, "bool")
        x = v.expr
        if v.is_float and to not in FLOATS:
            if self.odd:
                raise Unfit
            if to != "bool":
                x = self.bb.emit(op.clip(x, 0 if to.startswith("u") else -8, 8))
        exact = v.is_float or v.dtype == "bool" or to in WHOLE or to == "bool"
        made = op.astype(x, to)
        self.keep("astype", made if exact else self.tamed(made, to), True)

    def move(self) -> None:
        v = self.take(lambda v: len(v.shape) > 0)
        axis = self.below(len(v.shape))
        extents = list(v.expr.struct_info.shape.values)
        rest = [1] * len(v.shape)
        rest[axis] = self.pick(1, 2)
        forms: dict[str, Callable[[], Any]] = {
            "permute_dims": lambda: op.permute_dims(
                v.expr, self.rng.permutation(len(v.shape)).tolist()
            ),
            "flatten": lambda: op.flatten(v.expr),
            "merge": lambda: op.reshape(v.expr, [*extents[:-2], extents[-2] * extents[-1]])
            if len(extents) > 1 and 0 not in v.shape else op.expand_dims(v.expr, 0),
            "expand_dims": lambda: op.expand_dims(v.expr, axis),
            "squeeze": lambda: op.squeeze(v.expr),
            "flip": lambda: op.flip(v.expr, axis),
            "tile": lambda: op.tile(v.expr, rest),
            "repeat": lambda: op.repeat(v.expr, self.pick(1, 2, 3), axis),
            "broadcast_to": lambda: op.broadcast_to(v.expr, [self.pick(1, 2), *extents]),
            "tril": lambda: self.pick(op.tril, op.triu)(v.expr, self.pick(-1, 0, 2))
            if len(extents) > 1 else op.flip(v.expr, 0),
            "slice": lambda: op.strided_slice(
                v.expr, [axis], [self.below(v.shape[axis] + 1)], [v.shape[axis] + 1],
                [self.pick(1, 1, 2, 3)],
            ),
            "back": lambda: op.strided_slice(
                v.expr, [axis], [v.shape[axis] - 1], [-v.shape[axis] - 1], [self.pick(-1, -2)]
            ),
            "pad": lambda: op.nn.pad(
                v.expr, [self.below(3) for _ in range(2 * len(extents))], "constant",
                self.pick(0, 1),
            ),
        }  # fmt: skip
        name = self.pick(*forms)
        if name == "pad" and v.dtype == "bool":
            raise Unfit
        self.keep(name, forms[name](), v.exact)

    def join(self) -> None:
        v = self.take(lambda v: len(v.shape) > 0)
        same = [w for w in self.values if w.shape == v.shape and w.dtype == v.dtype]
        others = [same[self.below(len(same))] for _ in range(self.pick(1, 2))]
        exact = v.exact and all(w.exact for w in others)
        parts = [v.expr, *(w.expr for w in others)]
        axis = self.below(len(v.shape))
        if self.rng.random() < 0.3:
            self.keep("stack", op.stack(parts, axis), exact)
        else:
            self.keep("concat", op.concat(parts, axis), exact)

    def parts(self) -> None:
        v = self.take(lambda v: len(v.shape) > 0 and max(v.shape) > 1)
        axis = int(np.argmax(v.shape))
        at = sorted({1 + self.below(v.shape[axis]) for _ in range(self.pick(1, 2))})
        self.keep("split", op.split(v.expr, at, axis), v.exact)

    def picked(self) -> None:
        v = self.take(lambda v: len(v.shape) > 0 and 0 not in v.shape)
        axis = self.below(len(v.shape))
        n = v.shape[axis]
        kind = self.pick("int32", "int64")
        name = self.pick("take", "gather_elements", "scatter_elements", "gather_nd", "take_wrap")
        if name in ("take", "take_wrap"):
            shape = self.pick((3,), (2, 4), (), (0,), (17,))
            spread = 3 if name == "take_wrap" else 1
            at = self.rng.integers(-n * (spread if spread > 1 else 0), n * spread, shape)
            ind = self.input(shape, kind, at.astype(kind))
            mode = self.pick("clip", "wrap") if name == "take_wrap" else self.pick("fast", "clip")
            self.keep(name, op.take(v.expr, ind.expr, axis, mode), v.exact)
            return
        if name == "gather_nd":
            at = self.rng.integers(0, n, (5, 1))
            if axis:
                at = np.stack([self.rng.integers(0, s, 5) for s in v.shape[: axis + 1]], 1)
            else:
                at = self.rng.integers(0, v.shape[0], (5, 1))
            ind = self.input(at.shape, "int64", at.astype("int64"))
            self.keep(name, op.gather_nd(v.expr, ind.expr), v.exact)
            return
        rows = np.broadcast_to(np.arange(n), (*v.shape[:axis], *v.shape[axis + 1 :], n))
        at = np.moveaxis(self.rng.permuted(rows, axis=-1), -1, axis)
        ind = self.input(v.shape, kind, np.ascontiguousarray(at.astype(kind)))
        if name == "gather_elements":
            self.keep(name, op.gather_elements(v.expr, ind.expr, axis), v.exact)
            return
        if v.dtype == "bool":
            raise Unfit
        w = self.input(v.shape, v.dtype)
        how = self.pick("update", "add", "max", "min")
        self.keep(
            f"{name} {how}",
            self.tamed(op.scatter_elements(v.expr, ind.expr, w.expr, axis, how), v.dtype),
            v.exact,
        )

    def reduced(self) -> None:
        v = self.take(
            lambda v: len(v.shape) > 0 and v.dtype not in ("bool", "float16", "bfloat16")
        )
        count = 1 + self.below(len(v.shape))
        axes = self.rng.permutation(len(v.shape))[:count].tolist()
        name = self.pick("sum", "max", "min", "mean", "variance", "sum")
        if name in ("max", "min") and 0 in v.shape:
            raise Unfit
        if name in ("mean", "variance") and (not v.is_float or 0 in v.shape):
            raise Unfit
        x = v.expr if v.exact or not v.is_float else self.bb.emit(op.clip(v.expr, -8, 8))
        made = getattr(op, name)(x, axes, self.pick(True, False))
        exact = v.exact and name in ("sum", "max", "min")
        self.keep(name, self.tamed(made, v.dtype), exact)

    def arg(self) -> None:
        v = self.take(_ordered)
        name = self.pick("argmax", "argmin")
        axis = self.pick(None, self.below(len(v.shape)))
        self.keep(name, getattr(op, name)(v.expr, axis, self.pick(True, False)), True)

    def sorted(self) -> None:
        v = self.take(_ordered)
        if v.is_float and self.odd:
            raise Unfit
        axis, down = self.below(len(v.shape)), self.pick(True, False)
        name = self.pick("sort", "argsort", "topk")
        made = {
            "sort": lambda: op.sort(v.expr, axis, down),
            "argsort": lambda: op.argsort(v.expr, axis, down),
            "topk": lambda: op.topk(v.expr, 1 + self.below(v.shape[axis]), axis, "both", down),
        }[name]()
        self.keep(name, made, True)

    def scan(self) -> None:
        v = self.take(lambda v: len(v.shape) > 0 and v.dtype not in ("bool", "float16", "bfloat16"))
        x = v.expr
        if v.dtype in ("int32", "int64") or v.is_float:
            x = self.bb.emit(op.clip(x, -2, 2))
        made = op.cumsum(x, self.below(len(v.shape)), exclusive=self.pick(True, False))
        self.keep("cumsum", self.tamed(made, v.dtype), v.exact)

    def norm(self) -> None:
        v = self.take(lambda v: v.is_float and len(v.shape) > 0 and 0 not in v.shape)
        name = self.pick("softmax", "log_softmax", "layer_norm", "rms_norm")
        axis = self.below(len(v.shape))
        if name in ("softmax", "log_softmax"):
            self.keep(name, getattr(op.nn, name)(v.expr, axis), False)
            return
        x = self.bb.emit(op.clip(v.expr, -8, 8))
        last = v.shape[-1]
        ramp = self.constant(np.linspace(0, 2, last), v.dtype) if not self.symbolic else None
        x = self.bb.emit(op.add(x, ramp)) if ramp is not None and last > 1 else x
        gamma, beta = (self.input((last,), v.dtype) for _ in range(2))
        if name == "rms_norm":
            self.keep(name, op.nn.rms_norm(x, gamma.expr, [-1], 0.5), False)
        else:
            self.keep(name, op.nn.layer_norm(x, gamma.expr, beta.expr, [-1], 0.5), False)

    def product(self) -> None:
        v = self.take(lambda v: len(v.shape) > 0 and v.dtype in FACTORS)
        k, n = v.shape[-1], self.pick(1, 2, 5, 8, 17, 32, 33)
        batch = v.shape[:-2] if len(v.shape) > 2 and self.rng.random() < 0.5 else ()
        fixed = self.rng.random() < 0.4 and not self.symbolic
        shape = (*batch, k, n)
        if self.rng.random() < 0.3:
            weight = self.input((*batch, n, k), v.dtype)
            order = [*range(len(batch)), len(batch) + 1, len(batch)]
            w = self.bb.emit(op.permute_dims(weight.expr, order))
        elif fixed:
            w = self.constant(self.numbers(shape, v.dtype), v.dtype)
        else:
            w = self.input(shape, v.dtype).expr
        out = {
            "int8": "int32", "uint8": "int32", "float16": self.pick(None, "float32"),
            "bfloat16": "float32",
        }.get(v.dtype)  # fmt: skip
        x = v.expr if v.exact and not v.is_float else self.bb.emit(self.tamed(v.expr, v.dtype))
        made = self.bb.emit(op.matmul(x, w, out_dtype=out))
        kind = str(made.struct_info.dtype)
        exact = v.exact and (out is not None or v.dtype in ("float32", "float64", "int32"))
        self.keep("matmul", self.tamed(made, kind), exact)

    def window(self) -> None:
        v = self.take(
            lambda v: len(v.shape) > 1 and min(v.shape) > 0 and v.dtype in FACTORS[:5]
        )
        extents = list(v.expr.struct_info.shape.values)
        if len(extents) == 2:
            x = self.bb.emit(op.reshape(v.expr, [1, 1, *extents]))
        elif len(extents) == 3:
            x = self.bb.emit(op.reshape(v.expr, [1, *extents]))
        elif len(extents) == 4:
            x = v.expr
        else:
            raise Unfit
        _, c, h, w = (1,) * (4 - len(v.shape)) + v.shape
        if v.is_float:
            x = self.bb.emit(op.clip(x, -8, 8))
        kernel = (min(self.pick(1, 2, 3), h), min(self.pick(1, 2, 3, 5), w))
        strides, pads = (self.pick(1, 1, 2), self.pick(1, 2)), [self.below(2) for _ in range(4)]
        name = self.pick("conv2d", "max_pool2d", "avg_pool2d", "depthwise")
        if name in ("max_pool2d", "avg_pool2d"):
            pads = [min(p, k - 1) for p, k in zip(pads, (*kernel, *kernel))]
            made = getattr(op.nn, name)(x, kernel, strides, pads)
            if name == "avg_pool2d" and not v.is_float:
                raise Unfit
            self.keep(name, made, v.exact and name == "max_pool2d")
            return
        filters = c if name == "depthwise" else self.pick(1, 3, 8, 16)
        shape = (filters, 1 if name == "depthwise" else c, *kernel)
        weight = (
            self.input(shape, v.dtype).expr if self.rng.random() < 0.5 or self.symbolic
            else self.constant(self.numbers(shape, v.dtype), v.dtype)
        )  # fmt: skip
        out = {"int8": "int32", "uint8": "int32"}.get(v.dtype)
        apart = self.pick(1, 1, 2)
        if any(e < apart * (k - 1) + 1 for e, k in zip((h, w), kernel)):
            apart = 1
        made = self.bb.emit(op.nn.conv2d(
            x, weight, strides, pads, apart, c if name == "depthwise" else 1,
            out_dtype=out,
        ))  # fmt: skip
        self.keep(name, self.tamed(made, str(made.struct_info.dtype)), False)

    def steps(self) -> list[Callable[[], None]]:
        return [
            self.unary, self.smooth, self.rounding, self.question, self.binary, self.binary,
            self.division, self.comparison, self.bits, self.truth, self.where, self.cast, self.move,
            self.move, self.move, self.join, self.parts, self.picked, self.picked, self.reduced,
            self.reduced, self.arg, self.sorted, self.scan, self.norm, self.product, self.product,
            self.window,
        ]  # fmt: skip


def typed_graph(seed: int, length: int = 8, symbolic: bool | None = None) -> TypedGraph:
    """A graph of about so many operators; `symbolic`: whether sizes are symbols."""
    grower = Grower(seed, symbolic)
    rng = grower.rng
    with grower.bb.function("main"):
        with grower.bb.dataflow():
            for _ in range(2):
                rank = int(rng.choice([0, 1, 2, 2, 3, 3, 4]))
                while True:
                    shape = tuple(int(e) for e in rng.choice(EXTENTS, rank))
                    if np.prod(shape) <= MOST // 4:
                        break
                if rank and rng.random() < 0.06:
                    shape = (*shape[:-1], 0)
                kind = str(rng.choice([*FLOATS, *WHOLE, "bool"]))
                grower.values.append(grower.input(shape, kind))
            tries = 0
            while len(grower.names) < length and tries < 20 * length:
                tries += 1
                steps = grower.steps()
                try:
                    steps[grower.below(len(steps))]()
                except Unfit:
                    continue
            chosen = grower.values[-4:]
            fields = [grower.bb.emit_output(v.expr) for v in chosen]
        grower.bb.emit_func_output(relax.Tuple(fields), grower.params)
    return TypedGraph(
        grower.bb.get(), grower.arrays, [v.exact for v in chosen], grower.names
    )
