"""Sums of products of small numbers by one instruction: matched, and run where they exist."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.target.codegen import llvm_get_cpu_features
from tvm.tir.intrin_registry import TensorIntrin
from tvm.tir.schedule import Schedule
from tvm.tir.tensor_intrin.dot_kinds import DOTS, register_dot

HOST = tvm.target.Target.from_device("cpu")
NEEDS = {
    "vnni512": {"avx512vnni"}, "vnni256": {"avx512vnni", "avx512vl"}, "words512": {"avx512vnni"},
    "words256": {"avx512vnni", "avx512vl"}, "avx512": {"avx512bw"}, "avx2": {"avx2"},
    "bf16": {"avx512bf16"}, "sse2": {"sse2"}, "sdot": {"dotprod"}, "udot": {"dotprod"},
    "usdot": {"i8mm"},
}  # fmt: skip
HERE = [form for form, needs in NEEDS.items() if needs <= set(llvm_get_cpu_features(HOST))]
RANGE = {"int8": (-128, 128), "uint8": (0, 256), "int16": (-255, 256)}


def kinds(form: str) -> list[tuple[str, str]]:
    """The data types of the operands that a form takes, the one group first."""
    dot = DOTS[form]
    if dot.multiplies == ("int16", "int16"):
        return [("int16", "int8"), ("uint8", "int8"), ("int8", "uint8")]
    one, many = dot.multiplies
    return [(one, many)] if one == many else [(one, many), (many, one)]


def program(form: str, one: str, many: str, swapped: bool, steps: int) -> Schedule:
    _, lanes, group, _, _, sums = DOTS[form]
    a = te.placeholder((steps * group,), one, name="A")
    b = te.placeholder((steps, lanes, group), many, name="B")
    k = te.reduce_axis((0, steps * group), "k")

    def product(i: tir.Var) -> object:
        left = a[k].astype(sums)
        right = b[k // group, i, k % group].astype(sums)
        return te.sum(right * left if swapped else left * right, axis=k)

    c = te.compute((lanes,), product, name="C")
    sch = Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    sch.cache_write(block, 0, "local")
    i, r = sch.get_loops(block)
    outer, inner = sch.split(r, [None, group])
    sch.reorder(outer, i, inner)
    sch.decompose_reduction(block, outer)
    sch.tensorize(i, register_dot(form, one, many, swapped))
    return sch


@pytest.mark.pure
@pytest.mark.parametrize("form", DOTS)
def test_both_functions_round_trip(form: str) -> None:
    intrin = TensorIntrin.get(register_dot(form, *kinds(form)[0]))
    assert intrin is not None
    for func in (intrin.desc, intrin.impl):
        assert_structural_equal(from_source(func.script()), func)


@pytest.mark.pure
@pytest.mark.parametrize("form", DOTS)
def test_programs_match_in_either_order(form: str) -> None:
    for one, many in kinds(form):
        for swapped in (False, True):
            text = program(form, one, many, swapped, 3).mod.script()
            assert DOTS[form].name in text


@pytest.mark.parametrize("form", [form for form in HERE if form != "bf16"])
def test_sums_are_exact_at_the_ends_of_the_range(form: str) -> None:
    """Pairs of largest products are where sums of 16 bits would be cut."""
    rng = np.random.default_rng(3)
    lanes, group = DOTS[form].lanes, DOTS[form].group
    for one, many in kinds(form):
        run = tvm.compile(program(form, one, many, False, 5).mod, target=HOST)
        for extreme in (False, True):
            low, high = RANGE[one]
            a = rng.integers(low, high, 5 * group).astype(one)
            b = rng.integers(*RANGE[many], (5, lanes, group)).astype(many)
            if extreme:
                a[:], b[:] = high - 1, RANGE[many][0]
            c = tvm.runtime.empty((lanes,), "int32")
            run(tvm.runtime.tensor(a), tvm.runtime.tensor(b), c)
            wide = b.astype("int64").transpose(1, 0, 2).reshape(lanes, -1)
            np.testing.assert_array_equal(c.numpy(), wide @ a.astype("int64"))


@pytest.mark.parametrize("form", [form for form in HERE if form == "bf16"])
def test_products_of_bfloat16_are_fused_with_sums(form: str) -> None:
    """Bit by bit: the second product of a pair first; each is added with one rounding."""
    rng, lanes = np.random.default_rng(3), DOTS[form].lanes
    run = tvm.compile(program(form, "bfloat16", "bfloat16", False, 40).mod, target=HOST)
    a = (rng.standard_normal(80) * 10.0 ** rng.integers(-2, 3, 80)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((40, lanes, 2)).astype(ml_dtypes.bfloat16)
    c = tvm.runtime.empty((lanes,), "float32")
    run(tvm.runtime.tensor(a), tvm.runtime.tensor(b), c)
    wanted = np.zeros(lanes, "float32")
    for pair in range(40):
        for k in (1, 0):
            exact = b[pair, :, k].astype(np.longdouble) * a[2 * pair + k].astype(np.longdouble)
            wanted = (exact + wanted).astype("float32")
    np.testing.assert_array_equal(c.numpy(), wanted)
