"""Join neighbouring regions of one target into larger ones.

    end(relu(begin(end(abs(begin(%x))))))    ->    end(relu(abs(begin(%x))))

Two regions stay apart where a third one, or what is in none, lies between them: joined they would
need each other.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.analysis.annotated_regions import (
    AnnotatedRegion,
    AnnotatedRegionSet,
    inner_parts,
    is_annotation,
)
from tvm.relay.expr import Call
from tvm.relay.traverse import transform

from .function_pass import expr_pass


@expr_pass("MergeCompilerRegions", opt_level=0)
def MergeCompilerRegions(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function with as few regions as its dependences allow."""
    begin, end = Op.get("annotation.compiler_begin"), Op.get("annotation.compiler_end")
    regions = AnnotatedRegionSet(func, begin, end)
    _Merger(regions).run()

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (is_annotation(old, begin) and isinstance(old, Call) and isinstance(new, Call)):
            return new
        source = new.args[0]
        inside = regions.get_region(old) is regions.get_region(old.args[0])
        if inside and is_annotation(source, end) and isinstance(source, Call):
            return source.args[0]
        return new

    return transform(func, rule)


class _Merger:
    """Regions in the order of evaluation; each takes in the ones above that it may."""

    def __init__(self, regions: AnnotatedRegionSet) -> None:
        self.regions = regions
        # regions between which and this one another target computes
        self.apart: dict[int, set[int]] = {region.id: set() for region in regions.regions}

    def run(self) -> None:
        for region in list(self.regions.regions):
            if region in self.regions.regions:
                self._take(region)

    def _take(self, region: AnnotatedRegion) -> None:
        above = self._above(region)
        apart = self.apart[region.id]
        for parent in self._beyond(region):
            apart |= {parent.id, *self.apart[parent.id]}
        for parent in above:
            apart |= self.apart[parent.id]
        for parent in above:
            if parent.target != region.target:
                apart.add(parent.id)
            elif parent.id not in apart:
                self.regions.merge(parent, region)
                for known in self.apart.values():
                    if parent.id in known:
                        known.discard(parent.id)
                        known.add(region.id)

    def _beyond(self, region: AnnotatedRegion) -> list[AnnotatedRegion]:
        """The regions that this one needs by way of what stands in none."""
        found: list[AnnotatedRegion] = []
        sources = [begin.args[0] for begin in region.args]  # type: ignore[attr-defined]
        stack = [s for s in sources if self.regions.get_region(s) is None]
        seen = {id(expr) for expr in stack}
        while stack:
            for part in inner_parts(stack.pop()):
                held = self.regions.get_region(part)
                if held is not None:
                    found += [held] if held not in found else []
                elif id(part) not in seen:
                    seen.add(id(part))
                    stack.append(part)
        return found

    def _above(self, region: AnnotatedRegion) -> list[AnnotatedRegion]:
        found: list[AnnotatedRegion] = []
        for begin in region.args:
            parent = self.regions.get_region(begin.args[0])  # type: ignore[attr-defined]
            if parent is not None and parent is not region and parent not in found:
                found.append(parent)
        return found
