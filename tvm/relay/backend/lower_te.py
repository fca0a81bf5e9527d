"""Kernels of primitive functions, called by name.

    def @main(%a) { %0 = fn(%x, Primitive=1) { add(%x, %x) }; %0(%a) }
    ->
    def @main(%a) { %0 = (%a,); call_lowered(@net_fused_add, %0, metadata=...) }
    @net_fused_add: a PrimFunc

Functions of outside compilers stay, marked with `Extern`; what their codegens give is the
attribute `external_mods` of the module.
"""

from __future__ import annotations

from typing import Any

from tvm.ffi import register_global_func
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.supply import NameSupply
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relay.expr import Call, Let, Var
from tvm.relay.function import Function
from tvm.relay.op.lowered import call_lowered
from tvm.relay.outside_code import codegen_of
from tvm.relay.traverse import post_order, transform
from tvm.target.compilation_config import CompilationConfig

from .name_transforms import sanitize_name
from .to_tir import to_tir


@declare_module_pass("LowerTE", opt_level=0, required=["InferType"])
def LowerTE(
    mod: IRModule, ctx: PassContext, mod_name: str, config: CompilationConfig
) -> IRModule:
    """The module with primitive functions lowered for the targets of `config`.

    Kernels are called `<mod_name>_fused_<operators>`; equal functions share one.
    """
    return _Lowering(mod, mod_name, config).run()


class _Lowering:
    def __init__(self, mod: IRModule, mod_name: str, config: CompilationConfig) -> None:
        self.mod = mod
        self.mod_name = mod_name
        self.config = config
        self.names = NameSupply()
        self.made: dict[GlobalVar, BaseFunc] = {}
        self.known: list[tuple[Function, GlobalVar]] = []  # lowered, with the names of the kernels
        self.libraries: list[Any] = []

    def run(self) -> IRModule:
        for var in self.mod.functions:
            self.names.fresh_name(var.name_hint, add_prefix=False)
        kept: dict[GlobalVar, BaseFunc] = {}
        for var, func in self.mod.functions.items():
            if not isinstance(func, Function):
                kept[var] = func
            elif not _is_kernel(func):
                kept[var] = self._function(func)
            elif codegen_of(func) is not None or "Extern" in func.attrs:
                kept[var] = self._outside(func, var)
        made = self.mod.with_functions({**kept, **self.made})
        return made.with_attr("external_mods", self.libraries) if self.libraries else made

    def _function(self, func: Function) -> Function:
        bound: dict[Any, Function] = {
            e.var.vid: e.value
            for e in post_order(func)
            if isinstance(e, Let) and isinstance(e.value, Function) and _is_kernel(e.value)
        }

        def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
            if isinstance(new, Let) and new.var.vid in bound:
                return new.body
            if not isinstance(new, Call):
                return new
            callee: Any = new.op
            if isinstance(callee, Var):
                callee = bound.get(callee.vid)
            elif isinstance(callee, GlobalVar):
                callee = self.mod[callee]
            if not isinstance(callee, Function) or not _is_kernel(callee):
                return new
            given = new.op if isinstance(new.op, GlobalVar) else None
            return self._call(callee, new, given)

        found = transform(func, rule)
        assert isinstance(found, Function), "a function stays one"
        return found

    def _call(self, func: Function, call: Call, given: GlobalVar | None) -> Call:
        told: dict[str, Any] = {"relay_attrs": func.attrs}
        if "Extern" in func.attrs:
            assert given is not None, "a function from elsewhere has a name"
            return _named(given, call, told)
        if codegen_of(func) is not None:
            var = given or GlobalVar(str(func.attrs["global_symbol"]))
            if given is None and var not in self.made:
                self.made[var] = self._outside(func, var)
            return _named(var, call, told)
        var = self._kernel(func)
        return _named(var, call, {**told, "all_prim_fn_vars": [var]})

    def _outside(self, func: Function, var: GlobalVar) -> Function:
        """The function, marked; its code is made, once."""
        codegen = codegen_of(func)
        library = None if codegen is None else codegen(func)
        if library is not None:
            self.libraries.append(library)
        _typed(var, func)
        return func.with_attr("Extern", 1)

    def _kernel(self, func: Function) -> GlobalVar:
        for known, var in self.known:
            if structural_equal(known, func):
                return var
        ops = [e.op.name for e in post_order(func.body)
               if isinstance(e, Call) and isinstance(e.op, Op)]  # fmt: skip
        name = sanitize_name("_".join([self.mod_name, "fused", *ops]).strip("_"))
        var = GlobalVar(self.names.fresh_name(name, add_prefix=False))
        _typed(var, func)
        lowered: Any = to_tir(IRModule(), {var.name_hint: func})[var.name_hint]
        self.made[var] = lowered.with_attr("target", self._target(func))
        self.known.append((func, var))
        return var

    def _target(self, func: Function) -> Any:
        device = func.virtual_device_
        own = None if device is None else device.target
        return own or self.config.default_primitive_virtual_device.target


def _named(var: GlobalVar, call: Call, told: dict[str, Any]) -> Call:
    made: Call = call_lowered(var, call.args, told)
    made.checked_type_ = call.checked_type_
    return made


def _typed(var: Any, func: Function) -> None:
    """Note the type of a function at its name, for calls of what has no type of Relay."""
    var.checked_type_ = func.checked_type_


def _is_kernel(func: Function) -> bool:
    return bool(func.attrs.get("Primitive", 0)) or bool(func.attrs.get("Extern", 0))


register_global_func("relay.tec.LowerTE", LowerTE)
