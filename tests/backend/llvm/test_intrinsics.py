"""Operators of TIR in machine code, against numpy and scipy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from scipy import special

import tvm
from tests.backend.llvm.kernel import (
    built,
    call,
    compiled,
    evaluate,
    evaluate_all,
    i32,
    kernel,
    packed,
    run,
    vector,
)
from tvm.error import TVMError
from tvm.ffi import register_global_func, remove_global_func
from tvm.ir.op import Op
from tvm.runtime import tensor
from tvm.script import tir as T
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import interp
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.op import builtin

pytestmark = pytest.mark.cpu


def unary(name: str):
    return lambda x: e.Call(x.dtype, Op.get("tir." + name), [x])


SMOOTH = {
    "exp": np.exp, "exp2": np.exp2, "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "erf": special.erf,
    "sigmoid": special.expit, "exp10": lambda x: 10.0**x,
}  # fmt: skip
POSITIVE = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "acosh": lambda x: np.arccosh(x + 1) * 0 + np.arccosh(x),
}  # fmt: skip
ROUNDING = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
    "nearbyint": np.round, "fabs": np.abs,
}  # fmt: skip
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_math(dtype: str, lanes: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 16).astype(dtype)
    positive = rng.uniform(1.1, 5, 16).astype(dtype)
    inside = rng.uniform(-0.9, 0.9, 16).astype(dtype)
    rows = [(name, f, x) for name, f in SMOOTH.items()]
    rows += [(name, f, positive) for name, f in POSITIVE.items()]
    rows += [(n, f, inside) for n, f in
             (("asin", np.arcsin), ("acos", np.arccos), ("atanh", np.arctanh))]  # fmt: skip
    all_made = evaluate_all([(unary(name), values) for name, _, values in rows], lanes=lanes)
    for (name, function, values), made in zip(rows, all_made, strict=True):
        expected = function(values.astype("float64")).astype(dtype)
        np.testing.assert_allclose(made, expected, rtol=TOLERANCE[dtype], atol=1e-6, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_rounding_is_exact(dtype: str, lanes: int) -> None:
    values = np.array([-2.5, -1.5, -0.5, -0.4, 0.0, 0.5, 1.5, 2.5], dtype)
    all_made = evaluate_all([(unary(name), values) for name in ROUNDING], lanes=lanes)
    for (name, function), made in zip(ROUNDING.items(), all_made, strict=True):
        np.testing.assert_array_equal(made, function(values), err_msg=name)


def test_two_and_three_operands() -> None:
    a = np.array([1.5, -2.0, 3.0, 0.5], "float32")
    b = np.array([2.0, 3.0, -1.0, 0.25], "float32")

    def binary(name: str):
        return lambda x, y: e.Call(x.dtype, Op.get("tir." + name), [x, y])

    def fma(x: e.PrimExpr, y: e.PrimExpr) -> e.PrimExpr:
        return e.Call("float32", Op.get("tir.fma"), [x, y, x])

    of_two = {"atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign, "fmod": np.fmod,
              "nextafter": np.nextafter}  # fmt: skip
    powers = np.array([1, -2, 0, 3], "int32")
    *made, power, fused, scaled = evaluate_all(
        [
            *((binary(name), a, b) for name in of_two),
            (binary("pow"), np.abs(a), b),
            (fma, a, b),
            (binary("ldexp"), a, powers),
        ]
    )
    for (name, function), found in zip(of_two.items(), made, strict=True):
        np.testing.assert_allclose(found, function(a, b), rtol=1e-6, err_msg=name)
    np.testing.assert_allclose(power, np.abs(a) ** b, rtol=1e-6)
    np.testing.assert_allclose(fused, a * b + a, rtol=1e-6)
    np.testing.assert_array_equal(scaled, np.ldexp(a, powers))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_kinds_of_numbers(dtype: str) -> None:
    values = np.array([0.0, -1.5, np.inf, -np.inf, np.nan, 1e-5, 60000, -0.0], dtype)

    def asks(name: str, lanes: int):
        kind = "bool" if lanes == 1 else f"boolx{lanes}"
        return lambda x: e.Call(kind, Op.get("tir." + name), [x])

    names = ("isnan", "isinf", "isfinite")
    for lanes in (1, 8):
        made = evaluate_all([(asks(name, lanes), values) for name in names], lanes=lanes)
        for name, found in zip(names, made, strict=True):
            np.testing.assert_array_equal(found, getattr(np, name)(values), err_msg=name)


@pytest.mark.parametrize("dtype", ["int32", "uint16", "int64", "uint8"])
@pytest.mark.parametrize("lanes", [1, 4])
def test_bits(dtype: str, lanes: int) -> None:
    a = np.array([1, 7, 100, 90], dtype)
    b = np.array([3, 5, 2, 1], dtype)

    def binary(name: str):
        return lambda x, y: e.Call(x.dtype, Op.get("tir." + name), [x, y])

    rows = (("bitwise_and", a & b), ("bitwise_or", a | b), ("bitwise_xor", a ^ b),
            ("shift_left", a << b), ("shift_right", a >> b))  # fmt: skip
    counts = [bin(int(v)).count("1") for v in a]
    width = np.dtype(dtype).itemsize * 8
    zeros = [width - int(v).bit_length() for v in a]
    of_one = (("bitwise_not", ~a), ("popcount", counts), ("clz", zeros))
    programs = [(binary(name), a, b) for name, _ in rows] + [(unary(name), a) for name, _ in of_one]
    made = evaluate_all(programs, lanes=lanes)
    for (name, expected), found in zip((*rows, *of_one), made, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_shifts_to_the_right_keep_the_sign() -> None:
    a = np.array([-8, -1], "int32")
    two = np.array([2, 2], "int32")
    shift = evaluate(lambda x, y: e.Call("int32", Op.get("tir.shift_right"), [x, y]), a, two)
    np.testing.assert_array_equal(shift, a >> 2)


def test_bits_read_as_another_type() -> None:
    a = np.array([1.0, -2.5, 0.0, 3.25], "float32")
    for lanes in (1, 4):
        kind = "int32" if lanes == 1 else "int32x4"
        made = evaluate(lambda x, k=kind: builtin.reinterpret(k, x), a, lanes=lanes)
        np.testing.assert_array_equal(made, a.view("int32"))


def test_only_one_side_of_if_then_else_runs() -> None:
    a, out = np.array([5, -1, 2, 100], "int32"), np.zeros(4, "int32")
    table = np.arange(10, 20, dtype="int32")

    def body(index: Buffer, values: Buffer, target: Buffer) -> s.Stmt:
        i = e.Var("i", "int32")
        at = e.BufferLoad(index, [i])
        inside = e.And(e.GE(at, i32(0)), e.LT(at, i32(10)))
        read = e.BufferLoad(values, [at])
        chosen = builtin.if_then_else(inside, read, i32(-7))
        return s.For(i, 0, 4, s.ForKind.SERIAL, s.BufferStore(target, chosen, [i]))

    assert run(body, a, table, out) == 0
    np.testing.assert_array_equal(out, [15, -7, 12, -7])


def test_halves_of_vectors() -> None:
    a = np.arange(8, dtype="int32")
    out = np.zeros(8, "int32")

    def body(source: Buffer, target: Buffer) -> s.Stmt:
        value = e.BufferLoad(source, [e.Ramp(i32(0), i32(1), 8)])
        low, high = builtin.vectorlow("int32x4", value), builtin.vectorhigh("int32x4", value)
        return s.BufferStore(
            target, builtin.vectorcombine("int32x8", high, low), [e.Ramp(i32(0), i32(1), 8)]
        )

    assert run(body, a, out) == 0
    np.testing.assert_array_equal(out, [4, 5, 6, 7, 0, 1, 2, 3])


def test_all_lanes_in_one() -> None:
    a = np.array([1, 2, 0, 16, 0, 2, 1, 64], "int32")
    out = np.zeros(1, "int32")

    def body(source: Buffer, target: Buffer) -> s.Stmt:
        value = e.BufferLoad(source, [e.Ramp(i32(0), i32(1), 8)])
        return s.BufferStore(target, builtin.vectoror("int32", value), [i32(0)])

    assert run(body, a, out) == 0
    assert out[0] == 83


def test_addresses() -> None:
    out = np.zeros(8, "int32")

    def body(b: Buffer) -> s.Stmt:
        third = builtin.address_of(e.BufferLoad(b, [i32(3)]))
        fifth = builtin.handle_add_byte_offset(third, i32(8))
        seventh = builtin.tvm_access_ptr(
            builtin.type_annotation("int32"), b.data, i32(7), i32(1), i32(2)
        )
        filled = [
            s.Evaluate(builtin.call_extern("handle", "memset", place, i32(1), e.IntImm("int64", 1)))
            for place in (third, fifth, seventh)
        ]
        is_null = e.Cast("int32", builtin.isnullptr(third))
        return s.SeqStmt([*filled, s.BufferStore(b, e.Add(is_null, i32(9)), [i32(0)])])

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, [9, 0, 0, 1, 0, 1, 0, 1])


def test_c_functions() -> None:
    a = np.array([-3, 4], "int32")
    made = evaluate(lambda x: builtin.call_pure_extern("int32", "abs", x), a)
    np.testing.assert_array_equal(made, [3, 4])


def test_an_unknown_c_function_is_named() -> None:
    b = decl_buffer((1,), "int32", "b")
    body = s.Evaluate(builtin.call_extern("int32", "no_such_function_anywhere"))
    module = compiled(kernel([b], body))
    with pytest.raises(TVMError) as caught:
        module.address("kernel")
    assert "unknown external function no_such_function_anywhere" in str(caught.value)


def test_llvm_intrinsics_by_name() -> None:
    a = np.array([1, 2, 3, 255], "uint32")
    made = evaluate(lambda x: builtin.call_llvm_pure_intrin("uint32", "llvm.bswap", x), a)
    np.testing.assert_array_equal(made, a.byteswap())


@pytest.mark.parametrize("name", ["llvm.ctpop", "llvm.ctpop.i8", "llvm.ctpop.v8i8"])
@pytest.mark.parametrize("counted", [False, True])
def test_the_types_in_names_are_those_of_the_operands(name: str, counted: bool) -> None:
    a = np.array([1, 2, 3, 255, 7, 0, 64, 15], "uint8")
    given = [e.IntImm("uint32", 1)] if counted else []
    made = evaluate(
        lambda x: builtin.call_llvm_pure_intrin("uint8x8", name, *given, x), a, lanes=8
    )
    np.testing.assert_array_equal(made, [1, 1, 2, 8, 3, 0, 1, 4])


def test_operands_that_end_llvm_do_not_end_this_process() -> None:
    b = decl_buffer((1,), "int32", "b")
    call_op = builtin.call_llvm_intrin("void", "llvm.va_start", i32(1), b.data)
    with pytest.raises(TVMError, match=r"compile llvm\.va_start"):
        compiled(kernel([b], s.Evaluate(call_op)))


def test_a_packed_call_needs_a_name() -> None:
    b = decl_buffer((1,), "int32", "b")
    stack = builtin.tvm_stack_alloca("tvm_ffi_any", i32(1))
    lowered = Op.get("tir.tvm_call_packed_lowered")
    nameless = e.Call("int32", lowered, [b.data, stack, i32(0), i32(0)])
    with pytest.raises(TVMError, match="legal: a string as the first argument"):
        compiled(kernel([b], s.Evaluate(nameless)))


def packed_call(name: str, *args: e.PrimExpr, result: str = "int32"):
    """A body that calls a packed function on numbers and stores what it returns."""

    def body(target: Buffer) -> s.Stmt:
        stack = e.Var("stack", "handle")
        steps = []
        for n, value in enumerate(args):
            index = 3 if value.dtype.is_floating else 1
            steps.append(s.Evaluate(builtin.tvm_struct_set(stack, n, 13, i32(index))))
            steps.append(s.Evaluate(builtin.tvm_struct_set(stack, n, 14, i32(0))))
            steps.append(s.Evaluate(builtin.tvm_struct_set(stack, n, 15, value)))
        call_op = Op.get("tir.tvm_call_packed_lowered")
        got = e.Call(result, call_op, [e.StringImm(name), stack, i32(0), i32(len(args))])
        steps.append(s.BufferStore(target, got, [i32(0)]))
        room = builtin.tvm_stack_alloca("tvm_ffi_any", i32(len(args) + 1))
        return s.LetStmt(stack, room, s.SeqStmt(steps))

    return body


@pytest.fixture
def scale():
    register_global_func("testing.scale", lambda a, b: int(a * b), override=True)
    yield
    remove_global_func("testing.scale")


def test_python_functions_are_called(scale: None) -> None:
    body = packed_call("testing.scale", i32(6), e.FloatImm("float64", 7.0))
    module = built({"f": packed("f", 1, body, "int32")})
    out = tensor(np.zeros(64, "int32"))
    for _ in range(2):
        module["f"](out)
    assert out.numpy()[0] == 42


def test_errors_of_python_functions_pass_through() -> None:
    def fail(_: int) -> None:
        raise KeyError("lost")

    register_global_func("testing.fail", fail, override=True)
    module = built({"f": packed("f", 1, packed_call("testing.fail", i32(1)), "int32")})
    with pytest.raises(KeyError, match="lost"):
        module["f"](tensor(np.zeros(64, "int32")))
    remove_global_func("testing.fail")


def test_a_missing_packed_function_is_named() -> None:
    body = packed_call("testing.nobody", i32(1))
    module = built({"f": packed("f", 1, body, "int32")})
    with pytest.raises(RuntimeError, match=r"'testing\.nobody', which is not in the global"):
        module["f"](tensor(np.zeros(64, "int32")))


def test_atomic_adds_are_not_lost() -> None:
    out = np.zeros(1, "int32")

    def body(b: Buffer) -> s.Stmt:
        i = e.Var("i", "int32")
        place = builtin.address_of(e.BufferLoad(b, [i32(0)]))
        add = s.Evaluate(e.Call("int32", Op.get("tir.atomic_add"), [place, i32(1)]))
        return s.For(i, 0, 10_000, s.ForKind.PARALLEL, add)

    assert run(body, out) == 0
    assert out[0] == 10_000


def test_lane_masks_and_large_numbers() -> None:
    out = np.zeros(8, np.bool_)

    def body(b: Buffer) -> s.Stmt:
        mask = e.Call("boolx8", Op.get("tir.get_active_lane_mask"), [i32(2), i32(5)])
        return s.BufferStore(b, mask, [e.Ramp(i32(0), i32(1), 8)])

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, np.arange(8) + 2 < 5)
    zero = np.zeros(1, "uint64")
    large = e.Call("uint64", Op.get("tir.large_uint_imm"),
                   [e.IntImm("uint32", 5), e.IntImm("uint32", 2**31)])  # fmt: skip
    made = evaluate(lambda x: e.Add(x, large), zero)
    np.testing.assert_array_equal(made, [2**63 + 5])


def test_operators_without_a_rule_are_named() -> None:
    b = decl_buffer((1,), "int32", "b")
    body = s.Evaluate(e.Call("void", Op.get("tir.ptx_commit_group"), []))
    with pytest.raises(TVMError) as caught:
        compiled(kernel([b], body))
    assert str(caught.value).startswith("machine code for tir.ptx_commit_group\n  found: the LLVM")


def test_struct_fields_out_of_the_table_are_refused() -> None:
    b = decl_buffer((1,), "int32", "b")
    body = s.Evaluate(builtin.tvm_struct_get(b.data, 0, 99, "int32"))
    with pytest.raises(TVMError, match="access of struct field 99"):
        compiled(kernel([b], body))


def test_the_stack_of_a_call_is_made_once() -> None:
    size = ctypes.sizeof(ctypes.c_void_p)
    assert size == 8
    out = np.zeros(4, "int64")

    def body(b: Buffer) -> s.Stmt:
        shape = e.Var("shape", "handle")
        room = builtin.tvm_stack_alloca("shape", i32(2))
        fill = s.Evaluate(builtin.tvm_struct_set(shape, 1, 17, e.IntImm("int64", 77)))
        read = builtin.tvm_struct_get(shape, 1, 17, "int64")
        return s.LetStmt(shape, room, s.SeqStmt([fill, s.BufferStore(b, read, [i32(3)])]))

    assert run(body, out) == 0
    assert out[3] == 77


def test_compiled_functions_call_each_other_by_symbol() -> None:
    seven = packed("seven", 1, lambda b: s.BufferStore(b, i32(7), [i32(0)]), "int32")

    def body(b: Buffer) -> s.Stmt:
        stack, item = e.Var("stack", "handle"), e.Var("item", "handle")
        room = builtin.tvm_stack_alloca("tvm_ffi_any", i32(2))
        array = builtin.tvm_stack_alloca("array", i32(1))
        object_of_item = builtin.handle_add_byte_offset(item, -24)
        steps = [
            s.Evaluate(builtin.tvm_struct_set(item, 0, 1, b.data)),
            s.Evaluate(builtin.tvm_struct_set(stack, 0, 13, i32(70))),
            s.Evaluate(builtin.tvm_struct_set(stack, 0, 14, i32(0))),
            s.Evaluate(builtin.tvm_struct_set(stack, 0, 15, object_of_item)),
            s.Evaluate(e.Call("int32", Op.get("tir.tvm_call_cpacked_lowered"),
                              [e.StringImm("__tvm_ffi_seven"), stack, i32(0), i32(1)])),
        ]  # fmt: skip
        return s.LetStmt(stack, room, s.LetStmt(item, array, s.SeqStmt(steps)))

    caller = packed("caller", 1, body, "int32")
    module = built({"seven": seven, "caller": caller})
    out = tensor(np.zeros(64, "int32"))
    module["caller"](out)
    assert out.numpy()[0] == 7
    assert call is not None


@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
def test_scaling_is_one_instruction_where_the_cpu_has_it(cpu: str) -> None:
    b = decl_buffer((16,), "float32", "b")
    at = e.Ramp(i32(0), i32(1), i32(16))
    power = e.Broadcast(i32(3), 16)
    value = e.Call("float32x16", Op.get("tir.ldexp"), [e.BufferLoad(b, [at]), power])
    target = f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}"
    text = compiled(kernel([b], s.BufferStore(b, value, [at])), target=target).inspect_source()
    assert ("@llvm.ldexp.v16f32.v16i32" in text) == (cpu == "skylake-avx512")
    assert ("@ldexpf" in text) == (cpu == "haswell")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 24, 32, 48, 64])
def test_scaling_takes_the_floor_of_a_float(dtype: str, lanes: int) -> None:
    """As VSCALEF does, where the vectors fill its registers; by integers everywhere else."""
    rng = np.random.default_rng(lanes)
    a = rng.uniform(-2, 2, lanes).astype(dtype)
    b = rng.uniform(-40, 40, lanes).astype(dtype)

    def scaled(x: tvm.tir.PrimExpr, y: tvm.tir.PrimExpr) -> tvm.tir.PrimExpr:
        floor = e.Call(y.dtype, Op.get("tir.floor"), [y])
        power = e.Cast(DataType("int32").with_lanes(x.dtype.lanes), floor)
        return e.Call(x.dtype, Op.get("tir.ldexp"), [x, power])

    made = evaluate(scaled, a, b, lanes=lanes)
    np.testing.assert_array_equal(made, np.ldexp(a, np.floor(b).astype("int32")))
    buffers = [decl_buffer((lanes,), dtype, name) for name in "ab"]
    loads = [e.BufferLoad(buffer, [e.Ramp(i32(0), i32(1), i32(lanes))] if lanes > 1 else [i32(0)])
             for buffer in buffers]  # fmt: skip
    func = kernel(buffers, s.BufferStore(buffers[0], scaled(*loads), loads[0].indices))
    target = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512"
    text = compiled(func, target=target).inspect_source()
    whole = 512 // DataType(dtype).bits
    filled = lanes in (whole // 4, whole // 2, whole, 2 * whole, 4 * whole, 8 * whole)
    assert ("@llvm.x86.avx512.mask.scalef.p" in text) == filled


def test_a_static_handle_is_a_place_of_the_module() -> None:
    b = decl_buffer((2,), "handle", "b")
    handle = e.Call("handle", Op.get("tir.tvm_static_handle"), [])
    body = s.BufferStore(b, handle, [i32(0)])
    out = np.zeros(2, "int64")
    module = compiled(kernel([b], body))
    assert call(module, out) == 0
    first = int(out[0])
    assert ctypes.c_void_p.from_address(first).value is None, "null at first"
    assert call(module, out) == 0
    assert int(out[0]) == first


@pytest.mark.parametrize("target", ["llvm -opt-level=0", "llvm", "c"])
@pytest.mark.parametrize(
    ("base", "limit"), [(2, 5), (7, 5), (2**31 - 3, 2**31 - 1), (-1, 5), (2, -3)]
)
def test_lane_masks_are_of_unsigned_numbers_without_overflow(
    target: str, base: int, limit: int
) -> None:
    @T.prim_func
    def func(first: T.int32, last: T.int32, out: T.Buffer((8,), "bool")):
        out[0:8] = T.get_active_lane_mask("boolx8", first, last)

    wanted = [(base % 2**32) + lane < limit for lane in range(8)]
    found, by_interp = np.zeros(8, bool), np.zeros(8, bool)
    tvm.compile(func, target=target)(base, limit, found)
    interp.run(func, np.int32(base), np.int32(limit), by_interp)
    assert found.tolist() == wanted
    assert by_interp.tolist() == wanted


@pytest.mark.parametrize("lanes", [1, 4])
def test_integers_are_raised_to_powers(lanes: int) -> None:
    a, b = np.array([1, 2, -3, 4], "int32"), np.array([5, 6, 3, 0], "int32")
    out = np.zeros(4, "int32")

    def body(x: Buffer, y: Buffer, target: Buffer) -> s.Stmt:
        def each(i: e.Var) -> s.Stmt:
            at = vector(e.Mul(i, i32(lanes)), lanes)
            power = e.Call(
                x.dtype.with_lanes(lanes), Op.get("tir.pow"),
                (e.BufferLoad(x, [at]), e.BufferLoad(y, [at])),
            )  # fmt: skip
            return s.BufferStore(target, power, [at])

        i = e.Var("i", "int32")
        return s.For(i, 0, 4 // lanes, s.ForKind.SERIAL, each(i))

    assert run(body, a, b, out) == 0
    np.testing.assert_array_equal(out, a**b)
