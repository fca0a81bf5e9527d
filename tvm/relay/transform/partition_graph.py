"""Regions for outside compilers as functions of the module.

    compiler_end(nn.relu(compiler_begin(%x, "dnnl")), "dnnl")
    ->
    @tvmgen_default_dnnl_main_0(%x)
    def @tvmgen_default_dnnl_main_0(%dnnl_0_i0, Compiler="dnnl", ...) { nn.relu(%dnnl_0_i0) }

Marks of "default" disappear. A region with several results gives a tuple; constants that come in
are bound to its function, unless that is not wanted.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.analysis.annotated_regions import (
    AnnotatedRegion,
    AnnotatedRegionSet,
    is_annotation,
)
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.annotation import compiler_end
from tvm.relay.traverse import transform

_DEFAULT: Final = "default"


@declare_module_pass("PartitionGraph", opt_level=0)
def PartitionGraph(
    mod: IRModule, ctx: PassContext, mod_name: str = "default", bind_constants: bool = True
) -> IRModule:
    """The module with a function for each region."""
    from .infer_type import InferType

    mod = InferType()(mod)
    made: dict[Any, Any] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function) and "Compiler" not in func.attrs:
            plain = InferType()(mod.with_functions({**mod.functions, var: _prepared(func)}))
            typed = plain[var]
            assert isinstance(typed, Function), "a function stays one"
            split = _Partition(typed, mod_name, var.name_hint, bind_constants)
            made[var] = transform(typed, split.rule)
            made.update(split.functions)
        else:
            made[var] = func
    return InferType()(mod.with_functions(made))


def _prepared(func: Function) -> Function:
    """Without marks of the default target, and with ends inside of tuples."""
    begin, end = _marks()

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (is_annotation(new, begin) or is_annotation(new, end)):
            return new
        assert isinstance(new, Call), "marks are calls"
        target = str(new.attrs.compiler)  # type: ignore[union-attr]
        value = new.args[0]
        if target == _DEFAULT:
            return value
        if is_annotation(new, end) and isinstance(value, Tuple):
            return Tuple([compiler_end(field, target) for field in value.fields], value.span)
        return new

    made = transform(func, rule)
    assert isinstance(made, Function), "a function stays one"
    return made


def _marks() -> tuple[Op, Op]:
    return Op.get("annotation.compiler_begin"), Op.get("annotation.compiler_end")


class _Partition:
    """Takes the regions out of one function."""

    def __init__(self, func: Function, mod_name: str, name: str, bind: bool) -> None:
        self.begin, self.end = _marks()
        self.regions = AnnotatedRegionSet(func, self.begin, self.end)
        self.mod_name, self.name, self.bind = mod_name, name, bind
        self.functions: dict[GlobalVar, Function] = {}
        self._new: dict[int, RelaxExpr] = {}  # what stands before each begin, rewritten
        self._calls: dict[int, RelaxExpr] = {}

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if is_annotation(old, self.begin) and isinstance(new, Call):
            self._new[id(old)] = new.args[0]
            return new
        if not is_annotation(old, self.end):
            return new
        region = self.regions.get_region(old)
        assert region is not None, "each end belongs to a region"
        return self._result(region, old)

    def _result(self, region: AnnotatedRegion, end: RelaxExpr) -> RelaxExpr:
        outs = _once([out.args[0] for out in region.rets])  # type: ignore[attr-defined]
        if region.id not in self._calls:
            self._calls[region.id] = self._call(region, outs)
        whole = self._calls[region.id]
        if len(outs) == 1:
            return whole
        value = end.args[0]  # type: ignore[attr-defined]
        return TupleGetItem(whole, next(at for at, out in enumerate(outs) if out is value))

    def _call(self, region: AnnotatedRegion, outs: list[RelaxExpr]) -> RelaxExpr:
        params: list[Var] = []
        args: list[RelaxExpr] = []
        known: dict[int, RelaxExpr] = {}
        by_source: dict[int, RelaxExpr] = {}
        for at, begin in enumerate(region.args):
            source = begin.args[0]  # type: ignore[attr-defined]
            if id(source) not in by_source:
                if self.bind and isinstance(source, Constant):
                    by_source[id(source)] = source
                else:
                    name = f"{region.target}_{region.id}_i{at}"
                    params.append(Var(name, source.checked_type))
                    args.append(self._source(begin))
                    by_source[id(source)] = params[-1]
            known[id(begin)] = by_source[id(source)]
        body: RelaxExpr = outs[0] if len(outs) == 1 else Tuple(outs)
        body = transform(body, lambda old, new: new, known)
        plain = re.sub(r"\W", "_", f"{self.mod_name}_{region.target}_{self.name}_{region.id}")
        symbol = f"tvmgen_{plain}"
        attrs = {"Compiler": region.target, "Primitive": 1, "Inline": 1, "global_symbol": symbol}
        var = GlobalVar(symbol)
        self.functions[var] = Function(params, body, None, None, attrs)
        return Call(var, args)

    def _source(self, begin: RelaxExpr) -> RelaxExpr:
        """What comes in, rewritten; it may be the result of another region."""
        if id(begin) in self._new:
            return self._new[id(begin)]
        source: RelaxExpr = begin.args[0]  # type: ignore[attr-defined]
        return transform(source, self.rule)


def _once(exprs: list[RelaxExpr]) -> list[RelaxExpr]:
    found: list[RelaxExpr] = []
    for expr in exprs:
        if not any(expr is known for known in found):
            found.append(expr)
    return found
