"""Rewriters: what a pattern matches is replaced by what a function makes of it.

    x = wildcard()
    twice = is_op("relax.add")(x, x)
    func = rewrite_call(twice, lambda expr, found: R.multiply(found[x], R.const(2.0)), func)

A rewriter is applied to a function or a module until it finds nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, overload

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.node import Field, Node, fields, of_type, register_nodes
from tvm.ir.replace_global_vars import RENAMERS
from tvm.ir.transform import Pass, PassContext, PassInfo
from tvm.relax.analysis.variables import all_global_vars, free_vars
from tvm.relax.base_expr import Id
from tvm.relax.bind import TIDIERS
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
    convert_to_expr,
)
from tvm.support.arguments import explained
from tvm.support.naming import NameTable

from .apply import MAX_ROUNDS, Applier, FindRewrites, Rewrites
from .context import PatternContext
from .matcher import EMPTY, Match, Matcher
from .pattern import (
    AttrPattern,
    CallPattern,
    DFPattern,
    FunctionPattern,
    OrPattern,
    TupleGetItemPattern,
    TuplePattern,
    UnorderedTuplePattern,
    WildcardPattern,
)

E = TypeVar("E", bound=RelaxExpr)
MatchedExprs: TypeAlias = dict[DFPattern, RelaxExpr]
# The matched expression and what each part matched; the new expression, or None to leave it.
ExprRule: TypeAlias = Callable[[RelaxExpr, MatchedExprs], Any]
BindingsRule: TypeAlias = Callable[
    [dict[DFPattern, RelaxExpr], dict[Var, RelaxExpr]], Mapping[Var, Any]
]
# Patterns of something computed: what they match is shown as the computation, not its variable.
_COMPUTED: Final = (
    AttrPattern, CallPattern, FunctionPattern, TupleGetItemPattern, TuplePattern,
    UnorderedTuplePattern,
)  # fmt: skip


_INFO: Final = PassInfo(0, "PatternMatchingRewriter")


class PatternMatchingRewriter(Node, Pass):
    """Called with a function or a module, it gives the rewritten one; `a | b` prefers `a`.

    It is a pass, too.
    """

    __slots__ = ()
    TYPE_KEY = "relax.dpl.PatternMatchingRewriter"
    TIDIER: ClassVar[str] = "rewritten"  # what clears away what the new values leave behind

    def __init__(self) -> None:
        Pass.__init__(self, _INFO)

    @staticmethod
    def from_pattern(pattern: DFPattern, func: ExprRule) -> PatternMatchingRewriter:
        """What `pattern` matches becomes what `func(expr, matches)` gives.

        For a tuple pattern the fields may be matched by values of one block that nothing has
        made a tuple of; then the fields of the result take their places. Of two alternatives the
        second has its turn where `func` leaves what the first one matches.
        """
        of_type(pattern, DFPattern, "PatternMatchingRewriter: the pattern")
        return _from_pattern(pattern, func, ())

    @staticmethod
    def from_module(mod: IRModule) -> PatternMatchingRewriter:
        """A rewriter from two functions, `pattern` and `replacement`, of one signature.

        Private functions of the module that the replacement calls are added where it is used.
        """
        from .by_example import rewriter_from_module  # stands above: it makes rewriters

        return rewriter_from_module(of_type(mod, IRModule, "PatternMatchingRewriter: the module"))

    def find(self, block: BindingBlock) -> Rewrites:
        """New values for bindings of the block."""
        raise TypeError(f"{type(self).__name__} is no rewriter of its own")

    def __or__(self, other: PatternMatchingRewriter) -> OrRewriter:
        return OrRewriter(self, other)

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The module with all of its Relax functions rewritten."""
        return _rewrite_module(self.find, mod, self.TIDIER)

    @overload
    def __call__(self, obj: IRModule) -> IRModule: ...
    @overload
    def __call__(self, obj: E) -> E: ...
    def __call__(self, obj: IRModule | RelaxExpr) -> IRModule | RelaxExpr:
        if isinstance(obj, IRModule):
            return Pass.__call__(self, obj)
        if isinstance(obj, RelaxExpr):
            return _rewrite_expr(self.find, obj, self.TIDIER)[0]
        raise TypeError(
            f"a rewriter is applied to a Relax function or an IRModule, found {type(obj).__name__}"
        )


