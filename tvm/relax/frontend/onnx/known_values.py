"""Values that importing knows: shapes, and the small arithmetic that models do on them.

Exporters compute sizes in the graph (Shape, Gather, Concat, Reshape). Such values are evaluated
here with numpy, on numbers where they are known and on expressions over symbolic sizes where they
are not (`known_rules.py`), so that the operators that use them get shapes and no tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tvm import te, tir
from tvm.arith.deep_equal import deep_equal
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax.expr import Constant
from tvm.relax.extents import fresh_extent
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.functor import expr_children
from tvm.tir.op.arith import const

from .known_rules import COMPARISONS, MOVES, calculated, cast, moved, reduced

if TYPE_CHECKING:
    from tvm.relax.block_builder import BlockBuilder

Array = NDArray[Any]
Info = Callable[[str], tuple[Sequence[Any] | None, str] | None]
# Larger integer tensors are data (tables, tokens), not shapes.
LARGEST = 64


class KnownValues:
    """The known values of a graph by name; `outer` finds those of the graph around it.

    An array of expressions has a type of its own beside it, that of the model's value.
    """

    def __init__(self, outer: Callable[[str], tuple[Array, str] | None] | None = None) -> None:
        self._values: dict[str, Array] = {}
        self._dtypes: dict[str, str] = {}
        self._given: set[str] = set()
        self._names: list[tuple[PrimExpr, PrimExpr]] = []
        self._outer = outer

    def add_constant(self, name: str, array: Array, *, given: bool = False) -> None:
        """Remember a weight if it may take part in shape arithmetic.

        One that is `given` to the model anew for each run tells sizes; nothing is made of it.
        """
        if array.size <= LARGEST and array.dtype.kind in "iubf":
            self._values[name] = array
            if given:
                self._given.add(name)

    def set(self, name: str, array: Array, dtype: str = "int64") -> None:
        """Remember a value; `dtype` is that of expressions."""
        self._values[name] = array
        if array.dtype == object:
            self._dtypes[name] = dtype

    def get(self, name: str) -> Array | None:
        """The value, or None."""
        found = self.typed(name)
        return None if found is None else found[0]

    def typed(self, name: str) -> tuple[Array, str] | None:
        """The value and its type, or None."""
        found = self._values.get(name)
        if found is None:
            return None if self._outer is None else self._outer(name)
        return found, self._dtypes.get(name, "int64") if found.dtype == object else str(found.dtype)

    def evaluate(
        self,
        op_type: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attrs: dict[str, Any],
        info: Info,
        computed: Callable[[Sequence[Array | None]], list[Array] | None],
        bb: BlockBuilder,
    ) -> bool:
        """Compute the node if all it needs is known; True if that was done.

        `computed` gives the node's values for numbers, or None.
        """
        if op_type in ("Shape", "Size"):
            return self._shape(op_type, inputs[0], outputs[0], attrs, info)
        if op_type == "Constant":
            return self._constant(outputs[0], attrs)
        if any(name in self._given for name in inputs):
            return False
        found = [self.typed(name) if name else None for name in inputs]
        if not any(found) or any(name and one is None for name, one in zip(inputs, found)):
            return False
        values = [None if one is None else one[0] for one in found]
        if all(value is None or value.dtype != object for value in values):
            numbers = computed(values)
            if numbers is None or len(numbers) != len(outputs):
                return False
            self._values.update(zip(outputs, numbers))
            return True
        dtypes = ["" if one is None else one[1] for one in found]
        results = self._expressions(op_type, values, dtypes, attrs, computed)
        if results is None or len(results[0]) != len(outputs):
            return False
        for output, array in zip(outputs, results[0]):
            array = self._tidy(array, results[1], bb)
            self.set(output, array, results[1])
        return True

    def _expressions(
        self,
        op_type: str,
        values: Sequence[Array | None],
        dtypes: Sequence[str],
        attrs: dict[str, Any],
        computed: Callable[[Sequence[Array | None]], list[Array] | None],
    ) -> tuple[list[Array], str] | None:
        """The outputs and their type, of which some elements are expressions; None if unknown."""
        dtype = dtypes[1] if op_type == "Where" else dtypes[0]
        try:
            if op_type in MOVES:
                results = moved(op_type, values, computed)
                return None if results is None else (results, dtype)
            if op_type == "Cast":
                return self._cast(values, attrs)
            result = self._reduced(op_type, values, attrs)
            if result is None:
                result = calculated(op_type, values, dtype)
        except (ValueError, IndexError, KeyError, TypeError):  # the converter says what is wrong
            return None
        if result is None:
            return None
        return [result], "bool" if op_type in COMPARISONS else dtype

    def _cast(
        self, values: Sequence[Array | None], attrs: dict[str, Any]
    ) -> tuple[list[Array], str] | None:
        from .attributes import dtype_name

        source, dtype = values[0], dtype_name(attrs["to"])
        if source is None or dtype not in ("int32", "int64", "float32", "float64", "bool"):
            return None
        result = np.empty(source.shape, object)
        for at in np.ndindex(source.shape):
            result[at] = cast(source[at], dtype)
        return [result], dtype

    def _reduced(
        self, op_type: str, values: Sequence[Array | None], attrs: dict[str, Any]
    ) -> Array | None:
        if not op_type.startswith("Reduce") or values[0] is None:
            return None
        axes = attrs.get("axes")
        if len(values) > 1 and values[1] is not None:
            axes = [int(a) for a in values[1].reshape(-1)]
        return reduced(op_type, values[0], axes, bool(attrs.get("keepdims", 1)))

    def _shape(
        self, op_type: str, source: str, output: str, attrs: dict[str, Any], info: Info
    ) -> bool:
        known = self.get(source)
        found = info(source)
        if found is not None and found[0] is not None:
            shape = list(found[0])
        elif known is not None:
            shape = list(known.shape)
        else:
            return False
        if op_type == "Size":
            total = reduced("ReduceProd", as_array([1, *shape]), None, False)
            self.set(output, as_array([] if total is None else [total[()]]).reshape(()))
            return True
        self.set(output, as_array(shape[slice(attrs.get("start", 0), attrs.get("end"))]))
        return True

    def _constant(self, output: str, attrs: dict[str, Any]) -> bool:
        """A Constant node's value is known; the tensor is made where somebody reads it."""
        for name in ("value", "value_int", "value_ints", "value_float", "value_floats"):
            if attrs.get(name) is not None:  # what a file leaves empty has no value
                dtype = np.float32 if "float" in name else None
                self._values[output] = np.asarray(attrs[name], dtype)
                return True
        return False

    def _tidy(self, array: Array, dtype: str, bb: BlockBuilder) -> Array:
        """Numbers as numbers once all symbols are gone; what floats give gets a name."""
        flat = [self._named(item, bb) for item in array.reshape(-1)]
        plain = [item.value if isinstance(item, (IntImm, FloatImm)) else item for item in flat]
        if not any(isinstance(item, PrimExpr) for item in plain):
            return np.asarray(plain, dtype).reshape(array.shape)
        result = np.empty(len(flat), object)
        result[:] = plain
        return result.reshape(array.shape)

    def _named(self, item: Any, bb: BlockBuilder) -> Any:
        """An integer that is computed from floats as a symbol, the same one each time."""
        if not isinstance(item, PrimExpr) or not str(item.dtype).startswith("int"):
            return item
        if not _has_floats(item):
            return item
        for known, symbol in self._names:
            if deep_equal(known, item):
                return symbol
        symbol = fresh_extent("size")
        bb.match_cast(ShapeExpr([item]), ShapeStructInfo([symbol]))
        self._names.append((item, symbol))
        return symbol

    def as_expr(self, bb: BlockBuilder, value: Array, dtype: str = "int64") -> RelaxExpr:
        """A known value as a tensor: a constant, or made from a symbolic shape."""
        from tvm.relax import op

        if value.dtype != object:
            return Constant(value)
        if not dtype.startswith("int"):
            items = [const_of(item, dtype) for item in value.reshape(-1)]
            return bb.emit_te(_table, items, list(value.shape), primfunc_name_hint="sizes")
        shape = ShapeExpr([as_size(v) for v in value.reshape(-1)])
        tensor = bb.emit(op.shape_to_tensor(shape))
        if value.ndim != 1:
            tensor = bb.emit(op.reshape(tensor, value.shape))
        return tensor if dtype == "int64" else bb.emit(op.astype(tensor, dtype))


def _table(flat: Sequence[PrimExpr], shape: Sequence[int]) -> te.Tensor:
    """A tensor of expressions."""

    def element(*at: Any) -> Any:
        place: Any = const(0, "int64")
        for index, extent in zip(at, shape):
            place = place * extent + index
        result = flat[-1]
        for i in reversed(range(len(flat) - 1)):
            result = tir.Select(tir.EQ(place, const(i, "int64")), flat[i], result)
        return result

    table: te.Tensor = te.compute(list(shape), element, name="sizes")
    return table


def const_of(item: Any, dtype: str) -> PrimExpr:
    """An element as an expression of this type."""
    if isinstance(item, PrimExpr):
        return item if str(item.dtype) == dtype else tir.Cast(dtype, item)
    return const(np.asarray(item).astype(dtype).item(), dtype)


def _has_floats(expr: PrimExpr) -> bool:
    todo = [expr]
    while todo:
        one = todo.pop()
        if str(one.dtype).startswith("float"):
            return True
        todo += expr_children(one)
    return False


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
