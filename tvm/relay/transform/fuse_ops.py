"""Group calls that can share a kernel into functions marked `Primitive`.

    %0 = add(%x, 1f); exp(%0)    ->    (fn (%p0, Primitive=1) { %0 = add(%p0, 1f); exp(%0) })(%x)

Which ones, `fusion_groups` says, from the operators' patterns (`TOpPattern`). Scalars stand in the
kernels, other constants are arguments unless `relay.FuseOps.link_params` is set. No kernel has more
than `relay.FuseOps.max_depth` steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.ir.type import TupleType
from tvm.relax.op_pattern import OpPatternKind as Kind
from tvm.relax.transform.fusion_groups import FusionNode, Groups
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.rewrite import substitute
from tvm.relay.traverse import children, post_order, rebuild, transform
from tvm.relay.ty import TensorType, is_dynamic

from .function_pass import expr_pass

MAX_DEPTH: Final = 256
_SIMPLE: Final = frozenset({"int32", "int64", "float32", "float64", "bool"})
_RESHAPES: Final = frozenset({
    "reshape", "contrib_reverse_reshape", "dyn.reshape", "squeeze", "expand_dims",
    "nn.batch_flatten",
})  # fmt: skip
# Marks, not steps: they stand between kernels.
_MARKS: Final = frozenset({"on_device", "annotation.compiler_begin", "annotation.compiler_end"})


@expr_pass("FuseOps", opt_level=0)
def FuseOps(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, fuse_opt_level: int = -1
) -> RelaxExpr:
    """Every call of an operator stands in a primitive function; with level 0 each in its own."""
    level = ctx.opt_level if fuse_opt_level < 0 else fuse_opt_level
    depth = int(ctx.option("relay.FuseOps.max_depth", MAX_DEPTH))
    return _Fuser(func, level, depth, bool(ctx.option("relay.FuseOps.link_params", False))).run()


@expr_pass("DefuseOps", opt_level=3)
def DefuseOps(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """Primitive functions are gone: their bodies stand where they were called."""

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and isinstance(new.op, Function) and "Primitive" in new.op.attrs:
            binds = {p.vid: arg for p, arg in zip(new.op.params, new.args)}
            return substitute(new.op.body, binds)
        return new

    return transform(func, rule)


def _is_kernel(expr: RelaxExpr) -> bool:
    """Whether it is a function that stays as it is."""
    if not isinstance(expr, Function):
        return False
    return bool(expr.attrs.get("Primitive")) or "Compiler" in expr.attrs


class _Fuser:
    def __init__(self, root: RelaxExpr, level: int, depth: int, link_params: bool) -> None:
        self.root = root
        self.link_params = link_params
        kernels = [e for e in post_order(root) if _is_kernel(e)]
        self.left_alone = {id(kernel): kernel for kernel in kernels}
        self.order = _order(root)
        self.index = {id(expr): at for at, expr in enumerate(self.order)}
        nodes = self._nodes()
        self.groups = Groups(nodes, depth)
        if level >= 1:
            self.groups.run()
        self.args: dict[int, list[RelaxExpr]] = {}  # what a group takes, by its end
        self.params: dict[int, list[Var]] = {}

    def _nodes(self) -> list[FusionNode]:
        """The graph: who reads a value within the function, and how."""
        nodes = [FusionNode(self._pattern(expr), False) for expr in self.order]
        for at, expr in enumerate(self.order):
            for part, how in self._reads(expr):
                source = nodes[self.index[id(part)]]
                if how is None:
                    source.escapes = True
                else:
                    source.readers.append((at, how))
        nodes[-1].escapes = True
        return nodes

    def _pattern(self, expr: RelaxExpr) -> Kind:
        if isinstance(expr, Constant):
            simple = str(expr.data.dtype) in _SIMPLE and expr.is_scalar()
            return Kind.kElemWise if simple or self.link_params else Kind.kOpaque
        if isinstance(expr, Tuple):
            return Kind.kTuple
        if isinstance(expr, TupleGetItem):
            return Kind.kInjective
        if isinstance(expr, Call) and isinstance(expr.op, Op):
            found = expr.op.get_attr("TOpPattern")
            if found is not None and not _depends_on_data(expr):
                return Kind(int(found))
        return Kind.kOpaque

    def _reads(self, expr: RelaxExpr) -> list[tuple[RelaxExpr, Kind | None]]:
        """The parts with the patterns in which they are read; None for those that stay apart."""
        if _is_kernel(expr):
            return []
        if isinstance(expr, Call):
            return [(expr.op, None), *[(arg, self._edge(expr, arg)) for arg in expr.args]]
        if isinstance(expr, Tuple):
            return [
                (f, Kind.kInjective if isinstance(f.checked_type, TensorType) else None)
                for f in expr.fields
            ]
        if isinstance(expr, TupleGetItem):
            found = expr.tuple_value.checked_type
            flat = isinstance(found, TupleType) and all(
                isinstance(field, TensorType) for field in found.fields
            )
            return [(expr.tuple_value, Kind.kInjective if flat else None)]
        return [(part, None) for part in children(expr)]

    def _edge(self, call: Call, arg: RelaxExpr) -> Kind:
        pattern = self._pattern(call)
        mine, theirs = call.checked_type, arg.checked_type
        tensors = isinstance(mine, TensorType) and isinstance(theirs, TensorType)
        if pattern == Kind.kBroadcast and tensors and _same_shape(mine, theirs):
            return Kind.kElemWise
        return pattern

    def run(self) -> RelaxExpr:
        """The function with calls of primitive functions."""
        return transform(self.root, self.rule, dict(self.left_alone))

    def _end(self, expr: RelaxExpr) -> int:
        return self.groups.find(self.index[id(expr)])

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, Call) and isinstance(old.op, Op):
            end = self._end(old)
            assert isinstance(new, Call), "a call stays one until here"
            if old.op.name == "annotation.stop_fusion":
                return new.args[0]  # it has done its work
            if old.op.name in _MARKS:
                return new
            args = self._operands(old.args, new.args, end)
            made: RelaxExpr = Call(new.op, args, new.attrs, new.type_args, new.span)
            return self._closed(old, made, end)
        if isinstance(old, TupleGetItem):
            end = self._end(old)
            inner = old.tuple_value
            if self.order[end] is old and self._end(inner) != end:
                return new  # a field of what another kernel or a variable gives
            assert isinstance(new, TupleGetItem), "a field stays one"
            value = self._operands([inner], [new.tuple_value], end)
            return self._closed(old, rebuild(new, value), end)
        if isinstance(old, Tuple):
            end = self._end(old)
            if self.order[end] is old:
                return new
            assert isinstance(new, Tuple), "a tuple stays one"
            return rebuild(new, self._operands(old.fields, new.fields, end))
        return new

    def _operands(
        self, old: Sequence[RelaxExpr], new: Sequence[RelaxExpr], end: int
    ) -> list[RelaxExpr]:
        """Operands within a kernel: what comes from outside is a parameter of it."""
        made: list[RelaxExpr] = []
        for before, after in zip(old, new):
            linked = self.link_params and isinstance(after, Constant)
            if self._end(before) == end or linked:
                made.append(after)
            else:
                made.append(self._param(before, after, end))
        return made

    def _param(self, old: RelaxExpr, new: RelaxExpr, end: int) -> Var:
        args, params = self.args.setdefault(end, []), self.params.setdefault(end, [])
        for arg, param in zip(args, params):
            if arg is new:
                return param
        args.append(new)
        params.append(Var(f"p{len(params)}", old.checked_type))
        return params[-1]

    def _closed(self, old: RelaxExpr, body: RelaxExpr, end: int) -> RelaxExpr:
        """The call of the kernel, where the group ends; else the expression inside of it."""
        if self.order[end] is not old:
            return body
        calls = [e for e in post_order(body) if isinstance(e, Call)]
        attrs: dict[str, Any] = {"Primitive": int(bool(calls))}
        if calls and all(isinstance(c.op, Op) and c.op.name in _RESHAPES for c in calls):
            attrs["relay.reshape_only"] = 1  # it runs no code
        func = Function(self.params.get(end, []), body, old.checked_type, None, attrs)
        return Call(func, self.args.get(end, []), None, None, getattr(old, "span", None))


def _order(root: RelaxExpr) -> list[RelaxExpr]:
    """Every expression after its parts; kernels that stand already are not entered."""
    found: list[RelaxExpr] = []
    done: set[int] = set()
    stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
    while stack:
        expr, entered = stack.pop()
        if id(expr) in done:
            continue
        parts = () if entered or _is_kernel(expr) else children(expr)
        if not parts:
            done.add(id(expr))
            found.append(expr)
        else:
            stack.append((expr, True))
            stack.extend([(part, False) for part in reversed(parts)])
    return found


def _depends_on_data(call: Call) -> bool:
    """Whether the shape of the result follows from the values of an operand."""
    found = call.checked_type
    flags = call.op.own_attr("TShapeDataDependent") if isinstance(call.op, Op) else None
    dynamic = not isinstance(found, TensorType) or is_dynamic(found)
    return dynamic and flags is not None and any(flags)


def _same_shape(a: Any, b: Any) -> bool:
    return bool(a == TensorType(b.shape, a.dtype))
