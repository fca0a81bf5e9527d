"""The slots of a function's heap of sizes: one for each symbol and each expression over symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tvm.arith.deep_equal import deep_equal
from tvm.ir.expr import PrimExpr, RelaxExpr, StructInfo
from tvm.relax.expr import (
    Call,
    Constant,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
)
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.tir.expr import FloatImm, IntImm, Var
from tvm.tir.functor import vars_in


class Slot:
    """A number of the heap: what it is, and whether it is filled at this point of the program."""

    __slots__ = ("expr", "index", "is_known", "symbols")

    def __init__(self, expr: PrimExpr, index: int) -> None:
        self.expr: Final = expr
        self.index: Final = index
        self.is_known = False
        found = () if isinstance(expr, Var) else (p for p in vars_in(expr))
        self.symbols: Final[tuple[Var, ...]] = tuple(dict.fromkeys(found))


class SlotTable:
    """Slots by their expressions; two that mean the same by their form share one."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        self._by_expr: dict[PrimExpr, Slot] = {}
        self._by_text: dict[str, list[Slot]] = {}
        self._users: dict[Var, list[Slot]] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, expr: PrimExpr) -> Slot:
        found = self._find(expr)
        assert found is not None, f"the size {expr} was not collected"
        return found

    def _find(self, expr: PrimExpr) -> Slot | None:
        found = self._by_expr.get(expr)
        if found is None and not isinstance(expr, Var):
            same = (s for s in self._by_text.get(str(expr), ()) if deep_equal(s.expr, expr))
            found = next(same, None)
            if found is not None:
                self._by_expr[expr] = found
        return found

    def add(self, expr: PrimExpr) -> None:
        """Give an expression its slot, if it needs one and has none; its symbols too."""
        if isinstance(expr, (IntImm, FloatImm)) or self._find(expr) is not None:
            return
        slot = Slot(expr, len(self._slots))
        self._slots.append(slot)
        self._by_expr[expr] = slot
        if not isinstance(expr, Var):
            self._by_text.setdefault(str(expr), []).append(slot)
            for symbol in slot.symbols:
                self._users.setdefault(symbol, []).append(slot)

    def known(self) -> set[Slot]:
        """The slots that are filled."""
        return {slot for slot in self._slots if slot.is_known}

    def forget_all_but(self, known: set[Slot]) -> None:
        """Only these are filled from here on: the others were filled in one branch."""
        for slot in self._slots:
            slot.is_known = slot in known

    def computable(self, fresh: Sequence[Slot]) -> list[Slot]:
        """Expressions that newly filled symbols allow to compute, in the order of their last one.

        Symbols without a slot of their own can never be told, nor what uses them.
        """
        found = dict.fromkeys(self._fixed())
        later = {slot.expr for slot in fresh}
        for ready in fresh:
            later.discard(ready.expr)
            for user in self._users.get(ready.expr, ()):  # type: ignore[call-overload]
                if not user.is_known and all(self._is_told(v, later) for v in user.symbols):
                    found[user] = None
        return list(found)

    def _fixed(self) -> list[Slot]:
        """Expressions without a symbol, which can be computed anywhere."""
        slots = (slot for slot in self._slots if not slot.is_known and not slot.symbols)
        return [slot for slot in slots if not isinstance(slot.expr, Var)]

    def _is_told(self, symbol: Var, later: set[PrimExpr]) -> bool:
        slot = self._by_expr.get(symbol)
        return slot is not None and slot.is_known and symbol not in later


def collect_slots(func: Function) -> SlotTable:
    """The slots of a function: parameters first, then the body in order, then the result."""
    table = SlotTable()
    for param in func.params:
        _from_info(param.struct_info, table)
    _from_expr(func.body, table)
    _from_info(func.ret_struct_info, table)
    return table


def _from_infos(infos: Iterable[StructInfo], table: SlotTable) -> None:
    for info in infos:
        _from_info(info, table)


def _from_info(info: StructInfo, table: SlotTable) -> None:
    if isinstance(info, TensorStructInfo):
        if isinstance(info.shape, ShapeExpr):
            for extent in info.shape.values:
                table.add(extent)
    elif isinstance(info, ShapeStructInfo):
        for extent in info.values or ():
            table.add(extent)
    elif isinstance(info, PrimStructInfo):
        if info.value is not None:
            table.add(info.value)
    elif isinstance(info, TupleStructInfo):
        _from_infos(info.fields, table)


def _from_expr(expr: RelaxExpr, table: SlotTable) -> None:
    """Recursion is for nesting: branches, tuples. Blocks are walked in a loop."""
    if isinstance(expr, SeqExpr):
        for block in expr.blocks:
            for binding in block.bindings:
                _from_expr(binding.value, table)
                if isinstance(binding, MatchCast):
                    _from_info(binding.struct_info, table)
        _from_expr(expr.body, table)
    elif isinstance(expr, Call):
        _from_infos(expr.sinfo_args, table)
        for arg in expr.args:
            _from_expr(arg, table)
    elif isinstance(expr, Tuple):
        for one in expr.fields:
            _from_expr(one, table)
    elif isinstance(expr, TupleGetItem):
        _from_expr(expr.tuple_value, table)
    elif isinstance(expr, ShapeExpr):
        for extent in expr.values:
            table.add(extent)
    elif isinstance(expr, PrimValue):
        table.add(expr.value)
    elif isinstance(expr, If):
        _from_expr(expr.cond, table)
        _from_expr(expr.true_branch, table)
        _from_expr(expr.false_branch, table)
    elif isinstance(expr, Constant):
        pass


__all__ = ["Slot", "SlotTable", "collect_slots"]
