"""The form of a pass's test: a program before and after, and four checks.

    class TestUnitLoop(PassTest):
        run = RemoveUnitLoop()

        @T.prim_func
        def Before(A: T.Buffer((4,), "float32")): ...

        @T.prim_func
        def Expected(A: T.Buffer((4,), "float32")): ...

`Before` and `Expected` are functions or modules in TVMScript (or classes with such functions), or
plain functions that return one. Without `Expected` the other three checks are made; with an
exception class instead, the pass has to raise it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.script import from_source
from tvm.tir.analysis import verify_well_formed
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run as interpret

from .random_inputs import random_inputs


class PassTest:
    """Subclass it with `run`, `Before` and `Expected`; pytest collects the four checks.

    `same_results = False` leaves out the comparison of results, for passes that change what a
    function takes, or for programs that only a device can run.
    """

    run: ClassVar[Callable[[IRModule], IRModule]]
    Before: ClassVar[Any]
    Expected: ClassVar[Any] = None
    same_results: ClassVar[bool] = True
    round_trip: ClassVar[bool] = True
    tolerance: ClassVar[float] = 1e-5
    _made: ClassVar[IRModule]

    def _before(self) -> IRModule:
        return as_module(type(self).Before)

    @classmethod
    def _after(cls) -> IRModule:
        """What the pass makes, once for all checks: programs do not change."""
        if "_made" not in vars(cls):
            cls._made = cls.run(as_module(cls.Before))
        return cls._made

    def test_gives_expected(self) -> None:
        """The result equals the expected program, up to the names of variables."""
        expected = type(self).Expected
        if inspect.isclass(expected) and issubclass(expected, Exception):
            try:
                self._after()
            except expected:
                return
            raise AssertionError(f"the pass did not raise {expected.__name__}")
        if expected is not None:
            assert_structural_equal(self._after(), as_module(expected), map_free_vars=True)

    def test_is_well_formed(self) -> None:
        """What the pass made is a well-formed program."""
        if not self._raises():
            assert verify_well_formed(self._after(), assert_mode=False)

    def test_prints_and_parses_back(self) -> None:
        """The text of the result stands for the result."""
        if self._raises() or not type(self).round_trip:
            return
        after = self._after()
        again = from_source(after.script(show_meta=True), check_well_formed=False)
        assert_structural_equal(after, again, map_free_vars=True)

    def test_gives_the_same_results(self) -> None:
        """Before and after compute the same from the same inputs."""
        if self._raises() or not type(self).same_results:
            return
        before, after = self._before(), self._after()
        for var in before.get_global_vars():
            func = before[var]
            if isinstance(func, PrimFunc) and var.name_hint in after:
                self._compare(before, after, var.name_hint, func)

    def _compare(self, before: IRModule, after: IRModule, name: str, func: PrimFunc) -> None:
        wanted, found = random_inputs(func), random_inputs(func)
        expected = interpret(before, *wanted, name=name)
        returned = interpret(after, *found, name=name)
        limit = type(self).tolerance
        assert returned == expected
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(
                np.asarray(a, "float64"), np.asarray(b, "float64"), rtol=limit, atol=limit
            )

    def _raises(self) -> bool:
        expected = type(self).Expected
        return inspect.isclass(expected) and issubclass(expected, Exception)


def as_module(program: Any) -> IRModule:
    """A module of a module, a function, a class with functions, or a function that returns one."""
    if isinstance(program, IRModule):
        return program
    if isinstance(program, BaseFunc):
        if program.attrs.get("global_symbol") is not None:
            # functions of a test are called Before and Expected, which is not to matter
            program = program.with_attr("global_symbol", "main")
        return IRModule.from_expr(program)
    if inspect.isclass(program):
        functions = {n: f for n, f in vars(program).items() if isinstance(f, BaseFunc)}
        return IRModule(functions)
    return as_module(program())
