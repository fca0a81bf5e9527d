from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest

from tvm.tir.schedule._type_checker import callable_str, type_checked, type_explained

CASES: list[tuple[Any, list[Any], list[Any]]] = [
    (int, [5], ["5", None, 1.5]),
    (float, [1.5, 2], ["5"]),
    (None, [None], [5]),
    (Any, [None, 5, "x"], []),
    (list[int], [[], [5], (1, 2)], [None, 5, ["5"], "12"]),
    (Sequence[str], [["a"], ()], [[1], "ab"]),
    (tuple[int, str], [(1, "a")], [(1,), ("a", 1), [1, "a"], 5]),
    (tuple[int, ...], [(), (1, 2)], [("a",)]),
    (dict[str, int], [{}, {"a": 1}], [None, [], {1: 1}, {"a": "b"}]),
    (int | str, [5, "x"], [5.5, None]),
    (int | None, [5, None], ["x"]),
    (list[int | str], [[1, "a"]], [[1.5]]),
    (Literal["read", "write"], ["read"], ["copy"]),
    (Callable[[int], int], [abs, lambda x: x], [5]),
]


@pytest.mark.parametrize(("hint", "right", "wrong"), CASES, ids=[str(c[0]) for c in CASES])
def test_values(hint: Any, right: list[Any], wrong: list[Any]) -> None:
    def given(x):  # type: ignore[no-untyped-def]
        return x

    given.__annotations__["x"] = hint
    checked = type_checked(given)
    for value in right:
        assert checked(value) is value
    for value in wrong:
        with pytest.raises(TypeError, match="type of `x` does not match signature"):
            checked(value)


def test_message() -> None:
    @type_checked
    def scale(a: list[int], *more: int, by: int | None = None) -> None:
        """Keeps its name and signature."""

    assert scale.__name__ == "scale"
    scale([1], 2, by=3)
    with pytest.raises(TypeError, match=r'Expected "List\[int\]", found type: "List\[Union\[int'):
        scale([1, "x"])
    with pytest.raises(TypeError, match=r'type of `more` .* Expected "int", found type: "str"'):
        scale([1], 2, "x")
    with pytest.raises(TypeError, match=r'`by` .* Expected "Optional\[int\]", found.* "Dict\[str'):
        scale([1], by={"a": 1})
    with pytest.raises(TypeError, match="missing a required argument"):
        scale()


def test_names_of_callables() -> None:
    assert callable_str() == "Callable"
    assert callable_str(int, list[str], bool) == "Callable[[int, List[str]], bool]"
    assert callable_str(int | str | None) == "Callable[[], Optional[Union[int, str]]]"


def test_errors_of_python_are_told_by_the_argument_of_another_type() -> None:
    @type_explained
    def first(of: list[int], at: int = 0) -> int:
        if at < 0:
            raise OwnError(str(at))
        return of[at]

    assert first([7]) == 7
    with pytest.raises(TypeError, match=r'`of` .* Expected "List\[int\]", found type: "int"'):
        first(3)
    with pytest.raises(TypeError, match=r'`at` .* Expected "int", found type: "str"'):
        first([1], "a")
    with pytest.raises(IndexError, match="out of range"):  # of the right types
        first([1], 1)
    with pytest.raises(OwnError):  # says enough
        first(3, -1)
    with pytest.raises(TypeError, match="missing 1 required"):
        first()


class OwnError(Exception):
    """An error with words of its own."""
