"""Maps between index spaces: layouts of buffers, orders of loops."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

from tvm.arith import Analyzer, ConstIntBound, IterMapLevel, detect_iter_map
from tvm.arith.deep_equal import deep_equal
from tvm.arith.iter_affine_map import inverse_if_any
from tvm.arith.pattern import linear_equation
from tvm.error import CheckError, ShapeError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.node import Field, Node, all_of_type, fields, listed, register_nodes
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenArray

from .expr import (
    Add,
    BinaryOpExpr,
    CmpExpr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    SizeVar,
    Sub,
    Var,
    as_expr,
    make_const,
)
from .functor import StmtExprMutator, substitute, uses_any, uses_var, vars_in, walk
from .index_digits import Digits, digits_of, with_digits
from .index_range import range_of
from .op.arith import (
    cast,
    ceildiv,
    equal,
    floordiv,
    floormod,
    is_one,
    is_zero,
    less,
    logical_and,
    logical_or,
    match_types,
    not_equal,
)

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
    AXIS_SEPARATOR: ClassVar[str] = "axis_separator"

    def __init__(
        self,
        initial_indices: Sequence[Var],
        final_indices: Sequence[PrimExpr | int],
        inverse_index_map: IndexMap | None = None,
    ) -> None:
        self.initial_indices: Final[tuple[Var, ...]] = all_of_type(
            initial_indices, Var, "IndexMap: initial_indices"
        )
        self.final_indices: Final[tuple[PrimExpr, ...]] = FrozenArray(
            [as_expr(i) for i in listed(final_indices, "IndexMap: final_indices")]
        )
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
            raise CheckError(
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
        if isinstance(result, (PrimExpr, int)):
            result = [result]  # one dimension
        if not isinstance(result, (list, tuple)):
            raise TypeError(
                f"IndexMap: the function returns a {type(result).__name__}; legal: an index, "
                "a list or tuple of them"
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

    @explained
    def is_equivalent_to(self, other_map: IndexMap) -> bool:
        """True if both maps give the same indices, for all inputs."""
        if len(self.initial_indices) != len(other_map.initial_indices):
            return False
        if len(self.final_indices) != len(other_map.final_indices):
            return False
        names = [Var(var.name, "int64") for var in self.initial_indices]
        ours, theirs = self.map_indices(names), other_map.map_indices(names)
        analyzer = Analyzer()
        return all(
            analyzer.can_prove_equal(a, cast(b, a.dtype)) for a, b in zip(ours, theirs)
        )

    @explained
    def map_indices(
        self, indices: Sequence[PrimExpr | int], analyzer: Analyzer | None = None
    ) -> list[PrimExpr]:
        """The new indices for some old ones, which keep their types where nothing is computed."""
        self._require_count(indices)
        prover = Analyzer() if analyzer is None else analyzer
        values = _Values(dict(zip(self.initial_indices, [as_expr(value) for value in indices])))
        return [prover.simplify(values.visit_expr(index)) for index in self.final_indices]

    @explained
    def map_ranges(self, ranges: Sequence[Range], analyzer: Analyzer | None = None) -> list[Range]:
        """The box of new indices for a box of old ones; `i % 16` has all its 16 values."""
        self._require_count(ranges)
        prover = Analyzer() if analyzer is None else analyzer
        domains = dict(zip(self.initial_indices, self._typed(ranges)))
        indices = self.final_indices
        digits = digits_of(indices, domains)
        if digits:
            indices = tuple(with_digits(indices, digits))
            domains.update({var: dom for d in digits for var, dom in d.domains().items()})
        for var, dom in domains.items():
            prover.bind(var, dom)
        found = [
            domains.get(index) or _padded_range_of(index, domains)  # type: ignore[call-overload]
            for index in indices
        ]
        if None in found:
            found = self._strided_ranges(ranges, found, prover)
        return [
            rng or range_of(index, domains, prover) for rng, index in zip(found, indices)
        ]

    def _strided_ranges(
        self, ranges: Sequence[Range], found: list[Range | None], analyzer: Analyzer
    ) -> list[Range | None]:
        """The ranges of multiples, whose last step counts as a whole: `i * 2` has room for 16."""
        domains = dict(zip(self.initial_indices, self._typed(ranges)))
        maps = detect_iter_map(
            self.final_indices, domains, check_level=IterMapLevel.NoCheck,
            simplify_trivial_iterators=False,
        )  # fmt: skip
        made = list(found)
        for at, total in enumerate(maps.indices):
            if made[at] is not None or len(total.args) != 1:
                continue
            scale = total.args[0].scale
            if not isinstance(scale, IntImm) or scale.value > 1:
                extent = analyzer.simplify(total.args[0].extent * scale)
                made[at] = Range.from_min_extent(total.base, extent)
        return made

    def _typed(self, ranges: Sequence[Range]) -> list[Range]:
        """The ranges in the types of the variables."""
        return [
            Range.from_min_extent(_in_type(rng.min, var), _in_type(rng.extent, var))
            for var, rng in zip(self.initial_indices, ranges)
        ]

    @explained
    def map_shape(
        self, shape: Sequence[PrimExpr | int], analyzer: Analyzer | None = None
    ) -> list[PrimExpr]:
        """The shape of a buffer in the new layout, padding included."""
        ranges = [Range.from_min_extent(0, as_expr(extent)) for extent in shape]
        prover = Analyzer() if analyzer is None else analyzer
        for rng in ranges:
            if isinstance(rng.extent, Var):  # an extent is never negative
                prover.update(rng.extent, ConstIntBound(0, ConstIntBound.POS_INF))
        mapped = self.map_ranges(ranges, prover)
        if any(not _starts_at_zero(rng) for rng in mapped):
            mapped = self._mapped_by_names([rng.extent for rng in ranges]) or mapped
        low = [rng for rng in mapped if not _starts_at_zero(rng)]
        if low:
            raise ShapeError(
                f"IndexMap: a new index starts at {low[0].min}; legal: maps of [0, extent) that "
                "start at zero"
            )
        return [cast(rng.extent, ranges[0].extent.dtype) if shape else rng.extent for rng in mapped]

    def _mapped_by_names(self, extents: Sequence[PrimExpr]) -> list[Range] | None:
        """The new ranges with a symbol instead of each computed extent, here and in the indices.

        An index `i * e + j` with j below e starts at zero whatever e is.
        """
        names = _Named()
        sizes = [names.named(extent) for extent in extents]
        if not names.values:
            return None
        prover = Analyzer()
        for name in names.values:
            prover.update(name, ConstIntBound(0, ConstIntBound.POS_INF))
        plain = IndexMap(self.initial_indices, [names.visit_expr(i) for i in self.final_indices])
        mapped = plain.map_ranges([Range.from_min_extent(0, size) for size in sizes], prover)
        return [
            Range.from_min_extent(rng.min, substitute(rng.extent, names.values)) for rng in mapped
        ]

    @explained
    def map_tensor(self, arr_src: Tensor) -> Tensor:
        """The tensor in the new layout; padding is zero."""
        import numpy as np

        from tvm.runtime import tensor as make_tensor

        source = arr_src.numpy()
        shape = [int(d) for d in self.map_shape(list(source.shape))]  # type: ignore[call-overload]
        target = np.zeros(shape, source.dtype)
        grids = np.meshgrid(*[np.arange(n) for n in source.shape], indexing="ij")
        values = dict(zip(self.initial_indices, grids))
        moved = [np.broadcast_to(_value(i, values), source.shape) for i in self.final_indices]
        target[tuple(moved)] = source
        return make_tensor(target, device=arr_src.device)

    @explained
    def inverse(self, shape: Sequence[Range | PrimExpr | int]) -> IndexMap:
        """The map back, for a map that fills its box without gaps or overlap."""
        if self.inverse_index_map is not None:
            return self.inverse_index_map
        made, padding = self._inverted(_as_ranges(shape), exact=True)
        assert padding is None, "an exact inverse has no padding"
        return made

    @explained
    def non_surjective_inverse(
        self, shape: Sequence[Range | PrimExpr | int]
    ) -> tuple[IndexMap, PrimExpr]:
        """The map back, and the condition under which a new index is padding."""
        ranges = _as_ranges(shape)
        made, padding = self._inverted(ranges, exact=False)
        return made, make_const(0, DataType("bool")) if padding is None else padding

    def _inverted(self, ranges: Sequence[Range], exact: bool) -> tuple[IndexMap, PrimExpr | None]:
        self._require_count(ranges)
        domains = dict(zip(self.initial_indices, self._typed(ranges)))
        digits = [] if exact else digits_of(self.final_indices, domains)
        if digits:
            return self._inverted_by_digits(digits, domains)
        shifts = {v: _Shift(v, dom, self.final_indices, exact) for v, dom in domains.items()}
        moved = {var: shift.value for var, shift in shifts.items()}
        prover = Analyzer()
        for shift in shifts.values():
            prover.bind_domain(shift.var, shift.domain)
        indices = [prover.simplify(i) for i in substitute(list(self.final_indices), moved)]
        outputs = [Var(f"axis{i}", index.dtype) for i, index in enumerate(self.final_indices)]
        solved = _solve(indices, outputs, {s.var: s.domain for s in shifts.values()})
        if solved is None:
            raise CheckError(
                f"IndexMap: {self} is not invertible on the shape "
                f"({', '.join([str(dom.extent) for dom in domains.values()])}); legal: maps in "
                "which each part of each old index occurs exactly once"
                + (" (non_surjective_inverse takes maps that need padding)" if exact else "")
            )
        values = {s.var: solved[s.var] for s in shifts.values()}
        plain, analyzer = Analyzer(), Analyzer()
        whole = values if exact else _with_quotients(values, self.final_indices, indices, outputs)
        result = [plain.simplify(substitute(moved[var], whole)) for var in self.initial_indices]
        box = {s.var: s.domain for s in shifts.values()}
        for out, index in zip(outputs, indices):
            analyzer.bind_domain(out, range_of(index, box, prover))
        padding: PrimExpr | None = None
        for var in dict.fromkeys(v for v in vars_in(*self.final_indices) if v in shifts):
            shift = shifts[var]
            outside = shift.padding(values[shift.var], analyzer)
            if outside is not None:
                padding = outside if padding is None else logical_or(padding, outside)
        return IndexMap(outputs, result), padding

    def _inverted_by_digits(
        self, digits: Sequence[Digits], domains: Mapping[Var, Range]
    ) -> tuple[IndexMap, PrimExpr | None]:
        """The same of a map in which variables are divided by symbols."""
        split = {d.var: d for d in digits}
        boxes = [
            (split[var].domains() if var in split else {var: dom}) for var, dom in domains.items()
        ]
        box = {var: dom for part in boxes for var, dom in part.items()}
        indices = with_digits(self.final_indices, digits)
        made, padding = IndexMap(list(box), indices)._inverted(list(box.values()), exact=False)
        values = dict(zip(box, made.final_indices))
        for digit in digits:
            more = digit.padding(values)
            if more is not None:
                padding = more if padding is None else logical_or(padding, more)
        back = [split[v].value(values) if v in split else values[v] for v in domains]
        return IndexMap(made.initial_indices, back), padding

    def _require_count(self, given: Sequence[object]) -> None:
        if len(given) != len(self.initial_indices):
            raise ShapeError(
                f"IndexMap: {len(given)} indices are given to a map of "
                f"{len(self.initial_indices)}: {self}"
            )

    def with_samples(self, values: Mapping[Var, PrimExpr | int]) -> IndexMap:
        """The map with other values for variables that are none of its own indices."""
        made = [substitute(index, values) for index in self.final_indices]
        if all(new is old for new, old in zip(made, self.final_indices)):
            return self
        return IndexMap(list(self.initial_indices), made, self.inverse_index_map)

    def samples(self) -> list[Var]:
        """The variables over which the map is left open, such as what a schedule samples."""
        own = set(self.initial_indices)
        return [name for name in dict.fromkeys(vars_in(*self.final_indices)) if name not in own]

    def as_python(self) -> str:
        """The map as a Python lambda that gives a tuple, with a comma at its end."""
        names = ", ".join([var.name for var in self.initial_indices])
        values = ", ".join([str(index) for index in self.final_indices])
        return f"lambda {names}: ({values},)"


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
            raise CheckError(
                f"IndexMap: the function takes **{name}; legal: named parameters, *args"
            )
    if star is not None:
        if ndim is None:
            raise CheckError("IndexMap: a function with *args needs ndim")
        for i in range(ndim - len(positional) - len(keywords)):
            positional.append(Var(f"{star}_{i}", index_dtype))
    return positional, keywords


class _Values(StmtExprMutator):
    """Puts values for variables; where those have another type, the wider one is computed with."""

    def __init__(self, values: Mapping[Var, PrimExpr]) -> None:
        super().__init__()
        self._values: Final = values

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_binary_(self, op: BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        a, b = match_types(a, b)
        return type(op)(a, b, op.span)

    def visit_cmp_(self, op: CmpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if a is op.a and b is op.b:
            return op
        a, b = match_types(a, b)
        return type(op)(a, b, op.span)


def _in_type(value: PrimExpr, var: Var) -> PrimExpr:
    return value if value.dtype is var.dtype else cast(value, var.dtype)


def _as_ranges(shape: Sequence[Range | PrimExpr | int]) -> list[Range]:
    return [s if isinstance(s, Range) else Range.from_min_extent(0, as_expr(s)) for s in shape]


def _padded_range_of(index: PrimExpr, domains: Mapping[Var, Range]) -> Range | None:
    """The range of a remainder where the old indices are too few to fill it; None for others.

    The old range is rounded up to what the divisors divide: i % 16 over 14 values is 16 wide.
    """
    if not any(isinstance(node, FloorMod) for node in walk(index)):
        return None
    shifts = {
        var: _Shift(var, dom, [index], exact=False)
        for var, dom in domains.items()
        if isinstance(dom.min, IntImm) and isinstance(dom.extent, IntImm)
    }
    moved = {var: shift.value for var, shift in shifts.items()}
    box = {var: dom for var, dom in domains.items() if var not in shifts}
    box.update({shift.var: shift.domain for shift in shifts.values()})
    prover = Analyzer()
    for var, dom in box.items():
        prover.bind(var, dom)
    return range_of(prover.simplify(substitute(index, moved)), box, prover)


def _solve(
    indices: Sequence[PrimExpr], outputs: Sequence[Var], domains: Mapping[Var, Range]
) -> dict[Var, PrimExpr] | None:
    """The variables in terms of the outputs; None where the map has no inverse."""
    units: dict[Var, PrimExpr] = {
        var: dom.min
        for var, dom in domains.items()
        if isinstance(dom.extent, IntImm) and dom.extent.value == 1
    }
    named = {i: out for i, out in zip(indices, outputs) if isinstance(i, Var) and i in units}
    moving = {var: dom for var, dom in domains.items() if var not in units}
    plain = [i for i in indices if isinstance(i, Var) and i in moving]
    if len(plain) == len(moving) == len({*plain}):
        found = {var: out for var, out in zip(indices, outputs) if isinstance(var, Var)}
        return {**units, **named, **{var: found[var] for var in moving}}
    pairs = [
        (i, out) for i, out in zip(substitute(list(indices), units), outputs) if uses_any(i, moving)
    ]
    maps = detect_iter_map([i for i, _ in pairs], moving, check_level=IterMapLevel.Bijective)
    if not maps.indices and pairs:
        return None
    solved = inverse_if_any(maps.indices, [out for _, out in pairs])
    if solved is None or any(var not in solved for var in moving):
        return None
    return {**units, **named, **{var: solved[var] for var in moving}}


def _with_quotients(
    values: Mapping[Var, PrimExpr],
    given: Sequence[PrimExpr],
    simple: Sequence[PrimExpr],
    outputs: Sequence[Var],
) -> dict[Var, PrimExpr]:
    """The values with the outputs for quotients that are always zero: i // 5 for i < 5."""
    found = dict(values)
    for index, reached, out in zip(given, simple, outputs):
        match index:
            case FloorDiv(a=Var() as var, b=IntImm() as step) if is_zero(reached) and var in found:
                found[var] = out * step + found[var]
    return found


