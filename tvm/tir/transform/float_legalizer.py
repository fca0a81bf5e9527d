"""Computing with narrow floats in a wider type, and keeping them as integers of their size."""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.expr import PrimExpr
from tvm.ir.node import with_fields
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.support.narrow_floats import FORMATS, FloatFormat
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.effects import side_effect
from tvm.tir.expr import CallEffectKind
from tvm.tir.float_math.narrow import carrier, narrow, widen
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, rewrite, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin

_FLOAT32 = DataType("float32")
_ALLREDUCE = "tir.tvm_thread_allreduce"
Matches = Callable[[DataType], bool]


def cuda_without(func: PrimFunc, capability: int) -> bool:
    """The function is for a CUDA device that is known to come before this compute capability."""
    target = func.attrs.get("target")
    return isinstance(target, Target) and 0 < target.cuda_version < capability


def keeps_storage(func: PrimFunc, element: str) -> bool:
    """The function is for a target that has the type."""
    target = func.attrs.get("target")
    return isinstance(target, Target) and target.has_float(element)


def compute_in(
    func: PrimFunc,
    narrow: Matches,
    wide: str,
    lacks_type: bool = False,
    keep_nan: bool = True,
) -> PrimFunc:
    """The function with arithmetic on narrow types done in the wide one.

    What is passed from outside stays as it is. For a device that lacks the type altogether, memory
    that the function allocates is of the wide type, and bfloat16 is converted by its bits: with
    `keep_nan` also of what is no number.
    """
    promoter = _Promoter(narrow, DataType(wide), lacks_type, keep_nan)
    promoter.reduced = _results_over_threads(func.body)
    return func.with_body(promoter.visit_stmt(func.body))


def _results_over_threads(body: s.Stmt) -> set[e.Var]:
    """Memory for the results of reductions over threads, which are of the type of the values."""
    found: set[e.Var] = set()
    for node in walk(body):
        if e.is_call_of(node, _ALLREDUCE):
            found |= {a.buffer.data for a in _results(node)}
    return found


def _results(call: e.Call) -> list[e.BufferLoad]:
    count = call.args[0].value if isinstance(call.args[0], e.IntImm) else 0
    targets = call.args[count + 2 : 2 * count + 2]
    return [target for target in targets if isinstance(target, e.BufferLoad)]


def store_as_integers(func: PrimFunc, narrow: Matches) -> PrimFunc:
    """The function with buffers of narrow types as buffers of unsigned integers."""
    return StorageChanger(narrow).function(func)


def _upper_half(value: PrimExpr, form: FloatFormat) -> PrimExpr:
    """The nearest code, of two the even one; some of what is no number becomes a zero."""
    word = DataType("uint32").with_lanes(value.dtype.lanes, value.dtype.is_scalable)

    def number(digits: int) -> PrimExpr:
        return ops.const(digits, word)

    bits = builtin.reinterpret(word, value)
    odd = (bits >> number(16)) & number(1)
    rounded = bits + (odd + number((1 << 15) - 1))
    return ops.cast(rounded >> number(16), carrier(form, value.dtype))


