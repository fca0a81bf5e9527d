"""The entry of a packed function of numbers and addresses: what each must be, in few words.

    assert num_args == 1, "f: num_args should be 1"
    assert not T.isnullptr(args), "f: args pointer is NULL"
    x_type_index: T.int32 = T.tvm_struct_get(args, 0, 13, "int32")
    assert x_type_index == 1 or x_type_index == 2, "f: Expect arg[0] to be int"
    x: T.int32 = T.Cast("int32", T.tvm_struct_get(args, 0, 15, "int64"))

The checks of all arguments come first, then all values. `ArgumentChecks` says what it found.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import TENSOR_OBJECT_HEADER_BYTES, StructField, TypeIndex


class NumberChecks:
    """The checks and the definitions of the parameters of one function."""

    def __init__(
        self, function: str, args: e.Var, num_args: e.Var, params: Sequence[e.Var]
    ) -> None:
        self._function: Final = function
        self._args: Final = args
        self._num_args: Final = num_args
        self._params: Final = params

    def around(self, body: s.Stmt) -> s.Stmt:
        """The body after all checks, with all parameters defined."""
        kinds = [e.Var(f"{param.name}_type_index", "int32") for param in self._params]
        for number in reversed(range(len(self._params))):
            param = self._params[number]
            value = value_of(self._args, number, kinds[number], param.dtype)
            body = s.LetStmt(param, value, body)
        for number in reversed(range(len(self._params))):
            kind = kinds[number]
            legal, name = legal_kinds(kind, self._params[number].dtype)
            body = self._checked(legal, f"Expect arg[{number}] to be {name}", body)
            field = int(StructField.ANY_TYPE_INDEX)
            index = builtin.tvm_struct_get(self._args, number, field, "int32")
            body = s.LetStmt(kind, index, body)
        if self._params:
            given = ops.logical_not(builtin.isnullptr(self._args))
            body = self._checked(given, "args pointer is NULL", body)
        count = len(self._params)
        enough = ops.equal(self._num_args, count)
        return self._checked(enough, f"num_args should be {count}", body)

    def _checked(self, holds: PrimExpr, text: str, body: s.Stmt) -> s.Stmt:
        return s.AssertStmt(holds, e.StringImm(f"{self._function}: {text}"), body)


def value_of(args: e.Var, number: int, kind: e.Var, dtype: DataType) -> PrimExpr:
    """An argument as a parameter's type has it; of a tensor object the address of its DLTensor."""

    def held(form: str) -> PrimExpr:
        return builtin.tvm_struct_get(args, number, int(StructField.ANY_UNION_VALUE), form)

    if dtype.is_handle:
        header = ops.const(TENSOR_OBJECT_HEADER_BYTES, "int32")
        skipped = builtin.handle_add_byte_offset(held("handle"), header)
        return e.Select(ops.equal(kind, int(TypeIndex.TENSOR)), skipped, held("handle"))
    whole = ops.cast(held("int64"), dtype)
    if not dtype.is_floating:
        return whole
    exact = ops.cast(held("float64"), dtype)
    return e.Select(ops.equal(kind, int(TypeIndex.FLOAT)), exact, whole)


def legal_kinds(kind: e.Var, dtype: DataType) -> tuple[PrimExpr, str]:
    """The kinds of values that a parameter takes, and their name."""
    if dtype.is_bool:
        return _any_of(kind, TypeIndex.BOOL, TypeIndex.INT), "boolean"
    if dtype.is_floating:
        return _any_of(kind, TypeIndex.FLOAT, TypeIndex.INT, TypeIndex.BOOL), "float"
    if dtype.is_handle:
        plain = (TypeIndex.NONE, TypeIndex.OPAQUE_PTR, TypeIndex.DLTENSOR_PTR)
        known = ops.greater_equal(kind, int(TypeIndex.FIRST_OBJECT))
        return ops.logical_or(_any_of(kind, *plain), known), "pointer"
    return _any_of(kind, TypeIndex.INT, TypeIndex.BOOL), "int"


def _any_of(kind: e.Var, *wanted: TypeIndex) -> PrimExpr:
    equal: list[PrimExpr] = [ops.equal(kind, int(index)) for index in wanted]
    return functools.reduce(ops.logical_or, equal)
