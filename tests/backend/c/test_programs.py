"""The programs of the LLVM backend's tests mean the same in C, which compiles without a warning."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.backend.llvm import (
    kernel,
    test_expr,
    test_intrinsics,
    test_memory,
    test_parallel,
    test_stmt,
)
from tvm.backend.c import compiler

pytestmark = pytest.mark.cpu
FILES = (test_expr, test_intrinsics, test_memory, test_parallel, test_stmt)
# What looks at LLVM's text, words or instructions, or masks lanes, which C does not; C's own are in
# the files beside this one.
OF_LLVM = {
    "test_a_masked_strided_load_reads_nothing_behind_its_last_element",
    "test_large_constants_are_outside_of_the_text",
    "test_llvm_intrinsics_by_name",
    "test_masked_accesses_leave_other_lanes_alone",
    "test_masked_lanes_of_any_count",
    "test_memory_is_given_back_when_the_function_fails",
    "test_operands_that_end_llvm_do_not_end_this_process",
    "test_operators_without_a_rule_are_named",
    "test_pointers_are_noalias_in_the_body_unless_the_function_says_otherwise",
    "test_repeated_lanes",
    "test_scratch_memory_is_taken_once_for_all_rounds",
    "test_small_scratch_memory_is_on_the_stack_and_large_is_not",
    "test_the_types_in_names_are_those_of_the_operands",
    "test_volatile_accesses",
}


@pytest.fixture(autouse=True)
def _compile_to_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "TARGET", "c")
    strict = (*compiler.FLAGS, "-Wall", "-Wextra", "-Werror")
    monkeypatch.setattr(compiler, "FLAGS", strict)


def _tests_of(module: ModuleType) -> dict[str, object]:
    """The tests of a file, and the fixtures that they ask for."""
    return {
        name: value
        for name, value in vars(module).items()
        if name not in OF_LLVM
        and (name.startswith("test_") or type(value).__name__ == "FixtureFunctionDefinition")
    }


for _file in FILES:
    globals().update(_tests_of(_file))
