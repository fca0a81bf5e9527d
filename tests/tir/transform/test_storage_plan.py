"""Who shares memory with whom."""

from __future__ import annotations

import pytest

import tvm
from tvm import te, tir
from tvm.script import tir as T
from tvm.target.memory_info import MemoryInfo
from tvm.tir.functor import walk
from tvm.tir.transform import StorageRewrite
from tvm.tir.transform.storage_plan import is_tagged

pytestmark = pytest.mark.pure


def allocations(func: tir.PrimFunc | tir.Stmt) -> list[tuple[str, str, int]]:
    body = func.body if isinstance(func, tir.PrimFunc) else func
    mod = tvm.IRModule.from_expr(tir.PrimFunc([], body))
    found = [n for n in walk(StorageRewrite()(mod)["main"].body) if isinstance(n, tir.Allocate)]
    return [(n.buffer_var.name, str(n.dtype), int(n.extents[0])) for n in found]


def in_turn(scope: str, *wanted: tuple[str, int], read: bool = False) -> tir.Stmt:
    """Loops of which each uses memory of its own."""
    ib = tvm.tir.ir_builder.create()
    for number, (dtype, size) in enumerate(wanted):
        with ib.for_range(0, 4, name="j") as j:
            memory = ib.allocate(dtype, size, name="ABCDEF"[number], scope=scope)
            memory[j] = memory[j] + tir.const(1, dtype) if read else tir.const(1, dtype)
    return ib.get()


@pytest.mark.parametrize(
    ("wanted", "made"),
    [
        ([("float32", 200), ("float32", 200)], [("A", "float32", 200)]),
        ([("float32", 200), ("float32", 300)], [("A", "float32", 300)]),
        ([("float32", 300), ("int8", 200)], [("A", "float32", 300)]),
        ([("int8", 200), ("float32", 300)], [("A", "int8", 200), ("B", "float32", 300)]),
        ([("float32", 2), ("float32", 64)], [("A", "float32", 2), ("B", "float32", 64)]),
        ([("float32", 1), ("float32", 1)], [("A", "float32", 1), ("B", "float32", 1)]),
        (
            [("float32", 50), ("float32", 60), ("float32", 40)],
            [("A", "float32", 60)],
        ),
    ],
)
def test_what_comes_later_takes_what_is_free(
    wanted: list[tuple[str, int]], made: list[tuple[str, str, int]]
) -> None:
    assert allocations(in_turn("global", *wanted)) == made


def test_registers_are_not_shared_and_small_memory_neither() -> None:
    two = [("float32", 16), ("float32", 16)]
    assert len(allocations(in_turn("local", *two))) == 2
    assert len(allocations(in_turn("warp", *two))) == 2
    assert len(allocations(in_turn("shared", *two, read=True))) == 1


def test_what_threads_only_write_is_not_free_for_others() -> None:
    """Barriers are for readers: slower threads may still write the one."""
    two = [("float32", 16), ("float32", 16)]
    assert len(allocations(in_turn("shared", *two))) == 2


def test_the_least_memory_that_is_large_enough() -> None:
    @T.prim_func
    def func(P: T.Buffer((8,))):
        A = T.decl_buffer((100,))
        B = T.decl_buffer((40,))
        C = T.decl_buffer((30,))
        for i in range(8):
            A[i] = P[i] + B[i]
        for i in range(8):
            P[i] = A[i] + B[7 - i]
        for i in range(8):
            C[i] = P[i]
        P[0] = C[1]

    assert allocations(func) == [("A", "float32", 100), ("B", "float32", 40)]
    text = StorageRewrite()(tvm.IRModule({"main": func})).script()
    assert "C = T.decl_buffer((30,), data=B.data)" in text


def test_dynamic_shared_memory_is_left_to_another_pass() -> None:
    two = [("float32", 16), ("float32", 16)]
    assert len(allocations(in_turn("shared.dyn", *two))) == 2
    with tvm.transform.PassContext(config={"tir.merge_static_smem": True}):
        assert len(allocations(in_turn("global", *two))) == 2


def test_targets_whose_memory_has_a_type() -> None:
    body = in_turn("global", ("float32", 300), ("int8", 200))
    func = tir.PrimFunc([], body).with_attr("target", tvm.target.Target("vulkan"))
    made = StorageRewrite()(tvm.IRModule.from_expr(func))["main"]
    assert len([n for n in walk(made.body) if isinstance(n, tir.Allocate)]) == 2


def test_symbolic_sizes_take_turns() -> None:
    @T.prim_func
    def func(n: T.int32, m: T.int32, P: T.Buffer((8,))):
        A_data = T.allocate([n], "float32", "global")
        A = T.Buffer((n,), data=A_data)
        B_data = T.allocate([m], "float32", "global")
        B = T.Buffer((m,), data=B_data)
        for i in range(n):
            A[i] = P[0]
        P[1] = A[0] + A[1]
        for i in range(m):
            B[i] = P[1]
        P[2] = B[0] + B[1]

    made = StorageRewrite()(tvm.IRModule({"main": func}))["main"]
    found = [n for n in walk(made.body) if isinstance(n, tir.Allocate)]
    assert [str(n.extents[0]) for n in found] == ["T.max(n * 32, m * 32) // 32"] or [
        str(n.extents[0]) for n in found
    ] == ["T.max(n, m)"]


