"""Calls of packed functions have their arguments on the stack.

    T.call_packed("f", A_data, n)    ->    stack = tvm_stack_alloca("tvm_ffi_any", 3)
                                           stack[0] = (4, A_data); stack[1] = (1, n)
                                           stack[2] = (0, 0)
                                           tvm_call_packed_lowered("f", stack, 0, 2)

The slot behind the arguments takes the result. Shapes and tensors made for a call are put on the
stack too, shapes as a buffer of int64. One stack serves all calls of a function; the body of a
parallel loop has its own. Allocations of a device's memory become workspaces.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType, PrimType
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField, TypeIndex

from .device_workspace import with_workspaces
from .nodes_used import nodes_used
from .pass_form import tir_pass

HANDLE = DataType("handle")
_LOWERED = {
    "tir.tvm_call_packed": "tir.tvm_call_packed_lowered",
    "tir.tvm_call_cpacked": "tir.tvm_call_cpacked_lowered",
    "tir.tvm_call_trace_packed": "tir.tvm_call_trace_packed_lowered",
}
_STACKED = ("tir.tvm_stack_make_shape", "tir.tvm_stack_make_array", *_LOWERED)
_CHECK = "tir.tvm_check_return"


@tir_pass("tir.LowerTVMBuiltin")
def LowerTVMBuiltin(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No call needs an argument list afterwards."""
    words = nodes_used(func.body)
    body = with_workspaces(func.body) if {"AttrStmt", "Allocate"} <= words else func.body
    if _CHECK in words:
        body = _Checks().visit_stmt(body)
    if not words.isdisjoint(_STACKED):
        body = _Lowerer().region(body)
    return func.with_body(body)


@dataclass
class _Stack:
    """Room of one kind: how much is in use at this point, and how much ever was."""

    item: str
    var: e.Var
    used: int = 0
    most: int = 0

    def take(self, count: int) -> int:
        """The number of the first of `count` items."""
        first = self.used
        self.used += count
        self.most = max(self.most, self.used)
        return first


def _stack(item: str, name: str) -> _Stack:
    return _Stack(item, e.Var(name, HANDLE))


def _numbers() -> _Stack:
    return _Stack("shape", e.Var("stack_shape", PointerType(PrimType("int64"), "global")))


@dataclass
class _Region:
    """The stacks of a function, or of the body of a parallel loop."""

    values: _Stack = field(default_factory=lambda: _stack("tvm_ffi_any", "stack_ffi_any"))
    shapes: _Stack = field(default_factory=_numbers)
    tensors: _Stack = field(default_factory=lambda: _stack("array", "stack_array"))
    before: list[s.Stmt] = field(default_factory=list)  # what the statement at hand needs done
    count: e.Var = field(default_factory=lambda: e.Var("count", "int64"))  # of all shapes
    view: Buffer = field(init=False)  # the shapes as a buffer

    def __post_init__(self) -> None:
        self.view = Buffer(self.shapes.var, "int64", [self.count], name="stack_shape")

    @property
    def stacks(self) -> tuple[_Stack, _Stack, _Stack]:
        return self.shapes, self.tensors, self.values

    def around(self, body: s.Stmt) -> s.Stmt:
        """The body with room for what it needs."""
        if self.shapes.most:
            body = s.DeclBuffer(self.view, body)
            body = substitute(body, {self.count: ops.const(self.shapes.most, "int64")})
        for stack in self.stacks:
            if stack.most:
                room = builtin.tvm_stack_alloca(stack.item, stack.most)
                body = s.LetStmt(stack.var, room, body)
        return body

    def release(self) -> None:
        for stack in self.stacks:
            stack.used = 0


class _Checks(StmtExprMutator):
    """A call that is checked is a condition, under which the function returns."""

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        call = op.value
        if not isinstance(call, e.Call) or e.op_name(call) != _CHECK:
            return super().visit_evaluate_(op)
        expected, otherwise, nested = call.args
        leave = s.Evaluate(builtin.ret(otherwise), op.span)
        return s.IfThenElse(ops.not_equal(nested, expected), leave, None, op.span)


