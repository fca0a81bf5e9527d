"""Regions of a program between `compiler_begin` and `compiler_end`, and which of them are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.expr import Call
from tvm.relay.traverse import children, post_order


class AnnotatedRegion:
    """The expressions of a region; `args` are where values come in, `rets` where they leave.

    Its `id` is the number of its first `compiler_begin` among all, in the order of evaluation.
    """

    def __init__(self, index: int, target: str) -> None:
        self.id = index
        self.target = target
        self.nodes: list[RelaxExpr] = []
        self.args: list[RelaxExpr] = []
        self.rets: list[RelaxExpr] = []


def is_annotation(expr: RelaxExpr, op: Op) -> bool:
    """True for a call of a mark."""
    return isinstance(expr, Call) and expr.op is op


def inner_parts(expr: RelaxExpr) -> Sequence[RelaxExpr]:
    """What a value is computed from in the same scope."""
    return expr.args if isinstance(expr, Call) else children(expr)


class AnnotatedRegionSet:
    """All regions of an expression."""

    def __init__(self, expr: RelaxExpr, region_begin_op: Op, region_end_op: Op) -> None:
        self.begin_op = region_begin_op
        self.end_op = region_end_op
        self.regions: list[AnnotatedRegion] = []
        self._of: dict[int, AnnotatedRegion] = {}
        order = list(post_order(expr))
        begins = [node for node in order if is_annotation(node, region_begin_op)]
        self._number = {id(node): at for at, node in enumerate(begins)}
        for node in order:
            if is_annotation(node, region_end_op):
                self._add(node)

    def __len__(self) -> int:
        return len(self.regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self.regions)

    def get_region(self, expr: RelaxExpr) -> AnnotatedRegion | None:
        """The region that an expression stands in; None outside of all."""
        return self._of.get(id(expr))

    def _add(self, end: RelaxExpr) -> None:
        """The region that ends here, or one that ends elsewhere too."""
        target = str(end.attrs.compiler)  # type: ignore[attr-defined]
        found: list[RelaxExpr] = [end]
        ins: list[RelaxExpr] = []
        shared: AnnotatedRegion | None = None
        stack, seen = [end.args[0]], {id(end)}  # type: ignore[attr-defined]
        while stack:
            expr = stack.pop()
            if id(expr) in seen:
                continue
            seen.add(id(expr))
            if is_annotation(expr, self.end_op):
                raise TVMError(
                    message(
                        "regions: a region ends inside of another one",
                        found=str(expr)[:200],
                        legal="compiler_begin between two regions",
                    )
                )
            known = self._of.get(id(expr))
            if known is not None:
                shared = self._joined(shared, known)
                continue
            found.append(expr)
            if is_annotation(expr, self.begin_op):
                ins.append(expr)
                continue
            stack.extend(reversed(inner_parts(expr)))
        region = shared
        if region is None:
            numbers = [self._number[id(begin)] for begin in ins]
            without = len(self._number) + len(self.regions)  # a constant alone
            region = AnnotatedRegion(min(numbers, default=without), target)
            self.regions.append(region)
        region.nodes += found
        region.args += [begin for begin in ins if begin not in region.args]
        region.rets.append(end)
        for expr in found:
            self._of[id(expr)] = region

    def _joined(self, a: AnnotatedRegion | None, b: AnnotatedRegion) -> AnnotatedRegion:
        if a is not None and a is not b:
            self.merge(b, a)
        return b if a is None else a

    def merge(self, source: AnnotatedRegion, into: AnnotatedRegion) -> None:
        """Make two regions one; marks between them are inside now."""
        into.nodes = source.nodes + into.nodes
        for expr in source.nodes:
            self._of[id(expr)] = into
        into.args = source.args + [
            begin for begin in into.args
            if self._of.get(id(begin.args[0])) is not into and begin not in source.args  # type: ignore[attr-defined]
        ]  # fmt: skip
        into.rets = source.rets + into.rets
        self.regions.remove(source)