def _from_pattern(
    pattern: DFPattern, func: ExprRule, around: tuple[DFPattern, ...]
) -> PatternMatchingRewriter:
    """The rewriter of a pattern; those `around` it match whatever it matches."""
    if isinstance(pattern, OrPattern):
        around = (*around, pattern)
        return OrRewriter(
            _from_pattern(pattern.left, func, around), _from_pattern(pattern.right, func, around)
        )
    whole = ExprPatternRewriter(pattern, func, around)
    if isinstance(pattern, TuplePattern):
        return OrRewriter(whole, TupleRewriter(pattern.fields, func, (*around, pattern)))
    return whole


def _rewrite_expr(
    find: FindRewrites, expr: RelaxExpr, tidier: str
) -> tuple[RelaxExpr, Mapping[GlobalVar, BaseFunc]]:
    functions: dict[GlobalVar, BaseFunc] = {}
    for rounds in range(MAX_ROUNDS):
        edit = Applier(find)
        new = edit.visit_expr(expr)
        if not edit.changed:
            if not rounds and isinstance(expr, Function):
                expr = TIDIERS.get("untouched")(expr)
            return expr, functions
        functions.update(edit.functions)
        expr = TIDIERS.get(tidier)(new) if isinstance(new, Function) else new
    raise CheckError(
        message("rewrite: the rewriter finds no end", found=f"{MAX_ROUNDS} rounds",
                legal="replacements that the pattern does not match for ever")
    )  # fmt: skip


def _rewrite_module(find: FindRewrites, mod: IRModule, tidier: str) -> IRModule:
    functions: dict[GlobalVar, BaseFunc] = {}
    added: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            new, called = _rewrite_expr(find, func, tidier)
            assert isinstance(new, Function), "a function stays one"
            functions[var] = new
            added.update(called)
        else:
            functions[var] = func
    names = NameTable([var.name_hint for var in mod.functions])
    renamed: dict[GlobalVar, GlobalVar] = {}
    for var, func in _reachable(added, functions.values()).items():
        if var not in functions:
            name = names.fresh(var.name_hint)
            if name != var.name_hint:
                renamed[var] = GlobalVar(name, var.struct_info_)
            functions[var] = func
    for var, func in functions.items() if renamed else ():
        rename = RENAMERS.get(func.TYPE_KEY)
        functions[var] = func if rename is None else rename(func, renamed)
    return mod.with_functions({renamed.get(var, var): func for var, func in functions.items()})


def _reachable(
    functions: Mapping[GlobalVar, BaseFunc], callers: Any
) -> dict[GlobalVar, BaseFunc]:
    """Those of `functions` that the callers call, and what these call."""
    found: dict[GlobalVar, BaseFunc] = {}
    pending = [func for func in callers if isinstance(func, Function)]
    while pending:
        for var in all_global_vars(pending.pop()):
            if var in functions and var not in found:
                func = functions[var]
                found[var] = func
                if isinstance(func, Function):
                    pending.append(func)
    return found


def values_of(block: BindingBlock) -> dict[Id, RelaxExpr]:
    """The values bound in the block; a cast is looked through."""
    return {binding.var.vid: binding.value for binding in block.bindings}


def shown(
    matcher: Matcher,
    match: Match,
    roots: Mapping[DFPattern, RelaxExpr],
    block: Mapping[Id, RelaxExpr],
) -> MatchedExprs:
    """A match as users see it: computations of the block, and variables from outside of it.

    A pattern of something computed shows the computation, wherever that stands. `block` has the
    values that stay as they are; a new expression may hold them, for `Applier` knows their names.
    """

    def in_block(expr: RelaxExpr) -> RelaxExpr:
        while isinstance(expr, Var) and expr.vid in block:
            expr = block[expr.vid]
        return expr

    exprs = {
        pattern: matcher.value_of(expr) if isinstance(pattern, _COMPUTED) else in_block(expr)
        for pattern, expr in match.exprs.items()
    }
    return {**exprs, **roots}


