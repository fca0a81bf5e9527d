"""Decide where every value is, and copy where the device changes.

    %0 = add(%a, %b); %1 = on_device(%0, virtual_device=CPU); subtract(%1, %c)
    ->
    %0 = add(%a, %b); %1 = on_device(%0, virtual_device=CPU, constrain_result=True);
    %2 = device_copy(%1, src_virtual_device=CPU, dst_virtual_device=GPU); subtract(%2, %c)

`on_device` and `device_copy` say what is known. Operands of an operator, and its result, are on one
device; so are a function's parameters with the arguments of its calls, and a variable with its
value. What stays open goes to the default device of the configuration. Afterwards functions and
their parameters carry their devices, values of lets and what is on another device than its user
stand in `on_device` calls that constrain both sides, and copies join devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.adt import Constructor, Match, PatternConstructor, PatternTuple, PatternVar
from tvm.relay.expr import (
    UNCONSTRAINED,
    Call,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    VarWithFields,
)
from tvm.relay.function import Function, FunctionWithFields
from tvm.relay.op.annotation.annotation import _on_device
from tvm.relay.op.tensor import device_copy
from tvm.relay.traverse import children, rebuild, transform
from tvm.target.compilation_config import CompilationConfig
from tvm.target.virtual_device import VirtualDevice

from .device_domains import Domains
from .infer_type import typed


@declare_module_pass("PlanDevices", opt_level=0)
def PlanDevices(mod: IRModule, ctx: PassContext, config: CompilationConfig) -> IRModule:
    """The module with the device of every value; DiagnosticError where two are asked for."""
    mod = typed(mod)
    spread: dict[Any, Any] = {v: transform(f, _spread) for v, f in _planned(mod).items()}
    mod = typed(mod.with_functions({**mod.functions, **spread}))
    functions = _planned(mod)

    domains = Domains(config)
    for var, func in functions.items():
        domains.same(var, func)
        for other in _global_uses(func):
            target = next((f for v, f in functions.items() if v == other), None)
            if target is not None:
                domains.same(other, target)
    for func in functions.values():
        for expr in _outside_in(func):
            _relate(expr, domains)
    for func in functions.values():
        _join_free(func, domains)
    for func in functions.values():
        for expr in _outside_in(func):
            _default(expr, domains)
    planned: dict[Any, Any] = {v: _captured(f, domains) for v, f in functions.items()}
    return mod.with_functions({**mod.functions, **planned})


def _planned(mod: IRModule) -> dict[GlobalVar, Function]:
    """The functions in which devices are decided."""
    found = {v: f for v, f in mod.functions.items() if isinstance(f, Function)}
    return {v: f for v, f in found.items() if not _is_kernel(f)}


def _is_kernel(func: Function) -> bool:
    return bool(func.attrs.get("Primitive")) or "Compiler" in func.attrs


def _global_uses(func: Any) -> list[GlobalVar]:
    return [e for e in _outside_in(func) if isinstance(e, GlobalVar)]


def _outside_in(root: RelaxExpr) -> Iterator[RelaxExpr]:
    """Every expression once, the whole before its parts; kernels are not entered."""
    stack, seen = [root], {id(root)}
    while stack:
        expr = stack.pop()
        yield expr
        if isinstance(expr, Function) and _is_kernel(expr):
            continue
        for part in reversed(children(expr)):
            if id(part) not in seen:
                seen.add(id(part))
                stack.append(part)


def _props(expr: RelaxExpr) -> Any:
    """The options of a call of on_device that says where its body is; None for others."""
    if not _is_call(expr, "on_device"):
        return None
    attrs: Any = expr.attrs  # type: ignore[attr-defined]
    return attrs if attrs.constrain_body and not attrs.constrain_result else None


def _is_call(expr: RelaxExpr, name: str) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name == name


def _spread(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
    """A mark on a body marks the function; one on a tuple marks its items, on a let its value."""
    if isinstance(new, TupleGetItem):
        attrs = _props(new.tuple_value)
        return new if attrs is None else _on_device(new, attrs.virtual_device, False, True)
    if isinstance(new, Function) and not _is_kernel(new):
        attrs = _props(new.body)
        if attrs is not None:
            inner = new.body.args[0]  # type: ignore[attr-defined]
            return FunctionWithFields(new, body=_fixed(inner, attrs.virtual_device))
    if isinstance(new, Let):
        attrs = _props(new.value)
        if attrs is not None:
            inner = new.value.args[0]  # type: ignore[attr-defined]
            new = Let(new.var, _fixed(inner, attrs.virtual_device), new.body, new.span)
        attrs = _props(new.body)
        if attrs is not None:
            return _on_device(new, attrs.virtual_device, False, True)  # type: ignore[no-any-return]
    return new


def _fixed(expr: RelaxExpr, device: VirtualDevice) -> RelaxExpr:
    """The expression with its device written down, unless it tells it by itself."""
    if isinstance(expr, (Var, GlobalVar, Op, Constructor, Function)):
        return expr
    if _is_call(expr, "on_device"):
        expr = expr.args[0]  # type: ignore[attr-defined]
    made: Call = _on_device(expr, device, True, True)
    return made


def _relate(expr: RelaxExpr, domains: Domains) -> None:
    """What an expression says about the devices of its parts."""
    if isinstance(expr, Function):
        if not _is_kernel(expr):
            _relate_function(expr, domains)
    elif isinstance(expr, Call):
        made = [*expr.args, expr]
        for want, have in zip(domains.callee(expr).parts, made):
            domains.unify(want, domains.of(have), expr)
    elif isinstance(expr, Let):
        domains.same(expr.var, expr.value)
        domains.same(expr, expr.body)
    elif isinstance(expr, If):
        for part in children(expr):  # a choice of functions is where they work
            domains.same(part, expr)
    elif isinstance(expr, (Tuple, TupleGetItem, RefCreate, RefRead, RefWrite)):
        for part in children(expr):
            domains.same(part, expr)
    elif isinstance(expr, Match):
        for clause in expr.clauses:
            domains.same(clause.rhs, expr)
            for var in _bound(clause.lhs):
                domains.same(var, expr.data)


def _bound(pattern: Any) -> list[Var]:
    if isinstance(pattern, PatternVar):
        return [pattern.var]
    if isinstance(pattern, (PatternConstructor, PatternTuple)):
        return [var for inner in pattern.patterns for var in _bound(inner)]
    return []


def _relate_function(func: Function, domains: Domains) -> None:
    *params, result = domains.of(func).parts
    domains.unify(domains.of(func.body), result, func)
    for param, domain in zip(func.params, params):
        domains.unify(domains.of(param), domain, func)
        _relate_written(param, param.virtual_device_, domains)
    _relate_written(func.body, func.virtual_device_, domains)


def _relate_written(expr: RelaxExpr, device: VirtualDevice, domains: Domains) -> None:
    if device != UNCONSTRAINED:
        found = getattr(expr, "checked_type_", None)
        domains.unify(domains.of(expr), domains.on_device(found, device), expr)


def _join_free(func: Function, domains: Domains) -> None:
    """An on_device that says nothing of its body or result has both on one device, if it can."""
    for expr in _outside_in(func):
        if not isinstance(expr, Call) or not _is_call(expr, "on_device"):
            continue
        attrs: Any = expr.attrs
        if attrs.constrain_body or attrs.constrain_result:
            continue
        body, result = domains.of(expr.args[0]), domains.of(expr)
        if not (body.is_known and result.is_known):
            domains.unify(body, result, expr)


def _default(expr: RelaxExpr, domains: Domains) -> None:
    device = domains.config.default_primitive_virtual_device
    if isinstance(expr, Function) and not _is_kernel(expr):
        domains.default_result_then_params(domains.of(expr), device)
    elif isinstance(expr, Call):
        domains.default_result_then_params(domains.callee(expr), device)
    elif isinstance(expr, Let):
        domains.default(domains.of(expr.var), device)
    elif isinstance(expr, (If, Match)):
        domains.default(domains.of(expr), device)
        domains.default(domains.of(children(expr)[0]), device)


class _Capture:
    """Rewrites a function so that it says what was decided."""

    def __init__(self, domains: Domains) -> None:
        self.domains = domains
        self.made: dict[int, RelaxExpr] = {}

    def device_of(self, expr: RelaxExpr) -> VirtualDevice:
        domain = self.domains.of(expr)
        self.domains.default(domain, self.domains.config.default_primitive_virtual_device)
        return domain.result

    def rewrite(self, root: RelaxExpr) -> RelaxExpr:
        stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
        while stack:
            expr, entered = stack.pop()
            if id(expr) in self.made:
                continue
            kernel = isinstance(expr, Function) and _is_kernel(expr)
            parts = () if kernel else children(expr)
            if entered or not parts:
                self.made[id(expr)] = expr if kernel else self.capture(expr)
                continue
            stack.append((expr, True))
            stack.extend([(p, False) for p in reversed(parts)])
        return self.made[id(root)]

    def capture(self, expr: RelaxExpr) -> RelaxExpr:
        """One expression, of which all parts are done."""
        if isinstance(expr, Var):
            return VarWithFields(expr, virtual_device=expr.virtual_device_)
        if isinstance(expr, Function):
            return self.function(expr)
        if isinstance(expr, Call):
            return self.call(expr)
        if isinstance(expr, Let):
            device, own = self.device_of(expr), self.device_of(expr.var)
            value = _fixed(self.child(expr.value, own, own, self.device_of(expr.value)), own)
            body = self.child(expr.body, device, device, self.device_of(expr.body))
            return rebuild(expr, (self.made[id(expr.var)], value, body))
        parts = children(expr)
        if not parts:
            return expr
        device = self.device_of(expr)
        wanted = [self.device_of(part) for part in parts]
        return rebuild(expr, [self.child(p, device, want, want) for p, want in zip(parts, wanted)])

    def function(self, func: Function) -> RelaxExpr:
        result = self.device_of(func)
        params = [VarWithFields(p, virtual_device=self.device_of(p)) for p in func.params]
        body = self.child(func.body, result, result, self.device_of(func.body))
        given = {p.vid: new for p, new in zip(func.params, params)}

        def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
            return given.get(new.vid, new) if isinstance(new, Var) else new

        body = transform(body, rule) if given else body
        return FunctionWithFields(func, params=params, body=body, virtual_device=result)

    def call(self, call: Call) -> RelaxExpr:
        device = self.device_of(call)
        if _is_call(call, "on_device"):
            return self.child(call.args[0], device, device, self.device_of(call.args[0]))
        domain = self.domains.callee(call)
        wanted = [part.result for part in domain.parts[:-1]]
        if _is_call(call, "device_copy"):
            target = domain.result
            return self.child(call.args[0], target, target, wanted[0])
        args = [
            self.child(arg, device, want, self.device_of(arg))
            for arg, want in zip(call.args, wanted)
        ]
        return rebuild(call, (self.child(call.op, device, device, device), *args))

    def child(
        self, expr: RelaxExpr, around: VirtualDevice, wanted: VirtualDevice, own: VirtualDevice
    ) -> RelaxExpr:
        """A part that is on `own`, for a user that wants it on `wanted` and is on `around`."""
        made = self.made[id(expr)]
        if isinstance(expr, (Op, Constructor)):
            return made
        if own != wanted:
            made = device_copy.call(
                _fixed(made, own), src_virtual_device=own, dst_virtual_device=wanted
            )
        return made if wanted == around else _fixed(made, wanted)


def _captured(func: Function, domains: Domains) -> RelaxExpr:
    return _Capture(domains).rewrite(func)