class _Shift:
    """A variable in terms of one that starts at zero and whose extent all divisors divide.

    `left` indices lie before the first value, and the extent is rounded up: what is added on both
    sides is padding.
    """

    def __init__(self, var: Var, dom: Range, indices: Sequence[PrimExpr], exact: bool) -> None:
        self._extent: Final = dom.extent
        divisors, offsets = ([], []) if exact else _divisions(var, dom, indices)
        self._multiple: Final = math.lcm(1, *divisors)
        left = {offset % self._multiple for offset in offsets}
        self._left: Final = left.pop() if len(left) == 1 else 0
        self.var: Final = var if self._left == 0 else var.copy_with_suffix("_padded")
        self.value: Final[PrimExpr] = var if self._left == 0 else self.var + (dom.min - self._left)
        start = dom.min if self._left == 0 else make_const(0, var.dtype)
        total = dom.extent + self._left
        rounded = Analyzer().simplify(ceildiv(total, self._multiple) * self._multiple)
        self.domain: Final = Range.from_min_extent(start, total if exact else rounded)
        self._end: Final[PrimExpr] = total
        self._start: Final = start

    def padding(self, value: PrimExpr, analyzer: Analyzer) -> PrimExpr | None:
        """The condition under which an index lies before or behind the values; None if never."""
        multiple = self._multiple
        if multiple == 1:
            return None
        offset = value - self._start
        block = analyzer.simplify(floordiv(offset, multiple))
        within = analyzer.simplify(floormod(offset, multiple))
        found: PrimExpr | None = None
        if self._left:
            found = _both(analyzer.simplify(equal(block, 0)), less(within, self._left))
        added = as_expr(not_equal(floormod(self._end, -multiple), 0))
        if isinstance(analyzer.simplify(added), IntImm):
            added = analyzer.simplify(added)
        if not is_zero(added):
            last = analyzer.simplify(equal(block, floordiv(self._end, multiple)))
            edge = analyzer.simplify(floormod(self._end, multiple))
            # a single padded index is compared as equal; more stay a bound of the whole remainder
            one = isinstance(edge, IntImm) and edge.value == multiple - 1
            behind = _both(added, _both(last, equal(within, edge) if one else edge <= within))
            found = behind if found is None else logical_or(found, behind)
        return found


