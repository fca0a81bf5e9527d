"""Complex values: a real and an imaginary part, of which Relax has tensors.

    %2 = stablehlo.multiply %0, %1 : tensor<4xcomplex<f32>>     ->     (ac - bd), (ad + bc)

A converter of real tensors serves complex ones too: what moves or sums elements is done with each
part, what multiplies them with each two parts. What needs more has a rule here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tvm.error import message
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.frontend.fourier import Fourier, mirrored, sized

from .program import Operation, Value
from .registry import Converter, convert

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter

PARTS: Final = {"complex64": "float32", "complex128": "float64"}

_EACH_PART: Final = frozenset(
    f"stablehlo.{name}"
    for name in (
        "add", "broadcast_in_dim", "concatenate", "dynamic_slice", "dynamic_update_slice",
        "gather", "negate", "pad", "reshape", "reverse", "select", "slice", "subtract", "transpose",
    )
)  # fmt: skip
_PRODUCTS: Final = frozenset(
    {"stablehlo.multiply", "stablehlo.dot_general", "stablehlo.convolution"}
)
_RULES: Final[dict[str, Converter]] = {}


@dataclass(frozen=True)
class Complex:
    """The parts of a complex value, bound to variables."""

    re: Any
    im: Any


def _rule(name: str) -> Callable[[Converter], Converter]:
    def register(func: Converter) -> Converter:
        _RULES[name] = func
        return func

    return register


def is_complex(node: Operation, operands: Sequence[Any]) -> bool:
    """Whether an operation takes or gives a complex value."""
    given = any(isinstance(operand, Complex) for operand in operands)
    return given or any(result.dtype in PARTS for result in node.results)


def complex_form(node: Operation, converter: Converter) -> Converter:
    """The converter of an operation on complex values."""
    if node.name in _RULES:
        return _RULES[node.name]
    if node.name == "stablehlo.reduce" and _sums(node):
        return _each_part(converter)
    if node.name in _EACH_PART:
        return _each_part(converter)
    if node.name in _PRODUCTS:
        return _product(converter)
    if node.name in _TRANSPARENT:
        return converter
    raise ValueError(
        message(node.name, found="complex numbers", legal="operators on their parts")
    )


_TRANSPARENT: Final = frozenset({"func.call", "stablehlo.optimization_barrier"})


def _sums(node: Operation) -> bool:
    from .regions import combiner

    return combiner(node.regions[0]) == "add"


def _real(value: Value) -> Value:
    return replace(value, dtype=PARTS.get(value.dtype, value.dtype))


def _each_part(converter: Converter) -> Converter:
    def apply(imp: StableHLOImporter, node: Operation, *operands: Any) -> Complex:
        real = _of_parts(node)
        return Complex(*(
            converter(imp, real, *(_part(operand, which) for operand in operands))
            for which in ("re", "im")
        ))  # fmt: skip

    return apply


def _part(operand: Any, which: str) -> Any:
    return getattr(operand, which) if isinstance(operand, Complex) else operand


def _of_parts(node: Operation) -> Operation:
    """The operation as it is on one part of its operands."""
    return replace(
        node, operands=[_real(v) for v in node.operands], results=[_real(v) for v in node.results]
    )


def _product(converter: Converter) -> Converter:
    """(a + bi) (c + di) = (ac - bd) + (ad + bc) i"""

    def apply(imp: StableHLOImporter, node: Operation, x: Any, y: Any) -> Complex:
        real = _of_parts(node)

        def times(a: Any, b: Any) -> Any:
            return imp.emit(converter(imp, real, a, b))

        return Complex(
            op.subtract(times(x.re, y.re), times(x.im, y.im)),
            op.add(times(x.re, y.im), times(x.im, y.re)),
        )

    return apply


# --- between real and complex ---


@convert("stablehlo.complex")
@_rule("stablehlo.complex")
def complex_(imp: StableHLOImporter, node: Operation, re: Any, im: Any) -> Complex:
    return Complex(re, im)


@convert("stablehlo.real")
def real(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    return x


@_rule("stablehlo.real")
def _real_part(imp: StableHLOImporter, node: Operation, x: Complex) -> Any:
    return x.re


@convert("stablehlo.imag")
def imag(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    return op.zeros_like(x)


@_rule("stablehlo.imag")
def _imaginary_part(imp: StableHLOImporter, node: Operation, x: Complex) -> Any:
    return x.im


@_rule("stablehlo.constant")
def _literal(imp: StableHLOImporter, node: Operation) -> Complex:
    value = np.asarray(node.attrs["value"])
    return Complex(*(Constant(np.array(part, order="C")) for part in (value.real, value.imag)))


@_rule("stablehlo.convert")
def _converted(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    """A real number has no imaginary part; of a complex one the real part stays."""
    wanted = node.results[0].dtype
    if wanted not in PARTS:
        return op.astype(x.re, wanted)
    part = PARTS[wanted]
    if isinstance(x, Complex):
        return Complex(op.astype(x.re, part), op.astype(x.im, part))
    re = imp.emit(op.astype(x, part))
    return Complex(re, op.zeros_like(re))


# --- of complex numbers ---


def _size(imp: StableHLOImporter, x: Complex) -> Any:
    """The distance from zero, where squares of large parts do not overflow."""
    a, b = imp.emit(op.abs(x.re)), imp.emit(op.abs(x.im))
    large = imp.emit(op.maximum(a, b))
    zero = Constant(np.array(0, large.struct_info.dtype))
    divisor = imp.emit(op.where(op.equal(large, zero), op.ones_like(large), large))
    ratio = imp.emit(op.divide(op.minimum(a, b), divisor))
    one = Constant(np.array(1, large.struct_info.dtype))
    return imp.emit(op.multiply(large, op.sqrt(op.add(op.multiply(ratio, ratio), one))))


@_rule("stablehlo.abs")
def _absolute(imp: StableHLOImporter, node: Operation, x: Complex) -> Any:
    return _size(imp, x)


@_rule("stablehlo.divide")
def _quotient(imp: StableHLOImporter, node: Operation, x: Complex, y: Complex) -> Complex:
    """(a + bi) (c - di) / (c^2 + d^2), with the divisor made as large as one first."""
    size = _size(imp, y)
    c, d = (imp.emit(op.divide(part, size)) for part in (y.re, y.im))
    a, b = (imp.emit(op.divide(part, size)) for part in (x.re, x.im))
    return Complex(
        op.add(op.multiply(a, c), op.multiply(b, d)),
        op.subtract(op.multiply(b, c), op.multiply(a, d)),
    )


@_rule("stablehlo.exponential")
def _exponential(imp: StableHLOImporter, node: Operation, x: Complex) -> Complex:
    size = imp.emit(op.exp(x.re))
    return Complex(op.multiply(size, op.cos(x.im)), op.multiply(size, op.sin(x.im)))


@_rule("stablehlo.log")
def _logarithm(imp: StableHLOImporter, node: Operation, x: Complex) -> Complex:
    return Complex(op.log(_size(imp, x)), _angle(imp, x.im, x.re))


def _angle(imp: StableHLOImporter, y: Any, x: Any) -> Any:
    from tvm import te, tir

    def compute(y: te.Tensor, x: te.Tensor) -> Any:
        return te.compute(y.shape, lambda *i: tir.atan2(y(*i), x(*i)), name="angle")

    return imp.emit(imp.block_builder.call_te(compute, y, x, primfunc_name_hint="angle"))


@_rule("stablehlo.compare")
def _compared(imp: StableHLOImporter, node: Operation, x: Complex, y: Complex) -> Any:
    """Complex numbers are equal, or they are not."""
    from .regions import direction

    same = imp.emit(op.logical_and(op.equal(x.re, y.re), op.equal(x.im, y.im)))
    return op.logical_not(same) if direction(node) == "NE" else same


@convert("stablehlo.fft")
@_rule("stablehlo.fft")
def fft(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    """Along the last axes, one after the other; of real numbers half of the spectrum is told."""
    kind = str(node.attrs["fft_type"]).rsplit(maxsplit=1)[-1].strip(">")
    lengths = [int(n) for n in node.attrs["fft_length"]]
    re, im = (x.re, x.im) if isinstance(x, Complex) else (x, None)
    bb = imp.block_builder
    ndim = len(node.operands[0].shape)
    axes = list(range(ndim - len(lengths), ndim))
    if kind == "IRFFT":
        order = list(zip(axes, lengths))
    else:
        order = list(zip(axes, lengths))[::-1]
    inverse = kind in ("IFFT", "IRFFT")
    for axis, n in order:
        last = axis == ndim - 1
        re, im = (_at_end(imp, part, axis, ndim) for part in (re, im))
        if kind == "IRFFT" and last:
            re, im = mirrored(bb, sized(bb, re, n // 2 + 1), sized(bb, im, n // 2 + 1), n)
        re, im = Fourier(bb, str(re.struct_info.dtype), inverse=inverse).run(re, im, n)
        if kind == "RFFT" and last:
            re, im = (
                imp.emit(op.strided_slice(part, [ndim - 1], [0], [n // 2 + 1]))
                for part in (re, im)
            )
        re, im = (_at_end(imp, part, axis, ndim) for part in (re, im))
    return re if kind == "IRFFT" else Complex(re, im)


def _at_end(imp: StableHLOImporter, x: Any, axis: int, ndim: int) -> Any:
    """The tensor with an axis and the last one exchanged."""
    if x is None or axis == ndim - 1:
        return x
    order = list(range(ndim))
    order[axis], order[-1] = order[-1], order[axis]
    return imp.emit(op.permute_dims(x, order))
