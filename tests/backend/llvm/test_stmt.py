"""Statements: loops, branches, assertions, scratch memory, constants, jumps."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import (
    buffers_for,
    built,
    call,
    compiled,
    i32,
    kernel,
    packed,
    run,
    vector,
)
from tvm import te, topi
from tvm.error import ShapeError, TVMError
from tvm.ir.type import PointerType, PrimType
from tvm.runtime import tensor
from tvm.runtime.module import Module
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import builtin

pytestmark = pytest.mark.cpu
TRUE = e.IntImm("bool", 1)


def store(buffer: Buffer, index: object, value: object) -> s.Stmt:
    return s.BufferStore(buffer, e.as_expr(value), [e.as_expr(index)])


def loop(extent: object, make: object, kind: s.ForKind = s.ForKind.SERIAL, start: int = 0) -> s.For:
    i = e.Var("i", "int32")
    return s.For(i, start, extent, kind, make(i))


@pytest.mark.parametrize("kind", [s.ForKind.SERIAL, s.ForKind.UNROLLED, s.ForKind.VECTORIZED])
def test_loops_run_their_range(kind: s.ForKind) -> None:
    out = np.zeros(16, np.int32)
    assert run(lambda b: loop(9, lambda i: store(b, i, e.Mul(i, i)), kind, start=3), out) == 0
    np.testing.assert_array_equal(out, [k * k if 3 <= k < 12 else 0 for k in range(16)])


@pytest.mark.parametrize("count", [0, 1, 5])
def test_loops_whose_extent_is_data(count: int) -> None:
    out, size = np.zeros(8, np.int32), np.array([count], np.int32)
    assert run(lambda b, n: loop(e.BufferLoad(n, [0]), lambda i: store(b, i, 7)), out, size) == 0
    np.testing.assert_array_equal(out, [7] * count + [0] * (8 - count))


def test_branches() -> None:
    out = np.zeros(8, np.int32)

    def body(b: Buffer) -> s.Stmt:
        return loop(8, lambda i: s.IfThenElse(
            e.LT(i, i32(3)), store(b, i, 1),
            s.IfThenElse(e.LT(i, i32(5)), store(b, i, 2)),
        ))  # fmt: skip

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, [1, 1, 1, 2, 2, 0, 0, 0])


def test_while_and_jumps() -> None:
    out = np.zeros(8, np.int32)

    def body(b: Buffer) -> s.Stmt:
        count = e.BufferLoad(b, [i32(0)])
        step = store(b, 0, e.Add(count, i32(1)))
        leave = s.IfThenElse(e.GE(count, i32(6)), s.Evaluate(builtin.break_loop()))
        skip = s.IfThenElse(e.EQ(count, i32(2)), s.Evaluate(builtin.continue_loop()))
        mark = s.BufferStore(b, i32(1), [count])
        return s.While(TRUE, s.SeqStmt([step, leave, skip, mark]))

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, [6, 1, 0, 1, 1, 1, 0, 0])


def test_continue_in_a_counted_loop_goes_to_the_next_iteration() -> None:
    out = np.zeros(6, np.int32)

    def body(b: Buffer) -> s.Stmt:
        def each(i: e.Var) -> s.Stmt:
            odd = e.EQ(e.FloorMod(i, i32(2)), i32(1))
            return s.SeqStmt(
                [s.IfThenElse(odd, s.Evaluate(builtin.continue_loop())), store(b, i, 5)]
            )

        return loop(6, each)

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, [5, 0, 5, 0, 5, 0])


@pytest.mark.parametrize(
    ("count", "scope"), [(16, "local"), (16, "global"), (100_000, "global"), (None, "global")]
)
def test_scratch_memory(count: int | None, scope: str) -> None:
    a, out, size = np.arange(16, dtype="float32"), np.zeros(16, "float32"), np.array([16], "int32")

    def body(source: Buffer, target: Buffer, n: Buffer) -> s.Stmt:
        extent = e.BufferLoad(n, [i32(0)]) if count is None else i32(count)
        temp = decl_buffer((16,), "float32", "temp", scope=scope)
        fill = loop(
            16,
            lambda i: store(
                temp, i, e.Add(e.BufferLoad(source, [i]), 1.0 * e.FloatImm("float32", 1.0))
            ),
        )
        back = loop(16, lambda i: store(target, i, e.BufferLoad(temp, [e.Sub(i32(15), i)])))
        return s.Allocate(temp.data, "float32", [extent], TRUE, s.SeqStmt([fill, back]))

    for _ in range(3):
        assert run(body, a, out, size) == 0
    np.testing.assert_array_equal(out, a[::-1] + 1)


def test_small_scratch_memory_is_on_the_stack_and_large_is_not() -> None:
    def text(count: int) -> str:
        out = decl_buffer((4,), "float32", "out")
        temp = decl_buffer((count,), "float32", "temp")
        use = s.SeqStmt(
            [store(temp, 0, e.FloatImm("float32", 1)), store(out, 0, e.BufferLoad(temp, [i32(0)]))]
        )
        body = s.Allocate(temp.data, "float32", [i32(count)], TRUE, use)
        return compiled(kernel([out], body)).inspect_source()

    assert "TVMBackendAllocWorkspace" not in text(1024)
    assert text(100_000).count("call i32 @TVMBackendFreeWorkspace") == 1


def test_memory_is_given_back_when_the_function_fails() -> None:
    out = decl_buffer((4,), "float32", "out")
    temp = decl_buffer((100_000,), "float32", "temp")
    use = s.AssertStmt(
        e.EQ(i32(0), i32(1)), e.StringImm("no"), store(temp, 0, e.FloatImm("float32", 1))
    )
    body = s.Allocate(temp.data, "float32", [i32(100_000)], TRUE, use)
    text = compiled(kernel([out], body)).inspect_source()
    fail = text[text.index("\nfail.1:\n") :].splitlines()
    assert "call i32 @TVMBackendFreeWorkspace" in fail[2]
    assert fail[3] == "  br label %fail"
    assert "\nfail:\n  ret i32 -1\n" in text


@pytest.mark.parametrize("count", [4, 3000])
def test_constants(count: int) -> None:
    values = np.random.default_rng(0).normal(size=count).astype("float32")
    out = np.zeros(count, "float32")
    target = decl_buffer((count,), "float32", "out")
    const = e.Var("weights", PointerType(PrimType("float32")))
    view = Buffer(const, "float32", [count], name="weights")
    copy = loop(count, lambda i: store(target, i, e.BufferLoad(view, [i])))
    body = s.AllocateConst(const, "float32", [count], values, copy)
    module = compiled(kernel([target], body))
    assert call(module, out) == 0
    np.testing.assert_array_equal(out, values)


def test_large_constants_are_outside_of_the_text() -> None:
    def module_with(count: int) -> Module:
        out = decl_buffer((count,), "float32", "out")
        const = e.Var("weights", PointerType(PrimType("float32")))
        view = Buffer(const, "float32", [count], name="weights")
        copy = loop(count, lambda i: store(out, i, e.BufferLoad(view, [i])))
        values = np.ones(count, "float32")
        return compiled(kernel([out], s.AllocateConst(const, "float32", [count], values, copy)))

    assert [len(module_with(n).constants) for n in (4, 3000)] == [0, 1]
    assert len(module_with(3000).inspect_source()) < 8000


def check(message: e.PrimExpr) -> Exception:
    func = packed("checked", 1, lambda b: s.AssertStmt(
        e.EQ(e.BufferLoad(b, [i32(0)]), i32(1)), message, s.Evaluate(i32(0))), "int32")  # fmt: skip
    from tvm.runtime import tensor

    module = built({"checked": func})
    module["checked"](tensor(np.ones(64, "int32")))
    with pytest.raises(TVMError) as caught:
        module["checked"](tensor(np.zeros(64, "int32")))
    return caught.value


def test_assertions_raise_with_their_message() -> None:
    assert str(check(e.StringImm("the first value is not 1"))) == "the first value is not 1"


def test_assertions_choose_their_error_and_show_values() -> None:
    words = e.StringImm("ShapeError: main: 100% of extent {} is {}, not {}")
    name = e.StringImm("B")
    found = check(builtin.tvm_tuple(words, name, i32(5), e.FloatImm("float32", 2.5)))
    assert isinstance(found, ShapeError)
    assert isinstance(found, ValueError)
    assert str(found) == "main: 100% of extent B is 5, not 2.5"


def test_functions_of_a_module_call_each_other() -> None:
    inner_buffer, outer_buffer = (decl_buffer((4,), "int32", n) for n in ("x", "y"))
    count = e.Var("count", "int32")
    inner = PrimFunc([inner_buffer.data, count], store(inner_buffer, 1, count))
    callee = __import__("tvm").ir.GlobalVar("inner")
    outer = kernel(
        [outer_buffer], s.Evaluate(e.Call("int32", callee, [outer_buffer.data, i32(42)]))
    )
    module = built({callee: inner, "kernel": outer})
    out = np.zeros(4, np.int32)
    assert call(module, out) == 0
    np.testing.assert_array_equal(out, [0, 42, 0, 0])
    assert "define i32 @inner" not in module.inspect_source()  # it is internal


def test_a_value_is_returned() -> None:
    x = e.Var("x", "int32")
    func = PrimFunc([x], s.Evaluate(builtin.ret(e.Add(x, i32(1)))), PrimType("int32"),
                    attrs={"global_symbol": "plus_one"})  # fmt: skip
    module = compiled(func)
    plus_one = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(module.address("plus_one"))
    assert plus_one(41) == 42


def test_rejects_gpu_threads() -> None:
    b = decl_buffer((4,), "int32", "b")
    i = e.Var("i", "int32")
    thread = e.IterVar(None, "threadIdx.x", e.IterVar.ThreadIndex, "threadIdx.x")
    body = s.For(i, 0, 4, s.ForKind.THREAD_BINDING, store(b, i, 1), thread)
    with pytest.raises(TVMError, match="bound to GPU threads"):
        compiled(kernel([b], body))


def test_a_nest_of_a_thousand_lets_and_a_sequence_of_twenty_thousand() -> None:
    out = np.zeros(4, np.int32)

    def body(b: Buffer) -> s.Stmt:
        value: e.PrimExpr = i32(0)
        names = []
        for n in range(1000):
            var = e.Var(f"v{n}", "int32")
            names.append((var, e.Add(value, i32(1))))
            value = var
        inner: s.Stmt = s.SeqStmt([store(b, n % 4, value) for n in range(20_000)])
        for var, given in reversed(names):
            inner = s.LetStmt(var, given, inner)
        return inner

    assert run(body, out) == 0
    np.testing.assert_array_equal(out, [1000] * 4)


def test_vector_indices_in_loops() -> None:
    a, out = np.arange(64, dtype="float32"), np.zeros(64, "float32")

    def body(source: Buffer, target: Buffer) -> s.Stmt:
        def each(i: e.Var) -> s.Stmt:
            at = vector(e.Mul(i, i32(16)), 16)
            twice = e.Add(e.BufferLoad(source, [at]), e.BufferLoad(source, [at]))
            return s.BufferStore(target, twice, [at])

        return loop(4, each)

    assert run(body, a, out) == 0
    np.testing.assert_array_equal(out, a + a)


def test_low_bits_of_a_counter_wrap() -> None:
    """Unrolled and then vectorised by LLVM, i & 3 must not go on beyond 3."""
    a = te.placeholder((2, 3, 4, 5), "float32", name="A")
    repeats = (7, 6, 4, 2)
    func = te.create_prim_func([a, topi.tile(a, repeats)]).with_attr("global_symbol", "main")
    x = np.random.default_rng(0).random((2, 3, 4, 5), "float32")
    wanted = np.tile(x, repeats)
    out = tensor(np.zeros_like(wanted))
    tvm.compile(func, "llvm")["main"](tensor(x), out)
    np.testing.assert_array_equal(out.numpy(), wanted)


def test_alignment_is_known_in_the_body_and_where_it_is_called() -> None:
    a = te.placeholder((1024,), "float32", name="A")
    func = te.create_prim_func([a, te.compute((1024,), lambda i: a[i] * 3, name="B")])
    text = tvm.tir.build(func.with_attr("global_symbol", "triple"), "llvm").inspect_source("ll")
    assert re.search(r"triple_compute_\([^(]*align 4", text)
    assert re.search(r'call void @llvm.assume\(i1 true\) \[ "align"\(ptr %\S+, i64 4\) \]', text)


def test_comparisons_of_floats_use_scalable_vectors() -> None:
    count = te.var("m")
    a, b = te.placeholder((count,), name="A"), te.placeholder((count,), name="B")
    for compare in (tvm.tir.EQ, tvm.tir.NE, tvm.tir.LT):
        made = te.compute((count,), lambda i: compare(a[i], b[i]), name="C")  # noqa: B023
        func = te.create_prim_func([a, b, made])
        target = "llvm -mtriple=aarch64-linux-gnu -mattr=+sve"
        text = tvm.tir.build(func, target).inspect_source("asm")
        assert re.search(r"fcm(eq|ne|gt)\tp\d+\.s", text), compare


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float16", "float32"])
def test_element_by_element_loops_use_masked_scalable_vectors(dtype: str) -> None:
    """Also where LLVM would load whole registers, with the rest left to scalars."""
    count = te.var("m")
    a, b = (te.placeholder((count,), dtype, name) for name in "AB")
    rules = [(lambda i: a[i] == b[i], 4), (lambda i: a[i] * b[i], 4)]
    if "float" not in dtype:
        rules += [(lambda i: ~a[i], 2), (lambda i: a[i] & b[i], 4)]
    for rule, loads in rules:
        func = te.create_prim_func([a, b, te.compute((count,), rule, name="C")])
        target = "llvm -mtriple=aarch64-linux-gnu -mattr=+sve"
        text = tvm.tir.build(func, target).inspect_source("asm")
        assert len(re.findall(r"ld1[bhwd]\t{ z\d+\.[bhsd] }, p\d/z", text)) == loads


def test_loops_over_vectors_and_short_loops_are_not_wished_scalable(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """LLVM would say on standard error that it cannot."""

    @T.prim_func
    def func(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):  # type: ignore
        for i in range(1024):
            for j in T.vectorized(4):
                B[i * 4 + j] = A[i * 4 + j] * T.float32(2)
        for i in range(12):
            B[i * 9] = A[i] + A[i + 8]

    tvm.tir.build(func, "llvm -mtriple=aarch64-linux-gnu -mattr=+sve").inspect_source("asm")
    assert "not vectorized" not in capfd.readouterr().err


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float16", "float32"])
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gathered_elements_are_scalable_vectors(dtype: str, index: str) -> None:
    """The loops behind the look at the indices, which are taken in blocks."""
    count = te.var("m")
    a, at = te.placeholder((count,), dtype, "A"), te.placeholder((count,), index, "I")
    func = te.create_prim_func([a, at, te.compute((count,), lambda i: a[at[i]], name="C")])
    target = "llvm -mtriple=aarch64-linux-gnu -mattr=+sve"
    text = tvm.tir.build(func, target).inspect_source("asm")
    assert re.search(r"ld1s?[bhwd]\t{ z\d+\.[sd] }, p\d/z, \[x\d+, z\d+", text)


def test_constants_in_scalable_vectors_take_no_instruction() -> None:
    @T.prim_func
    def func(a: T.handle):
        A = T.match_buffer(a, (128,), "float32")
        A[T.ramp(0, 1, 4 * T.vscale())] = T.broadcast(T.float32(1.5), 4 * T.vscale())

    with tvm.target.Target("llvm -mtriple=aarch64-linux-gnu -mattr=+sve") as target:
        module = tvm.tir.build(func, target=target)
    one = "insertelement (<vscale x 4 x float> poison, float 0x3FF8000000000000, i64 0)"
    assert f"store <vscale x 4 x float> shufflevector (<vscale x 4 x float> {one}" in (
        module.inspect_source("ll")
    )
    assert "fmov\tz0.s, #1.5" in module.inspect_source("asm")


@pytest.mark.parametrize("kind", [s.ForKind.SERIAL, s.ForKind.PARALLEL])
def test_scratch_memory_is_taken_once_for_all_rounds(kind: s.ForKind) -> None:
    """Its size is known before the loop, and may be below zero where the loop has no round."""
    sizes = np.zeros(2, np.int32)
    data, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    given, source, target = buffers_for([sizes, data, out])
    n, m = e.Var("n", "int32"), e.Var("m", "int32")
    memory = e.Var("row", PointerType(PrimType("float32")))
    row = decl_buffer((m - 2,), "float32", "row", memory)

    def one_row(i: e.Var) -> s.Stmt:
        def fill(j: e.Var) -> s.Stmt:
            return store(row, j, e.BufferLoad(source, [i * m + j]))

        def drain(j: e.Var) -> s.Stmt:
            return store(target, i * m + j, e.BufferLoad(row, [m - 3 - j]))

        both = s.SeqStmt([loop(m - 2, fill), loop(m - 2, drain)])
        alloc = s.Allocate(memory, "float32", (m - 2,), TRUE, both)
        return loop(i32(2), lambda k: alloc)

    body: s.Stmt = loop(n, one_row, kind)
    for number, size in ((1, m), (0, n)):
        body = s.LetStmt(size, e.BufferLoad(given, [number]), body)
    module = compiled(kernel([given, source, target], body))
    text = module.inspect_source("ll")
    (taking,) = [part for part in re.split(r"\n}\n", text) if "ptr @TVMBackendAllocWork" in part
                 and "call noalias" in part]  # fmt: skip
    before, *rest = taking.split("call noalias ptr @TVMBackendAllocWorkspace")
    assert len(rest) == 1
    assert "phi" not in before  # no loop has begun
    for rows, columns in ((3, 9), (0, 9), (0, 0), (1, 3), (2, 1)):
        sizes[:], out[:] = (rows, columns), 0
        assert call(module, sizes, data, out) == 0
        wanted = np.zeros_like(out)
        for i in range(rows):
            part = data[i * columns : i * columns + max(columns - 2, 0)]
            wanted[i * columns : i * columns + len(part)] = part[::-1]
        np.testing.assert_array_equal(out, wanted)


def test_numbers_are_conditions() -> None:
    @T.prim_func
    def choose(A: T.Buffer((4,), "int32"), q: T.int32):
        if q:
            A[0] = 1
        else:
            A[1] = 2
        while A[2]:
            A[2] = A[2] - 1
        if T.Cast("int64", q) & 4:
            A[3] = 7

    for q, wanted in ((0, [9, 2, 0, 9]), (2, [1, 9, 0, 9]), (4, [1, 9, 0, 7])):
        values = tensor(np.array([9, 9, 3, 9], "int32"))
        tvm.tir.build(choose, "llvm")["choose"](values, q)
        assert values.numpy().tolist() == wanted
