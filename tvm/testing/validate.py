"""An instrument that runs functions before and after each pass, and names the pass that is wrong.

    with PassContext(instruments=[tvm.instrument.Validate()]):
        lowered = pipeline(mod)

Each function that can be called from outside is run by the interpreter of its language on a few
small random inputs. A pass after which a result differs raises a ValidationError with the inputs
made as small as they could be while the results still differ. What could not be compared stands in
`records`, with the reason.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from tvm.error import TVMError, message
from tvm.ir.function import BaseFunc
from tvm.ir.instrument import PassInstrument
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassInfo
from tvm.relax.expr import Function
from tvm.relax.interp import Interpreter
from tvm.relax.struct_info import FuncStructInfo
from tvm.tir.function import PrimFunc
from tvm.tir.interp import is_packed, run_packed
from tvm.tir.interp import run as run_tir
from tvm.tir.interp.errors import AssertionFailed, DivisionByZero, OutOfBoundsError
from tvm.tir.transform.result_tensors import IN_ARRAY, result_count

from .random_inputs import random_inputs
from .relax_inputs import random_relax_inputs

SIZES: Final = (2, 4, 11)  # bounds of extents that are variables, the smallest first
SHRINKING_RUNS: Final = 200  # how often a failing function runs again to find smaller inputs
_FAULTS: Final = (AssertionFailed, DivisionByZero, OutOfBoundsError)  # a program went wrong
_TOLERANCE: Final = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


class ValidationError(TVMError):
    """A pass has changed what a function computes."""


class Record(NamedTuple):
    """What was not compared around a pass: a function of its module, and why."""

    pass_name: str
    function: str
    reason: str


class _Outcome(NamedTuple):
    """Arguments, and what a function made of them: its result, and the arguments afterwards."""

    args: list[Any]
    result: Any


class _Before(NamedTuple):
    pass_name: str
    mod: IRModule
    outcomes: dict[str, list[_Outcome]]


class Validate(PassInstrument):
    """Checks that each pass keeps the meaning of the functions of its module.

    Functions whose arguments hold more than `max_elements` numbers are not run. `records` tells
    what was left out.
    """

    def __init__(self, seed: int = 0, max_elements: int = 1 << 14) -> None:
        super().__init__("Validate")
        self.seed = seed
        self.max_elements = max_elements
        self.records: list[Record] = []
        self.compared: list[tuple[str, str]] = []  # (pass, function) that gave the same results
        self._open: list[_Before] = []
        self._last: _Before | None = None  # what ran last; the next pass often begins there

    def enter_pass_ctx(self) -> None:
        self._open.clear()
        self._last = None

    def exit_pass_ctx(self) -> None:
        self._open.clear()
        self._last = None

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self._last is not None and self._last.mod is mod:
            known = self._last.outcomes
            self._open.append(_Before(info.name, mod, known))
            return
        outcomes: dict[str, list[_Outcome]] = {}
        for name, func in _entries(mod):
            ran = self._outcomes(mod, name, func, info.name)
            if ran:
                outcomes[name] = ran
        self._open.append(_Before(info.name, mod, outcomes))
        self._last = self._open[-1]

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        while self._open and self._open[-1].pass_name != info.name:
            self._open.pop()  # a pass inside this one was left by an exception
        if not self._open:
            return
        before = self._open.pop()
        if mod is before.mod:
            return
        same = all(self._same(before, mod, name, info.name) for name in before.outcomes)
        unchanged = {n for n, _ in _entries(mod)} == set(before.outcomes)
        self._last = _Before(info.name, mod, before.outcomes) if same and unchanged else None

    # --- running ---

    def _outcomes(
        self, mod: IRModule, name: str, func: BaseFunc, pass_name: str
    ) -> list[_Outcome]:
        """The results for inputs of growing sizes; those that cannot be run are left out."""
        found: list[_Outcome] = []
        reason = ""
        for turn, size in enumerate(SIZES):
            try:
                args = _inputs(func, self.seed + turn, size)
                count = sum(array.size for array in _arrays(args))
                if count > self.max_elements:
                    reason = f"{count} numbers as arguments, more than {self.max_elements}"
                    break
                found.append(_Outcome(args, _run(mod, name, args)))
            except Exception as error:  # whatever it is, this function is not compared
                reason = f"cannot be run before the pass: {_first_line(error)}"
        if not found:
            self.records.append(Record(pass_name, name, reason))
        return found

    def _same(self, before: _Before, mod: IRModule, name: str, pass_name: str) -> bool:
        """Compare one function; False if it could not be compared."""
        func = next((f for n, f in _entries(mod) if n == name), None)
        if func is None:
            self.records.append(Record(pass_name, name, "no function of this name is left"))
            return False
        old = before.mod[name]
        if not _same_parameters(old, func):
            self.records.append(Record(pass_name, name, "the pass changes its parameters"))
            return False
        if func is old and all(before.mod.functions.get(v) is f for v, f in mod.functions.items()):
            return True
        for outcome in before.outcomes[name]:
            try:
                after = _run(mod, name, outcome.args)
            except _FAULTS as error:
                after = error
            except Exception as error:
                reason = f"cannot be run after the pass: {_first_line(error)}"
                self.records.append(Record(pass_name, name, reason))
                return False
            if not _agree(outcome.result, after):
                raise self._error(before.mod, mod, name, pass_name, outcome.args)
        self.compared.append((pass_name, name))
        return True

    def _error(
        self, before: IRModule, after: IRModule, name: str, pass_name: str, args: list[Any]
    ) -> ValidationError:
        def differs(tried: list[Any]) -> bool:
            wanted = _try(before, name, tried)
            return not isinstance(wanted, Exception) and not _agree(
                wanted, _try(after, name, tried)
            )

        small = shrink(args, differs, SHRINKING_RUNS)
        names = _parameter_names(before[name])
        inputs = "\n".join(f"{n} = {_show(a)}" for n, a in zip(names, small))
        wanted, got = _apart(before[name], _try(before, name, small), _try(after, name, small))
        return ValidationError(
            message(
                f"pass {pass_name} must keep what function {name!r} computes",
                found=f"{got}\nfor the inputs\n{inputs}",
                where=f"pass {pass_name}, function {name!r}",
                legal=f"as before the pass: {wanted}",
            )
        )


def shrink(args: list[Any], fails: Callable[[list[Any]], bool], runs: int) -> list[Any]:
    """Arguments with as many zeros, and else ones, as still make `fails` true."""
    best = args
    for proposals in _simpler(args):
        for which, (index, value) in proposals:
            if runs <= 0:
                return best
            old = best[which].reshape(-1)[index]
            new = (old != 0).astype(old.dtype) if value else np.zeros_like(old)
            if bool(np.all(old == new)):
                continue
            tried = copy.deepcopy(best)
            tried[which].reshape(-1)[index] = new
            runs -= 1
            if fails(tried):
                best = tried
    return best


def _simpler(args: list[Any]) -> Iterator[Iterator[tuple[int, tuple[slice, int]]]]:
    """Parts of arrays to make zero or one: the whole, then halves, quarters, ... elements."""
    for value in (0, 1):
        for which, array in enumerate(args):
            if isinstance(array, np.ndarray) and array.size:
                yield ((which, (part, value)) for part in _parts(array.size))


def _parts(size: int) -> Iterator[slice]:
    step = size
    while True:
        for start in range(0, size, step):
            yield slice(start, start + step)
        if step == 1:
            return
        step = (step + 1) // 2


def _entries(mod: IRModule) -> list[tuple[str, BaseFunc]]:
    """The functions that are called from outside; all of them if none is marked so."""
    found: list[tuple[str, BaseFunc]] = [
        (var.name_hint, func)
        for var, func in mod.functions_items()
        if isinstance(func, (PrimFunc, Function))
    ]
    public = [(name, func) for name, func in found if func.attrs.get("global_symbol") is not None]
    return public or found


def _inputs(func: BaseFunc, seed: int, size: int) -> list[Any]:
    if isinstance(func, PrimFunc):
        return random_inputs(func, seed, size)
    assert isinstance(func, Function), "entries are functions of these two languages"
    return random_relax_inputs(func, seed, size)


def _run(mod: IRModule, name: str, args: list[Any]) -> Any:
    """The result, with the arguments as they are afterwards if the function writes to them."""
    given = copy.deepcopy(args)
    func = mod[name]
    if isinstance(func, PrimFunc):
        if is_packed(func):
            return _run_packed(mod, func, name, given)
        return (run_tir(mod, *given, name=name), *_arrays(given))
    return Interpreter(mod).run(name, *given)


def _run_packed(mod: IRModule, func: PrimFunc, name: str, given: list[Any]) -> Any:
    """As before the function got C's convention: results that it makes itself stand last."""
    made = result_count(func)
    taken = given[: len(given) - made]
    result = run_packed(mod, *taken, name=name)
    if not made:
        return (result, *_arrays(taken))
    several = made > 1 or bool(func.attrs.get(IN_ARRAY))
    return (None, *_arrays(taken), *(result if several else [result]))


