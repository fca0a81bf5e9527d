"""Convolutions make the border around their data, whose width only running tells.

    lv = call_tir(pad, (x,), (n, c, h + t, w + u))  ->  y = call_tir(conv2d, (x, w), ...)
    y = conv2d(lv, w)                                       P[...] = X[...] if inside, else 0
                                                            Y[...] += P[...] * W[...]

TensorFlow's windows of some steps have such borders where sizes are open. As a padding of numbers
is, they are a block of the kernel, which rules know to read elements under a condition: the copy of
the data is saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tvm.arith import Analyzer
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, Tuple, is_call_of
from tvm.relax.extents import extents_of
from tvm.relax.op.declare import topi
from tvm.relax.op.layout_rules import options_of
from tvm.relax.struct_info import VOID, ShapeExpr
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings, rewrite_calls
from tvm.tir.expr import LE, LT, BufferLoad, Var
from tvm.tir.expr import is_call_of as is_tir_call
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, substitute, vars_in
from tvm.tir.op.arith import is_zero
from tvm.tir.op.forms import conjuncts
from tvm.tir.stmt import Block, BufferStore

# Operators, by the layouts in which kernels have borders.
_CONVOLUTIONS: Final = {
    "relax.nn.conv1d": ("NCW", "OIW"), "relax.nn.conv2d": ("NCHW", "OIHW"),
    "relax.nn.conv3d": ("NCDHW", "OIDHW"),
}  # fmt: skip


class _Border(NamedTuple):
    """Zeros around the axes of windows of some data."""

    data: RelaxExpr
    before: list[PrimExpr]
    after: list[PrimExpr]


@relax_module_pass("OpenPadsOfConvolutions")
def OpenPadsOfConvolutions(mod: IRModule, ctx: PassContext) -> IRModule:
    """For convolutions that read what a kernel made of zeros beside their windows' axes."""
    bb = BlockBuilder(mod)
    for var, func in mod.functions.items():
        borders = _borders(mod, func) if isinstance(func, Function) else {}
        if not isinstance(func, Function) or not borders:
            continue

        def rule(
            bb: BlockBuilder, call: Call, borders: Mapping[RelaxExpr, _Border] = borders
        ) -> RelaxExpr:
            border = borders.get(call.args[0])
            return call if border is None else _with_border(bb, call, border)

        new = rewrite_calls(func, dict.fromkeys(_CONVOLUTIONS, rule), bb)
        if new is not func:
            bb.update_func(var, remove_unused_bindings(new))
    return bb.get()


def _borders(mod: IRModule, func: Function) -> dict[RelaxExpr, _Border]:
    """What variables hold that kernels put a border around."""
    found: dict[RelaxExpr, _Border] = {}
    for binding in all_bindings(func):
        value = binding.value
        if isinstance(value, Call) and is_call_of(value, "relax.call_tir"):
            border = _border(mod, value)
            if border is not None:
                found[binding.var] = border
    return found


def _border(mod: IRModule, call: Call) -> _Border | None:
    """What the kernel of a call puts around its one operand; None unless that is zeros alone."""
    name, operands = call.args[0], call.args[1]
    func = mod.functions.get(name) if isinstance(name, GlobalVar) else None
    if not isinstance(func, PrimFunc) or not isinstance(operands, Tuple):
        return None
    data = operands.fields[0] if len(operands.fields) == 1 else None
    tensors = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    blocks = [block for block in statements(func.body, Block) if block.iter_vars]
    own = None if data is None else extents_of(data)
    if data is None or own is None or len(tensors) != 2 or len(blocks) != 1:
        return None
    before = _moved(blocks[0])
    shape = call.sinfo_args[0].shape  # type: ignore[attr-defined]
    if before is None or not isinstance(shape, ShapeExpr):
        return None
    given = {extent: size for extent, size in zip(tensors[0].shape, own) if isinstance(extent, Var)}
    scalars = [p for p in func.params if p not in func.buffer_map]
    if len(call.args) > 2 and isinstance(call.args[2], ShapeExpr):
        given.update(zip(scalars, call.args[2].values))
    if any(var not in given for amount in before for var in vars_in(amount)):
        return None
    before = [substitute(amount, given) for amount in before]
    wide = zip(shape.values, own, before)
    after = [Analyzer().simplify(whole - size - amount) for whole, size, amount in wide]
    if not all(map(is_zero, (*before[:2], *after[:2]))):
        return None
    return _Border(data, before[2:], after[2:])


def _moved(block: Block) -> list[PrimExpr] | None:
    """How far elements are moved along each axis, if all is zero that is not one of them."""
    store, names = block.body, [iv.var for iv in block.iter_vars]
    if not isinstance(store, BufferStore) or list(store.indices) != names:
        return None
    if not is_tir_call(store.value, "tir.if_then_else"):
        return None
    condition, load, other = store.value.args
    if not isinstance(load, BufferLoad) or not is_zero(other) or len(load.indices) != len(names):
        return None
    found = [Analyzer().simplify(name - index) for name, index in zip(names, load.indices)]
    if any(var in names for amount in found for var in vars_in(amount)):
        return None
    inside = all(_is_end(term, load) for term in conjuncts(condition))
    return found if inside else None


def _is_end(term: PrimExpr, load: BufferLoad) -> bool:
    """Whether a condition is that an index is not too small, or not too large."""
    if not isinstance(term, LE | LT):
        return False
    room = term.b - term.a if isinstance(term, LE) else term.b - term.a - 1
    same = Analyzer()
    return any(
        same.can_prove_equal(room, index) or same.can_prove_equal(room, size - 1 - index)
        for index, size in zip(load.indices, load.buffer.shape)
    )


def _with_border(bb: BlockBuilder, call: Call, border: _Border) -> RelaxExpr:
    """The convolution as a kernel that makes the border; the call where it has other layouts."""
    options: Mapping[str, Any] = options_of(call)
    layouts = options["data_layout"], options["kernel_layout"]
    assert isinstance(call.op, Op), "looked at by the caller"
    if layouts != _CONVOLUTIONS[call.op.name] or options["out_layout"] != layouts[0]:
        return call
    count = len(border.before)
    own = [int(n) for n in options["padding"]]
    ends = zip(own, [*border.before, *border.after])
    dtype = options["out_dtype"]
    made = bb.normalize(bb.call_te(
        topi.nn.conv, border.data, call.args[1], list(options["strides"]),
        [amount + n if n else amount for n, amount in ends], list(options["dilation"]),
        int(options["groups"]), *layouts, None if dtype is VOID else str(dtype),
        primfunc_name_hint=f"conv{count}d",
    ))  # fmt: skip
    wanted, found = extents_of(call), extents_of(made)
    same = Analyzer()
    if wanted is None or found is None or len(wanted) != len(found):
        return call
    equal = all(same.can_prove_equal(a, b) for a, b in zip(wanted, found))
    return made if equal else call
