"""Keep symbolic sizes in a heap of numbers, and check what comes in against its struct info.

    def main(x: R.Tensor(("n", "m"), "float32")):
        return R.shape([n * m])
        ->
    shape_heap = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(3),), ...)
    _ = R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), "...")
    _ = R.call_packed("vm.builtin.match_shape", x, shape_heap, 2, STORE, 0, STORE, 1, "...")
    _ = cls.shape_func(shape_heap)                # H[2] = H[0] * H[1]
    gv = R.call_packed("vm.builtin.make_shape", shape_heap, 1, LOAD, 2)

Every symbol and every expression over symbols has a slot. Slots of symbols are filled where a shape
is matched, those of expressions by kernels behind it. Weights (parameters from attribute
`num_input` on) are matched only where their shapes are symbolic. Checks name the function and the
parameter in the error's text, unless `emit_err_ctx` is False. Sizes that have a largest value
(`tir_var_upper_bound`) are compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.arith import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.relax.analysis.size_limits import size_limits
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.int_attrs import int_attr
from tvm.relax.normalize import merge_blocks
from tvm.relax.op.base import VOID_RESULT, call_builtin_with_ctx, null_value
from tvm.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.relax.struct_info_rules import is_base_of, tir_vars_in_struct_info
from tvm.relax.transform.rebuild import replace_operands, with_value
from tvm.relax.transform.size_slots import Slot, SlotTable, collect_slots
from tvm.tir.buffer import decl_buffer
from tvm.tir.expr import BufferLoad, FloatImm, IntImm
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute
from tvm.tir.op import arith as ops
from tvm.tir.stmt import BufferStore, SeqStmt, Stmt

# Codes of `vm.builtin.match_shape` (compare with a number, store, nothing, compare with a slot),
# and of `make_shape` (a number, a slot).
ASSERT_NUMBER, STORE, SKIP, ASSERT_SLOT = 0, 1, 2, 3
USE_NUMBER, LOAD = 0, 1
_BUILTIN: Final = "vm.builtin."


@declare_module_pass("VMShapeLower")
def VMShapeLower(mod: IRModule, ctx: PassContext, *, emit_err_ctx: bool = True) -> IRModule:
    """Lower the shapes of every Relax function."""
    bb = BlockBuilder(mod)
    for var, func in mod.functions.items():
        if isinstance(func, Function):
            bb.update_func(var, _Lowering(bb, var, func, emit_err_ctx).function())
    return bb.get()


# A shape to match: the value, the pattern, whose check it is.
_Todo = tuple[RelaxExpr, Sequence[PrimExpr], str]


class _Lowering:
    """Lowers one function. New bindings are appended to `_bindings`, the end of what is done."""

    def __init__(
        self, bb: BlockBuilder, var: GlobalVar, func: Function, emit_err_ctx: bool
    ) -> None:
        self._bb = bb
        self._name = var.name_hint
        self._func = func
        self._emit_err_ctx = emit_err_ctx
        self._analyzer = Analyzer()
        self._slots: SlotTable = collect_slots(func)
        self._ready: list[Slot] = []
        self._bindings: list[Binding] = []
        self._kind: type[Var] = Var  # of variables that are made, by the kind of the block
        self._now: dict[RelaxExpr, Var] = {}  # variables of shapes and numbers that are made here
        self._heap = self._make_heap()

    # --- the function ---

    def function(self) -> Function:
        """The function with its heap, checks, and shapes read from the heap."""
        func = self._func
        self._check_params()
        blocks = [BindingBlock(self._taken())]
        seq = self._sequence(func.body)
        where = f"ErrorContext(fn={self._name}, loc=return, annotation={func.ret_struct_info}) "
        todos: list[_Todo] = []
        self._check(func.ret_struct_info, seq.body, where, todos)
        self._match(todos, all_known=True)
        blocks = [*blocks, *seq.blocks, BindingBlock(self._taken())]
        body = SeqExpr(merge_blocks(blocks), seq.body, func.body.span)
        body.struct_info_ = seq.body.struct_info_
        return Function(
            func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span
        )

    def _make_heap(self) -> Var:
        size = len(self._slots)
        call: RelaxExpr
        if size == 0:
            call = null_value()
            call.struct_info_ = ObjectStructInfo()
        else:
            info = TensorStructInfo(None, "int64", ndim=1)
            alloc = ExternFunc(_BUILTIN + "alloc_shape_heap")
            call = call_builtin_with_ctx(alloc, [PrimValue(size)], sinfo_args=[info])
            call.struct_info_ = info
        return self._bind("shape_heap", call)

    def _check_params(self) -> None:
        func = self._func
        inputs = int_attr(func, "num_input", len(func.params))
        todos: list[_Todo] = []
        for i, param in enumerate(func.params):
            info = param.struct_info
            where = (
                f"ErrorContext(fn={self._name}, loc=param[{i}], param={param.name_hint}, "
                f"annotation={info}) "
            )
            self._check(info, param, where, todos, always=True, weight=i >= inputs)
        left = self._match(todos)
        self._compute()
        self._match(left, all_known=True)
        for limit in size_limits(func):
            where = f"{self._name}: dimension {limit.axis} of {limit.param!r}"
            slot = PrimValue(self._slots[limit.symbol].index)
            self._do("check_at_most", self._heap, slot, PrimValue(limit.most), StringImm(where))

    # --- bindings ---

    def _bind(self, name: str, value: RelaxExpr) -> Var:
        var = self._kind(name, value.struct_info_)
        self._bindings.append(VarBinding(var, value))
        return var

    def _taken(self) -> list[Binding]:
        bindings, self._bindings = self._bindings, []
        return bindings

    def _packed(self, name: str, args: Sequence[RelaxExpr], info: StructInfo) -> Call:
        call = Call(ExternFunc(_BUILTIN + name), args, None, [info])
        call.struct_info_ = info
        return call

    def _do(self, name: str, *args: RelaxExpr) -> None:
        self._bind("_", self._packed(name, args, VOID_RESULT))

    def _context(self, where: str) -> StringImm:
        return StringImm(where if self._emit_err_ctx else "")

    def _sequence(self, seq: SeqExpr) -> SeqExpr:
        """The sequence lowered; what was collected before it stays the caller's."""
        before = self._taken()
        blocks: list[BindingBlock] = []
        outer = self._kind
        for block in seq.blocks:
            self._kind = DataflowVar if isinstance(block, DataflowBlock) else Var
            for binding in block.bindings:
                self._binding(binding)
            blocks.append(type(block)(self._taken(), block.span))
        self._kind = Var
        result = self._operand(seq.body)
        blocks.append(BindingBlock(self._taken()))
        self._bindings = before
        self._kind = outer
        new = SeqExpr(merge_blocks(blocks), result, seq.span)
        new.struct_info_ = result.struct_info_
        return new

    def _binding(self, binding: Binding) -> None:
        value = binding.value
        if isinstance(binding, MatchCast):
            value = self._operand(value)
            where = match_context(self._name, binding)
            todos: list[_Todo] = []
            self._check(binding.struct_info, value, where, todos)
            left = self._match(todos)
            self._compute()
            self._match(left, all_known=True)
        elif isinstance(value, If):
            value = self._if(value)
            if value.struct_info_ is not binding.value.struct_info_:
                self._bind_anew(binding, value)
                return
        elif isinstance(value, (ShapeExpr, PrimValue)):
            made = self._made(value)
            if made is not None:
                self._bind_anew(binding, made)
                return
        elif isinstance(value, Function):
            raise CheckError(
                message("VMShapeLower", found=f"the local function {binding.var.name_hint!r}",
                        legal="functions of the module alone, as LambdaLift leaves them")
            )  # fmt: skip
        else:
            value = self._operand(value)
            if value is not binding.value:
                self._bind_anew(binding, value)
                return
        self._bindings.append(with_value(binding, value))

    def _bind_anew(self, binding: Binding, value: RelaxExpr) -> None:
        """The variable is what the call, or the fields, say now, no more."""
        var = type(binding.var)(binding.var.vid, value.struct_info_, binding.var.span)
        self._now[binding.var] = var
        self._bindings.append(VarBinding(var, value, binding.span))

    def _if(self, value: If) -> RelaxExpr:
        cond = self._operand(value.cond)
        known = self._slots.known()
        yes = self._sequence(value.true_branch)
        self._slots.forget_all_but(known)
        no = self._sequence(value.false_branch)
        self._slots.forget_all_but(known)
        new = If(cond, yes, no, value.span)
        branches = ((yes, value.true_branch), (no, value.false_branch))
        if any(seq.body.struct_info_ is not old.body.struct_info_ for seq, old in branches):
            return self._bb.normalize(new)
        new.struct_info_ = value.struct_info_
        return new

    def _operand(self, value: RelaxExpr) -> RelaxExpr:
        """The value with shapes and numbers bound to variables that read the heap."""

        def replace(expr: RelaxExpr) -> RelaxExpr | None:
            if isinstance(expr, (ShapeExpr, PrimValue)):
                made = self._made(expr)
                return None if made is None else self._bind("gv", made)
            return self._now.get(expr)

        new = replace_operands(value, replace)
        return self._bb.normalize(new)

    def _made(self, value: ShapeExpr | PrimValue) -> Call | None:
        """A call that reads the heap; None for what is known while compiling."""
        if isinstance(value, PrimValue):
            if isinstance(value.value, (IntImm, FloatImm)):
                return None
            code, number = self._load(value.value)
            args = (self._heap, PrimValue(code), PrimValue(number))
            return self._packed("make_prim_value", args, PrimStructInfo(value=value.value))
        if all(isinstance(extent, IntImm) for extent in value.values):
            return None
        parts: list[RelaxExpr] = [self._heap, PrimValue(len(value.values))]
        for extent in value.values:
            code, number = self._load(extent)
            parts += [PrimValue(code), PrimValue(number)]
        return self._packed("make_shape", parts, ShapeStructInfo(ndim=len(value.values)))

    def _load(self, extent: PrimExpr) -> tuple[int, int]:
        if isinstance(extent, IntImm):
            return USE_NUMBER, extent.value
        slot = self._slots[extent]
        if not slot.is_known:
            raise CheckError(
                message(
                    f"{self._name}: the size {extent} is used before any shape tells it",
                    legal="a symbol of a parameter's shape, or of a match_cast before",
                )
            )
        return LOAD, slot.index

    # --- checks ---

    def _check(
        self,
        info: StructInfo,
        value: RelaxExpr,
        where: str,
        todos: list[_Todo],
        *,
        always: bool = False,
        weight: bool = False,
    ) -> None:
        """Check what is not known of a value; shapes to be matched are added to `todos`."""
        known = value.struct_info_
        if isinstance(info, TensorStructInfo):
            if weight and not tir_vars_in_struct_info(info):
                return  # weights are trusted; only what their sizes tell is looked at
            if always or not _is_tensor_of(known, info):
                ndim, dtype = PrimValue(info.ndim), DataTypeImm(info.dtype)
                self._do("check_tensor_info", value, ndim, dtype, self._context(where))
            if isinstance(info.shape, ShapeExpr):
                shape = known.shape if isinstance(known, TensorStructInfo) else None
                given = shape.values if isinstance(shape, ShapeExpr) else None
                self._match_later(info.shape.values, given, value, where, todos, always, weight)
        elif isinstance(info, ShapeStructInfo):
            same = isinstance(known, ShapeStructInfo) and info.ndim in (-1, known.ndim)
            if always or not same:
                self._do("check_shape_info", value, PrimValue(info.ndim), self._context(where))
            if info.values is not None:
                given = known.values if isinstance(known, ShapeStructInfo) else None
                self._match_later(info.values, given, value, where, todos, always, weight)
        elif isinstance(info, PrimStructInfo):
            same = isinstance(known, PrimStructInfo) and known.dtype is info.dtype
            if always or not same:
                dtype = DataTypeImm(info.dtype)
                self._do("check_prim_value_info", value, dtype, self._context(where))
            if info.value is not None:
                number = known.value if isinstance(known, PrimStructInfo) else None
                given = None if number is None else (number,)
                self._match_later((info.value,), given, value, where, todos, always, weight)
        elif isinstance(info, TupleStructInfo):
            self._check_tuple(info, value, where, todos, always, weight)
        elif isinstance(info, FuncStructInfo) and (always or not isinstance(known, FuncStructInfo)):
            self._do("check_func_info", value, self._context(where))

    def _check_tuple(
        self,
        info: TupleStructInfo,
        value: RelaxExpr,
        where: str,
        todos: list[_Todo],
        always: bool,
        weight: bool,
    ) -> None:
        is_tuple = isinstance(value.struct_info_, TupleStructInfo)
        if always or not is_tuple:
            size = PrimValue(len(info.fields))
            self._do("check_tuple_info", value, size, self._context(where))
        for i, one in enumerate(info.fields):
            trusted = weight and not tir_vars_in_struct_info(one)
            if trusted or not self._needs_check(one, value, i, always):
                continue
            field: RelaxExpr
            if isinstance(value, Tuple):
                field = value.fields[i]
            elif is_tuple:
                field = self._bind("gv", TupleGetItem(value, i))
            else:
                item = self._packed(
                    "tuple_getitem", (value, PrimValue(i)), ObjectStructInfo()
                )
                field = self._bind("gv", item)
            self._check(one, field, where, todos, always=always, weight=weight)

    def _needs_check(self, info: StructInfo, value: RelaxExpr, i: int, always: bool) -> bool:
        """Whether anything of a field can be wrong."""
        if isinstance(info, ObjectStructInfo):
            return False
        known = value.struct_info_
        if always or not isinstance(known, TupleStructInfo):
            return True
        return not is_base_of(info, known.fields[i], self._analyzer)

    def _match_later(
        self,
        pattern: Sequence[PrimExpr],
        given: Sequence[PrimExpr] | None,
        value: RelaxExpr,
        where: str,
        todos: list[_Todo],
        always: bool,
        weight: bool,
    ) -> None:
        if not pattern or (weight and all(isinstance(extent, IntImm) for extent in pattern)):
            return
        if not always and given is not None and len(given) == len(pattern):
            prove = self._analyzer.can_prove_equal
            if all(a is b or prove(a, b) for a, b in zip(given, pattern)):
                return
        todos.append((value, pattern, where))

    def _match(self, todos: Sequence[_Todo], *, all_known: bool = False) -> list[_Todo]:
        """Match shapes with what is known; gives those where an extent must wait."""
        waiting: list[_Todo] = []
        for todo in todos:
            value, pattern, where = todo
            codes = [self._match_code(extent) for extent in pattern]
            if any(code == SKIP for code, _ in codes):
                if all_known:
                    raise CheckError(
                        message(
                            f"{where.strip() or self._name}: a size is not defined",
                            found=f"{[str(extent) for extent in pattern]}",
                            legal="symbols that stand alone as an extent of some shape",
                        )
                    )
                waiting.append(todo)
                if all(code == SKIP for code, _ in codes):
                    continue
            parts = [PrimValue(number) for pair in codes for number in pair]
            context = self._context(where)
            if isinstance(value.struct_info_, PrimStructInfo):
                self._do("match_prim_value", value, self._heap, *parts, context)
            else:
                size = PrimValue(len(pattern))
                self._do("match_shape", value, self._heap, size, *parts, context)
        return waiting

    def _match_code(self, extent: PrimExpr) -> tuple[int, int]:
        if isinstance(extent, IntImm):
            return ASSERT_NUMBER, extent.value
        slot = self._slots[extent]
        if slot.is_known:
            return ASSERT_SLOT, slot.index
        if isinstance(extent, TirVar):
            slot.is_known = True
            self._ready.append(slot)
            return STORE, slot.index
        return SKIP, 0

    def _compute(self) -> None:
        """Fill the slots whose symbols are all known now, by one kernel."""
        wanted = self._slots.computable(self._ready)
        self._ready = []
        if not wanted:
            return
        heap = decl_buffer([IntImm("int64", len(self._slots))], "int64", "H")
        stores: list[Stmt] = []
        for slot in wanted:
            loads = {
                symbol: ops.cast(
                    BufferLoad(heap, [IntImm("int64", self._slots[symbol].index)]), symbol.dtype
                )
                for symbol in slot.symbols
            }
            value = ops.cast(substitute(slot.expr, loads), "int64")
            stores.append(BufferStore(heap, value, [IntImm("int64", slot.index)]))
            slot.is_known = True
        handle = TirVar("heap", "handle")
        attrs = {"tir.is_host_func": True}
        kernel = PrimFunc([handle], SeqStmt.flatten(stores), None, {handle: heap}, attrs)
        callee = self._bb.add_func(kernel, "shape_func")
        call = Call(callee, [self._heap])
        call.struct_info_ = VOID_RESULT
        self._bind("_", call)