def _try(mod: IRModule, name: str, args: list[Any]) -> Any:
    try:
        return _run(mod, name, args)
    except Exception as error:
        return error


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _arrays(one)


def _same_parameters(old: BaseFunc, new: BaseFunc) -> bool:
    if isinstance(old, PrimFunc) and isinstance(new, PrimFunc):
        # a function in C's convention takes the arguments that it took before
        return is_packed(new) or _signature(old) == _signature(new)
    if isinstance(old, Function) and isinstance(new, Function):
        mine, theirs = old.struct_info, new.struct_info
        if not isinstance(mine, FuncStructInfo) or not isinstance(theirs, FuncStructInfo):
            return False
        if mine.params is None or theirs.params is None:
            return False
        if len(mine.params) != len(theirs.params):
            return False
        pairs = zip(mine.params, theirs.params)
        return all(structural_equal(a, b, map_free_vars=True) for a, b in pairs)
    return False


def _signature(func: PrimFunc) -> list[tuple[object, ...]]:
    """The kinds of parameters; variables of shapes stand for anything."""
    found: list[tuple[object, ...]] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            found.append((param.dtype,))
        else:
            found.append((param.dtype, buffer.dtype, len(buffer.shape)))
    return found


def _agree(wanted: Any, found: Any) -> bool:
    """Equal in structure, shape and type, and in value up to the rounding of the type."""
    if wanted is None and found is None:
        return True
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        return False
    if isinstance(wanted, (tuple, list)):
        if not isinstance(found, (tuple, list)) or len(wanted) != len(found):
            return False
        return all(_agree(a, b) for a, b in zip(wanted, found))
    if not isinstance(wanted, (np.ndarray, np.generic, int, float)):
        return type(wanted) is type(found)
    a, b = np.asarray(wanted), np.asarray(found)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    if a.dtype.kind in "biu":
        return bool(np.array_equal(a, b))
    tolerance = _TOLERANCE.get(a.dtype.name, 0.25)
    x, y = a.astype("float64"), b.astype("float64")
    return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True))


