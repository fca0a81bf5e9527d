"""The short form of a pass's test: `before`, `expected`, `transform`, and one check.

    class TestUnitLoop(tvm.testing.CompareBeforeAfter):
        transform = tvm.tir.transform.RemoveUnitLoop()

        def before(A: T.Buffer(4, "float32")):
            for i in range(1): ...

        def expected(A: T.Buffer(4, "float32")): ...

A program is a function without decorator, one with it, a class of functions, a module, or a
method that makes one (its parameters are fixtures); `expected` may be a class of exceptions.
"""

from __future__ import annotations

import functools
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.script import from_source
from tvm.script.parser.core.entry import default_names
from tvm.tir.analysis import verify_well_formed

from .pass_test import as_module


class CompareBeforeAfter:
    """Subclass it with `before`, `expected` and `transform`; pytest collects the check.

    `Before` and `Expected` are other names of the two.
    """

    check_well_formed: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        for name in ("before", "expected"):
            given = [n for n in (name, name.capitalize()) if n in vars(cls)]
            assert len(given) < 2, f"{cls.__name__} has both {' and '.join(given)}"
            if given:
                setattr(cls, name, cls._normalize_expected(vars(cls)[given[0]]))
        if "transform" in vars(cls):
            cls.transform = cls._normalize_transform(vars(cls)["transform"])  # type: ignore[attr-defined]

    @classmethod
    def _normalize_ir_module(cls, given: Any) -> Any:
        """A fixture of a program in any of its forms."""
        if _is_fixture(given):
            return given
        if isinstance(given, (BaseFunc, IRModule)):
            return _fixture(lambda: given)
        if inspect.isclass(given):
            return _fixture(lambda: _module_of(given, cls.check_well_formed))
        if _is_method(given):
            return pytest.fixture(given)
        return _fixture(lambda: _parsed(given, cls.check_well_formed))

    # the names by which classes of tests for analyses make their programs
    _normalize_before = _normalize_ir_module

    @classmethod
    def _normalize_expected(cls, given: Any) -> Any:
        """A fixture of a program, or of a class of exceptions."""
        if inspect.isclass(given) and issubclass(given, Exception):
            return _fixture(lambda: given)
        return cls._normalize_ir_module(given)

    @classmethod
    def _normalize_transform(cls, given: Any) -> Any:
        """A fixture of a pass that takes a function too."""
        if _is_fixture(given):
            return given
        if not inspect.isfunction(given):
            return _fixture(lambda: _on_functions(given))

        @functools.wraps(given)
        def made(*args: Any, **kwargs: Any) -> Any:
            return _on_functions(given(*args, **kwargs))

        return pytest.fixture(made)

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """The transform makes the expected program, or raises the expected exception."""
        if inspect.isclass(expected) and issubclass(expected, Exception):
            with pytest.raises(expected):
                transform(as_module(before))
            return
        after = transform(as_module(before))
        wanted = as_module(expected)
        if isinstance(expected, BaseFunc):
            # a lone function is compared for what it does: a pass may have made it without a name
            after, wanted = (IRModule({"main": _called_main(m["main"])}) for m in (after, wanted))
        assert_structural_equal(after, wanted, map_free_vars=True)
        if type(self).check_well_formed:
            assert verify_well_formed(after, assert_mode=False)


def _on_functions(transform: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The transform, which gives a function for a function."""

    def applied(program: Any) -> Any:
        if isinstance(program, IRModule):
            return transform(program)
        if isinstance(program, BaseFunc):
            return transform(IRModule({"main": program}))["main"]
        raise TypeError(
            f"a transform takes a function or a module, found {type(program).__name__}"
        )

    return applied


def _is_method(given: Any) -> bool:
    return next(iter(inspect.signature(given, eval_str=False).parameters), "") == "self"


def _is_fixture(given: Any) -> bool:
    made_by_pytest = type(given).__name__ == "FixtureFunctionDefinition"
    return made_by_pytest or hasattr(given, "_pytestfixturefunction")


def _fixture(make: Callable[[], Any]) -> Any:
    def value(*_receiver: Any) -> Any:
        return make()

    return pytest.fixture(value)


def _called_main(func: BaseFunc) -> BaseFunc:
    return func.with_attr("global_symbol", "main")


def _module_of(given: type, check: bool) -> IRModule:
    """The module of a class: its functions, with decorator or without, under their own names."""
    functions = {
        name: method if isinstance(method, BaseFunc) else _parsed(method, check)
        for name, method in vars(given).items()
        if not name.startswith("_")
    }
    return IRModule({n: func.with_attr("global_symbol", n) for n, func in functions.items()})


def _parsed(given: Any, check: bool) -> Any:
    """The program of a function that has no decorator, read from its source."""
    text = textwrap.dedent(inspect.getsource(given))
    captured = inspect.getclosurevars(given)
    names = {
        **default_names(), **vars(sys.modules[given.__module__]), **captured.globals,
        **captured.nonlocals,
    }  # fmt: skip
    return from_source(f"@T.prim_func\n{text}", extra_vars=names, check_well_formed=check)
