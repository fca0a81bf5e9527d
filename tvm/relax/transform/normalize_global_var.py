"""Name every global variable like the symbol of its function.

    @R.function                                @R.function
    def main1(): ...                  ->       def main(): ...
    # global_symbol = "main"

Private functions whose name a public one takes get a fresh name. All mentions follow.
"""

from __future__ import annotations

from tvm.error import CheckError
from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import FINISHERS
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rename_globals import with_global_vars
from tvm.support.naming import NameTable


@relax_module_pass("NormalizeGlobalVar")
def NormalizeGlobalVar(mod: IRModule, ctx: PassContext) -> IRModule:
    """Rename where name and symbol differ."""
    names = _names(mod)
    renamed = {
        var: _renamed(var, name) for var, name in names.items() if name != var.name_hint
    }
    return with_global_vars(mod, renamed) if renamed else mod


def _symbol(func: BaseFunc) -> str | None:
    symbol = func.attrs.get("global_symbol")
    return None if symbol is None else str(symbol)


def _names(mod: IRModule) -> dict[GlobalVar, str]:
    """The name that each function is to have."""
    wanted: dict[GlobalVar, str] = {}
    owners: dict[str, GlobalVar] = {}
    for var, func in mod.functions_items():
        symbol = _symbol(func)
        if symbol is not None:
            if symbol in owners:
                raise CheckError(
                    f"NormalizeGlobalVar: functions {owners[symbol].name_hint!r} and "
                    f"{var.name_hint!r} have the same global symbol {symbol!r}; legal: one each"
                )
            owners[symbol] = var
            wanted[var] = symbol
    names = NameTable(list(owners))
    for var, func in mod.functions_items():
        if _symbol(func) is None:
            wanted[var] = names.fresh(var.name_hint, "")
    return wanted


def _renamed(var: GlobalVar, name: str) -> GlobalVar:
    new = GlobalVar(name)
    new.struct_info_ = var.struct_info_
    return new


FINISHERS.register("names", lambda mod: NormalizeGlobalVar()(mod))