def _is_computed(binding: Binding) -> bool:
    kinds = (Call, Tuple, TupleGetItem, Var)
    return isinstance(binding.value, kinds) and not isinstance(binding, MatchCast)


class ExprPatternRewriter(PatternMatchingRewriter):
    """Replaces single expressions; the patterns `around` it match the same."""

    __slots__ = ("around", "func", "pattern")
    TYPE_KEY = "relax.dpl.ExprPatternRewriter"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pattern", "func", "around")

    def __init__(
        self, pattern: DFPattern, func: ExprRule, around: Sequence[DFPattern] = ()
    ) -> None:
        super().__init__()
        self.pattern: Final = pattern
        self.func: Final = func
        self.around: Final = tuple(around)

    def find(self, block: BindingBlock) -> Rewrites:
        matcher = Matcher(values_of(block))
        values: dict[Id, RelaxExpr] = {}
        computed: dict[Id, RelaxExpr] = {}
        for binding in block.bindings:
            if _is_computed(binding):
                computed[binding.var.vid] = binding.value
            match = matcher.match(self.pattern, binding.value)
            if match is None or isinstance(binding, MatchCast):
                continue
            whole = matcher.value_of(binding.value)  # the name of a match stands for it
            roots = dict.fromkeys((self.pattern, *self.around), whole)
            new = self.func(whole, shown(matcher, match, roots, computed))
            if new is not None and new is not whole:
                values[binding.var.vid] = convert_to_expr(new)
                computed.pop(binding.var.vid, None)
        return Rewrites(values)


class OrRewriter(PatternMatchingRewriter):
    """Two rewriters; where both have something to say, the left one is heard."""

    __slots__ = ("lhs", "rhs")
    TYPE_KEY = "relax.dpl.OrRewriter"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("lhs", "rhs")

    def __init__(self, lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter) -> None:
        super().__init__()
        self.lhs: Final = lhs
        self.rhs: Final = rhs

    def find(self, block: BindingBlock) -> Rewrites:
        left = self.lhs.find(block)
        if left.values:
            return left
        return self.rhs.find(block)


class TupleRewriter(PatternMatchingRewriter):
    """Replaces several values of a block together.

    `func` gets the tuple of the matched variables and gives a tuple of as many fields. The patterns
    `around` these match the tuple.
    """

    __slots__ = ("around", "func", "patterns")
    TYPE_KEY = "relax.dpl.TupleRewriter"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("patterns", "func", "around")

    def __init__(
        self, patterns: Sequence[DFPattern], func: ExprRule, around: Sequence[DFPattern] = ()
    ) -> None:
        super().__init__()
        self.patterns: Final = tuple(patterns)
        self.func: Final = func
        self.around: Final = tuple(around)

    def find(self, block: BindingBlock) -> Rewrites:
        matcher = Matcher(values_of(block))
        values: dict[Id, RelaxExpr] = {}
        computed = {b.var.vid: b.value for b in block.bindings if _is_computed(b)}
        for chosen, match in groups(matcher, self.patterns, block):
            whole = Tuple([b.value for b in chosen])
            roots: dict[DFPattern, RelaxExpr] = dict.fromkeys(self.around, whole)
            roots.update({p: matcher.value_of(b.value) for p, b in zip(self.patterns, chosen)})
            new = self.func(whole, shown(matcher, match, roots, computed))
            if new is not None and new is not whole:
                values.update(parts_of(convert_to_expr(new), chosen))
                for replaced in chosen:
                    computed.pop(replaced.var.vid, None)
        return Rewrites(values)


def parts_of(new: RelaxExpr, chosen: Sequence[Binding]) -> dict[Id, RelaxExpr]:
    """The fields of a new tuple for the variables that they replace."""
    if isinstance(new, Tuple):
        return {b.var.vid: field for b, field in zip(chosen, new.fields)}
    return {b.var.vid: TupleGetItem(new, at) for at, b in enumerate(chosen)}


