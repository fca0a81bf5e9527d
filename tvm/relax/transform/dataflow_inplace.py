"""Results overwrite operands that are not read any more.

    z = R.add(x, y)                    z = R.add(x, y)
    p = R.add(z, y)            ->      p = R.call_tir_inplace(cls.add_inplace, (z, y), [0], ...)
    return p                           return p

Only values made within the dataflow block are written over; the block's inputs may be somebody
else's. Operators whose every result element depends on operand elements at the same index do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Binding, Call, DataflowBlock, Function, Tuple, Var
from tvm.relax.op.base import CallTIRInplaceAttrs
from tvm.relax.shape_math import same_extent, simplify
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.dataflow_aliases import UNKNOWN, Aliases, live_ranges
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import map_dataflow_blocks, with_bindings, with_value
from tvm.support.dtype import DataType
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.renew_defs import DefRenewer, renew_defs

_ELEMENT_BY_ELEMENT = frozenset(
    f"relax.{name}" for name in ("add", "subtract", "multiply", "divide", "nn.silu", "nn.relu")
)


class InplaceOpportunity:
    """A binding whose result may overwrite one of some operands."""

    def __init__(self, _binding_idx: int, _arg_idxs: Sequence[int]) -> None:
        self.binding_idx = _binding_idx
        self.arg_idxs = tuple(_arg_idxs)


@relax_module_pass("DataflowUseInplaceCalls")
def DataflowUseInplaceCalls(mod: IRModule, ctx: PassContext) -> IRModule:
    """Operators become in-place kernel calls where that is safe."""
    bb = BlockBuilder(mod)
    legalized: set[GlobalVar] = set()
    for var, func in mod.functions.items():
        if not isinstance(func, Function):
            continue
        bb.begin_scope(func.params)
        new = map_dataflow_blocks(func, lambda block: _rewritten(bb, block, legalized))
        bb.end_scope()
        if new is not func:
            bb.update_func(var, new)
    made = bb.get()
    left = {v: f for v, f in made.functions.items() if v not in legalized or v in mod.functions}
    return made.with_functions(left)


def _rewritten(
    bb: BlockBuilder, block: DataflowBlock, legalized: set[GlobalVar]
) -> DataflowBlock:
    bindings: list[Binding] = list(block.bindings)
    _, exact = inplace_opportunities(block, ())
    for one in exact:
        binding = bindings[one.binding_idx]
        assert isinstance(binding.value, Call), "opportunities are calls"
        call, original = inplace_call(bb, binding.value, one.arg_idxs[-1:])
        legalized.add(original)
        bindings[one.binding_idx] = with_value(binding, call)
    new = with_bindings(block, bindings)
    assert isinstance(new, DataflowBlock), "of the same kind"
    return new


# --- where it is safe ---


def inplace_opportunities(
    block: DataflowBlock, inputs: Sequence[Var]
) -> tuple[list[InplaceOpportunity], list[InplaceOpportunity]]:
    """Where the result fits in the memory of an operand; and where it is of the same shape too."""
    ranges, aliases = live_ranges(block), Aliases(block, inputs)
    fitting: list[InplaceOpportunity] = []
    exact: list[InplaceOpportunity] = []
    for i, binding, later in _with_memory_needed_later(block, ranges, aliases):
        call = binding.value
        if not isinstance(call, Call) or not isinstance(call.op, Op):
            continue
        if call.op.name not in _ELEMENT_BY_ELEMENT:
            continue
        found = [_fits(binding.var.struct_info_, arg.struct_info_) for arg in call.args]
        free = [
            j
            for j, arg in enumerate(call.args)
            if found[j][0] and _is_free(arg, i, ranges, aliases, later)
        ]
        if free:
            fitting.append(InplaceOpportunity(i, free))
        if same := [j for j in free if found[j][1]]:
            exact.append(InplaceOpportunity(i, same))
    return fitting, exact


def _with_memory_needed_later(
    block: DataflowBlock, ranges: dict[Var, tuple[int, int]], aliases: Aliases
) -> Iterator[tuple[int, Binding, Counter[int]]]:
    """Each binding with the memory that variables from before it have and that is read after it."""
    later: Counter[int] = Counter()
    ending: dict[int, list[Var]] = {}

    def begins(var: Var) -> None:
        later.update(aliases.with_fields(aliases.sets[var]))
        ending.setdefault(ranges[var][1], []).append(var)

    for var, (start, _) in ranges.items():
        if start == -1 and var in aliases.sets:
            begins(var)
    for i, binding in enumerate(block.bindings):
        for var in ending.pop(i, ()):
            later.subtract(aliases.with_fields(aliases.sets[var]))
        yield i, binding, later
        if ranges[binding.var][1] > i:
            begins(binding.var)


def _is_free(
    arg: RelaxExpr, at: int, ranges: dict[Var, tuple[int, int]], aliases: Aliases,
    later: Counter[int],
) -> bool:  # fmt: skip
    """True when nobody reads the memory of an operand after binding number `at`."""
    if isinstance(arg, Tuple):
        return all(_is_free(field, at, ranges, aliases, later) for field in arg.fields)
    if not isinstance(arg, Var) or arg not in aliases.sets or ranges[arg][1] > at:
        return False
    numbers = aliases.with_fields(aliases.sets[arg])
    if UNKNOWN in numbers or numbers & aliases.constants:
        return False
    return not any(later[number] for number in numbers)


def _fits(result: StructInfo | None, operand: StructInfo | None) -> tuple[bool, bool]:
    """Whether the memory of an operand is large enough for a result; whether both are alike."""
    if isinstance(result, TupleStructInfo) and isinstance(operand, TupleStructInfo):
        if len(result.fields) != len(operand.fields):
            return False, False
        pairs = [_fits(a, b) for a, b in zip(result.fields, operand.fields)]
        return all(fits for fits, _ in pairs), all(same for _, same in pairs)
    if not isinstance(result, TensorStructInfo) or not isinstance(operand, TensorStructInfo):
        return False, False
    mine, theirs = result.shape, operand.shape
    if not isinstance(mine, ShapeExpr) or not isinstance(theirs, ShapeExpr):
        return False, False
    if result.vdevice != operand.vdevice or "" in (str(result.dtype), str(operand.dtype)):
        return False, False
    alike = result.dtype == operand.dtype and len(mine.values) == len(theirs.values)
    if alike and all(same_extent(a, b) for a, b in zip(mine.values, theirs.values)):
        return True, True
    need, have = _bytes(mine, result.dtype), _bytes(theirs, operand.dtype)
    return need is not None and have is not None and have >= need, False


def _bytes(shape: ShapeExpr, dtype: object) -> int | None:
    total = ops.const(DataType(str(dtype)).itemsize, "int64")
    for extent in shape.values:
        total = ops.multiply(total, extent)
    known = simplify(total)
    return known.value if isinstance(known, IntImm) else None


# --- doing it ---


def inplace_call(
    bb: BlockBuilder, call: Call, inplace_indices: Sequence[int]
) -> tuple[Call, GlobalVar]:
    """The call of a kernel that writes its results over operands, and the ordinary kernel."""
    rule = call.op.get_attr("FLegalize") if isinstance(call.op, Op) else None
    legal = None if rule is None else bb.normalize(rule(bb, call))
    kernel = legal.args[0] if isinstance(legal, Call) and legal.args else None
    if not isinstance(legal, Call) or not isinstance(kernel, GlobalVar):
        raise CheckError(
            message(f"an in-place form of {call}", found="no kernel for the operator",
                    legal="an operator that is legalized to call_tir")
        )  # fmt: skip
    func = bb.get().functions[kernel]
    assert isinstance(func, PrimFunc), "call_tir calls kernels"
    inplace_indices = _kernel_operands(call, legal, inplace_indices)
    kernel_in_place = renew_defs(_inplace_kernel(func, inplace_indices))
    own = bb.add_func(kernel_in_place, f"{kernel.name_hint}_inplace")
    attrs = CallTIRInplaceAttrs(inplace_indices=tuple(int(i) for i in inplace_indices))
    made = Call(
        Op.get("relax.call_tir_inplace"), [own, *legal.args[1:]], attrs, legal.sinfo_args, call.span
    )
    new = bb.normalize(made)
    assert isinstance(new, Call), "calls are in normal form"
    return new, kernel


def _kernel_operands(call: Call, legal: Call, indices: Sequence[int]) -> list[int]:
    """Where the operands of an operator stand among those of its kernel.

    Numbers that are written into a kernel (a scalar constant) are operands of the operator only.
    """
    operands = legal.args[1]
    assert isinstance(operands, Tuple), "calls of kernels are in normal form"
    found = []
    for index in indices:
        given = operands.fields
        # one value may be several operands, which stand in their order
        places = [i for i in range(len(given)) if given[i] is call.args[index]]
        at = index if index in places else next(iter(places), None)
        if at is None:
            raise CheckError(
                message(f"an in-place form of {call}", found=f"operand {index} is not the kernel's",
                        legal="an operand that the kernel of the operator reads")
            )  # fmt: skip
        found.append(at)
    return found


def _inplace_kernel(func: PrimFunc, indices: Sequence[int]) -> PrimFunc:
    """The kernel with its last parameters, the results, replaced by others."""
    kept, results = func.params[: -len(indices)], func.params[-len(indices) :]
    variables, buffers = {}, {}
    for result, index in zip(results, indices):
        old, new = func.buffer_map[result], func.buffer_map[func.params[index]]
        variables[result], variables[old.data] = func.params[index], new.data
        buffers[old] = new
    body = DefRenewer(variables, buffers).visit_stmt(func.body)
    kept_buffers = {var: func.buffer_map[var] for var in kept if var in func.buffer_map}
    return PrimFunc(kept, body, func.ret_type, kept_buffers, func.attrs, func.span)
