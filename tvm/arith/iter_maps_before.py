"""Iteration maps that were read before: the same sums of other variables are read the same way.

    i * 8 + j over i < 4, j < 8        then        x * 8 + y over x < 4, y < 8

Each split and each fusion of a schedule asks for the maps of all blocks below, of which most are as
they were; a search asks for those of thousands of schedules that differ in their tiles. Results do
not depend on what was remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tvm.ir.expr import PrimExpr, Range
from tvm.tir import expr as e
from tvm.tir.functor import vars_in, walk

from .deep_equal import deep_equal
from .simplified_before import NAMEABLE, append_tree, renamed

Key = tuple[object, ...]
Maps = list[PrimExpr]
Read = Callable[[Maps, Mapping[e.Var, Range]], Maps | None]
MAX_RESULTS = 20_000
_results: dict[Key, tuple[list[e.Var], list[PrimExpr | None] | None]] = {}


def clear() -> None:
    """Forget all maps."""
    _results.clear()


def apart(indices: Maps, iters: Mapping[e.Var, Range]) -> list[list[int]]:
    """The positions of the indices, together where they share variables."""
    groups: list[tuple[list[int], set[e.Var]]] = []
    for at, index in enumerate(indices):
        own = {var for var in vars_in(index) if var in iters}
        positions = [at]
        rest: list[tuple[list[int], set[e.Var]]] = []
        for group in groups:
            if own.isdisjoint(group[1]):
                rest.append(group)
            else:
                positions += group[0]
                own |= group[1]
        groups = [*rest, (sorted(positions), own)]
    return [positions for positions, _ in groups]


def is_static(iters: Mapping[e.Var, Range]) -> bool:
    """All ranges are numbers: what is not used then says nothing about what is."""
    return all(type(r.min) is e.IntImm and type(r.extent) is e.IntImm for r in iters.values())


def read(
    indices: Maps, iters: Mapping[e.Var, Range], predicate: PrimExpr, how: Key, make: Read
) -> Maps | None:
    """What `make` gives for the indices and those of the variables that occur; None if it fails.

    `how` is what `make` depends on besides. The ranges are numbers.
    """
    numbers: dict[e.Var, int] = {}
    parts: list[object] = [how]
    nameable = True
    for expr in (*indices, predicate):
        nameable = nameable and append_tree(parts, numbers, expr)
        parts.append(None)
    if not nameable:
        used = set(vars_in(*indices, predicate))
        return make(indices, {var: dom for var, dom in iters.items() if var in used})
    for var in numbers:
        dom = iters.get(var)
        parts += (type(var), var.dtype)
        if dom is not None:
            parts += (*_number(dom.min), *_number(dom.extent))
    used_iters = {var: dom for var, dom in iters.items() if var in numbers}
    parts += [numbers[var] for var in used_iters]  # in the order of the loops
    key = tuple(parts)
    found = _results.get(key)
    if found is None:
        made = make(indices, used_iters)
        _note(key, list(numbers), indices, made)
        return made
    variables, results = found
    if results is None:
        return None
    names = {id(old): new for old, new in zip(variables, numbers)}
    return [
        index if result is None else renamed(result, names)
        for index, result in zip(indices, results)
    ]


def _number(end: PrimExpr) -> tuple[object, int]:
    assert isinstance(end, e.IntImm), "static ranges"
    return end.dtype, end.value


def _note(
    key: Key, variables: list[e.Var], indices: Sequence[PrimExpr], made: Maps | None
) -> None:
    """Remember maps; those that are as they were are kept as None."""
    results: list[PrimExpr | None] | None = None
    if made is not None:
        results = [
            None if new is old or deep_equal(new, old) else new for old, new in zip(indices, made)
        ]
        changed = [new for new in results if new is not None]
        if not all(type(node) in NAMEABLE for new in changed for node in walk(new)):
            return
    if len(_results) >= MAX_RESULTS:
        _results.clear()
    _results[key] = (variables, results)
