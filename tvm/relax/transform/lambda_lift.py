"""Make functions of the module out of local ones.

    @R.function                                   @R.function(private=True)
    def main(x):                                  def main_inner(y, x): return R.add(y, x)
        @R.function
        def inner(y): return R.add(y, x)   ->     @R.function
        z = inner(x)                              def main(x):
        return z                                      inner = R.make_closure(cls.main_inner, (x,))
                                                      z = R.invoke_pure_closure(inner, (x,))
                                                      return z

A local function that captures nothing is called by its new name. Captured variables become the last
parameters of the lifted function, which is where a closure puts the values that it holds. Who
gives a closure gives an object; a call of what was given invokes a closure.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis import free_vars
from tvm.relax.base_expr import Id
from tvm.relax.bind import copy_with_new_vars
from tvm.relax.expr import Call, DataflowVar, Function, Var, VarBinding
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.op.base import invoke_closure, invoke_pure_closure, make_closure
from tvm.relax.struct_info import FuncStructInfo, ObjectStructInfo, TupleStructInfo
from tvm.relax.transform.lifted_names import LiftedNames, Path
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings


@relax_module_pass("LambdaLift", opt_level=1)
def LambdaLift(mod: IRModule, ctx: PassContext) -> IRModule:
    """Lift out of every function, inner ones of inner ones too."""
    return _lifted(mod)


@relax_module_pass("LiftLocalFunctions")
def LiftLocalFunctions(mod: IRModule, ctx: PassContext) -> IRModule:
    """As `LambdaLift`, at every level: nothing compiles functions in functions."""
    return _lifted(mod)


def _lifted(mod: IRModule) -> IRModule:
    names = LiftedNames(mod)
    for var, func in mod.functions_items():
        if isinstance(func, Function) and _has_local_functions(func):
            lifter = _Lifter(mod, (var.name_hint,), names)
            new = lifter.visit_expr(func)
            if new is not func:
                assert isinstance(new, Function), "a function stays one"
                var.struct_info_ = new.struct_info_
                lifter.builder_.update_func(var, new)
                mod = lifter.builder_.get()
    return _with_callers(mod)


def _with_callers(mod: IRModule) -> IRModule:
    """Callers of functions that came to give closures follow, and callers of those."""
    again = True
    while again:
        again = False
        for var, func in mod.functions_items():
            if not isinstance(func, Function):
                continue
            new = _Caller(mod).visit_expr(func)
            if new is not func:
                assert isinstance(new, Function), "a function stays one"
                mod = mod.with_functions({**mod.functions, var: new})
                if new.ret_struct_info is not func.ret_struct_info:
                    var.struct_info_ = new.struct_info_
                    again = True
    return mod


def _has_local_functions(func: Function) -> bool:
    return any(isinstance(binding.value, Function) for binding in all_bindings(func))


def _gives_closures(promised: StructInfo | None, found: StructInfo | None) -> bool:
    """Whether objects are found where functions were promised."""
    if isinstance(promised, TupleStructInfo) and isinstance(found, TupleStructInfo):
        return any(_gives_closures(a, b) for a, b in zip(promised.fields, found.fields))
    return isinstance(promised, FuncStructInfo) and type(found) is ObjectStructInfo


class _Caller(PyExprMutator):
    """Calls of values that were functions and are closures now."""

    def visit_function_(self, op: Function) -> RelaxExpr:
        new = super().visit_function_(op)
        assert isinstance(new, Function), "a function stays one"
        if new is op or not _gives_closures(new.ret_struct_info, new.body.struct_info_):
            return new
        return Function(new.params, new.body, None, new.is_pure, new.attrs, new.span)

    def visit_call_(self, op: Call) -> RelaxExpr:
        callee = self.visit_expr(op.op)
        before, now = op.op.struct_info_, callee.struct_info_
        if isinstance(before, FuncStructInfo) and _gives_closures(before, now):
            assert op.struct_info_ is not None, "calls in a module are normalised"
            invoke = invoke_pure_closure if before.purity else invoke_closure
            made = invoke(callee, [self.visit_expr(arg) for arg in op.args], op.struct_info_)
            return Call(made.op, made.args, made.attrs, made.sinfo_args, op.span)
        call = super().visit_call_(self._with_functions(op))
        gives = now.ret if isinstance(now, FuncStructInfo) else None
        if isinstance(call, Call) and _gives_closures(op.struct_info_, gives):
            return Call(call.op, call.args, call.attrs, call.sinfo_args, call.span)
        return call

    def _with_functions(self, op: Call) -> Call:
        """The call with closures cast to the functions that its arguments were."""
        args = list(op.args)
        for i, arg in enumerate(op.args):
            found = self.visit_expr(arg)
            if _gives_closures(arg.struct_info_, found.struct_info_):
                assert arg.struct_info_ is not None, "functions were promised"
                args[i] = self.builder_.match_cast(found, arg.struct_info_)
        if all(a is b for a, b in zip(args, op.args)):
            return op
        call = Call(op.op, args, op.attrs, op.sinfo_args, op.span)
        call.struct_info_ = op.struct_info_
        return call


class _Lifter(_Caller):
    def __init__(self, mod: IRModule, path: Path, names: LiftedNames) -> None:
        super().__init__(mod)
        self._path = path  # the function of the module, and the local ones around
        self._names = names
        self._lifted: dict[Id, GlobalVar] = {}  # local functions that captured nothing

    def visit_var_binding_(self, binding: VarBinding) -> None:
        value = binding.value
        if not isinstance(value, Function):
            super().visit_var_binding_(binding)
            return
        own = binding.var
        captured = [var for var in free_vars(value) if var.vid != own.vid]
        path = (*self._path, own.name_hint)
        target = GlobalVar(self._names.take(path))
        target.struct_info_ = value.struct_info_
        if captured:
            self._lift_closure(binding, value, captured, target, path)
        else:
            self._lifted[own.vid] = target
            self._add(target, value, path)

    def _lift_closure(
        self,
        binding: VarBinding,
        func: Function,
        captured: list[Var],
        target: GlobalVar,
        path: Path,
    ) -> None:
        own = binding.var
        # within itself the function is called with what it captured
        params = [*func.params, *captured]
        target.struct_info_ = _with(func, params, func.body).struct_info_
        inner = _Recursion(own, target, captured).visit_expr(func)
        assert isinstance(inner, Function), "a function stays one"
        self._add(target, _with(func, params, inner.body), path)
        holder = make_closure(target, [self.visit_expr(var) for var in captured])
        closure = self.builder_.normalize(holder)
        var = type(own)(own.name_hint, closure.struct_info_, own.span)
        self.set_var_remap(own.vid, var)
        self.builder_.emit_normalized(VarBinding(var, closure, binding.span))

    def _add(self, target: GlobalVar, func: Function, path: Path) -> None:
        """Put the lifted function into the module, with what nests in it lifted as well."""
        fresh = copy_with_new_vars(func)
        inner = _Lifter(self.builder_.get(), path, self._names)
        inner._lifted = dict(self._lifted)
        lifted = inner.visit_expr(fresh)
        assert isinstance(lifted, Function), "a function stays one"
        for var, one in inner.builder_.get().functions.items():
            if var not in self.builder_.get().functions:
                self.builder_.update_func(var, one)
        target.struct_info_ = lifted.struct_info_
        self.builder_.update_func(target, lifted)

    def visit_var_(self, op: Var) -> RelaxExpr:
        target = self._lifted.get(op.vid)
        return super().visit_var_(op) if target is None else target

    def visit_dataflow_var_(self, op: DataflowVar) -> RelaxExpr:
        return self.visit_var_(op)


def _with(func: Function, params: Sequence[Var], body: RelaxExpr) -> Function:
    return Function(params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span)


class _Recursion(PyExprMutator):
    """Calls of a closure within itself: calls of the lifted function with what was captured."""

    def __init__(self, own: Var, target: GlobalVar, captured: list[Var]) -> None:
        super().__init__()
        self._own = own
        self._target = target
        self._captured = captured

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if isinstance(op.op, Var) and op.op.vid == self._own.vid and isinstance(call, Call):
            new = Call(self._target, [*call.args, *self._captured], None, (), call.span)
            new.struct_info_ = op.struct_info_
            return new
        return call
