"""Complex tensors: a real and an imaginary part, of which Relax has tensors.

A converter written for tensors serves complex ones too: what moves elements or sums them is done
with each part (`_EACH_PART`), and products of two operands are expanded (`_PRODUCTS`). What needs
more has a rule here, under the same name as the converter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant

from .dtypes import COMPLEX
from .elementwise import atan2, signbit, to
from .pad import padded
from .registry import Converter, convert, spellings
from .sizes import getattr_
from .values import (
    Expr,
    dtype_of,
    floating,
    promoted_floats,
    rank,
    refuse,
    scalar,
    sizes,
    together,
)


@dataclass(frozen=True)
class Complex:
    """The parts of a complex tensor, of one shape and data type, both bound to variables."""

    re: Expr
    im: Expr


def complex_of(bb: BlockBuilder, re: Expr, im: Expr) -> Complex:
    """A complex tensor of parts that need not be bound."""
    return Complex(bb.normalize_argument(re), bb.normalize_argument(im))


def complex_constant(tensor: Any) -> Complex:
    """A complex tensor of torch."""
    array = tensor.detach().cpu().resolve_conj().numpy()
    parts = (np.array(array.real, order="C"), np.array(array.imag, order="C"))
    return Complex(*(Constant(part) for part in parts))


def is_complex(value: Any) -> bool:
    """Whether a value, or one within a list of them, is complex, or the name of such a type."""
    if isinstance(value, (list, tuple)):
        return any(is_complex(one) for one in value)
    if isinstance(value, str):
        return value in COMPLEX
    return isinstance(value, (Complex, complex))


def as_complex(bb: BlockBuilder, value: Any) -> Complex:
    """The value with an imaginary part, which is zero for a real one."""
    if isinstance(value, Complex):
        return value
    if isinstance(value, RelaxExpr):
        real = bb.normalize_argument(floating(bb, value))
        return complex_of(bb, real, op.zeros_like(real))
    number = complex(value)
    return Complex(scalar(number.real, "float32"), scalar(number.imag, "float32"))


# --- converters of real tensors, used for complex ones ---

_EACH_PART: Final = frozenset(
    (
        "_unsafe_view", "alias", "broadcast_to", "chunk", "clone", "contiguous", "cumsum",
        "detach", "diagonal", "diff", "empty", "empty_like", "expand", "expand_as",
        "fft_fftshift", "fft_ifftshift", "flatten", "flip", "gather", "getitem", "index",
        "index_select", "lift_fresh_copy", "mT", "mean", "moveaxis", "movedim", "narrow", "neg",
        "negative", "new_empty", "new_zeros", "numpy_T", "permute", "ravel", "repeat",
        "repeat_interleave", "reshape", "reshape_as", "resolve_neg", "roll", "select",
        "slice", "split", "split_with_sizes", "squeeze", "sum", "swapaxes", "t",
        "take_along_dim", "tensor_split", "tile", "transpose", "tril", "triu", "unbind",
        "unflatten", "unfold", "unsqueeze", "view", "view_as", "zeros", "zeros_like",
    )
)  # fmt: skip
# of ones, or of a number that need not be complex
_FILLS: Final = frozenset(
    ("full", "full_like", "new_full", "new_ones", "ones", "ones_like", "scalar_tensor", "tensor")
)
_ALIKE: Final = frozenset(("cat", "concat", "concatenate", "stack", "where"))
_SUMS: Final = frozenset(("add", "iadd", "sub", "subtract", "isub", "rsub"))
_PRODUCTS: Final = frozenset(
    ("bmm", "einsum", "imul", "matmul", "mm", "mul", "multiply", "mv", "outer", "tensordot")
)
_RULES: Final[dict[str, Converter]] = {}
_Rule = TypeVar("_Rule", bound=Converter)


def complex_rule(*names: str) -> Callable[[_Rule], _Rule]:
    """Declare what an operator does with complex tensors, where that is a matter of its own."""

    def register(func: _Rule) -> _Rule:
        _RULES.update({name: func for name in names})
        return func

    return register


def complex_form(name: str, converter: Converter) -> Converter:
    """The converter of an operator for arguments of which one is complex."""
    for spelling in spellings(name):
        if spelling in _RULES:
            return _RULES[spelling]
        if spelling in _EACH_PART or spelling in _ALIKE:
            return _each_part(converter, spelling in _ALIKE)
        if spelling in _FILLS:
            return _filled(converter)
        if spelling in _SUMS:
            return _sum(converter)
        if spelling in _PRODUCTS:
            return _product(converter)
    raise refuse(name, "complex numbers", "torch.view_as_real of them, or operators on the parts")


def _each_part(converter: Converter, alike: bool = False) -> Converter:
    """The operator on the real parts and on the imaginary ones; numbers stay as they are.

    With `alike` real tensors beside complex ones have an imaginary part of zeros.
    """

    def apply(bb: BlockBuilder, *args: Any, **named: Any) -> Any:
        given = [_all_complex(bb, one) for one in args] if alike else args
        found = [
            converter(bb, *_parts(tuple(given), which), **_parts(named, which))
            for which in ("re", "im")
        ]
        return _joined(bb, *found)

    return apply


def _filled(converter: Converter) -> Converter:
    """A tensor of one number, whose imaginary part is 0 where the number has none."""

    def apply(bb: BlockBuilder, *args: Any, **named: Any) -> Complex:
        real = bb.normalize_argument(converter(bb, *_parts(args, "re"), **_parts(named, "re")))
        if not any(isinstance(one, complex) for one in (*args, *named.values())):
            return complex_of(bb, real, op.zeros_like(real))
        return complex_of(bb, real, converter(bb, *_parts(args, "im"), **_parts(named, "im")))

    return apply


def _all_complex(bb: BlockBuilder, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_all_complex(bb, one) for one in value]
    if isinstance(value, RelaxExpr) and dtype_of(value) == "bool":  # a condition
        return value
    return as_complex(bb, value) if isinstance(value, (RelaxExpr, float, complex)) else value


def _sum(converter: Converter) -> Converter:
    def apply(bb: BlockBuilder, input: Any, other: Any, alpha: Any = 1) -> Any:
        a, b = as_complex(bb, input), as_complex(bb, other)
        return _joined(
            bb, converter(bb, a.re, b.re, alpha=alpha), converter(bb, a.im, b.im, alpha=alpha)
        )

    return apply


def _product(converter: Converter) -> Converter:
    """(a + bi) (c + di) = (ac - bd) + (ad + bc) i, for any product of two operands."""

    def apply(bb: BlockBuilder, *args: Any, **named: Any) -> Complex:
        flat = [one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else [arg])]
        complexes = [one for one in flat if is_complex(one)]
        if len(complexes) == 1:
            found = [converter(bb, *_parts(args, which), **named) for which in ("re", "im")]
            return complex_of(bb, *found)
        if len(complexes) > 2:
            raise refuse("a product", f"{len(complexes)} complex operands", "two at a time")
        first, second = complexes

        def pick(a: str, b: str) -> Any:
            def part(value: Any) -> Any:
                if isinstance(value, (list, tuple)):
                    return [part(one) for one in value]
                return _part(value, a if value is first else b) if is_complex(value) else value

            return bb.normalize_argument(converter(bb, *map(part, args), **named))

        if first is second:  # a square: the two places are not told apart
            a, b = first, Complex(first.re, first.im)
            return apply(bb, *_second_replaced(args, a, b), **named)
        re = op.subtract(pick("re", "re"), pick("im", "im"))
        return complex_of(bb, re, op.add(pick("re", "im"), pick("im", "re")))

    return apply


def _second_replaced(args: Any, old: Complex, new: Complex) -> Any:
    """The arguments with the first place of an operand taken by its double."""
    done = False

    def walk(value: Any) -> Any:
        nonlocal done
        if isinstance(value, (list, tuple)):
            return [walk(one) for one in value]
        if value is old and not done:
            done = True
            return new
        return value

    return walk(args)


def _part(value: Any, which: str) -> Any:
    if isinstance(value, str):
        return COMPLEX[value]
    if isinstance(value, Complex):
        return getattr(value, which)
    return value.real if which == "re" else value.imag


def _parts(value: Any, which: str) -> Any:
    if isinstance(value, dict):
        return {key: _parts(one, which) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_parts(one, which) for one in value)
    return _part(value, which) if is_complex(value) else value


def _joined(bb: BlockBuilder, re: Any, im: Any) -> Any:
    """The parts of one result, or of several."""
    if isinstance(re, (list, tuple)):
        return tuple(_joined(bb, a, b) for a, b in zip(re, im))
    if not isinstance(re, RelaxExpr) and callable(re):  # a part of a tuple, made when it is used
        return lambda: _joined(bb, re(), im())
    real: Any = bb.normalize_argument(re)
    fields = getattr(real.struct_info, "fields", None)
    if fields is None:
        return complex_of(bb, real, im)
    imaginary: Any = bb.normalize_argument(im)
    return tuple(complex_of(bb, real[i], imaginary[i]) for i in range(len(fields)))


# --- between real and complex ---


@convert("view_as_complex", "view_as_complex_copy")
def view_as_complex(bb: BlockBuilder, input: Expr) -> Complex:
    """(..., 2) -> (...)"""
    axis = rank(input) - 1
    re, im = (
        bb.emit(op.squeeze(bb.emit(op.strided_slice(input, [axis], [i], [i + 1])), [axis]))
        for i in range(2)
    )
    return Complex(re, im)


@convert("view_as_real", "view_as_real_copy")
def view_as_real(bb: BlockBuilder, input: Expr) -> Any:
    raise refuse("view_as_real", f"{dtype_of(input)}", "a complex tensor")


@complex_rule("view_as_real", "view_as_real_copy")
def _view_as_real(bb: BlockBuilder, input: Complex) -> Expr:
    """(...) -> (..., 2)"""
    return op.stack([input.re, input.im], rank(input.re))


@convert("complex")
def complex_(bb: BlockBuilder, real: Expr, imag: Expr) -> Complex:
    return Complex(*together(bb, *promoted_floats(bb, real, imag)))


@convert("polar")
def polar(bb: BlockBuilder, abs: Expr, angle: Expr) -> Complex:
    length, turn = together(bb, abs, angle)
    return complex_of(bb, op.multiply(length, op.cos(turn)), op.multiply(length, op.sin(turn)))


@convert("real")
def real(bb: BlockBuilder, input: Expr) -> Expr:
    return input


@complex_rule("real")
def _real(bb: BlockBuilder, input: Complex) -> Expr:
    return input.re


@convert("imag")
def imag(bb: BlockBuilder, input: Expr) -> Expr:
    raise refuse("imag", f"{dtype_of(input)}", "a complex tensor")


@complex_rule("imag")
def _imag(bb: BlockBuilder, input: Complex) -> Expr:
    return input.im


@complex_rule("getattr")
def _attribute(bb: BlockBuilder, input: Complex, name: str) -> Any:
    """What a traced function reads of a complex tensor."""
    if name in ("real", "imag"):
        return input.re if name == "real" else input.im
    if name == "dtype":
        return next(one for one, part in COMPLEX.items() if part == dtype_of(input.re))
    if name in ("shape", "ndim", "device"):
        return getattr_(bb, input.re, name)
    turned = complex_of(bb, *(bb.emit(getattr_(bb, part, name)) for part in (input.re, input.im)))
    return _conjugate(bb, turned) if name in ("H", "mH") else turned


@convert("angle")
def angle(bb: BlockBuilder, input: Expr) -> Expr:
    x = bb.normalize_argument(floating(bb, input))
    zero = scalar(0.0, dtype_of(x))
    turned = op.where(op.less(x, zero), scalar(math.pi, dtype_of(x)), zero)
    return op.where(op.isnan(x), x, turned)


# --- of complex numbers ---


@complex_rule("conj", "_conj", "conj_physical", "_conj_physical")
def _conjugate(bb: BlockBuilder, input: Complex) -> Complex:
    return complex_of(bb, input.re, op.negative(input.im))


@complex_rule("_assert_tensor_metadata")
def _nothing(bb: BlockBuilder, *args: Any, **options: Any) -> None:
    """What torch checks while it runs."""


@complex_rule("to", "type", "_to_copy", "type_as")
def _converted(
    bb: BlockBuilder, input: Any, *args: Any, dtype: Any = None, **options: Any
) -> Any:
    """To or from a complex type; of a complex number only the real part becomes a real one."""
    for arg in args:
        if isinstance(arg, Complex):
            dtype = next(name for name, part in COMPLEX.items() if part == dtype_of(arg.re))
        elif isinstance(arg, RelaxExpr):
            dtype = dtype_of(arg)
        elif isinstance(arg, str) and "cpu" not in arg and "cuda" not in arg:
            dtype = arg
    if dtype is None:
        return input
    if dtype not in COMPLEX:
        return to(bb, input.re, dtype=dtype)
    value = as_complex(bb, input)
    return complex_of(bb, *(op.astype(part, COMPLEX[dtype]) for part in (value.re, value.im)))


@complex_rule("resolve_conj", "positive")
def _itself(bb: BlockBuilder, input: Complex) -> Complex:
    return input


@complex_rule("adjoint", "matrix_H", "mH")
def _adjoint(bb: BlockBuilder, input: Complex) -> Complex:
    last = rank(input.re) - 1
    order = [*range(last - 1), last, last - 1]
    return _conjugate(
        bb, complex_of(bb, *(op.permute_dims(part, order) for part in (input.re, input.im)))
    )


def _squared(bb: BlockBuilder, x: Complex) -> Expr:
    """|x|^2"""
    return bb.emit(op.add(op.multiply(x.re, x.re), op.multiply(x.im, x.im)))


@complex_rule("abs", "absolute")
def _absolute(bb: BlockBuilder, input: Complex) -> Expr:
    return op.sqrt(_squared(bb, input))


@complex_rule("angle")
def _angle(bb: BlockBuilder, input: Complex) -> Any:
    """The angle of a number; of a zero it is 0 or pi, by the sign of its real part."""
    return atan2(bb, input.im, input.re)


@complex_rule("div", "divide", "truediv", "true_divide", "itruediv")
def _divide(bb: BlockBuilder, input: Any, other: Any, rounding_mode: Any = None) -> Complex:
    a = as_complex(bb, input)
    if not is_complex(other):
        by, *_ = promoted_floats(bb, other, a.re)
        return complex_of(bb, op.divide(a.re, by), op.divide(a.im, by))
    b = as_complex(bb, other)
    size = _squared(bb, b)
    re = bb.emit(op.add(op.multiply(a.re, b.re), op.multiply(a.im, b.im)))
    im = bb.emit(op.subtract(op.multiply(a.im, b.re), op.multiply(a.re, b.im)))
    return complex_of(bb, op.divide(re, size), op.divide(im, size))


@complex_rule("reciprocal")
def _reciprocal(bb: BlockBuilder, input: Complex) -> Complex:
    return _divide(bb, 1.0, input)


@complex_rule("exp")
def _exponential(bb: BlockBuilder, input: Complex) -> Complex:
    found: Complex = polar(bb, bb.emit(op.exp(input.re)), input.im)
    return found


@complex_rule("log")
def _logarithm(bb: BlockBuilder, input: Complex) -> Complex:
    return complex_of(bb, op.log(bb.emit(_absolute(bb, input))), _angle(bb, input))


@complex_rule("sgn")
def _direction(bb: BlockBuilder, input: Complex) -> Complex:
    """The number divided by its size; zero stays zero."""
    size = bb.emit(_absolute(bb, input))
    one = op.where(op.equal(size, scalar(0.0, dtype_of(size))), op.ones_like(size), size)
    return _divide(bb, input, bb.emit(one))


@complex_rule("square")
def _square(bb: BlockBuilder, input: Complex) -> Complex:
    re = op.subtract(op.multiply(input.re, input.re), op.multiply(input.im, input.im))
    twice = op.multiply(scalar(2.0, dtype_of(input.re)), op.multiply(input.re, input.im))
    return complex_of(bb, re, twice)


@complex_rule("pow", "ipow")
def _power(bb: BlockBuilder, input: Any, exponent: Any) -> Complex:
    """A whole number's power is a product; others go by size and angle."""
    if isinstance(input, Complex) and exponent == 2:
        return _square(bb, input)
    base, power = as_complex(bb, input), as_complex(bb, exponent)
    logs = _logarithm(bb, base)
    re = op.subtract(op.multiply(logs.re, power.re), op.multiply(logs.im, power.im))
    im = op.add(op.multiply(logs.re, power.im), op.multiply(logs.im, power.re))
    return _exponential(bb, complex_of(bb, re, im))


