"""TIR functions say which of their buffers hold weights, whose layout may be chosen freely.

    def main(x, w):  # num_input: 1
        y = call_tir(cls.matmul, (x, w))     ->    y = call_tir(cls.matmul1, (x, w))

where `matmul1` is `matmul` with the attribute `layout_free_buffers: [1]`. Weights are constants and
the parameters after the first `num_input`; a function without any has an empty list. Functions that
nobody calls any more are removed.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, Sequential
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, Tuple, Var, is_call_of
from tvm.relax.int_attrs import int_attr
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.plain_kernel_names import MADE_OF
from tvm.relax.transform.rebuild import map_calls
from tvm.tir.function import PrimFunc
from tvm.tir.renew_defs import renew_defs


def AttachAttrLayoutFreeBuffers() -> Sequential:
    """Every call of a TIR function is one of a function that knows of its weights."""
    return Sequential([_attach(), RemoveUnusedWork()], name="AttachAttrLayoutFreeBuffers")


@relax_module_pass("_AttachAttrLayoutFreeBuffers")
def _attach(mod: IRModule, ctx: PassContext) -> IRModule:
    return _marked(mod, params=True)


@relax_module_pass("MarkConstantWeights")
def MarkConstantWeights(mod: IRModule, ctx: PassContext) -> IRModule:
    """The same for constants alone, whose layout costs nothing when the program runs.

    The functions that are made say what they are made of, for `PlainKernelNames`.
    """
    return _marked(mod, params=False)


def _marked(mod: IRModule, params: bool) -> IRModule:
    bb = BlockBuilder(mod)
    marker = _Marker(mod, bb, says_origin=not params)
    for var, func in mod.functions_items():
        if isinstance(func, Function):
            new = marker.function(func, params)
            if new is not func:
                bb.update_func(var, new)
    return bb.get()


class _Marker:
    """Makes the functions that know of their weights, each once."""

    def __init__(self, mod: IRModule, bb: BlockBuilder, says_origin: bool) -> None:
        self._mod, self._bb, self._says_origin = mod, bb, says_origin
        self._made: dict[tuple[GlobalVar, tuple[int, ...]], GlobalVar] = {}

    def function(self, func: Function, params: bool) -> Function:
        """A graph whose calls are of such functions; `params` says if weights may be parameters."""
        count = int_attr(func, "num_input", len(func.params))
        weights = set(func.params[count:]) if params else set()
        return map_calls(func, lambda call: self._call(call, weights))

    def _call(self, call: Call, weights: set[Var]) -> RelaxExpr:
        if not is_call_of(call, "relax.call_tir"):
            return call
        callee, operands = call.args[0], call.args[1]
        assert isinstance(operands, Tuple), "call_tir has a tuple of operands"
        free = [i for i, arg in enumerate(operands.fields) if _is_weight(arg, weights)]
        kernel = self._mod[callee] if isinstance(callee, GlobalVar) else None
        asked = free or not self._says_origin
        if not asked or not isinstance(kernel, PrimFunc) or _indices(kernel) == free:
            return call
        assert isinstance(callee, GlobalVar), "its function was found"
        target = self._kernel(callee, kernel, tuple(free))
        new = Call(call.op, [target, *call.args[1:]], call.attrs, call.sinfo_args, call.span)
        new.struct_info_ = call.struct_info_
        return new

    def _kernel(self, var: GlobalVar, kernel: PrimFunc, free: tuple[int, ...]) -> GlobalVar:
        if (var, free) not in self._made:
            own = renew_defs(kernel).with_attr("layout_free_buffers", list(free))
            own = own.without_attr("global_symbol")
            if self._says_origin:
                own = own.with_attr(MADE_OF, var.name_hint)
            self._made[var, free] = self._bb.add_func(own, var.name_hint)
        return self._made[var, free]


def _is_weight(arg: RelaxExpr, weights: set[Var]) -> bool:
    return isinstance(arg, Constant) or (isinstance(arg, Var) and arg in weights)


def _indices(kernel: PrimFunc) -> list[int] | None:
    found = kernel.attrs.get("layout_free_buffers")
    if found is None:
        return None
    return [int(str(index)) for index in found]  # type: ignore[attr-defined]
