"""Narrow floats held in integers: bit by bit against ml_dtypes, in every way to run a program."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import tvm
from tests.backend.llvm import kernel
from tests.backend.llvm.kernel import evaluate
from tests.end_to_end.cpus import PLAIN
from tvm.error import DTypeError
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.script import tir as T
from tvm.support.dtype import DataType
from tvm.support.narrow_floats import FORMATS
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import interp
from tvm.tir.functor import walk
from tvm.tir.op import builtin
from tvm.tir.transform import BindTarget
from tvm.tir.transform.legalize_narrow_floats import LegalizeNarrowFloats

pytestmark = pytest.mark.cpu
TARGETS = ("llvm", "c", f"llvm -mcpu={PLAIN}")


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `evaluate` compiles for."""
    monkeypatch.setattr(kernel, "TARGET", request.param)
    return str(request.param)


def numpy_type(name: str) -> np.dtype:
    return np.dtype("float16" if name == "float16" else getattr(ml_dtypes, name))


def patterns() -> np.ndarray:
    """A float32 for each upper half, with lower halves around the ties of all formats."""
    upper = np.arange(1 << 16, dtype="uint32") << 16
    lower = (0, 1, 0x1000, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
    return np.concatenate([upper | low for low in lower]).view("float32")


def codes(name: str) -> np.ndarray:
    """Every code of a format."""
    form = FORMATS[name]
    return np.arange(1 << form.bits).astype(f"uint{form.carrier_bits}").view(numpy_type(name))


def assert_same(made: np.ndarray, expected: np.ndarray) -> None:
    a, b = made.astype("float32"), expected.astype("float32")
    same = (a.view("uint32") == b.view("uint32")) | (np.isnan(a) & np.isnan(b))
    assert same.all(), (made[~same][:5], expected[~same][:5])


@pytest.mark.covering(2)
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", FORMATS)
def test_narrowing_rounds_as_ml_dtypes(name: str, lanes: int, target: str) -> None:
    values = patterns()
    with np.errstate(all="ignore"):
        expected = values.astype(numpy_type(name))
    made = evaluate(lambda x: e.Cast(DataType(name).with_lanes(lanes), x), values, lanes=lanes)
    assert_same(made, expected)


@pytest.mark.covering(2)
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("name", FORMATS)
def test_widening_is_exact_for_every_value(name: str, lanes: int, target: str) -> None:
    values = codes(name)
    made = evaluate(lambda x: e.Cast(DataType("float32").with_lanes(lanes), x), values, lanes=lanes)
    assert_same(made, values.astype("float32"))


@pytest.mark.parametrize("name", FORMATS)
def test_the_lowered_program_means_the_same(name: str) -> None:
    """For every code, and in the interpreter alone, as C has none of these types."""
    count = 1 << FORMATS[name].bits

    @T.prim_func(private=True)
    def func(A: T.Buffer((count,), name), B: T.Buffer((count,), name)):
        for i in range(count):
            B[i] = A[i] * A[i] + A[count - 1 - i]

    mod = BindTarget("c")(IRModule({"main": func}))
    after = LegalizeNarrowFloats()(mod)["main"]
    assert not {str(n.dtype) for n in walk(after.body) if isinstance(n, e.PrimExpr)} & {*FORMATS}
    values = codes(name)
    carried, expected = np.zeros(count, values.dtype), np.zeros(count, values.dtype)
    carrier = f"uint{FORMATS[name].carrier_bits}"
    with np.errstate(all="ignore"):
        interp.run(mod["main"], values, expected)
        interp.run(after, values.view(carrier), carried.view(carrier))
    assert_same(carried, expected)


def test_arithmetic_is_rounded_at_every_step(target: str) -> None:
    rng = np.random.default_rng(1)
    for kind in (np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)):
        a, b = (rng.normal(size=256).astype(kind) for _ in range(2))
        for node, expected in ((e.Add, a + b), (e.Mul, a * b), (e.Max, np.maximum(a, b))):
            np.testing.assert_array_equal(evaluate(node, a, b, lanes=8), expected)
        np.testing.assert_array_equal(evaluate(e.LT, a, b), a < b)
        twice = evaluate(lambda x, y: e.Add(e.Mul(x, y), x), a, b)
        # with instructions of its own a CPU may round a product and a sum once, as those of float32
        wide = a.astype(np.float64) * b.astype(np.float64) + a.astype(np.float64)
        fused = Target(target).has_float(kind.name) & (twice == wide.astype(kind))
        assert np.all((twice == a * b + a) | fused)


def test_double_becomes_half_in_one_rounding(target: str) -> None:
    """Just above a tie of float16, where float32 is the tie itself."""
    ties = np.float64(1 + 2.0**-11) * np.exp2(np.arange(-20.0, 15.0))
    values = np.concatenate([ties * (1 + 2.0**-40), ties, ties * (1 - 2.0**-40), -ties, [0.0]])
    made = evaluate(lambda x: e.Cast("float16", x), values)
    np.testing.assert_array_equal(made, values.astype("float16"))


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sqrt": np.sqrt, "floor": np.floor, "fabs": np.abs, "exp": np.exp, "tanh": np.tanh,
}  # fmt: skip


