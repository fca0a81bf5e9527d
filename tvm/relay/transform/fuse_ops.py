"""Group calls that can share a kernel into functions marked `Primitive`.

    %0 = add(%x, 1f); exp(%0)    ->    (fn (%p0, Primitive=1) { %0 = add(%p0, 1f); exp(%0) })(%x)

A call joins the call that alone uses it, as the patterns of both allow (`TOpPattern`): elementwise
and injective ones join each other, reductions and matrix products take elementwise followers.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.expr import Call, Constant, Tuple, Var
from tvm.relay.function import Function
from tvm.relay.op.declare import BROADCAST, COMM_REDUCE, INJECTIVE, OPAQUE, OUT_FUSABLE
from tvm.relay.rewrite import substitute
from tvm.relay.traverse import children, post_order, transform
from tvm.relay.ty import TensorType

from .function_pass import expr_pass


def _pattern(expr: RelaxExpr) -> int:
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        found = expr.op.get_attr("TOpPattern")
        dynamic = not isinstance(expr.checked_type_, TensorType)
        return OPAQUE if found is None or dynamic else int(found)
    return OPAQUE


@expr_pass("FuseOps", opt_level=0)
def FuseOps(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, fuse_opt_level: int = -1
) -> RelaxExpr:
    """Every call of an operator stands in a primitive function; with level 0 each in its own."""
    level = ctx.opt_level if fuse_opt_level < 0 else fuse_opt_level
    return _Fuser(func, level).run(func)


@expr_pass("DefuseOps", opt_level=0)
def DefuseOps(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Primitive functions are gone: their bodies stand where they were called."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and isinstance(new.op, Function) and "Primitive" in new.op.attrs:
            binds = {p.vid: arg for p, arg in zip(new.op.params, new.args)}
            return substitute(new.op.body, binds)
        return new

    return transform(func, rule)


class _Fuser:
    def __init__(self, root: RelaxExpr, level: int) -> None:
        self.group: dict[int, int] = {}  # a call, and the call that its kernel ends with
        self.kind: dict[int, int] = {}
        self.users: dict[int, list[RelaxExpr]] = {}
        self.order = [e for e in post_order(root)]
        for expr in self.order:
            for part in children(expr):
                self.users.setdefault(id(part), []).append(expr)
        self._find_groups(level)

    def _find_groups(self, level: int) -> None:
        for expr in reversed(self.order):
            if not (isinstance(expr, Call) and isinstance(expr.op, Op)):
                continue
            self.group[id(expr)] = id(expr)
            self.kind[id(expr)] = _pattern(expr)
            if level >= 1:
                self._join(expr)

    def _join(self, expr: Call) -> None:
        """Join the kernel of the users, if they all stand in one."""
        users = self.users.get(id(expr), [])
        ends = {self.group.get(id(user)) for user in users}
        if len(ends) != 1 or None in ends or not users:
            return
        end = next(iter(ends))
        assert end is not None, "seen above"
        mine, theirs = _pattern(expr), self.kind[end]
        if not all(_may_follow(mine, _pattern(user), theirs) for user in users):
            return
        self.group[id(expr)] = end
        if mine in (COMM_REDUCE, OUT_FUSABLE):
            self.kind[end] = mine

    def run(self, root: RelaxExpr) -> RelaxExpr:
        members: dict[int, list[Call]] = {}
        for expr in self.order:
            end = self.group.get(id(expr))
            if end is not None and isinstance(expr, Call):
                members.setdefault(end, []).append(expr)
        self.members = members
        made: dict[int, RelaxExpr] = {}

        def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
            end = self.group.get(id(old))
            if end is None:
                return new
            made[id(old)] = new
            return self._kernel(old, made) if end == id(old) else new

        self.outside: dict[int, RelaxExpr] = {}

        def keep(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
            found = rule(old, new)
            self.outside[id(old)] = found
            return found

        return transform(root, keep)

    def _kernel(self, end: RelaxExpr, made: dict[int, RelaxExpr]) -> RelaxExpr:
        """The call of a function of what the group takes from outside."""
        assert isinstance(end, Call), "groups end with calls"
        inside = {id(member) for member in self.members[id(end)]}
        params: list[Var] = []
        args: list[RelaxExpr] = []
        names: dict[int, RelaxExpr] = {}

        def operand(old: RelaxExpr) -> RelaxExpr:
            if id(old) in names:
                return names[id(old)]
            if isinstance(old, Constant) and old.is_scalar():
                return old
            if isinstance(old, Tuple):
                return Tuple([operand(field) for field in old.fields], old.span)
            param = Var(f"p{len(params)}", old.checked_type)
            params.append(param)
            args.append(self.outside.get(id(old), old))
            names[id(old)] = param
            return param

        body: RelaxExpr = end
        for member in self.members[id(end)]:
            given = [operand(arg) for arg in member.args]
            body = Call(member.op, given, member.attrs, member.type_args, member.span)
            names[id(member)] = body
        assert inside, "the end is a member"
        func = Function(params, body, end.checked_type, None, {"Primitive": 1})
        return Call(func, args, None, None, end.span)


def _may_follow(mine: int, user: int, kernel: int) -> bool:
    if OPAQUE in (mine, user, kernel):
        return False
    if mine <= BROADCAST:
        return kernel <= INJECTIVE or (user <= INJECTIVE and mine <= BROADCAST) or (
            kernel == COMM_REDUCE and user == COMM_REDUCE
        )
    if mine == INJECTIVE:
        return user <= INJECTIVE or user == COMM_REDUCE
    if mine == OUT_FUSABLE:
        return user <= BROADCAST and kernel <= BROADCAST
    if mine == COMM_REDUCE:
        return False
    return False


