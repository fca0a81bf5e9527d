"""Maps between index spaces: layouts of buffers, orders of loops."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from tvm.arith import Analyzer, IterMapLevel, detect_iter_map, inverse_affine_iter_map
from tvm.error import ShapeError, TVMError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.support.dtype import DataType

from .expr import FloorDiv, FloorMod, IntImm, Max, Min, Var, as_expr, make_const
from .functor import substitute, walk
from .op.arith import cast, greater_equal, logical_or

if TYPE_CHECKING:
    from tvm.runtime import Tensor


@final
class IndexMap(Node):
    """New indices as expressions over old ones: lambda i, j: [i // 16, j, i % 16]."""

    __slots__ = ("final_indices", "initial_indices", "inverse_index_map")
    TYPE_KEY = "tir.IndexMap"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "initial_indices*", "final_indices", "inverse_index_map~"
    )
    CTOR: ClassVar[tuple[str, ...]] = ("initial_indices", "final_indices", "inverse_index_map")
    AXIS_SEPARATOR = "axis_separator"

    def __init__(
        self,
        initial_indices: Sequence[Var],
        final_indices: Sequence[PrimExpr | int],
        inverse_index_map: IndexMap | None = None,
    ) -> None:
        self.initial_indices: Final = tuple(initial_indices)
        self.final_indices: Final = tuple([as_expr(i) for i in final_indices])
        self.inverse_index_map: Final = inverse_index_map

    @staticmethod
    def from_func(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> IndexMap:
        """The map of a Python function; it must not return axis separators."""
        made, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise TVMError(
                "IndexMap.from_func: the function returns IndexMap.AXIS_SEPARATOR; "
                "legal: from_func_with_separators"
            )
        return made

    @staticmethod
    def from_func_with_separators(
        mapping_function: Callable[..., Any],
        ndim: int | None = None,
        inverse_index_map: Callable[..., Any] | IndexMap | None = None,
        *,
        index_dtype: str = "int64",
    ) -> tuple[IndexMap, list[int]]:
        """The map of a Python function, and where it puts axis separators."""
        args = _arguments_for(mapping_function, ndim, index_dtype)
        result = mapping_function(*args[0], **args[1])
        if not isinstance(result, (list, tuple)):
            raise TypeError(
                f"IndexMap: the function returns a {type(result).__name__}; legal: a list or tuple"
            )
        indices: list[PrimExpr | int] = []
        separators: list[int] = []
        for part in result:
            if isinstance(part, str) and part == IndexMap.AXIS_SEPARATOR:
                separators.append(len(indices))
            elif isinstance(part, (PrimExpr, int)):
                indices.append(part)
            else:
                raise TypeError(
                    f"IndexMap: the function returns {part!r}; legal: PrimExpr, int, "
                    "IndexMap.AXIS_SEPARATOR"
                )
        variables = [*args[0], *args[1].values()]
        typed = [make_const(i, DataType(index_dtype)) if isinstance(i, int) else i for i in indices]
        inverse = inverse_index_map
        if inverse is not None and not isinstance(inverse, IndexMap):
            inverse = IndexMap.from_func(inverse, ndim=len(typed), index_dtype=index_dtype)
        return IndexMap(variables, typed, inverse), separators

    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """True if both maps give the same indices, for all inputs."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        if len(self.final_indices) != len(other_map.final_indices):
            return False
        theirs = other_map.map_indices(list(self.initial_indices))
        analyzer = Analyzer()
        return all(analyzer.can_prove_equal(a, b) for a, b in zip(self.final_indices, theirs))

    def map_indices(
        self, indices: Sequence[PrimExpr | int], analyzer: Analyzer | None = None
    ) -> list[PrimExpr]:
        """The new indices for some old ones."""
        self._require_count(indices)
        prover = Analyzer() if analyzer is None else analyzer
        values = {
            var: _in_type(as_expr(value), var)
            for var, value in zip(self.initial_indices, indices)
        }
        return [prover.simplify(i) for i in substitute(list(self.final_indices), values)]

    def map_ranges(
        self, ranges: Sequence[Range], analyzer: Analyzer | None = None
    ) -> list[Range]:
        """The box of new indices for a box of old ones."""
        self._require_count(ranges)
        prover = Analyzer() if analyzer is None else analyzer
        found: list[Range] = []
        domains = {
            var: Range.from_min_extent(_in_type(rng.min, var), _in_type(rng.extent, var))
            for var, rng in zip(self.initial_indices, ranges)
        }
        for var, dom in domains.items():
            prover.bind(var, dom)
        for index in self.final_indices:
            low, high = _bounds(index, domains, prover)
            size = prover.simplify(high - low + 1)
            found.append(Range.from_min_extent(prover.simplify(low), size))
        return found

    def map_shape(
        self, shape: Sequence[PrimExpr | int], analyzer: Analyzer | None = None
    ) -> list[PrimExpr]:
        """The shape of a buffer in the new layout, padding included."""
        ranges = [Range.from_min_extent(0, as_expr(extent)) for extent in shape]
        mapped = self.map_ranges(ranges, analyzer)
        low = [rng for rng in mapped if not (isinstance(rng.min, IntImm) and rng.min.value == 0)]
        if low:
            raise ShapeError(
                f"IndexMap: a new index starts at {low[0].min}; legal: maps of [0, extent) that "
                "start at zero"
            )
        return [
            make_const(rng.extent.value, as_expr(shape[0]).dtype)
            if isinstance(rng.extent, IntImm) and shape
            else rng.extent
            for rng in mapped
        ]

    def map_tensor(self, arr_src: Tensor) -> Tensor:
        """The tensor in the new layout; padding is zero."""
        import numpy as np

        from tvm.runtime import tensor as make_tensor

        source = arr_src.numpy()
        target = np.zeros([int(d) for d in self.map_shape(list(source.shape))], source.dtype)  # type: ignore[call-overload]
        for place in np.ndindex(*source.shape):
            moved = tuple(int(i) for i in self.map_indices(list(place)))  # type: ignore[call-overload]
            target[moved] = source[place]
        return make_tensor(target, device=arr_src.device)

    def inverse(self, shape: Sequence[Range | PrimExpr | int]) -> IndexMap:
        """The map back, for a map that fills its box without gaps or overlap."""
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        made, padding = self._inverted(_as_ranges(shape), exact=True)
        assert padding is None, "an exact inverse has no padding"
        return made

    def non_surjective_inverse(
        self, shape: Sequence[Range | PrimExpr | int]
    ) -> tuple[IndexMap, PrimExpr]:
        """The map back, and the condition under which a new place is padding."""
        ranges = _as_ranges(shape)
        made, padding = self._inverted(ranges, exact=False)
        return made, make_const(0, DataType("bool")) if padding is None else padding

    def _inverted(self, ranges: Sequence[Range], exact: bool) -> tuple[IndexMap, PrimExpr | None]:
        self._require_count(ranges)
        typed = [
            Range.from_min_extent(_in_type(rng.min, var), _in_type(rng.extent, var))
            for var, rng in zip(self.initial_indices, ranges)
        ]
        domains = dict(zip(self.initial_indices, typed))
        padded = domains if exact else {v: self._padded(v, dom) for v, dom in domains.items()}
        indices = list(self.final_indices)
        outputs = [Var(f"axis{i}", index.dtype) for i, index in enumerate(indices)]
        values = self._solve(indices, outputs, padded)
        if values is None:
            raise TVMError(
                f"IndexMap: {self} is not invertible on the shape "
                f"({', '.join([str(dom.extent) for dom in domains.values()])}); legal: maps in "
                "which each part of each old index occurs exactly once"
                + (" (non_surjective_inverse takes maps that need padding)" if exact else "")
            )
        analyzer = Analyzer()
        for out, dom in zip(outputs, self._output_ranges(padded)):
            analyzer.bind(out, dom)
        result = [analyzer.simplify(values[var]) for var in self.initial_indices]
        padding: PrimExpr | None = None
        for (var, dom), value in zip(domains.items(), result):
            if padded[var] is not dom:
                outside = analyzer.simplify(greater_equal(value, dom.min + dom.extent))
                padding = outside if padding is None else logical_or(padding, outside)
        return IndexMap(outputs, result), padding

    def _output_ranges(self, domains: Mapping[Var, Range]) -> list[Range]:
        return self.map_ranges([domains[var] for var in self.initial_indices])

    def _solve(
        self, indices: list[PrimExpr], outputs: list[Var], domains: Mapping[Var, Range]
    ) -> dict[Var, PrimExpr] | None:
        if all(isinstance(i, Var) for i in indices) and len({*indices}) == len(domains):
            return {var: out for var, out in zip(indices, outputs) if isinstance(var, Var)}
        units = {
            var: dom.min
            for var, dom in domains.items()
            if isinstance(dom.extent, IntImm) and dom.extent.value == 1
        }
        moving = {var: dom for var, dom in domains.items() if var not in units}
        pairs = [
            (i, out)
            for i, out in zip(substitute(indices, units), outputs)
            if any(node in moving for node in walk(i) if isinstance(node, Var))
        ]
        found = detect_iter_map([i for i, _ in pairs], moving, check_level=IterMapLevel.Bijective)
        if not found.indices and pairs:
            return None
        solved = inverse_affine_iter_map(found.indices, [out for _, out in pairs])
        if any(var not in solved for var in moving):
            return None
        return {**units, **{var: solved[var] for var in moving}}

    def _padded(self, var: Var, dom: Range) -> Range:
        """The domain, its extent rounded up so that all splits of the variable come out even."""
        multiple = 1
        for index in self.final_indices:
            for node in walk(index):
                splits = isinstance(node, (FloorDiv, FloorMod)) and isinstance(node.b, IntImm)
                if splits and any(part is var for part in walk(node.a)):
                    multiple = math.lcm(multiple, node.b.value)
        if isinstance(dom.extent, IntImm):
            if dom.extent.value % multiple == 0:
                return dom
            rounded = -(-dom.extent.value // multiple) * multiple
            extent: PrimExpr = make_const(rounded, dom.extent.dtype)
        else:
            if multiple == 1:
                return dom
            extent = (dom.extent + (multiple - 1)) // multiple * multiple
        return Range.from_min_extent(dom.min, extent)

    def _require_count(self, given: Sequence[object]) -> None:
        if len(given) != len(self.initial_indices):
            raise ShapeError(
                f"IndexMap: {len(given)} indices are given to a map of "
                f"{len(self.initial_indices)}: {self}"
            )

    def as_python(self) -> str:
        """The map as a Python lambda."""
        names = ", ".join([var.name for var in self.initial_indices])
        values = ", ".join([str(index) for index in self.final_indices])
        return f"lambda {names}: ({values},)"

    def __str__(self) -> str:
        return self.as_python()

    __repr__ = __str__


def _arguments_for(
    function: Callable[..., Any], ndim: int | None, index_dtype: str
) -> tuple[list[Var], dict[str, Var]]:
    """Variables for the parameters of a function, positional and keyword-only ones."""
    positional: list[Var] = []
    keywords: dict[str, Var] = {}
    star: str | None = None
    for name, param in inspect.signature(function).parameters.items():
        if param.kind in (param.POSITIONAL_ONLY, param.POSITIONAL_OR_KEYWORD):
            positional.append(Var(name, index_dtype))
        elif param.kind is param.VAR_POSITIONAL:
            star = name
        elif param.kind is param.KEYWORD_ONLY:
            keywords[name] = Var(name, index_dtype)
        else:
            raise TVMError(f"IndexMap: the function takes **{name}; legal: named parameters, *args")
    if star is not None:
        if ndim is None:
            raise TVMError("IndexMap: a function with *args needs ndim")
        for i in range(ndim - len(positional) - len(keywords)):
            positional.append(Var(f"{star}_{i}", index_dtype))
    return positional, keywords


def _in_type(value: PrimExpr, var: Var) -> PrimExpr:
    return value if value.dtype is var.dtype else cast(value, var.dtype)


def _as_ranges(shape: Sequence[Range | PrimExpr | int]) -> list[Range]:
    return [s if isinstance(s, Range) else Range.from_min_extent(0, as_expr(s)) for s in shape]


def _bounds(
    index: PrimExpr, domains: Mapping[Var, Range], analyzer: Analyzer
) -> tuple[PrimExpr, PrimExpr]:
    """The least and greatest value of an index over a box."""
    known = analyzer.const_int_bound(index)
    limit = 1 << 62
    if abs(known.min_value) < limit and abs(known.max_value) < limit:
        dtype = index.dtype
        return make_const(known.min_value, dtype), make_const(known.max_value, dtype)
    low, high = _ends(index, domains)
    return low, high


def _ends(expr: PrimExpr, domains: Mapping[Var, Range]) -> tuple[PrimExpr, PrimExpr]:
    """Symbolic bounds of sums, scalings and quotients of variables that start at zero or above."""
    if isinstance(expr, Var) and expr in domains:
        dom = domains[expr]
        return dom.min, dom.min + dom.extent - 1
    if isinstance(expr, FloorMod):
        return make_const(0, expr.dtype), expr.b - 1
    if isinstance(expr, (Min, Max)) or not hasattr(expr, "b"):
        return expr, expr
    (a_low, a_high), (b_low, b_high) = _ends(expr.a, domains), _ends(expr.b, domains)  # type: ignore[attr-defined]
    node = type(expr)
    if node.__name__ == "Sub":
        return a_low - b_high, a_high - b_low
    return _apply(expr, a_low, b_low), _apply(expr, a_high, b_high)


def _apply(expr: PrimExpr, a: PrimExpr, b: PrimExpr) -> PrimExpr:
    table: dict[str, Callable[[PrimExpr, PrimExpr], PrimExpr]] = {
        "Add": lambda x, y: x + y,
        "Mul": lambda x, y: x * y,
        "FloorDiv": lambda x, y: x // y,
    }
    rule = table.get(type(expr).__name__)
    if rule is None:
        raise TVMError(f"IndexMap: the bounds of {expr} cannot be told")
    return rule(a, b)


register_nodes(IndexMap)