def groups(
    matcher: Matcher, patterns: Sequence[DFPattern], block: BindingBlock
) -> Iterator[tuple[list[Binding], Match]]:
    """Bindings that the patterns match together; each binding in one group at most.

    Nothing that the group is computed from is computed from one of the group itself; within the
    patterns, one of them may be. Nothing else reads one of them before all have their values, so
    that the new values take their place together.
    """
    bindings = [b for b in block.bindings if not isinstance(b, MatchCast)]
    fitting = [[b for b in bindings if matcher.match(p, b.value) is not None] for p in patterns]
    if not all(fitting):
        return
    needs: dict[Id, set[Id]] = {}
    for binding in block.bindings:
        uses: set[Id] = set()
        for var in free_vars(binding.value):
            uses.add(var.vid)
            uses |= needs.get(var.vid, set())
        needs[binding.var.vid] = uses
    taken: set[Id] = set()

    place = {binding.var.vid: at for at, binding in enumerate(block.bindings)}

    def together(chosen: Sequence[Binding], match: Match) -> bool:
        made = {binding.var.vid for binding in chosen}
        values = {id(matcher.value_of(expr)) for expr in match.exprs.values()}
        last = max(place[vid] for vid in made)
        read = any(
            var.vid in made
            for binding in block.bindings[:last]
            if id(binding.value) not in values
            for var in free_vars(binding.value)
        )
        return not read and all(
            var.vid not in made and made.isdisjoint(needs.get(var.vid, ()))
            for pattern, expr in match.exprs.items()
            if isinstance(pattern, WildcardPattern)
            for var in free_vars(expr)
        )

    def choose(chosen: list[Binding], match: Match) -> tuple[list[Binding], Match] | None:
        if len(chosen) == len(patterns):
            return (chosen, match) if together(chosen, match) else None
        for binding in fitting[len(chosen)]:
            vid = binding.var.vid
            if vid in taken or any(b is binding for b in chosen):
                continue
            inner = matcher.match(patterns[len(chosen)], binding.value, match)
            if inner is not None:
                result = choose([*chosen, binding], inner)
                if result is not None:
                    return result
        return None

    while (found := choose([], EMPTY)) is not None:
        yield found
        taken.update(binding.var.vid for binding in found[0])


@explained
def rewrite_call(pattern: DFPattern, rewriter: ExprRule, func: Function) -> Function:
    """The function with what `pattern` matches replaced by what `rewriter` gives.

    The rewriter gets the matched expression and a mapping from the parts of the pattern to what
    they matched, and gives the new expression, or the old one to leave it.
    """
    of_type(func, Function, "rewrite_call: what is rewritten")
    return PatternMatchingRewriter.from_pattern(pattern, rewriter)(func)


class PatternContextRewriter(PatternMatchingRewriter):
    """Replaces what the patterns of a context match in a dataflow block, or among pure bindings."""

    __slots__ = ("pattern", "rewriter_func")
    TYPE_KEY = "relax.dpl.PatternContextRewriter"
    TIDIER: ClassVar[str] = "rebound"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("pattern", "rewriter_func")

    def __init__(self, pattern: PatternContext, rewriter_func: BindingsRule) -> None:
        super().__init__()
        self.pattern: Final = pattern
        self.rewriter_func: Final = rewriter_func

    def find(self, block: BindingBlock) -> Rewrites:
        pure = block if isinstance(block, DataflowBlock) else DataflowBlock(block.bindings)
        found = self.pattern.match_dfb(pure)
        if found is None:
            return Rewrites()
        values = {binding.var: binding.value for binding in block.bindings}
        new = self.rewriter_func(found, values)
        return Rewrites({var.vid: convert_to_expr(value) for var, value in (new or {}).items()})


@explained
def rewrite_bindings(
    ctx: PatternContext, rewriter: BindingsRule, func: Function
) -> Function:
    """The function with new values for variables of its dataflow blocks and other pure bindings.

    The rewriter gets what each pattern matched, and the values of the block's variables; it gives
    new values for some of them.
    """
    of_type(func, Function, "rewrite_bindings: what is rewritten")
    return PatternContextRewriter(ctx, rewriter)(func)


register_nodes(ExprPatternRewriter, OrRewriter, TupleRewriter, PatternContextRewriter)
