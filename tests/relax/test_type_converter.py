"""Arguments that become expressions."""

from __future__ import annotations

from typing import Any, List, Optional  # noqa: UP035  as users write annotations

import pytest

from tvm import relax
from tvm.relax import Expr, args_converter
from tvm.relax.utils import args_converter as of_utils

pytestmark = pytest.mark.pure


def test_named_arguments() -> None:
    @args_converter.to_expr("a", "rest", "named")
    def func(a: Any, b: Any = 3, *rest: Any, **named: Any) -> Any:
        return a, b, rest, named

    a, b, rest, named = func(1, 2, [4, 5], None, key="text")
    assert isinstance(a, relax.PrimValue)
    assert b == 2
    assert isinstance(rest, tuple)
    assert isinstance(rest[0], relax.Tuple)
    assert rest[1] is None
    assert isinstance(named["key"], relax.StringImm)
    assert func.__name__ == "func"
    assert func(None)[1] == 3
    assert of_utils is args_converter


def test_lists() -> None:
    @args_converter.to_list_expr("a", "rest")
    def func(a: Any = (1, 2), *rest: Any) -> Any:
        return a, rest

    a, rest = func()
    assert isinstance(a, list)
    assert [type(item) for item in a] == [relax.PrimValue, relax.PrimValue]
    assert rest == ()
    assert isinstance(func([1], [2, 3])[1][0][1], relax.PrimValue)


def test_annotations_decide() -> None:
    @args_converter.auto
    def func(
        a: Expr,
        b: Optional[Expr],  # noqa: UP045
        c: List[Expr],  # noqa: UP006
        d: list[Expr] | None = None,
        e: int = 1,
        f: tuple[Expr, ...] = (),
    ) -> list[Any]:
        return [a, b, c, d, e, f]

    a, b, c, d, e, f = func(1, None, [2], [3], 4, (5,))
    assert isinstance(a, relax.PrimValue)
    assert b is None
    assert isinstance(c[0], relax.PrimValue)
    assert isinstance(d[0], relax.PrimValue)
    assert (e, f) == (4, (5,))


def test_what_cannot_be_converted() -> None:
    @args_converter.to_expr("a")
    @args_converter.to_list_expr("b")
    def func(a: Any, b: Any = None) -> Any:
        return a, b

    with pytest.raises(TypeError, match=r"Argument `a` is expected to be converted to `Expr`, but"):
        func({1})
    with pytest.raises(TypeError, match=r"`b` .* `List\[Expr\]`, but failed with input value: 5"):
        func(1, 5)
    with pytest.raises(ValueError, match="func has no argument 'z'; legal: a, b"):
        args_converter.to_expr("z")(func)
