"""The frame of a module under construction."""

from __future__ import annotations

from tvm.error import ScriptError
from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.global_info import GlobalInfo
from tvm.ir.module import IRModule
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame, rename
from tvm.support.naming import NameTable


class IRModuleFrame(IRBuilderFrame):
    """A module: functions are declared first, then defined."""

    __slots__ = ("attrs", "declared", "functions", "global_infos", "global_vars")

    def __init__(self) -> None:
        super().__init__()
        self.global_vars: dict[str, GlobalVar] = {}
        self.functions: dict[GlobalVar, BaseFunc] = {}
        self.declared: dict[GlobalVar, BaseFunc] = {}
        self.attrs: dict[str, object] = {}
        self.global_infos: dict[str, list[GlobalInfo]] = {}

    def declare(self, name: str, signature: BaseFunc) -> GlobalVar:
        """A global variable for a function of which only the signature is known."""
        if name in self.global_vars:
            raise ScriptError(f"function {name} already exists")
        var = GlobalVar(name, signature.struct_info_)
        self.global_vars[name] = var
        self.declared[var] = signature
        return var

    def define(self, name: str, func: BaseFunc) -> GlobalVar:
        """Give a declared function its body; one that was not declared is declared now."""
        var = self.global_vars.get(name)
        if var is None:
            var = self.declare(name, func)
        elif var in self.functions:
            raise ScriptError(f"function {name} already exists: it is defined twice")
        self.functions[var] = func
        self.declared[var] = func
        if func.struct_info_ is not None:
            var.struct_info_ = func.struct_info_
        elif var.struct_info_ is not None:
            var.struct_info_ = func.struct_info  # a caller was told what the signature tells
        return var

    def adopt(self, var: GlobalVar, func: BaseFunc) -> None:
        """Take in a finished function; its variable is renamed if the name is taken."""
        names = NameTable(list(self.global_vars))
        rename(var, "name_hint", names.fresh(var.name_hint))
        self.global_vars[var.name_hint] = var
        self.functions[var] = func
        self.declared[var] = func

    def finish(self) -> None:
        missing = [name for name, var in self.global_vars.items() if var not in self.functions]
        if missing:
            raise ScriptError(f"function {missing[0]!r} is declared and never defined")
        builder = IRBuilder.current()
        if builder.frames:
            raise ScriptError("a module stands alone; it cannot be built inside another frame")
        builder.keep(IRModule(self.functions, self.attrs, self.global_infos))


def module_frame(asked: str) -> IRModuleFrame:
    """The module under construction; a ScriptError if there is none."""
    frame = IRBuilder.current().find(IRModuleFrame)
    if frame is None:
        raise ScriptError(f"{asked} needs to be under I.ir_module()")
    return frame
