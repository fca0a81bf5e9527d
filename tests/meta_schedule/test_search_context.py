"""What a search is about, without its parts."""

from __future__ import annotations

import pytest

from tests.meta_schedule.workloads import matmul
from tvm.meta_schedule.search_context import SearchContext, normalize_mod
from tvm.target import Target


def test_contexts_hold_modules_and_targets() -> None:
    context = SearchContext(matmul(16), target="llvm -mcpu=skylake-avx512", num_threads=3)
    assert [gvar.name_hint for gvar in context.mod.functions] == ["main"]
    assert isinstance(context.target, Target)
    assert context.num_threads == 3
    assert SearchContext().mod is None


def test_seeds_follow_from_the_state() -> None:
    first, again, other = (SearchContext(rand_state=seed) for seed in (7, 7, 8))
    assert first.rand_state == again.rand_state == 7
    drawn = [first.fork_seed() for _ in range(4)]
    assert drawn == [again.fork_seed() for _ in range(4)]
    assert drawn != [other.fork_seed() for _ in range(4)]


def test_what_is_no_program_or_number_is_refused() -> None:
    with pytest.raises(TypeError, match="Expected `mod` to be PrimFunc or IRModule"):
        normalize_mod("matmul")
    with pytest.raises(ValueError, match="should be either an integer, 'physical', or 'logical'"):
        SearchContext(num_threads="all")