@complex_rule("sqrt")
def _root(bb: BlockBuilder, input: Complex) -> Complex:
    """The root whose real part is not negative."""
    size = bb.emit(_absolute(bb, input))
    half = scalar(0.5, dtype_of(size))
    none = scalar(0.0, dtype_of(size))
    re = op.sqrt(op.maximum(op.multiply(op.add(size, input.re), half), none))
    im = bb.emit(op.sqrt(op.maximum(op.multiply(op.subtract(size, input.re), half), none)))
    below = signbit(bb, input.im)
    return complex_of(bb, re, op.where(below, op.negative(im), im))


@complex_rule("pad", "constant_pad_nd")
def _padded(
    bb: BlockBuilder, input: Complex, pad: Any, mode: Any = "constant", value: Any = None
) -> Complex:
    """`constant_pad_nd` has the value third, `pad` the mode."""
    mode, value = (mode, value) if isinstance(mode, str) else ("constant", mode)
    fill = complex(value or 0)
    return complex_of(
        bb, padded(bb, input.re, pad, mode, fill.real), padded(bb, input.im, pad, mode, fill.imag)
    )


@complex_rule("size", "sym_size", "shape")
def _size(bb: BlockBuilder, input: Complex, dim: Any = None) -> Any:
    return sizes(input.re) if dim is None else sizes(input.re)[dim]
