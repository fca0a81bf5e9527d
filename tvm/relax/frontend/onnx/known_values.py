"""Values that importing knows: shapes, and the small integer arithmetic that models do on them.

Exporters compute sizes in the graph (Shape, Gather, Concat, Reshape). Such values are evaluated
here with numpy, on numbers where they are known and on expressions over symbolic sizes where they
are not, so that the operators that use them get shapes and no tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax.expr import Constant
from tvm.relax.struct_info import ShapeExpr
from tvm.tir.expr import IntImm
from tvm.tir.op.arith import floordiv, multiply

if TYPE_CHECKING:
    from tvm.relax.block_builder import BlockBuilder

Array = NDArray[Any]
Info = Callable[[str], tuple[Sequence[Any] | None, str] | None]
# Larger integer tensors are data (tables, tokens), not shapes.
LARGEST = 64


class KnownValues:
    """The known values of a graph by name; `outer` finds those of the graph around it."""

    def __init__(self, outer: Callable[[str], Array | None] | None = None) -> None:
        self._values: dict[str, Array] = {}
        self._given: set[str] = set()
        self._outer = outer

    def add_constant(self, name: str, array: Array, *, given: bool = False) -> None:
        """Remember a weight if it may take part in shape arithmetic.

        One that is `given` to the model anew for each run tells sizes; nothing is made of it.
        """
        if array.size <= LARGEST and array.dtype.kind in "iubf":
            self._values[name] = array
            if given:
                self._given.add(name)

    def set(self, name: str, array: Array) -> None:
        """Remember a value."""
        self._values[name] = array

    def get(self, name: str) -> Array | None:
        """The value, or None."""
        found = self._values.get(name)
        if found is None and self._outer is not None:
            return self._outer(name)
        return found

    def evaluate(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attrs: dict[str, Any],
        info: Info,
        computed: Callable[[Sequence[Array | None]], Array | None],
    ) -> bool:
        """Compute the node if all it needs is known; True if that was done.

        `computed` gives the node's value for numbers where there is no rule here, or None.
        """
        if op_type == "Shape":
            return self._shape(inputs[0], outputs[0], attrs, info)
        if op_type == "Constant":
            return self._constant(outputs[0], attrs)
        if any(name in self._given for name in inputs):
            return False
        values = [self.get(name) if name else None for name in inputs]
        known = [value for name, value in zip(inputs, values) if name and value is not None]
        if not known or len(known) < sum(bool(name) for name in inputs):
            return False
        rule = _RULES.get(op_type)
        if rule is not None and not any(value.dtype.kind == "f" for value in known):
            try:
                result = rule(known, attrs)
            except (ValueError, IndexError, KeyError):  # the converter says what does not fit
                return False
        elif len(outputs) == 1 and all(value.dtype != object for value in known):
            result = computed(values)
        else:
            return False
        if result is None:
            return False
        self._values[outputs[0]] = result
        return True

    def _shape(self, source: str, output: str, attrs: dict[str, Any], info: Info) -> bool:
        known = self.get(source)
        found = info(source)
        if found is not None and found[0] is not None:
            shape = list(found[0])
        elif known is not None:
            shape = list(known.shape)
        else:
            return False
        part = shape[slice(attrs.get("start", 0), attrs.get("end"))]
        self._values[output] = as_array(part)
        return True

    def _constant(self, output: str, attrs: dict[str, Any]) -> bool:
        """A Constant node's value is known; the tensor is made where somebody reads it."""
        for name in ("value", "value_int", "value_ints", "value_float", "value_floats"):
            if name in attrs:
                dtype = np.float32 if "float" in name else None
                self._values[output] = np.asarray(attrs[name], dtype)
                return True
        return False

    def as_expr(self, bb: BlockBuilder, value: Array) -> RelaxExpr:
        """A known value as a tensor: a constant, or made from a symbolic shape."""
        from tvm.relax import op

        if value.dtype != object:
            return Constant(value)
        shape = ShapeExpr([as_size(v) for v in value.reshape(-1)])
        tensor = bb.emit(op.shape_to_tensor(shape))
        if value.ndim == 0:
            return bb.emit(op.reshape(tensor, ()))
        return tensor


def as_size(value: Any) -> PrimExpr | int:
    """A size as an expression or a number."""
    return value if isinstance(value, PrimExpr) else int(value)


