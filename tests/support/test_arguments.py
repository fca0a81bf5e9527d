"""Arguments of wrong kinds are told by name, and nothing else changes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytest

import tvm
from tvm import arith, relax, te, tir, topi
from tvm.support.arguments import explained

pytestmark = pytest.mark.pure


@explained
def first(names: Sequence[str] | None, many: int = 1, how: Literal["a", "b"] = "a") -> str:
    """The first name, so many times."""
    return names[0].upper() * many  # type: ignore[index]


@pytest.mark.parametrize(
    ("args", "name"),
    [((3,), "names"), ((None,), None), (([1],), "names"), (([None], 2), "names"), (([],), None)],
)
def test_what_is_said(args: tuple[Any, ...], name: str | None) -> None:
    if name is None:
        with pytest.raises((TypeError, IndexError)) as caught:
            first(*args)
        assert "another kind" not in str(caught.value)  # as annotated: the error is our own
    else:
        with pytest.raises(TypeError, match=f"first: the argument `{name}` is of another kind"):
            first(*args)


def test_type_errors_with_words_stay() -> None:
    @explained
    def half(of: int) -> float:
        if isinstance(of, str):
            raise TypeError("no text, please")
        return of / 2

    with pytest.raises(TypeError, match="no text, please"):
        half("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="half: the argument `of` is of another kind"):
        half([])  # type: ignore[arg-type]


def test_value_errors_of_python_are_told_by_name() -> None:
    @explained
    def number(of: int) -> int:
        if of == "zero":  # type: ignore[comparison-overlap]
            raise ValueError("no zero, please")
        return int(of)

    with pytest.raises(ValueError, match="no zero, please"):
        number("zero")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"number: the argument `of` is of another kind\n.*'one'"):
        number("one")  # type: ignore[arg-type]


def test_right_calls() -> None:
    assert first(["x"], 2) == "XX"
    assert first(("y",), np.int64(1)) == "Y"
    assert list(inspect.signature(first).parameters) == ["names", "many", "how"]
    assert first.__doc__ == "The first name, so many times."


def test_errors_of_callbacks_stay() -> None:
    @explained
    def run(body: Callable[[], Any], table: Mapping[str, int]) -> Any:
        return body()

    with pytest.raises(KeyError, match="mine"):
        run(lambda: {}["mine"], {"a": 1})


X = te.placeholder((3, 4), name="x")
RELAX = relax.Var("x", relax.TensorStructInfo((3, 4), "float32"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: relax.analysis.free_vars(None),
        lambda: relax.analysis.well_formed(None),
        lambda: tir.analysis.verify_memory("f"),
        lambda: arith.detect_iter_map({"a": 1}, {"a": 1}),
        lambda: te.scan("a", "b", "c"),
        lambda: topi.exp(None),
        lambda: topi.exp(RELAX),
        lambda: topi.matmul(X, 3),
        lambda: topi.transpose([], "llvm"),
        lambda: tvm.IRModule(global_infos=3),
        lambda: tir.BufferLoad("x", [0]),
        lambda: tir.For(None, 0, 1, 0, tir.Evaluate(0)),
        lambda: tir.Let("x", 1, 1),
        lambda: tir.BufferRegion("x", []),
        lambda: tir.BlockRealize([], True, "block"),
        lambda: tir.Allocate(None, "float32", [1], True, tir.Evaluate(0)),
        lambda: list(RELAX.shape),
        lambda: tvm.ir.SequentialSpan("abc"),
    ],
)
def test_public_functions(call: Callable[[], Any]) -> None:
    with pytest.raises(TypeError):
        call()


def test_types_of_several_lines_and_counts_of_axes() -> None:
    with pytest.raises(ValueError, match="unknown data type"):
        te.placeholder((3,), "float\n32")
    for axes in (3, -1, 2**31):
        with pytest.raises(ValueError, match="legal: 0 to 2"):
            topi.tensordot(X, X, axes)
