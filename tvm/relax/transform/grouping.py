"""Groups of bindings made functions of their own: what fusion of all kinds shares.

    lv = f(x)                                    def fused_f_g(x):
    gv = g(lv)             [{lv, gv}]   ->           lv = f(x); gv = g(lv)
                                                 gv = fused_f_g(x)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.op import Op
from tvm.ir.structural import structural_digest, structural_equal
from tvm.relax.analysis.variables import used_symbolic_vars
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import (
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
)
from tvm.relax.transform.inplace_results import order_edges
from tvm.relax.transform.rebuild import (
    replace_operands,
    sub_exprs,
    vars_needed,
    with_bindings,
)
from tvm.support.naming import NameTable

PRIMITIVE: Final = {"Primitive": True}


class Group:
    """Bindings, by their positions in the block, that become one function with these attributes.

    Constants become parameters, unless they are kept inside.
    """

    __slots__ = ("attrs", "keep_constants", "members")

    def __init__(
        self,
        members: Sequence[int],
        attrs: Mapping[str, object] | None = None,
        keep_constants: bool = False,
    ) -> None:
        self.members: Final = sorted(members)
        self.attrs: Final = dict(PRIMITIVE if attrs is None else attrs)
        self.keep_constants: Final = keep_constants


class GroupFunctions:
    """The functions made of groups; equal groups share one. `renamed` tells what variables the
    calls of them are bound to, by those that they were before."""

    def __init__(self, taken: list[str]) -> None:
        self.functions: dict[GlobalVar, BaseFunc] = {}
        self.renamed: dict[Var, Var] = {}
        self._names = NameTable(taken)
        self._vars = NameTable()
        self._by_digest: dict[str, GlobalVar] = {}

    def add(self, name: str, group: Function) -> GlobalVar:
        """The variable of the group, or of an equal one."""
        digest = structural_digest(group)
        var = self._by_digest.get(digest)
        if var is None or not structural_equal(self.functions[var], group):
            group = copy_with_new_vars(group)  # a function has symbols of its own
            var = GlobalVar(self._names.fresh(name, ""), group.struct_info_)
            self._by_digest[digest] = var
            self.functions[var] = group
        return var

    def renewed(self, old: Var) -> Var:
        """The variable that takes the place of a result."""
        inside = isinstance(old, DataflowVar)
        new = self.fresh_var(old.struct_info_, DataflowVar if inside else Var)
        self.renamed[old] = new
        return new

    def fresh_var(self, info: StructInfo | None, kind: type[Var] = DataflowVar) -> Var:
        """A variable of a name that no other has that was made here."""
        return kind(self._vars.fresh("gv" if kind is Var else "lv", ""), info)


class Units:
    """The bindings of a dataflow block, some of them joined; joins that make a circle are seen."""

    def __init__(self, block: BindingBlock) -> None:
        index = {binding.var: i for i, binding in enumerate(block.bindings)}
        count = len(block.bindings)
        self.needs: list[list[int]] = []
        self.readers: list[list[int]] = [[] for _ in range(count)]
        for i, binding in enumerate(block.bindings):
            needs = [index[v] for v in dict.fromkeys(vars_needed(binding.value)) if v in index]
            self.needs.append(needs)
            for source in needs:
                self.readers[source].append(i)
        self.earlier: list[list[int]] = [[] for _ in range(count)]  # what else stands before one
        self.later: list[list[int]] = [[] for _ in range(count)]
        for i, j in [*order_edges(block.bindings), *_size_edges(block)]:
            self.earlier[j].append(i)
            self.later[i].append(j)
        self.unit: list[list[int]] = [[i] for i in range(count)]
        self._joined: dict[int, list[int]] = {}  # by their first members

    def joined(self, members: Sequence[int]) -> list[int]:
        """The members, and all that they are joined with."""
        return sorted({i for member in members for i in self.unit[member]})

    def can_join(self, members: Sequence[int]) -> bool:
        """True if nothing outside needs one of them and is needed by another."""
        whole = set(self.joined(members))
        last = max(whole)
        # beyond the last member only a unit that reaches back can close a circle
        crossing = any(
            unit[0] < last < unit[-1] and unit[0] not in whole for unit in self._joined.values()
        )
        seen: set[int] = set()
        stack = [r for i in whole for r in self._after(i) if r not in whole]
        while stack:
            i = stack.pop()
            if i in seen or (i > last and not crossing):
                continue
            for inside in self.unit[i]:
                seen.add(inside)
                for reader in self._after(inside):
                    if reader in whole:
                        return False
                    stack.append(reader)
        return True

    def _after(self, i: int) -> list[int]:
        return [*self.readers[i], *self.later[i]] if self.later[i] else self.readers[i]

    def join(self, members: Sequence[int]) -> None:
        """Make one unit of the members and all that they are joined with."""
        unit = self.joined(members)
        for i in unit:
            self._joined.pop(self.unit[i][0], None)
        for i in unit:
            self.unit[i] = unit
        self._joined[unit[0]] = unit

    def order(self) -> list[list[int]]:
        """All units, each after those it needs, otherwise as their first members stand."""
        done: set[int] = set()
        opened: set[int] = set()
        result: list[list[int]] = []
        for i, unit in enumerate(self.unit):
            if i != unit[0]:
                continue
            stack = [(unit, False)]
            while stack:
                unit, entered = stack.pop()
                if unit[0] in done:
                    continue
                if entered:
                    done.update(unit)
                    result.append(unit)
                    continue
                if unit[0] in opened:
                    continue
                opened.add(unit[0])
                stack.append((unit, True))
                before = [n for i in unit for n in (*self.needs[i], *self.earlier[i])]
                stack.extend(
                    (self.unit[n], False)
                    for n in reversed(before)
                    if n not in done and self.unit[n] is not unit
                )
        return result


def _size_edges(block: BindingBlock) -> list[tuple[int, int]]:
    """Pairs of bindings where a cast tells a size first that the other reads."""
    told: dict[object, int] = {}
    edges: list[tuple[int, int]] = []
    for i, binding in enumerate(block.bindings):
        if told:
            own = dict.fromkeys(tir_vars_in_struct_info(binding.var.struct_info))
            own.update(dict.fromkeys(used_symbolic_vars(binding.value)))
            edges += [(told[symbol], i) for symbol in own if symbol in told]
        if isinstance(binding, MatchCast):
            for symbol in tir_vars_in_struct_info(binding.struct_info):
                told.setdefault(symbol, i)
    return list(dict.fromkeys(edges))


def replace_groups(
    block: BindingBlock, groups: Sequence[Group], made: GroupFunctions
) -> BindingBlock:
    """The block with each group replaced by a call of a function made of it.

    No two groups may need each other.
    """
    if not groups:
        return block
    units = Units(block)
    group_of: dict[int, Group] = {}
    for group in groups:
        units.join(group.members)
        group_of[group.members[0]] = group
    new: list[Binding] = []
    for unit in units.order():
        members = [block.bindings[i] for i in unit]
        if unit[0] in group_of:
            outputs = _outputs(block, unit, units)
            if outputs:
                new.extend(_call_of_group(members, outputs, made, group_of[unit[0]]))
        else:
            new.extend(members)
    return with_bindings(block, new)


def _outputs(block: BindingBlock, unit: Sequence[int], units: Units) -> list[Var]:
    """What others see of a group: results of the block, then values as they are first read."""
    own = set(unit)
    results = [i for i in unit if not isinstance(block.bindings[i].var, DataflowVar)]
    first_read = []
    for i in unit:
        outside = [reader for reader in units.readers[i] if reader not in own]
        if outside and i not in results:
            reader = min(outside)
            first_read.append((reader, units.needs[reader].index(i), i))
    return [block.bindings[i].var for i in [*results, *(i for _, _, i in sorted(first_read))]]


def _call_of_group(
    members: list[Binding], outputs: list[Var], made: GroupFunctions, like: Group
) -> list[Binding]:
    """The bindings that take the place of a group."""
    builder = _GroupBuilder(members, outputs, like)
    group = builder.function()
    var = made.add(group_name(members), group)
    bindings: list[Binding] = []
    arguments: list[RelaxExpr] = []
    for argument in builder.arguments:
        if isinstance(argument, TupleGetItem):
            item = made.fresh_var(argument.struct_info_)
            bindings.append(VarBinding(item, argument, argument.span))
            argument = item
        arguments.append(argument)
    call = Call(var, arguments, None, None, members[-1].value.span)
    call.struct_info_ = group.ret_struct_info
    if len(outputs) == 1:
        result = outputs[0]
        call.struct_info_ = result.struct_info_
        span = next(b.span for b in members if b.var is result)
        return [*bindings, VarBinding(made.renewed(result), call, span)]
    whole = made.fresh_var(TupleStructInfo([v.struct_info for v in outputs]))
    call.struct_info_ = whole.struct_info_
    bindings.append(VarBinding(whole, call))
    position = {var: i for i, var in enumerate(outputs)}
    for member in members:
        if member.var in position:
            part = TupleGetItem(whole, position[member.var])
            bindings.append(VarBinding(made.renewed(member.var), part))
    return bindings


def group_name(members: Sequence[Binding]) -> str:
    """`fused_` and the names of what is called."""
    words = ["fused"]
    for binding in members:
        value = binding.value
        if not isinstance(value, Call):
            continue
        callee = value.op
        if isinstance(callee, Op) and value.args and isinstance(value.args[0], GlobalVar):
            words.append(value.args[0].name_hint)
        elif isinstance(callee, Op):
            words.append(callee.name.replace(".", "_"))
        elif isinstance(callee, GlobalVar):
            words.append(callee.name_hint.removeprefix("fused_"))
    return "_".join(words)


# Their tuples are no values, but how operands are listed.
_LISTS_OF_OPERANDS: Final = tuple(
    Op.get(f"relax.{name}")
    for name in ("call_tir", "call_tir_inplace", "call_tir_with_grad", "call_dps_packed")
)


class _GroupBuilder:
    """The function of one group, and the arguments of its call.

    An item that a member takes of a tuple from outside is taken before the call, and passed. A
    tuple that stands as an operand of an operator is one parameter, unless a member is part of it.
    """

    def __init__(self, members: list[Binding], outputs: list[Var], like: Group) -> None:
        self._like = like
        self._members = members
        self._outputs = outputs
        self._params: list[Var] = []
        self.arguments: list[RelaxExpr] = []
        self._map: dict[RelaxExpr, RelaxExpr] = {}
        self._constants = 0

    def _param_for(self, expr: RelaxExpr) -> Var:
        if isinstance(expr, Var):
            name = expr.name_hint
        elif isinstance(expr, TupleGetItem):
            whole = expr.tuple_value
            name = f"{whole.name_hint if isinstance(whole, Var) else 'param'}_{expr.index}"
        else:
            name = f"param_{self._constants}"
            self._constants += 1
        param = Var(name, expr.struct_info)
        self._params.append(param)
        self.arguments.append(expr)
        self._map[expr] = param
        return param

    def function(self) -> Function:
        own = {b.var for b in self._members}
        for binding in self._members:
            if self._is_passed(binding, own):
                self._map[binding.var] = self._param_for(binding.value)
                continue
            for whole in self._tuples_from_outside(binding.value, own):
                self._param_for(whole)
            for expr in sub_exprs(replace_operands(binding.value, self._map.get)):
                outer = isinstance(expr, Var) and expr not in own
                outer = outer or (isinstance(expr, Constant) and not self._like.keep_constants)
                if outer and expr not in self._map and expr not in self._params:
                    self._param_for(expr)
        bindings = self._inner_bindings()
        shape = self._symbol_param()
        if shape is not None:
            param = Var("tir_vars", ShapeStructInfo(shape.values))
            self._params.append(param)
            self.arguments.append(shape)
        results = [self._map[v] for v in self._outputs]
        result = results[0] if len(results) == 1 else Tuple(results)
        body = SeqExpr([DataflowBlock(bindings)], result)
        body.struct_info_ = result.struct_info_
        return Function(self._params, body, None, True, DictAttrs(self._like.attrs))

    def _tuples_from_outside(self, value: RelaxExpr, own: set[Var]) -> list[RelaxExpr]:
        if not isinstance(value, Call) or value.op in _LISTS_OF_OPERANDS:
            return []
        return [
            arg for arg in value.args
            if isinstance(arg, Tuple) and arg.fields and own.isdisjoint(sub_exprs(arg))
        ]  # fmt: skip

    def _is_passed(self, binding: Binding, own: set[Var]) -> bool:
        value = binding.value
        if not isinstance(value, TupleGetItem) or binding.var in self._outputs:
            return False
        return isinstance(value.tuple_value, Var) and value.tuple_value not in own

    def _inner_bindings(self) -> list[Binding]:
        bindings: list[Binding] = []
        names = NameTable()
        for binding in self._members:
            if binding.var in self._map:
                continue
            value = replace_operands(binding.value, self._map.get)
            is_output = any(binding.var is v for v in self._outputs)
            kind = Var if is_output else DataflowVar
            name = names.fresh("gv", "") if is_output else binding.var.name_hint
            var = kind(name, binding.var.struct_info_)
            self._map[binding.var] = var
            bindings.append(VarBinding(var, value, binding.span))
        return bindings

    def _symbol_param(self) -> ShapeExpr | None:
        """Symbolic variables that the kernels use and no parameter tells."""
        known = {v for p in self._params for v in definable_tir_vars_in_struct_info(p.struct_info)}
        needed: dict[object, None] = {}
        for binding in self._members:
            for var in tir_vars_in_struct_info(binding.var.struct_info):
                needed[var] = None
            for expr in sub_exprs(binding.value):
                if isinstance(expr, ShapeExpr):
                    for var in tir_vars_in_struct_info(expr.struct_info):
                        needed[var] = None
        for param in self._params:  # a kernel checks all extents of its operands
            needed |= dict.fromkeys(tir_vars_in_struct_info(param.struct_info))
        missing = [var for var in needed if var not in known]
        return ShapeExpr(missing) if missing else None  # type: ignore[arg-type]