def as_array(values: Sequence[Any]) -> Array:
    """Sizes as an array: int64 when all are numbers, of expressions otherwise."""
    plain = [v.value if isinstance(v, IntImm) else v for v in values]
    if any(isinstance(v, PrimExpr) for v in plain):
        array = np.empty(len(plain), object)
        array[:] = plain
        return array
    return np.asarray(plain, np.int64)


def _tidy(array: Array) -> Array:
    """Back to int64 once all symbols are gone."""
    if array.dtype != object:
        return array
    return as_array(list(array.reshape(-1))).reshape(array.shape)


def _divide(a: Array, b: Array) -> Array | None:
    if a.dtype == object or b.dtype == object:
        return np.asarray(np.frompyfunc(floordiv, 2, 1)(a, b))
    if np.any(b == 0):
        return None
    return np.trunc(a / b).astype(a.dtype)


def _multiply(a: Array, b: Array) -> Array:
    if a.dtype == object or b.dtype == object:
        return np.asarray(np.frompyfunc(multiply, 2, 1)(a, b))
    return np.asarray(a * b)


def _axes(values: list[Array], attrs: dict[str, Any]) -> list[int] | None:
    if len(values) > 1:
        return [int(v) for v in values[1].reshape(-1)]
    axes = attrs.get("axes")
    return None if axes is None else [int(a) for a in axes]


def _gather(values: list[Array], attrs: dict[str, Any]) -> Array | None:
    data, indices = values
    if indices.dtype == object or data.ndim == 0:
        return None
    return _tidy(np.asarray(np.take(data, indices, axis=attrs.get("axis", 0))))


def _slice(values: list[Array], attrs: dict[str, Any]) -> Array | None:
    data, *rest = values
    if rest:
        parts = [[int(v) for v in part.reshape(-1)] for part in rest]
    else:
        parts = [list(attrs.get("starts", ())), list(attrs.get("ends", ()))]
        if "axes" in attrs:
            parts.append(list(attrs["axes"]))
    starts, ends = parts[0], parts[1]
    axes = parts[2] if len(parts) > 2 else list(range(len(starts)))
    steps = parts[3] if len(parts) > 3 else [1] * len(starts)
    index: list[slice] = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        extent = data.shape[axis]
        stop: int | None = end
        if step < 0 and end < -extent:
            stop = None
        index[axis] = slice(start, stop, step)
    return _tidy(data[tuple(index)])


def _squeeze(values: list[Array], attrs: dict[str, Any]) -> Array:
    axes = _axes(values, attrs)
    return np.squeeze(values[0], None if axes is None else tuple(axes))


def _unsqueeze(values: list[Array], attrs: dict[str, Any]) -> Array:
    axes = _axes(values, attrs) or []
    rank = values[0].ndim + len(axes)
    result = values[0]
    for axis in sorted(axis % rank for axis in axes):
        result = np.expand_dims(result, axis)
    return result


def _concat(values: list[Array], attrs: dict[str, Any]) -> Array:
    return _tidy(np.concatenate(values, axis=attrs["axis"]))


def _cast(values: list[Array], attrs: dict[str, Any]) -> Array | None:
    from .attributes import dtype_name

    dtype = dtype_name(attrs["to"])
    if not dtype.startswith(("int", "uint")):
        return None
    return values[0] if values[0].dtype == object else values[0].astype(dtype)


def _product(values: list[Array], attrs: dict[str, Any]) -> Array | None:
    if values[0].ndim != 1 or len(values) > 1:
        return None
    total: Any = 1
    for value in values[0]:
        total = multiply(total, value) if isinstance(value, PrimExpr) else total * value
    result = as_array([total])
    return result if attrs.get("keepdims", 1) else result.reshape(())


_RULES: dict[str, Callable[[list[Array], dict[str, Any]], Array | None]] = {
    "Gather": _gather,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Cast": _cast,
    "ReduceProd": _product,
    "Identity": lambda values, attrs: values[0],
    "Add": lambda values, attrs: _tidy(np.asarray(values[0] + values[1])),
    "Sub": lambda values, attrs: _tidy(np.asarray(values[0] - values[1])),
    "Mul": lambda values, attrs: _tidy(_multiply(values[0], values[1])),
    "Div": lambda values, attrs: _divide(values[0], values[1]),
}