def _parameter_names(func: BaseFunc) -> list[str]:
    if isinstance(func, PrimFunc):
        buffers = func.buffer_map
        return [buffers[p].name if p in buffers else p.name for p in func.params]
    assert isinstance(func, Function), "entries are functions of these two languages"
    return [param.name_hint for param in func.params]


def _apart(func: BaseFunc, wanted: Any, found: Any) -> tuple[str, str]:
    """Both results as text; of a TIR function only the arrays that differ, with their names."""
    if not isinstance(func, PrimFunc) or isinstance(found, Exception):
        arrays = isinstance(func, PrimFunc) and isinstance(wanted, tuple)
        return _show(wanted[1:] if arrays else wanted), _show(found)
    names = [buffer.name for p in func.params if (buffer := func.buffer_map.get(p)) is not None]
    rows = [
        (f"{name} = {_show(a)}", f"{name} = {_show(b)}")
        for name, a, b in zip(["the returned value", *names], wanted, found)
        if not _agree(a, b)
    ]
    return "\n".join(a for a, _ in rows), "\n".join(b for _, b in rows)


def _show(value: Any) -> str:
    if isinstance(value, Exception):
        return f"{type(value).__name__}: {value}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_show(one) for one in value) + ")"
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=64, separator=", ", precision=6)
        return f"{value.dtype.name}{list(value.shape)} {text}"
    return repr(value)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