def _both(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return b if is_one(a) else logical_and(a, b)


def _divisions(var: Var, dom: Range, indices: Sequence[PrimExpr]) -> tuple[list[int], list[int]]:
    """The literals by which sums of the variable are divided, and what is added to it there."""
    analyzer = Analyzer()
    divisors: list[int] = []
    offsets: list[int] = []
    for index in indices:
        for node in walk(index):
            if not isinstance(node, (FloorDiv, FloorMod)) or not isinstance(node.b, IntImm):
                continue
            if not uses_var(node.a, var):
                continue
            divisors.append(node.b.value)
            linear = linear_equation(node.a, [var])
            if linear and is_one(linear[0]):
                start = analyzer.simplify(linear[1] + dom.min)
                if isinstance(start, IntImm):
                    offsets.append(start.value)
    return divisors, offsets


def _value(expr: PrimExpr, values: Mapping[Var, Any]) -> Any:
    """An index for arrays of values of the variables."""
    if isinstance(expr, Var):
        return values[expr]
    if isinstance(expr, IntImm):
        return expr.value
    rule = _NUMPY.get(type(expr))
    if rule is None:
        raise CheckError(
            f"IndexMap.map_tensor: {expr} cannot be computed; legal: integer arithmetic"
        )
    return rule(_value(expr.a, values), _value(expr.b, values))  # type: ignore[attr-defined]


_NUMPY: Final[dict[type, Callable[[Any, Any], Any]]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: lambda a, b: a * (a <= b) + b * (a > b),
    Max: lambda a, b: a * (a >= b) + b * (a < b),
}


register_nodes(IndexMap)


def _starts_at_zero(rng: Range) -> bool:
    return isinstance(rng.min, IntImm) and rng.min.value == 0


class _Named(StmtExprMutator):
    """Replaces computed extents, wherever they occur, by symbols."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[Var, PrimExpr] = {}

    def named(self, extent: PrimExpr) -> PrimExpr:
        """A symbol for a computed extent; numbers and variables stay."""
        if isinstance(extent, (IntImm, Var)):
            return extent
        for name, value in self.values.items():
            if deep_equal(value, extent):
                return name
        name = SizeVar("extent", extent.dtype)
        self.values[name] = extent
        return name

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        if not isinstance(expr, (IntImm, Var)):
            for name, value in self.values.items():
                if deep_equal(value, expr):
                    return name
        return super().visit_expr(expr)
