from __future__ import annotations

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


@pytest.mark.pure
def test_text() -> None:
    func = product(12, 128, 64, scale=True).with_attr("layout_free_buffers", [1])
    text = schedule(func, SPR).mod.script()
    assert "llvm.x86.avx512.vpdpbusd.512" in text
    assert "T.alloc_buffer((2, 16, 64, 4), \"int8\")" in text
    assert '"meta_schedule.layout_rewrite_preproc": True' in text
    assert "packed beforehand" in reason(func, SPR)
    assert "x86.avx2.pmadd.wd" in reason(func, HASWELL)
    sdot = product(12, 128, 64, "int8")
    neon = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")
    code = tvm.compile(schedule(sdot, neon).mod, target=neon).mod.inspect_source("asm")
    assert "sdot\tv" in code


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