class _Lowerer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._region = _Region()

    def region(self, body: s.Stmt) -> s.Stmt:
        """The body with stacks of its own around it."""
        outer, self._region = self._region, _Region()
        body = self._region.around(self.visit_stmt(body))
        self._region = outer
        return body

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.kind != s.ForKind.PARALLEL:
            return super().visit_for_(op)
        body = self.region(op.body)
        if body is op.body:
            return op
        return s.For(op.loop_var, op.min, op.extent, op.kind, body, op.thread_binding,
                     op.annotations, op.span)  # fmt: skip

    def visit_while_(self, op: s.While) -> s.Stmt:
        """What the condition needs is done each time before it is asked: within the loop."""
        condition = self.visit_expr(op.condition)
        needed, self._region.before = self._region.before, []
        if not needed:
            body = self.visit_stmt(op.body)
            same = condition is op.condition and body is op.body
            return op if same else s.While(condition, body, op.span)
        self._region.release()
        ended = ops.logical_not(ops.cast(condition, "bool"))
        leave = s.IfThenElse(ended, s.Evaluate(builtin.break_loop()), None, op.span)
        body = s.SeqStmt.flatten(needed, leave, self.visit_stmt(op.body))
        return s.While(ops.const(True, "bool"), body, op.span)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key != "compute_scope":
            return super().visit_attr_stmt_(op)
        body = self.region(op.body)
        if body is op.body:
            return op
        return s.AttrStmt(op.node, op.attr_key, op.value, body, op.span)

    def visit_stmt(self, stmt: s.Stmt) -> s.Stmt:
        """What the expressions of a statement need is done right before it."""
        region = self._region
        outer, region.before = region.before, []
        new = super().visit_stmt(stmt)
        if region.before:
            new = s.SeqStmt.flatten(region.before, new)
            region.release()
        region.before = outer
        return new

    def visit_call_(self, op: e.Call) -> PrimExpr:
        name = e.op_name(op)
        if name == "tir.tvm_stack_make_shape":
            return self._make_shape(op)
        if name == "tir.tvm_stack_make_array":
            return self._make_tensor(op)
        if name == "tir.if_then_else":
            return self._choice(op)
        lowered = _LOWERED.get(name)
        return super().visit_call_(op) if lowered is None else self._make_call(op, lowered)

    def _choice(self, op: e.Call) -> PrimExpr:
        """What a side needs is done only where it is taken: its arguments may exist only then."""
        region = self._region
        condition, kept = self.visit_expr(op.args[0]), None
        sides: list[PrimExpr] = []
        for i, side in enumerate(op.args[1:]):
            outer, region.before = region.before, []
            sides.append(self.visit_expr(side))
            needed, region.before = region.before, outer
            if not needed:
                continue
            if kept is None:  # asked once, ahead of what may change the answer
                kept = region.values.take(1)
                self._set(region.values.var, kept, StructField.ANY_UNION_VALUE,
                          ops.cast(condition, "int64"))  # fmt: skip
                answer = builtin.tvm_struct_get(
                    region.values.var, kept, int(StructField.ANY_UNION_VALUE), "int64"
                )
                condition = ops.not_equal(answer, ops.const(0, "int64"))
            holds = ops.logical_not(condition) if i else condition
            region.before.append(s.IfThenElse(holds, s.SeqStmt.flatten(needed), None, op.span))
        if condition is op.args[0] and all(a is b for a, b in zip(sides, op.args[1:])):
            return op
        return e.Call(op.dtype, op.op, (condition, *sides), op.span)

    def _set(self, stack: PrimExpr, number: int, what: StructField, value: PrimExpr) -> None:
        call = builtin.tvm_struct_set(stack, number, int(what), value)
        self._region.before.append(s.Evaluate(call))

    def _make_shape(self, op: e.Call) -> PrimExpr:
        sizes = [self.visit_expr(a) for a in op.args]
        if not sizes:
            return builtin.reinterpret("handle", ops.const(0, "uint64"))
        region = self._region
        first = region.shapes.take(len(sizes))
        for number, size in enumerate(sizes, start=first):
            value = ops.cast(size, "int64")
            region.before.append(s.BufferStore(region.view, value, [ops.const(number)]))
        return builtin.address_of(e.BufferLoad(region.view, [ops.const(first)]))

    def _make_tensor(self, op: e.Call) -> PrimExpr:
        data, shape, strides, ndim, like, offset = [self.visit_expr(a) for a in op.args]
        dtype = like.dtype
        stack = self._region.tensors
        number = stack.take(1)
        if not strides.dtype.is_handle:
            strides = builtin.reinterpret("handle", ops.const(0, "uint64"))
        in_bytes = ops.multiply(ops.cast(offset, "uint64"), (dtype.bits * dtype.lanes + 7) // 8)
        for what, value in (
            (StructField.TENSOR_DATA, data),
            (StructField.TENSOR_SHAPE, shape),
            (StructField.TENSOR_STRIDES, strides),
            (StructField.TENSOR_NDIM, ops.cast(ndim, "int32")),
            (StructField.TENSOR_TYPE_CODE, ops.const(dtype.type_code, "uint8")),
            (StructField.TENSOR_TYPE_BITS, ops.const(dtype.bits, "uint8")),
            (StructField.TENSOR_TYPE_LANES, ops.const(dtype.lanes, "uint16")),
            (StructField.TENSOR_BYTE_OFFSET, in_bytes),
            (StructField.TENSOR_DEVICE_ID, ops.const(0, "int32")),
            (StructField.TENSOR_DEVICE_TYPE, ops.const(1, "int32")),
        ):
            self._set(stack.var, number, what, value)
        return builtin.tvm_struct_get(stack.var, number, int(StructField.TENSOR_ADDR), "handle")

    def _make_call(self, op: e.Call, lowered: str) -> PrimExpr:
        name, given = op.args[0], op.args[1:]
        # arguments that are calls themselves are done first and keep their slots
        values = [(self.visit_expr(a), packed_type_index(a), _own_index(a)) for a in given]
        stack = self._region.values
        first = stack.take(len(values) + 1)
        for number, (value, kind, index) in enumerate(values, start=first):
            index = ops.const(int(kind), "int32") if index is None else index
            self._set_any(number, index, _in_union(value, kind))
        last = first + len(values)
        none = ops.const(int(TypeIndex.NONE), "int32")
        self._set_any(last, none, ops.const(0, "int64"))  # what is not returned is None
        args = (name, stack.var, first, last)
        return e.Call(op.dtype, lowered, args, op.span)

    def _set_any(self, number: int, index: PrimExpr, value: PrimExpr) -> None:
        stack = self._region.values.var
        self._set(stack, number, StructField.ANY_TYPE_INDEX, index)
        self._set(stack, number, StructField.ANY_ZERO_PADDING, ops.const(0, "int32"))
        self._set(stack, number, StructField.ANY_UNION_VALUE, value)


def _own_index(arg: PrimExpr) -> PrimExpr | None:
    """The type that a value brings along; None for what is no TVMFFIAny in memory."""
    if not e.is_call_of(arg, "tir.tvm_struct_get"):
        return None
    if ops.literal(arg.args[2]) != StructField.ANY_UNION_VALUE or not arg.dtype.is_handle:
        return None
    struct, number = arg.args[:2]
    return builtin.tvm_struct_get(struct, number, int(StructField.ANY_TYPE_INDEX), "int32")


def packed_type_index(arg: PrimExpr) -> TypeIndex:
    """What a packed function gets an argument as."""
    dtype = arg.dtype
    if isinstance(arg, e.StringImm):
        return TypeIndex.RAW_STR
    if e.is_call_of(arg, "tir.tvm_stack_make_array"):
        return TypeIndex.DLTENSOR_PTR
    if dtype.is_bool:
        return TypeIndex.BOOL
    if dtype.is_integer:
        return TypeIndex.INT
    if dtype.is_floating:
        return TypeIndex.FLOAT
    is_null = e.is_call_of(arg, "tir.reinterpret") and ops.literal(arg.args[0]) == 0
    return TypeIndex.NONE if is_null else TypeIndex.OPAQUE_PTR


def _in_union(value: PrimExpr, kind: TypeIndex) -> PrimExpr:
    if kind in (TypeIndex.INT, TypeIndex.BOOL):
        return ops.cast(value, "int64")
    return ops.cast(value, "float64") if kind == TypeIndex.FLOAT else value
