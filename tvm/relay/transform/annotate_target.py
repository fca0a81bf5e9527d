"""Mark what outside compilers take, call by call.

    nn.relu(%x)
    ->                                                       "dnnl" takes nn.relu
    compiler_end(nn.relu(compiler_begin(%x, "dnnl")), "dnnl")

An operator is taken where its rule `target.<name>` says so, a composite function where its name
begins with the target's. Everything else is marked "default".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call, If, Let, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.annotation import compiler_begin, compiler_end
from tvm.relay.op.contrib.register import load_partner
from tvm.relay.traverse import children, post_order, rebuild, transform, unknown_post_order

from .function_pass import expr_pass

DEFAULT: Final = "default"


@expr_pass("AnnotateTargetFunc", opt_level=0)
def AnnotateTarget(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, targets: str | Sequence[str],
    include_non_call_ops: bool = True,
) -> RelaxExpr:  # fmt: skip
    """The function with marks around what the targets take; the first that does has it.

    A target that an earlier run chose keeps what it has. Without `include_non_call_ops` only calls
    of operators and functions are marked: not tuples, nor calls of variables.
    """
    names = [targets] if isinstance(targets, str) else [str(target) for target in targets]
    assert isinstance(func, Function), "a pass gets functions"
    for name in names:
        load_partner(name)  # operators that it takes are known from here on
    marker = _Marker(names, include_non_call_ops)
    body = transform(func.body, marker.rule, marker.kept(func.body))
    return Function(
        func.params, marker.closed(body), func.ret_type, func.type_params, func.attrs, func.span
    )


class _Marker:
    def __init__(self, targets: Sequence[str], non_calls: bool) -> None:
        self.targets = targets
        self.non_calls = non_calls
        self.of: dict[int, str] = {}  # a new expression, and the target that it belongs to
        self._with_vars: dict[int, bool] = {}
        self._made: list[RelaxExpr] = []

    def kept(self, root: RelaxExpr) -> dict[int, RelaxExpr]:
        """Functions that are taken as a whole are not entered."""
        return {
            id(e): e for e in post_order(root)
            if isinstance(e, Function) and ("Composite" in e.attrs or "Compiler" in e.attrs)
        }  # fmt: skip

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and isinstance(old, Call):
            return self.call(old, new)
        if not self.non_calls and not isinstance(new, (Let, Function)):
            return self.plain(new)
        if isinstance(new, TupleGetItem):
            (value,), target = self.begun([new.tuple_value], None)
            return self.owned(TupleGetItem(value, new.index, new.span), target)
        if isinstance(new, Tuple) and new.fields:
            fields, target = self.begun(new.fields, None)
            return self.owned(Tuple(fields, new.span), target)
        if isinstance(new, If):
            parts = [self.closed(e) for e in (new.cond, new.true_branch, new.false_branch)]
            return If(parts[0], parts[1], parts[2], new.span)
        if isinstance(new, Let):
            value = new.value
            if not isinstance(value, Function):  # a name begins what its value ended
                (value,), _ = self.begun([value], None)
            return Let(new.var, value, self.closed(new.body), new.span)
        if isinstance(new, Function):
            body = self.closed(new.body)
            return Function(
                new.params, body, new.ret_type, new.type_params, new.attrs, new.span
            )
        return new

    def plain(self, new: RelaxExpr) -> RelaxExpr:
        """Something that is not marked, of values that may be."""
        parts = children(new)
        return rebuild(new, [self.closed(part) for part in parts]) if parts else new

    def call(self, old: Call, new: Call) -> RelaxExpr:
        if _is_mark(old, "compiler_begin"):
            return new.args[0]  # it was marked before: marks are set anew
        if _is_mark(old, "compiler_end"):
            self.of.setdefault(id(new.args[0]), str(old.attrs.compiler))  # type: ignore[union-attr]
            return new.args[0]
        if isinstance(old.op, Var) and not self.non_calls:
            return self.plain(new)
        target = self.chosen(old)
        args, _ = self.begun(new.args, target)
        made = Call(new.op, args, new.attrs, new.type_args, new.span)
        return self.owned(made, target) if args else made  # what takes nothing is in no region

    def chosen(self, old: Call) -> str:
        """The target that an earlier run chose, or the first that takes a call."""
        if old.args and _is_mark(old.args[0], "compiler_begin"):
            before = str(old.args[0].attrs.compiler)  # type: ignore[attr-defined]
            if before != DEFAULT:
                return before
        for target in self.targets:
            if isinstance(old.op, Op):
                rule = old.op.get_attr(f"target.{target}")
                if rule is not None and rule(old):
                    return target
            elif isinstance(old.op, Function):
                name = str(old.op.attrs.get("Composite", ""))
                if name.partition(".")[0] == target and "." in name:
                    return target
        return DEFAULT

    def begun(
        self, args: Sequence[RelaxExpr], target: str | None
    ) -> tuple[list[RelaxExpr], str]:
        """Operands with the end of what they belong to, and the beginning of what takes them.

        Without a target, it is that of the operands if they have one in common.
        """
        if target is None:
            found = {self.of.get(id(arg), DEFAULT) for arg in args}
            target = found.pop() if len(found) == 1 else DEFAULT
        made: list[Any] = [compiler_begin(self.ended(arg), target) for arg in args]
        return made, target

    def ended(self, expr: RelaxExpr) -> RelaxExpr:
        """A value behind the end of the region that it belongs to."""
        target = self.of.get(id(expr))
        return expr if target is None else compiler_end(expr, target)

    def closed(self, expr: RelaxExpr) -> RelaxExpr:
        """As `ended`, for what no region takes: what depends on no variable is in none."""
        return self.ended(expr) if self._depends(expr) else expr

    def _depends(self, expr: RelaxExpr) -> bool:
        for node in unknown_post_order(expr, self._with_vars):
            inside = any(self._with_vars[id(part)] for part in children(node))
            self._with_vars[id(node)] = isinstance(node, Var) or inside
            self._made.append(node)
        return self._with_vars[id(expr)]

    def owned(self, expr: RelaxExpr, target: str) -> RelaxExpr:
        self.of[id(expr)] = target
        self._made.append(expr)
        return expr


def _is_mark(expr: RelaxExpr, name: str) -> bool:
    return (
        isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == f"annotation.{name}"
    )