def test_parts_of_a_memory_of_the_device() -> None:
    @tvm.register_global_func("tvm.info.mem.local.parts", override=True)
    def describe() -> MemoryInfo:
        return MemoryInfo(8, 1 << 20, 64, None)

    @T.prim_func
    def func(P: T.Buffer((8,))):
        A_data = T.allocate([5], "float32", "local.parts")
        A = T.Buffer((5,), data=A_data, scope="local.parts")
        B_data = T.allocate([6], "float16", "local.parts")
        B = T.Buffer((6,), "float16", data=B_data, scope="local.parts")
        for i in range(5):
            A[i] = P[i]
            B[i] = T.float16(1)
        P[0] = A[1] + T.Cast("float32", B[1])

    assert allocations(func) == [("A_data", "float32", 10)]  # 192 bits and 128
    text = StorageRewrite()(tvm.IRModule({"main": func})).script()
    assert "B[13]" in text or "B_1[13]" in text
    size = te.var("n")
    ib = tvm.tir.ir_builder.create()
    memory = ib.allocate("float32", size, name="A", scope="local.parts")
    memory[0] = tir.const(1, "float32")
    mod = tvm.IRModule.from_expr(tir.PrimFunc([size], ib.get()))
    with pytest.raises(tvm.TVMError, match="whose size is computed"):
        StorageRewrite()(mod)


def test_memory_beyond_the_device() -> None:
    @tvm.register_global_func("tvm.info.mem.local.little", override=True)
    def describe() -> MemoryInfo:
        return MemoryInfo(8, 64, 32, None)

    with pytest.raises(tvm.TVMError, match=r"Allocation exceed bound of memory tag local\.little"):
        allocations(in_turn("local.little", ("float32", 5)))


@pytest.mark.parametrize(
    ("scope", "tagged"),
    [
        ("global", False), ("shared.dyn", False), ("wmma.accumulator", False),
        ("m16n8k8.matrixA", False), ("local.L0A", True), ("global.vtcm", False),
        ("global.texture", True), ("metal.simdgroup", False),
    ],
)  # fmt: skip
def test_tags(scope: str, tagged: bool) -> None:
    assert is_tagged(scope) == tagged


def test_launches_keep_their_memory() -> None:
    @T.prim_func
    def func(P: T.Buffer((64,))):
        with T.launch_thread("blockIdx.x", 2) as bx:
            with T.launch_thread("threadIdx.x", 32) as tx:
                A = T.decl_buffer((32,), scope="shared")
                B = T.decl_buffer((32,), scope="shared")
                A[tx] = P[bx * 32 + tx]
                B[tx] = A[tx] * T.float32(2)
                P[bx * 32 + tx] = B[tx]

    @T.prim_func
    def expected(P: T.Buffer((64,))):
        with T.launch_thread("blockIdx.x", 2) as bx:
            A = T.decl_buffer((32,), scope="shared")  # in front of the inner axis
            with T.launch_thread("threadIdx.x", 32) as tx:
                B = T.decl_buffer((32,), data=A.data, scope="shared")
                A[tx] = P[bx * 32 + tx]
                B[tx] = A[tx] * T.float32(2)
                P[bx * 32 + tx] = B[tx]

    made = StorageRewrite()(tvm.IRModule({"main": func}))["main"]
    tvm.ir.assert_structural_equal(made, expected.with_attr("global_symbol", "func"))


def test_one_place_for_all_threads_is_not_computed_in_place() -> None:
    @T.prim_func
    def func(P: T.Buffer((64,))):
        with T.launch_thread("threadIdx.x", 32) as tx:
            A = T.decl_buffer((32,), scope="shared")
            B = T.decl_buffer((32,), scope="shared")
            A[tx] = P[tx]
            B[0] = A[0] * T.float32(2)
            P[tx] = B[0]

    assert len(allocations(func)) == 2


def test_declarations_without_use_go() -> None:
    @T.prim_func
    def func(P: T.Buffer((16,))):
        A = T.decl_buffer((16,))
        other = T.decl_buffer((16,), data=A.data)
        unused = T.decl_buffer((16,))
        for i in range(16):
            A[i] = P[15 - i]
        for i in range(16):
            P[i] = A[i]

    @T.prim_func
    def expected(P: T.Buffer((16,))):
        A = T.decl_buffer((16,))
        for i in range(16):
            A[i] = P[15 - i]
        for i in range(16):
            P[i] = A[i]

    made = StorageRewrite()(tvm.IRModule({"main": func}))["main"]
    tvm.ir.assert_structural_equal(made, expected.with_attr("global_symbol", "func"))
