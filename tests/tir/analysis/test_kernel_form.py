"""Forms of kernels: which integers are sizes."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import structural_equal
from tvm.script import tir as T
from tvm.tir.analysis.kernel_form import GRAIN, WithSizes, kernel_form
from tvm.tir.function import PrimFunc

pytestmark = pytest.mark.pure


def kernel(
    *, channels: int = 6, inner: int = 8, lanes: int = 4, scratch: int = 16, divisor: int = 3,
    shift: int = 1, first: int = 2, rounds: int = 5, grain: int = 0,
) -> PrimFunc:  # fmt: skip
    notes = {GRAIN: grain} if grain else {}


    @T.prim_func(private=True, check_well_formed=False)
    def func(x: T.handle, n: T.int64):
        X = T.match_buffer(x, (T.int64(channels), n, T.int64(inner)))
        memory = T.alloc_buffer((T.int64(scratch),), "float32")
        for c in T.parallel(T.int64(channels) + n // T.int64(first), annotations=notes):
            for i in range(n // T.int64(divisor)):
                memory[T.shift_left(i, T.int64(shift))] = T.float32(0)
                for _ in range(T.int64(rounds)):
                    memory[0] = T.float32(0)
                for v in T.vectorized(T.int64(lanes)):
                    X[c, i // T.int64(divisor), v] = memory[v] + T.float32(1)

    return func


@pytest.mark.parametrize("what", ["channels", "first", "rounds"])
def test_sizes(what: str) -> None:
    one, other = kernel(), kernel(**{what: 12})
    form, same = kernel_form(one), kernel_form(other)
    assert form is not None
    assert same is not None
    assert form.tokens == same.tokens
    assert form.sizes != same.sizes
    values = {n: tir.IntImm("int64", size) for n, size in enumerate(same.sizes)}
    assert structural_equal(WithSizes(values).replaced(one), other)


@pytest.mark.parametrize("what", ["inner", "lanes", "divisor", "shift"])
def test_what_decides_how_the_machine_works(what: str) -> None:
    form, other = kernel_form(kernel()), kernel_form(kernel(**{what: 12}))
    assert form is not None
    assert other is not None
    assert form.tokens != other.tokens


def test_memory_is_told_apart() -> None:
    form, other = kernel_form(kernel()), kernel_form(kernel(scratch=32))
    assert form is not None
    assert other is not None
    assert form.tokens == other.tokens
    assert (form.memory, form.apart) == ({1}, set())
    assert (form.sizes[1], other.sizes[1]) == (16, 32)


def panels(rows: int, *, pitch: int = 12, window: int = 1, distance: int = 8) -> PrimFunc:
    """Sums over the rows of panels of weights, eight filters each."""


    @T.prim_func(private=True, check_well_formed=False)
    def func(w: T.handle, x: T.handle):
        W = T.match_buffer(w, (T.int64(4), T.int64(rows), T.int64(1), T.int64(window), T.int64(8)))
        X = T.match_buffer(x, (T.int64(rows), T.int64(12)))
        memory = T.alloc_buffer((T.int64(4), T.int64(distance)), "float32")
        for o in range(T.int64(4)):
            for k in range(T.int64(rows)):
                T.prefetch(T.address_of(W[o, k, 0, 0, 0]), 0, 3, 1)
                for v in T.vectorized(T.int64(8)):
                    memory[o, v] = memory[o, v] + W[o, k, 0, 0, v] * X[k * T.int64(pitch), 0]

    return func


def test_rows_of_panels_are_sizes() -> None:
    form, other = kernel_form(panels(16)), kernel_form(panels(32, pitch=20))
    assert form is not None
    assert other is not None
    assert form.tokens == other.tokens
    pairs = set(zip(form.sizes, other.sizes))
    assert {(16, 32), (12, 20)} <= pairs
    values = {n: tir.IntImm("int64", size) for n, size in enumerate(other.sizes)}
    assert structural_equal(WithSizes(values).replaced(panels(16)), panels(32, pitch=20))


def test_rows_with_windows_are_none() -> None:
    form, other = kernel_form(panels(16, window=3)), kernel_form(panels(32, window=3))
    assert form is not None
    assert other is not None
    assert form.tokens != other.tokens


def test_distances_in_memory_are_told_apart() -> None:
    form, other = kernel_form(panels(16)), kernel_form(panels(16, distance=16))
    assert form is not None
    assert other is not None
    assert form.tokens == other.tokens
    assert (form.rough(), other.rough()) == (((8,), ()), ((16,), ()))


def test_rounds_that_are_worth_a_task_are_told_apart() -> None:
    one, other = kernel(grain=6), kernel(grain=3)
    form, same = kernel_form(one), kernel_form(other)
    assert form is not None
    assert same is not None
    assert form.tokens == same.tokens
    (number,) = form.rounds
    assert (form.sizes[number], same.sizes[number]) == (6, 3)
    assert structural_equal(WithSizes({number: 3}).replaced(one), other)


def test_names_and_reasons_do_not_count() -> None:
    func = kernel()
    assert kernel_form(func.with_attr("schedule_reason", "why")) == kernel_form(func)
    assert kernel_form(func.with_attr("other", 1)) != kernel_form(func)


def test_nothing_replaced_is_the_same_object() -> None:
    func = kernel()
    assert WithSizes({}).replaced(func) is func
