from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvm
from tests.dlight.programs import HASWELL, SPR, random_names, with_names
from tvm import te, tir
from tvm.dlight.cpu import DotProducts
from tvm.dlight.cpu.dots import dot_form
from tvm.target import Target
from tvm.target.codegen import llvm_get_cpu_features
from tvm.tir.schedule import Schedule

ZEN4 = Target("llvm -mcpu=znver4")  # no tile registers
FEATURES = set(llvm_get_cpu_features(Target.from_device("cpu")))
NEEDS = {
    "haswell": {"avx2"}, "cascadelake": {"avx512vnni", "avx512bw", "avx512vl"},
}  # fmt: skip
HERE = [cpu for cpu, needs in NEEDS.items() if needs <= FEATURES]
RANGE = {"int8": (-128, 128), "uint8": (0, 256), "int16": (-255, 256)}


def product(
    m: int | tir.Var, n: int, k: int, one: str = "uint8", many: str = "int8", *,
    transposed: bool = False, batch: tuple[int, ...] = (), scale: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    """A @ B of integers in 32 bits; with `scale`, as floats, with a factor for each column."""
    a = te.placeholder((*batch, m, k), one, name="A")
    b = te.placeholder((n, k) if transposed else (k, n), many, name="B")
    r = te.reduce_axis((0, k), name="r")

    def element(*i: tir.Var) -> object:
        right = b[(i[-1], r)] if transposed else b[(r, i[-1])]
        left = a[tuple([*i[:-1], r])]
        return te.sum(left.astype("int32") * right.astype("int32"), axis=r)

    c = te.compute((*batch, m, n), element, name="C")
    if not scale:
        return te.create_prim_func([a, b, c])
    s = te.placeholder((n,), "float32", name="S")
    d = te.compute(c.shape, lambda *i: c[i].astype("float32") * s[i[-1]], name="D")
    return te.create_prim_func([a, b, s, d])


def schedule(func: tir.PrimFunc, target: Target) -> Schedule:
    sch = DotProducts().apply(func, target, False)
    assert isinstance(sch, Schedule), "the rule takes the function"
    return sch


def reason(func: tir.PrimFunc, target: Target) -> str:
    made = schedule(func, target).mod["main"]
    assert isinstance(made, tir.PrimFunc)
    return str(made.attrs["schedule_reason"])


@pytest.mark.pure
def test_the_instruction_follows_the_machine() -> None:
    neon = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-"
    forms = {
        "llvm -mcpu=sapphirerapids": "vnni512", "llvm -mcpu=skylake-avx512": "avx512",
        "llvm -mcpu=haswell": "avx2", "llvm -mcpu=x86-64": "sse2", "llvm -mcpu=znver4": "vnni512",
        "llvm -mcpu=haswell -mattr=+avxvnni": "vnni256", neon + "n2": "usdot", neon + "n1": None,
        "llvm -mtriple=riscv64-unknown-linux-gnu": None,
    }  # fmt: skip
    for target, form in forms.items():
        assert dot_form(Target(target).cpu, "uint8", "int8") == form
    assert dot_form(Target(neon + "n1").cpu, "int8", "int8") == "sdot"
    assert dot_form(SPR.cpu, "int8", "int8") == "words512"
    assert dot_form(SPR.cpu, "float32", "int8") is None
    assert dot_form(SPR.cpu, "bfloat16", "bfloat16") == "bf16"
    assert dot_form(Target("llvm -mcpu=skylake-avx512").cpu, "bfloat16", "bfloat16") is None
    assert dot_form(SPR.cpu, "bfloat16", "int8") is None


@pytest.mark.pure
def test_text() -> None:
    func = product(12, 128, 64, scale=True).with_attr("layout_free_buffers", [1])
    text = schedule(func, ZEN4).mod.script()
    assert "llvm.x86.avx512.vpdpbusd.512" in text
    assert "T.alloc_buffer((2, 16, 64, 4), \"int8\")" in text
    assert '"meta_schedule.layout_rewrite_preproc": True' in text
    assert "packed beforehand" in reason(func, ZEN4)
    assert "x86.avx2.pmadd.wd" in reason(func, HASWELL)
    sdot = product(12, 128, 64, "int8")
    neon = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")
    code = tvm.compile(schedule(sdot, neon).mod, target=neon).mod.inspect_source("asm")
    assert "sdot\tv" in code


def halves(m: int, n: int, k: int, sums: str = "float32") -> tir.PrimFunc:
    """A @ B of bfloat16, transposed; widened to `sums`."""
    a = te.placeholder((m, k), "bfloat16", name="A")
    b = te.placeholder((n, k), "bfloat16", name="B")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute(
        (m, n), lambda i, j: te.sum(a[i, r].astype(sums) * b[j, r].astype(sums), axis=r), name="C"
    )
    return te.create_prim_func([a, b, c])


@pytest.mark.pure
def test_bfloat16_is_summed_in_float32() -> None:
    text = schedule(halves(12, 128, 64), ZEN4).mod.script()
    assert "llvm.x86.avx512bf16.dpbf16ps.512" in text
    assert "groups of 2 products by x86.avx512bf16.dpbf16ps.512" in reason(halves(5, 9, 7), SPR)
    assert DotProducts().apply(halves(12, 128, 64), HASWELL, False) is None
    assert DotProducts().apply(halves(12, 128, 64, "bfloat16"), SPR, False) is None


@pytest.mark.parametrize("cpu", ["znver4"] if "avx512bf16" in FEATURES else [])
def test_sums_of_bfloat16(cpu: str) -> None:
    """Products of numbers of few digits are exact in any order; a sum along 13 steps is padded."""
    target, rng = Target(f"llvm -mcpu={cpu}"), np.random.default_rng(0)
    a, b = (rng.integers(-99, 99, s).astype(ml_dtypes.bfloat16) for s in ((17, 13), (41, 13)))
    run = tvm.compile(schedule(halves(17, 41, 13), target).mod, target=target)
    c = tvm.runtime.empty((17, 41), "float32")
    run(tvm.runtime.tensor(a), tvm.runtime.tensor(b), c)
    np.testing.assert_array_equal(c.numpy(), a.astype("float32") @ b.astype("float32").T)


@pytest.mark.pure
def test_names_mean_nothing() -> None:
    func = product(7, 40, 9, scale=True)
    assert reason(with_names(func, random_names()), SPR) == reason(func, SPR)


@pytest.mark.pure
def test_leaves_other_functions() -> None:
    assert DotProducts().apply(product(1, 8, 8), SPR, False) is None
    floats = te.placeholder((8, 8), name="A")
    r = te.reduce_axis((0, 8), name="r")
    c = te.compute((8, 8), lambda i, j: te.sum(floats[i, r] * floats[r, j], axis=r))
    assert DotProducts().apply(te.create_prim_func([floats, c]), SPR, False) is None
    assert not DotProducts().is_target_available(Target("c"))


@pytest.mark.covering(1)
@pytest.mark.parametrize("cpu", HERE)
@pytest.mark.parametrize(
    ("m", "n", "k", "options"),
    [
        (16, 64, 64, {}),
        (13, 37, 29, {"transposed": True}),
        (5, 100, 33, {"batch": (3,)}),
        (9, 10, 3, {"one": "int8", "many": "uint8"}),
        (7, 33, 10, {"one": "int8"}),
        (4, 48, 6, {"one": "uint8", "many": "uint8"}),
        (6, 32, 10, {"one": "int16"}),
    ],
)
def test_numbers_are_exact(cpu: str, m: int, n: int, k: int, options: dict[str, object]) -> None:
    target = Target(f"llvm -mcpu={cpu}")
    func = product(m, n, k, **options)  # type: ignore[arg-type]
    run = tvm.compile(schedule(func, target).mod, target=target)
    rng = np.random.default_rng(k)
    arrays = []
    for param in func.params:
        buffer = func.buffer_map[param]
        low, high = RANGE.get(str(buffer.dtype), (0, 1))
        shape = [int(d) for d in buffer.shape]  # type: ignore[call-overload]
        arrays.append(rng.integers(low, high, shape).astype(str(buffer.dtype)))
    a, b, c = (tvm.runtime.tensor(array) for array in arrays)
    run(a, b, c)
    right = arrays[1].T if options.get("transposed") else arrays[1]
    np.testing.assert_array_equal(c.numpy(), arrays[0].astype("int64") @ right.astype("int64"))


@pytest.mark.parametrize("cpu", HERE[-1:])
def test_any_number_of_rows(cpu: str) -> None:
    target = Target(f"llvm -mcpu={cpu}")
    func = product(te.size_var("m"), 40, 12, scale=True)
    run = tvm.compile(schedule(func, target).mod, target=target)
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 256, (11, 12)).astype("uint8"), rng.integers(-128, 128, (12, 40))
    s = rng.standard_normal(40).astype("float32")
    d = tvm.runtime.empty((11, 40), "float32")
    run(*(tvm.runtime.tensor(x) for x in (a, b.astype("int8"), s)), d)
    np.testing.assert_array_equal(d.numpy(), (a.astype("int32") @ b).astype("float32") * s)