@pytest.mark.covering(2)
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_computed_in_float32(name: str, kind: str, target: str) -> None:
    values = np.linspace(0, 5, 64, dtype="float32").astype(numpy_type(kind))
    made = evaluate(lambda x: e.Call(kind, Op.get(f"tir.{name}"), [x]), values)
    expected = FUNCTIONS[name](values.astype("float32")).astype(values.dtype)
    close = {"exp": 1, "tanh": 1}.get(name, 0)
    assert np.abs(made.view("int16") - expected.view("int16")).max() <= close


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_neighbours_and_questions(kind: str, target: str) -> None:
    values = np.array([0, 1, -2, np.inf, np.nan, 0.5], "float32").astype(numpy_type(kind))
    up = np.full(6, np.inf, "float32").astype(numpy_type(kind))
    nextafter = Op.get("tir.nextafter")
    assert_same(evaluate(lambda x, y: e.Call(kind, nextafter, [x, y]), values, up),
                np.nextafter(values, up))  # fmt: skip
    for name, expected in (("isnan", np.isnan), ("isinf", np.isinf)):
        made = evaluate(lambda x, n=name: e.Call("bool", Op.get(f"tir.{n}"), [x]), values)
        np.testing.assert_array_equal(made, expected(values))


def test_bits_lets_and_choices(target: str) -> None:
    values = codes("bfloat16")[1000:1064]
    x = e.Var("x", "bfloat16")

    def chosen(value: e.PrimExpr) -> e.PrimExpr:
        body = e.Select(x > e.FloatImm("bfloat16", 0.0), x, e.FloatImm("bfloat16", 2.0))
        return e.Let(x, value, body)

    expected = np.where(values.astype("float32") > 0, values, np.array(2).astype(values.dtype))
    np.testing.assert_array_equal(evaluate(chosen, values), expected)
    bits = evaluate(lambda v: builtin.reinterpret("uint16", v), values)
    np.testing.assert_array_equal(bits, values.view("uint16"))


@pytest.mark.parametrize("target_name", TARGETS)
def test_constants_scalars_and_callees(target_name: str) -> None:
    weights = np.linspace(-2, 2, 8, dtype="float32").astype(ml_dtypes.bfloat16)

    @T.prim_func
    def main(A: T.Buffer((8,), "bfloat16"), scale: T.bfloat16, B: T.Buffer((8,), "bfloat16")):
        data = T.allocate_const(weights.tolist(), "bfloat16", [8])
        W = T.decl_buffer((8,), "bfloat16", data=data)
        for i in range(8):
            B[i] = A[i] * scale + W[i]

    a = np.arange(8).astype(ml_dtypes.bfloat16)
    out = tvm.runtime.tensor(np.zeros(8, ml_dtypes.bfloat16))
    tvm.compile(main, target=target_name)["main"](tvm.runtime.tensor(a), 1.5, out)
    scale = np.array(1.5).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(out.numpy(), a * scale + weights)


def test_adding_codes_is_refused() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "bfloat16")):
        T.evaluate(T.call_intrin("bfloat16", "tir.atomic_add", T.address_of(A[0]), T.bfloat16(1)))

    mod = BindTarget("llvm")(IRModule({"main": func}))
    with pytest.raises(DTypeError, match=r"tir.atomic_add of bfloat16\n  found: a type that"):
        LegalizeNarrowFloats()(mod)


def test_functions_whose_types_the_target_has_stay_the_same_object() -> None:
    @T.prim_func
    def half(A: T.Buffer((8,), "float16")):
        for i in range(8):
            A[i] = A[i] + A[i]

    mod = BindTarget("llvm")(IRModule({"main": half}))
    assert LegalizeNarrowFloats()(mod)["main"] is mod["main"]


def test_tensors_that_nobody_reads() -> None:
    @T.prim_func
    def main(A: T.Buffer((8,), "float16"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.float32(1)

    out = np.zeros(8, "float32")
    tvm.compile(main, target="c")["main"](np.zeros(8, "float16"), out)
    np.testing.assert_array_equal(out, 1)


@pytest.mark.parametrize(
    ("target", "has", "lacks"),
    [
        ("llvm -mcpu=haswell", "float16", "bfloat16"), ("c", "float32", "float16"),
        ("llvm -mcpu=sandybridge", "float32", "float16"),
        ("llvm -mtriple=aarch64-linux-gnu", "float16", "bfloat16"),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=sifive-u74", "float32", "float16"),
        ("llvm -mtriple=riscv64-linux-gnu -mattr=+zfhmin", "float16", "bfloat16"),
        ("opencl", "float16", "float8_e4m3fn"), ("cuda -arch=sm_75", "float16", "bfloat16"),
        ("cuda -arch=sm_80", "bfloat16", "float8_e5m2"),
        ("cuda -arch=sm_90", "float8_e5m2", "float4_e2m1fn"),
    ],
)  # fmt: skip
def test_what_targets_have(target: str, has: str, lacks: str) -> None:
    assert Target(target).has_float(has)
    assert not Target(target).has_float(lacks)
