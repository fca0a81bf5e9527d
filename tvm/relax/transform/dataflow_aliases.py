"""Within a dataflow block: how long each variable is needed, and which may share memory.

Memory is numbered. A variable has the numbers that its value may have; -1 is memory from outside
that nothing is known of. A number that stands for a tuple has the sets of numbers of its fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.op import Op
from tvm.relax.analysis import all_vars, free_vars
from tvm.relax.expr import (
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    PrimValue,
    Tuple,
    TupleGetItem,
    Var,
    is_call_of,
)
from tvm.relax.struct_info import TupleStructInfo

UNKNOWN = -1
_VIEWS: Final = ("relax.memory.view", "relax.memory.ensure_zero_offset")


def live_ranges(block: DataflowBlock, *, by_items: bool = True) -> dict[Var, tuple[int, int]]:
    """The numbers of the bindings that define a variable (-1: none) and that use it last.

    Outputs of the block are needed until its end, and so is what comes from outside. With
    `by_items`, an item that is taken of a tuple uses the tuple.
    """
    ranges: dict[Var, tuple[int, int]] = {}
    for i in reversed(range(len(block.bindings))):
        binding = block.bindings[i]
        value = binding.value
        used = free_vars(value) if isinstance(value, Function) else all_vars(value)
        if isinstance(value, TupleGetItem) and not by_items:
            used = []
        for var in used:
            ranges.setdefault(var, (-1, i))
        _, end = ranges.get(binding.var, (i, i))
        is_output = not isinstance(binding.var, DataflowVar)
        ranges[binding.var] = (i, len(block.bindings) if is_output else end)
    end = len(block.bindings)
    return {var: (start, end if start == -1 else last) for var, (start, last) in ranges.items()}


class Aliases:
    """The memory of each variable of a block, `sets`, and of the fields of tuples, `tuples`."""

    def __init__(self, block: DataflowBlock, inputs: Sequence[Var] = ()) -> None:
        self.sets: dict[Var, set[int]] = {}
        self.tuples: dict[int, list[set[int]]] = {}
        self.constants: set[int] = set()  # whose memory outlives the call
        self._count = 0
        for var in inputs:
            self.sets[var] = self._fresh(var.struct_info_)
        for binding in block.bindings:
            self.sets[binding.var] = self._of(binding.value, binding.var.struct_info_)

    def with_fields(self, numbers: set[int]) -> set[int]:
        """The numbers, and those of all fields of tuples among them."""
        found: set[int] = set()
        stack = list(numbers)
        while stack:
            number = stack.pop()
            if number not in found:
                found.add(number)
                stack += [n for field in self.tuples.get(number, ()) for n in field]
        return found

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _fresh(self, info: StructInfo | None) -> set[int]:
        """New memory for a value, with new memory for each of its fields."""
        number = self._next()
        if isinstance(info, TupleStructInfo):
            self.tuples[number] = [self._fresh(field) for field in info.fields]
        return {number}

    def _of(self, value: RelaxExpr, info: StructInfo | None) -> set[int]:
        if isinstance(value, Var):
            return set(self.sets.get(value, {UNKNOWN}))
        if isinstance(value, Tuple):
            number = self._next()
            self.tuples[number] = [self._of(field, field.struct_info_) for field in value.fields]
            return {number}
        if isinstance(value, TupleGetItem):
            return self._field(self._of(value.tuple_value, None), value.index)
        if isinstance(value, Call):
            return self._call(value, info)
        if isinstance(value, (Constant, PrimValue, Function)):
            number = self._next()
            self.constants.add(number)
            return {number}
        return self._fresh(info)

    def _field(self, numbers: set[int], index: int) -> set[int]:
        if UNKNOWN in numbers:
            return {UNKNOWN}
        found: set[int] = set()
        for number in numbers:
            fields = self.tuples.get(number, ())
            found |= fields[index] if index < len(fields) else {UNKNOWN}
        return found

    def _call(self, call: Call, info: StructInfo | None) -> set[int]:
        """Operators make new values, but for views; other functions may return what they get."""
        result = self._fresh(info)
        if is_call_of(call, *_VIEWS):
            return result | self._of(call.args[0], None)
        if isinstance(call.op, Op) and call.op.name != "relax.call_pure_packed":
            return result
        args = call.args[1:] if isinstance(call.op, Op) else call.args
        for arg in args:
            result |= self.with_fields(self._of(arg, arg.struct_info_))
        return result