class _Promoter(StmtExprMutator):
    """Every expression of a narrow type comes back as one of the wide type."""

    def __init__(
        self, narrow: Matches, wide: DataType, lacks_type: bool, keep_nan: bool
    ) -> None:
        super().__init__()
        self._narrow = narrow
        self._lacks_type = lacks_type
        self._keep_nan = keep_nan
        self._wide = wide
        self._vars: dict[e.Var, e.Var] = {}
        self.reduced: set[e.Var] = set()  # memory that is of the wide type in any case
        # narrow values are bfloat16, the upper half of a wide one
        self._by_bits = lacks_type and wide is _FLOAT32

    def _is_narrow(self, dtype: DataType) -> bool:
        return self._narrow(dtype.element_of())

    def _up(self, dtype: DataType) -> DataType:
        return self._wide.with_lanes(dtype.lanes, dtype.is_scalable)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        known = self._vars.get(op)
        if known is not None:
            return known
        return self._widened(op) if self._is_narrow(op.dtype) else op

    def _widened(self, value: PrimExpr) -> PrimExpr:
        """A narrow value as one of the wide type."""
        if not (self._by_bits and value.dtype.is_bfloat16):
            return ops.cast(value, self._up(value.dtype))
        form = FORMATS["bfloat16"]
        return widen(builtin.reinterpret(carrier(form, value.dtype), value), form)

    def _narrowed(self, value: PrimExpr, dtype: DataType) -> PrimExpr:
        """A wide value as one of the narrow type, the nearest one, of two the even one."""
        if not (self._by_bits and dtype.is_bfloat16 and value.dtype.element_of() is _FLOAT32):
            return ops.cast(value, dtype)
        twice = side_effect(value) <= CallEffectKind.ReadState  # it may be computed twice
        rounded = _upper_half if twice and not self._keep_nan else narrow
        return builtin.reinterpret(dtype, rounded(value, FORMATS["bfloat16"]))

    # --- memory of the function's own ---

    def _own_pointer(self, var: e.Var) -> e.Var:
        """A pointer to memory of the function's own, of the wide type."""
        kind = var.type_annotation
        if not (isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType)):
            return var
        if var not in self._vars and self._is_narrow(kind.element_type.dtype):
            wide = PointerType(PrimType(self._up(kind.element_type.dtype)), kind.storage_scope)
            self._vars[var] = e.Var(var.name, wide, var.span)
        return self._vars.get(var, var)

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        if buffer.data not in self._vars:
            return buffer
        known = self.buffers.get(buffer)
        if known is None:
            known = buffer.with_changes(data=self._vars[buffer.data], dtype=self._up(buffer.dtype))
            self.buffers[buffer] = known
        return known

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_use(buffer)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        wide = self._lacks_type or op.buffer_var in self.reduced
        if not wide or not self._is_narrow(op.dtype):
            return super().visit_allocate_(op)
        pointer = self._own_pointer(op.buffer_var)
        return s.Allocate(pointer, self._up(op.dtype), op.extents, self.visit_expr(op.condition),
                          self.visit_stmt(op.body), op.annotations, op.span)  # fmt: skip

    def visit_block_(self, op: s.Block) -> s.Stmt:
        for buffer in op.alloc_buffers if self._lacks_type else ():
            self._own_pointer(buffer.data)
        return super().visit_block_(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        """A reducer combines wide values, and starts from one."""
        stmt = super().visit_attr_stmt_(op)
        old = op.node
        if not isinstance(old, e.CommReducer) or not isinstance(stmt, s.AttrStmt):
            return stmt
        if not any(self._is_narrow(var.dtype) for var in old.lhs):
            return stmt
        node = e.CommReducer(
            [self.visit_var_def(var) for var in old.lhs],
            [self.visit_var_def(var) for var in old.rhs],
            [self.visit_expr(part) for part in old.result],
            [self.visit_expr(part) for part in old.identity_element],
            old.span,
        )
        return s.AttrStmt(node, stmt.attr_key, stmt.value, stmt.body, stmt.span)

    def visit_var_def(self, var: e.Var) -> e.Var:
        if not self._is_narrow(var.dtype):
            return var
        new = e.Var(var.name, self._up(var.dtype), var.span)
        self._vars[var] = new
        return new

    def visit_float_imm_(self, op: e.FloatImm) -> PrimExpr:
        if not self._is_narrow(op.dtype):
            return op
        return e.FloatImm(self._wide, op.value, op.span)

    def visit_cast_(self, op: e.Cast) -> PrimExpr:
        value = self.visit_expr(op.value)
        target = self._up(op.dtype) if self._is_narrow(op.dtype) else op.dtype
        if value is op.value and target is op.dtype:
            return op
        return ops.cast(value, target, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        return self._widened(load) if self._is_narrow(load.dtype) else load

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        buffer = self.visit_buffer_use(op.buffer)
        if buffer is op.buffer and isinstance(op.value, e.BufferLoad):
            value = super().visit_buffer_load_(op.value)  # a copy needs no conversion
        else:
            value = self.visit_expr(op.value)
        if buffer is op.buffer and value.dtype is not op.value.dtype:
            value = self._narrowed(value, op.value.dtype)
        indices = self.visit_exprs(op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        same = value is op.value and indices is op.indices and predicate is op.predicate
        if same and buffer is op.buffer:
            return op
        return s.BufferStore(buffer, value, indices, predicate, op.span)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        name = e.op_name(op)
        if name in ("tir.reinterpret", "tir.address_of", "tir.call_extern", "tir.call_pure_extern"):
            return self._call_on_bits(op)
        call = super().visit_call_(op)
        if isinstance(call, e.Call) and self._is_narrow(call.dtype):
            return e.Call(self._up(call.dtype), call.op, call.args, call.span)
        return call

    def _call_on_bits(self, op: e.Call) -> PrimExpr:
        """What looks at the bits gets the narrow value itself."""
        args = [
            self.visit_expr(a)
            if not isinstance(a, PrimExpr) or not self._is_narrow(a.dtype)
            else (a if isinstance(a, e.BufferLoad) else self._narrowed(self.visit_expr(a), a.dtype))
            for a in op.args
        ]
        call = e.Call(op.dtype, op.op, args, op.span)
        return self._widened(call) if self._is_narrow(op.dtype) else call

    def visit_let_(self, op: e.Let) -> PrimExpr:
        value = self.visit_expr(op.value)
        return e.Let(self.visit_var_def(op.var), value, self.visit_expr(op.body), op.span)


class StorageChanger(StmtExprMutator):
    """Buffers of some types become buffers of unsigned integers; values stay what they are."""

    def __init__(self, narrow: Matches) -> None:
        super().__init__()
        self._narrow = narrow
        self._vars: dict[e.Var, e.Var] = {}

    def function(self, func: PrimFunc) -> PrimFunc:
        """The function with other buffers, or pointers, instead of those of its parameters."""
        new = rewrite(self, func)
        params = tuple(p if p in new.buffer_map else self._pointer(p) for p in new.params)
        same = all(a is b for a, b in zip(params, new.params))
        return new if same else with_fields(new, params=params)

    def _stored(self, dtype: DataType) -> DataType:
        if not self._narrow(dtype.element_of()):
            return dtype
        bits = max(dtype.bits, 8)
        return DataType(f"uint{bits}").with_lanes(dtype.lanes, dtype.is_scalable)

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._pointer(op)

    def visit_var_def(self, var: e.Var) -> e.Var:
        return self._pointer(var)

    def _pointer(self, var: e.Var) -> e.Var:
        """A pointer to narrow floats points to integers."""
        known = self._vars.get(var)
        if known is not None:
            return known
        kind = var.type_annotation
        if isinstance(kind, PointerType) and isinstance(kind.element_type, PrimType):
            stored = self._stored(kind.element_type.dtype)
            if stored is not kind.element_type.dtype:
                pointer = PointerType(PrimType(stored), kind.storage_scope)
                self._vars[var] = e.Var(var.name, pointer, var.span)
                return self._vars[var]
        return var

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        new = super().visit_buffer_def(buffer)
        stored = self._stored(new.dtype)
        if stored is not new.dtype:
            new = new.with_changes(dtype=stored)
        self.buffers[buffer] = new
        return new

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        known = self.buffers.get(buffer)
        return self.visit_buffer_def(buffer) if known is None else known

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        stmt = super().visit_allocate_(op)
        stored = self._stored(op.dtype)
        if stored is op.dtype or not isinstance(stmt, s.Allocate):
            return stmt
        return s.Allocate(stmt.buffer_var, stored, stmt.extents, stmt.condition, stmt.body,
                          stmt.annotations, stmt.span)  # fmt: skip

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        return builtin.reinterpret(op.dtype, load) if load.dtype is not op.dtype else load

    def visit_call_(self, op: e.Call) -> PrimExpr:
        call = super().visit_call_(op)
        if e.is_call_of(call, "tir.reinterpret"):
            return _bits(call.args[0], call.dtype, call)
        return call

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        buffer, value = self.visit_buffer_use(op.buffer), self.visit_expr(op.value)
        indices = self.visit_exprs(op.indices)
        predicate = None if op.predicate is None else self.visit_expr(op.predicate)
        if buffer.dtype is not op.buffer.dtype:
            stored = self._stored(value.dtype)
            value = _bits(value, stored, builtin.reinterpret(stored, value))
        same = buffer is op.buffer and value is op.value and indices is op.indices
        if same and predicate is op.predicate:
            return op
        return s.BufferStore(buffer, value, indices, predicate, op.span)


class CarrierChanger(StorageChanger):
    """Values of some types are unsigned integers too; what computes on them is for subclasses."""

    def __init__(self, narrow: Matches) -> None:
        super().__init__(narrow)
        self._held: dict[e.Var, e.Var] = {}

    def function(self, func: PrimFunc) -> PrimFunc:
        for param in func.params:
            self.visit_var_def(param)
        changed = super().function(func)
        params = tuple(self._held.get(p, p) for p in changed.params)
        result = changed.ret_type
        if isinstance(result, PrimType) and self._stored(result.dtype) is not result.dtype:
            result = PrimType(self._stored(result.dtype))
        same = all(a is b for a, b in zip(params, changed.params))
        if same and result is changed.ret_type:
            return changed
        return with_fields(changed, params=params, ret_type=result)

    def visit_var_def(self, var: e.Var) -> e.Var:
        held = self._stored(var.dtype)
        if held is var.dtype:
            return super().visit_var_def(var)
        if var not in self._held:
            self._held[var] = e.Var(var.name, held, var.span)
        return self._held[var]

    def visit_var_(self, op: e.Var) -> PrimExpr:
        held = self._held.get(op)
        return super().visit_var_(op) if held is None else held

    def visit_let_(self, op: e.Let) -> PrimExpr:
        return StmtExprMutator.visit_let_(self, op)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        return StmtExprMutator.visit_buffer_load_(self, op)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        return StmtExprMutator.visit_buffer_store_(self, op)


def _bits(value: PrimExpr, dtype: DataType, otherwise: PrimExpr) -> PrimExpr:
    """The bits of a value as they were before they were taken for something else."""
    if e.is_call_of(value, "tir.reinterpret"):
        inner: PrimExpr = value.args[0]
        if inner.dtype is dtype:
            return inner
    return otherwise
