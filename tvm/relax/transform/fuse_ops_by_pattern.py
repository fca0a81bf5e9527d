"""Group what patterns describe, and make a composite function of each group.

    lv = R.nn.conv2d(x, w)               def fused_relax_nn_conv2d_relax_nn_relu(x, w):
    gv = R.nn.relu(lv)           ->          R.func_attr({"Composite": "dnnl.conv2d_relu", ...})
                                             lv = R.nn.conv2d(x, w); gv = R.nn.relu(lv)
                                         gv = fused_relax_nn_conv2d_relax_nn_relu(x, w)

Patterns are tried in their order, each on what the ones before it left, and from the last binding
of a block to the first: of two matches that overlap the later, larger one stands. Only dataflow
blocks are looked at. With `annotate_codegen` each composite function is wrapped in one for its code
generator, which is named by the word before the pattern name's dot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tvm.error import CheckError, TVMError, message
from tvm.ffi.object import Object
from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis.bindings import all_bindings
from tvm.relax.analysis.variables import uses_of
from tvm.relax.base_expr import Id
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.dpl.matcher import Match, Matcher
from tvm.relax.dpl.pattern import CallPattern, DFPattern, TupleGetItemPattern, TuplePattern
from tvm.relax.expr import (
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    SeqExpr,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform.grouping import Group, GroupFunctions, Units, replace_groups
from tvm.relax.transform.pass_form import relax_module_pass

# Functions that are made of groups already; they are left as they are.
_MADE: Final = ("Primitive", "Composite", "Codegen")


class PatternCheckContext(Object):
    """What a check of a match may ask: the match, and the function that it stands in."""

    def __init__(
        self,
        matched_expr: RelaxExpr,
        annotated_expr: Mapping[str, RelaxExpr],
        matched_bindings: Mapping[Var, RelaxExpr],
        var_usages: Mapping[Var, Sequence[Var]],
        value_to_bound_var: Mapping[RelaxExpr, Var],
    ) -> None:
        self.matched_expr: Final = matched_expr
        self.annotated_expr: Final = annotated_expr
        self.matched_bindings: Final = matched_bindings
        self.var_usages: Final = var_usages
        self.value_to_bound_var: Final = value_to_bound_var


Check: TypeAlias = Callable[[PatternCheckContext], bool]
AttrsGetter: TypeAlias = Callable[[dict[str, RelaxExpr]], Mapping[str, Any]]


class FusionPattern(Object):
    """A pattern with a name, parts that have names, a check, and attributes of the function."""

    def __init__(
        self,
        name: str,
        pattern: DFPattern,
        annotation_patterns: Mapping[str, DFPattern] | None = None,
        check: Check | None = None,
        attrs_getter: AttrsGetter | None = None,
    ) -> None:
        if not isinstance(pattern, DFPattern):
            raise TypeError(
                f"FusionPattern {name!r}: the pattern is a DFPattern, "
                f"found {type(pattern).__name__}"
            )
        self.name: Final = name
        self.pattern: Final = pattern
        self.annotation_patterns: Final = dict(annotation_patterns or {})
        self.check: Final = check
        self.attrs_getter: Final = attrs_getter


def _check_patterns(patterns: Sequence[Any], *args: Any, **kwargs: Any) -> None:
    for pattern in patterns:
        if isinstance(pattern, (tuple, list)):
            FusionPattern(*pattern)
        elif not isinstance(pattern, FusionPattern):
            raise ValueError(
                message("FuseOpsByPattern: Invalid pattern", found=f"{pattern!r}",
                        legal="a FusionPattern, or a tuple of its arguments")
            )  # fmt: skip


@relax_module_pass("FuseOpsByPattern", opt_level=0, check=_check_patterns)
def FuseOpsByPattern(
    mod: IRModule,
    ctx: PassContext,
    patterns: Sequence[Any],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """Fuse what the patterns match; constants stay in the functions with `bind_constants`.

    A pattern is a `FusionPattern`, or a tuple of its arguments. `entry_functions` names the only
    functions that are looked at.
    """
    _check_variables(mod)
    names = [var.name_hint for var in mod.functions]
    for name in entry_functions or ():
        if name not in names:
            raise ValueError(
                message(f"FuseOpsByPattern: Cannot find global var {name!r}", legal=f"{names}")
            )
    made = GroupFunctions(names)
    functions: dict[GlobalVar, BaseFunc] = dict(mod.functions)
    for pattern in [p if isinstance(p, FusionPattern) else FusionPattern(*p) for p in patterns]:
        for var, func in sorted(functions.items(), key=lambda item: item[0].name_hint):
            wanted = entry_functions is None or var.name_hint in entry_functions
            if wanted and isinstance(func, Function) and not _is_made(func):
                functions[var] = _Partition(func, pattern, bind_constants, made).run()
    fused = mod.with_functions({**functions, **made.functions})
    return annotated(fused) if annotate_codegen else fused


def _is_made(func: Function) -> bool:
    return any(func.attrs.get(name) for name in _MADE)


class RepeatedVariableError(TVMError, ValueError):
    """A variable that is defined more than once, so that uses of it say nothing."""


def _check_variables(mod: IRModule) -> None:
    """Refuse modules in which a variable is defined twice: matches would cross functions."""
    owner: dict[Id, str] = {}
    for var, func in mod.functions.items():
        if not isinstance(func, Function):
            continue
        defined = [*func.params, *(binding.var for binding in all_bindings(func))]
        for own in defined:
            if own.vid in owner:
                raise RepeatedVariableError(
                    message(
                        "FuseOpsByPattern: the module is not well formed",
                        found=f"variable {own.name_hint!r} is defined in {owner[own.vid]!r} and "
                        f"again in {var.name_hint!r}",
                        legal="each variable is defined once; "
                        "relax.utils.copy_with_new_vars makes a function with its own",
                    )
                )
            owner[own.vid] = var.name_hint


class _Partition(PyExprMutator):
    """One function, one pattern."""

    def __init__(
        self, func: Function, pattern: FusionPattern, bind_constants: bool, made: GroupFunctions
    ) -> None:
        super().__init__()
        self.func = func
        self.pattern = pattern
        self.bind_constants = bind_constants
        self.made = made
        bindings = all_bindings(func)
        self.bound_var = {b.value: b.var for b in bindings}
        self.usages: dict[Var, list[Var]] | None = None

    def run(self) -> Function:
        new = self.visit_expr(self.func)
        assert isinstance(new, Function), "a function stays one"
        return new

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        fused = replace_groups(block, self._groups(block), self.made)
        for old, new in self.made.renamed.items():
            self.set_var_remap(old.vid, new)
        self.made.renamed.clear()
        if fused is block:
            return super().visit_dataflow_block_(block)
        assert isinstance(fused, DataflowBlock), "a block keeps its kind"
        return super().visit_dataflow_block_(fused)

    def _groups(self, block: DataflowBlock) -> list[Group]:
        matcher = Matcher({b.var.vid: b.value for b in block.bindings})
        positions = {b.var.vid: i for i, b in enumerate(block.bindings)}
        units = Units(block)
        groups: list[Group] = []
        taken: set[int] = set()
        for i, binding in reversed(list(enumerate(block.bindings))):
            is_call = isinstance(binding, VarBinding) and isinstance(binding.value, Call)
            if not is_call or i in taken:
                continue
            match = matcher.match(self.pattern.pattern, binding.value)
            if match is None:
                continue
            members = _members(match, block, positions, i)
            context = self._context(block, matcher, match, members, binding.value)
            check = self.pattern.check
            if not taken.isdisjoint(members) or (check is not None and not check(context)):
                continue
            if not units.can_join(members):
                raise _cyclic(self.pattern.name, [block.bindings[m].var for m in members])
            units.join(members)
            taken.update(members)
            groups.append(Group(members, self._attrs(context), self.bind_constants))
        return groups

    def _attrs(self, context: PatternCheckContext) -> dict[str, object]:
        attrs: dict[str, object] = {"Primitive": True, "Composite": self.pattern.name}
        if self.pattern.attrs_getter is not None:
            attrs.update(self.pattern.attrs_getter(dict(context.annotated_expr)))
        return attrs

    def _context(
        self,
        block: BindingBlock,
        matcher: Matcher,
        match: Match,
        members: Sequence[int],
        root: RelaxExpr,
    ) -> PatternCheckContext:
        if self.usages is None:
            self.usages = _usages(self.func)
        named = {
            name: matcher.value_of(match.exprs[part])
            for name, part in self.pattern.annotation_patterns.items()
            if part in match.exprs
        }
        bound = {block.bindings[i].var: block.bindings[i].value for i in members}
        return PatternCheckContext(root, named, bound, self.usages, self.bound_var)


def _cyclic(name: str, members: Sequence[Var]) -> TVMError:
    return TVMError(
        message(
            f"A cyclic dependency detected: a group of pattern {name!r} needs a value from outside "
            "that is computed from the group",
            found=", ".join(var.name_hint for var in members),
            legal="a pattern that takes what stands between, or a check that refuses the match",
        )
    )


def _members(
    match: Match, block: DataflowBlock, positions: Mapping[Id, int], root: int
) -> list[int]:
    """The positions of all bindings whose computation the pattern describes.

    An item of a tuple that the pattern only finds made stays outside, and comes as an operand.
    """
    members = {root}
    items: list[int] = []
    for pattern, expr in match.exprs.items():
        if not isinstance(expr, Var) or expr.vid not in positions:
            continue
        if isinstance(pattern, (CallPattern, TuplePattern)):
            members.add(positions[expr.vid])
        elif isinstance(pattern, TupleGetItemPattern):
            items.append(positions[expr.vid])
    for i in sorted(items):
        value = block.bindings[i].value
        assert isinstance(value, TupleGetItem), "the pattern says so"
        whole = value.tuple_value
        if not isinstance(whole, Var) or positions.get(whole.vid) in members:
            members.add(i)
    return sorted(members)


def _usages(func: Function) -> dict[Var, list[Var]]:
    """For each variable of the function, the variables that are computed from it."""
    users: dict[Id, list[Var]] = {}
    known: dict[Id, Var] = {param.vid: param for param in func.params}
    for binding in all_bindings(func):
        known[binding.var.vid] = binding.var
        for used in uses_of(binding):
            users.setdefault(used.vid, []).append(binding.var)
    return {var: users.get(vid, []) for vid, var in known.items()}


# --- functions for code generators ---


def codegen_of(func: BaseFunc | None) -> str | None:
    """The code generator of a composite function: the word before the dot of its name."""
    name = None if func is None else func.attrs.get("Composite")
    return None if name is None else str(name).split(".")[0]


def without_primitive(func: Function) -> Function:
    """A copy that may stand within another function."""
    return copy_with_new_vars(func.without_attr("Primitive"))


def annotated(mod: IRModule) -> IRModule:
    """The module with each composite function wrapped in one for its code generator.

        def f_dnnl(x):
            R.func_attr({"Codegen": "dnnl", "global_symbol": "f_dnnl"})
            def local(x): ...
            return local(x)
    """
    functions: dict[GlobalVar, BaseFunc] = {}
    wrapped: dict[GlobalVar, GlobalVar] = {}
    for var, func in mod.functions.items():
        codegen = codegen_of(func)
        if codegen is None or not isinstance(func, Function):
            functions[var] = func
            continue
        composite = str(func.attrs.get("Composite"))
        if "." not in composite:
            raise CheckError(
                message(
                    f"FuseOpsByPattern: the code generator of {var.name_hint}",
                    found=f"the pattern name {composite!r}",
                    legal="a name that should start with a compiler name followed by period",
                )
            )
        name = f"{var.name_hint}_{codegen}"
        outer = _wrapper(func, codegen, name)
        wrapped[var] = GlobalVar(name, outer.struct_info_)
        functions[wrapped[var]] = outer
    for var, func in functions.items():
        if isinstance(func, Function) and wrapped:
            new = RenameCalls(wrapped).visit_expr(func)
            assert isinstance(new, Function), "a function stays one"
            functions[var] = new
    return mod.with_functions(functions)


class RenameCalls(PyExprMutator):
    """Other functions of the module in place of those that are called."""

    def __init__(self, renamed: Mapping[GlobalVar, GlobalVar]) -> None:
        super().__init__()
        self.renamed = renamed

    def visit_global_var_(self, op: GlobalVar) -> RelaxExpr:
        return self.renamed.get(op, op)


def _wrapper(func: Function, codegen: str, name: str) -> Function:
    # the symbols are those of the function within
    inner = func.without_attr("Primitive")
    params = [Var(param.name_hint, param.struct_info_, param.span) for param in func.params]
    bb = BlockBuilder()
    bb.begin_scope(params)
    bb.begin_binding_block()
    local = bb.emit(inner, name_hint="local_func")
    result = bb.emit(Call(local, params, span=func.span), name_hint="output")
    body = SeqExpr([bb.end_block()], result, func.span)
    body.struct_info_ = result.struct_info_
    bb.end_scope()
    attrs = DictAttrs({"Codegen": codegen, "global_symbol": name})
    return Function(params, body, None, func.is_pure, attrs, func.span)