def _is_tensor_of(known: StructInfo | None, wanted: TensorStructInfo) -> bool:
    """Whether rank and dtype are known to be right."""
    if not isinstance(known, TensorStructInfo):
        return False
    right_dtype = wanted.is_unknown_dtype() or known.dtype is wanted.dtype
    return right_dtype and wanted.ndim in (-1, known.ndim)


def match_context(name: str, binding: MatchCast) -> str:
    """Which cast a check belongs to, for its error."""
    return (
        f"ErrorContext(match_cast, fn={name}, var={binding.var.name_hint}, "
        f"struct_info={binding.struct_info}{_origin(binding)}) "
    )


def _origin(binding: MatchCast) -> str:
    """The extents that are matched, and the source they come from, where that is known."""
    span = binding.span if binding.span is not None else binding.value.span
    if span is None:
        return ""
    info = binding.value.struct_info_
    shape = info.shape if isinstance(info, TensorStructInfo) else binding.value
    given = f", value={shape}" if isinstance(shape, ShapeExpr) else ""
    return f"{given}, source={span.source_name.name}"


def is_lowered(func: Function) -> bool:
    """Whether the function has its heap already."""
    for block in func.body.blocks:
        for binding in block.bindings:
            value = binding.value
            if binding.var.name_hint == "shape_heap" and isinstance(value, Call):
                return isinstance(value.op, Op)
            return False
    return False


__all__ = ["VMShapeLower", "is_lowered"]
