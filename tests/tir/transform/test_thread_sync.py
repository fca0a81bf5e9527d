from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import from_source
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.expr import is_call_of
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.stmt import Stmt
from tvm.tir.transform import AnnotateDeviceRegions, SplitHostDevice, ThreadSync

pytestmark = pytest.mark.pure


class TestBetweenAWriteAndARead(PassTest):
    run = ThreadSync("shared")

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        B[tx] = S[7 - tx]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        B[tx] = S[7 - tx]


class TestForTheNextIteration(PassTest):
    run = ThreadSync("shared")

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([8], "float32", "shared")
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        for i in range(4):
            S[tx] = A[i, tx]
            B[i, tx] = S[7 - tx]

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        D = T.allocate([8], "float32", "shared")
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        for i in range(4):
            T.tvm_storage_sync("shared")
            S[tx] = A[i, tx]
            T.tvm_storage_sync("shared")
            B[i, tx] = S[7 - tx]


class TestDirectlyUnderTheThreads(PassTest):
    run = ThreadSync("shared")

    @T.prim_func
    def Before(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        bx = T.launch_thread("blockIdx.x", 2)
        tx = T.launch_thread("threadIdx.x", 64)
        S = T.decl_buffer((64,), "float32", scope="shared")
        L = T.decl_buffer((1,), "float32", scope="shared")
        S[tx] = A[bx * 64 + tx]
        if tx == 63:
            L[0] = S[tx]
        B[bx * 64 + tx] = S[(tx + 1) % 64] + L[0]

    @T.prim_func
    def Expected(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        bx = T.launch_thread("blockIdx.x", 2)
        tx = T.launch_thread("threadIdx.x", 64)
        S = T.decl_buffer((64,), "float32", scope="shared")
        L = T.decl_buffer((1,), "float32", scope="shared")
        S[tx] = A[bx * 64 + tx]
        if tx == 63:
            L[0] = S[tx]
        T.tvm_storage_sync("shared")
        B[bx * 64 + tx] = S[(tx + 1) % 64] + L[0]


class TestWhatARowOfThreadsShares(PassTest):
    run = ThreadSync("shared")

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        tz = T.launch_thread("threadIdx.z", 1)
        ty = T.launch_thread("threadIdx.y", 4)
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.decl_buffer((8,), "float32", scope="shared")
        R = T.decl_buffer((32,), "float32", scope="shared")
        R[ty * 8 + tx] = A[tx]
        if ty == 0:
            S[tx] = R[ty * 8 + tx]
        B[ty, tx] = S[tx]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 8), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        tz = T.launch_thread("threadIdx.z", 1)
        ty = T.launch_thread("threadIdx.y", 4)
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.decl_buffer((8,), "float32", scope="shared")
        R = T.decl_buffer((32,), "float32", scope="shared")
        R[ty * 8 + tx] = A[tx]
        if ty == 0:
            S[tx] = R[ty * 8 + tx]
        T.tvm_storage_sync("shared")
        B[ty, tx] = S[tx]


class TestPartsOfOneMemory(PassTest):
    run = ThreadSync("shared.dyn")

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.decl_buffer((8,), "float32", scope="shared.dyn")
        L = T.decl_buffer((1,), "float32", scope="local")
        R = T.decl_buffer((8,), "float32", scope="shared.dyn")
        S[tx] = A[tx]
        L[0] = S[tx]
        R[tx] = L[0]
        B[tx] = R[tx]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        bx = T.launch_thread("blockIdx.x", 1)
        tx = T.launch_thread("threadIdx.x", 8)
        S = T.decl_buffer((8,), "float32", scope="shared.dyn")
        L = T.decl_buffer((1,), "float32", scope="local")
        R = T.decl_buffer((8,), "float32", scope="shared.dyn")
        S[tx] = A[tx]
        L[0] = S[tx]
        T.tvm_storage_sync("shared.dyn")
        R[tx] = L[0]
        B[tx] = R[tx]


class TestOfALoopThatReads(PassTest):
    run = ThreadSync("shared")

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        B[tx] = T.float32(0)
        for i in range(8):
            B[tx] = B[tx] + S[i]
        S[tx] = T.float32(1)

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        B[tx] = T.float32(0)
        T.tvm_storage_sync("shared")
        for i in range(8):
            B[tx] = B[tx] + S[i]
        T.tvm_storage_sync("shared")
        S[tx] = T.float32(1)


class TestWhatIsNotTouchedByOthers(PassTest):
    run = ThreadSync("shared")

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([16], "float32", "shared")
        S = T.Buffer((16,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        B[tx] = S[tx] + T.float32(1)
        S[tx + 8] = A[7 - tx]
        B[tx] = B[tx] + S[tx]

    Expected = Before


class TestOfAnotherScope(PassTest):
    run = ThreadSync("shared.dyn")

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        B[tx] = S[7 - tx]

    Expected = Before


class TestOnceABarrierIsThere(PassTest):
    run = ThreadSync("shared")
    Before = TestForTheNextIteration.Expected
    Expected = TestForTheNextIteration.Expected


class TestALetThatReads(PassTest):
    run = ThreadSync("shared")

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        x: T.float32 = S[7 - tx]
        B[tx] = x
        S[tx] = x

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        T.tvm_storage_sync("shared")
        x: T.float32 = S[7 - tx]
        B[tx] = x
        T.tvm_storage_sync("shared")
        S[tx] = x


def synced(func: PrimFunc, scope: str = "shared") -> str:
    return str(ThreadSync(scope)(IRModule.from_expr(func)).script())


def test_under_a_condition_that_all_threads_share() -> None:
    @T.prim_func(private=True)
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        if n > 3:
            S[tx] = A[tx]
            B[tx] = S[7 - tx]

    assert synced(func).count("tvm_storage_sync") == 1


def test_rejects_a_barrier_where_threads_part() -> None:
    @T.prim_func(private=True)
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        if tx < 4:
            S[tx] = A[tx]
            B[tx] = S[3 - tx]

    with pytest.raises(TVMError, match="threads that may part before it"):
        synced(func)


def test_addresses_of_shared_memory() -> None:
    @T.prim_func(private=True)
    def func(B: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([8], "float32", "shared")
        S = T.Buffer((8,), "float32", data=D, scope="shared")
        T.call_extern("int32", "fill", S.access_ptr("w"))
        B[tx] = S[tx]
        T.call_extern("int32", "fill", T.address_of(S[0]))

    assert synced(func).count("tvm_storage_sync") == 2


def test_a_buffer_of_which_one_half_is_written() -> None:
    @T.prim_func(private=True)
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        D = T.allocate([16], "float32", "shared")
        S = T.Buffer((16,), "float32", data=D, scope="shared")
        S[tx] = A[tx]
        for i in range(7):
            with T.attr(D, "double_buffer_write", 1):
                S[(i + 1) % 2 * 8 + tx] = A[i * 8 + tx]
            B[i * 8 + tx] = S[i % 2 * 8 + 7 - tx]

    text = synced(func)
    assert text.count("tvm_storage_sync") == 1
    assert text.index("for i") < text.index("tvm_storage_sync") < text.index("S[(i + 1)")


def test_a_barrier_of_all_blocks() -> None:
    @T.prim_func(private=True)
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        bx = T.launch_thread("blockIdx.x", 2)
        tx = T.launch_thread("threadIdx.x", 4)
        A[bx * 4 + tx] = T.float32(1)
        B[bx * 4 + tx] = A[7 - bx * 4 - tx]

    assert 'tvm_storage_sync("global", tx == 0, 2)' in synced(func, "global")


def test_host_code_stays() -> None:
    @T.prim_func(private=True)
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        A[0] = T.float32(1)
        B[0] = A[1]

    mod = IRModule.from_expr(func)
    assert ThreadSync("global")(mod)["main"] is mod["main"]


@pytest.mark.parametrize("first", ["tx < 1", "tx == 3", "T.likely(7 <= tx)"])
def test_one_thread_waits_for_nobody(first: str) -> None:
    text = f"""# from tvm.script import tir as T
@T.prim_func(private=True)
def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    tx = T.launch_thread("threadIdx.x", 8)
    D = T.allocate([1], "float32", "shared")
    S = T.Buffer((1,), "float32", data=D, scope="shared")
    if {first}:
        S[0] = T.float32(0)
        S[0] = S[0] + A[tx]
    B[tx] = S[0]
"""
    func = from_source(text)
    assert isinstance(func, PrimFunc)
    assert synced(func).count("tvm_storage_sync") == 1
    assert synced(func).index("S[0] + A[tx]") < synced(func).index("tvm_storage_sync")


def test_memory_that_blocks_still_hold() -> None:
    @T.prim_func(private=True)
    def before(A: T.Buffer((2,), "float32"), B: T.Buffer((4,), "float32")) -> None:
        bx = T.env_thread("blockIdx.x")
        tx = T.env_thread("threadIdx.x")
        S = T.alloc_buffer((1,), "float32", scope="shared")
        T.launch_thread(bx, 2)
        T.launch_thread(tx, 4)
        if tx < 1:
            S[0] = A[0]
        B[tx] = S[0]

    target = Target("cuda", host="llvm")
    mod = IRModule({"f": before.with_attr({"global_symbol": "f", "target": target})})
    (alone,) = walk_barriers(ThreadSync("shared")(mod)["f"].body)
    assert alone == "shared"
    mod = SplitHostDevice()(AnnotateDeviceRegions()(mod))
    (split,) = walk_barriers(ThreadSync("shared")(mod)["f_kernel"].body)
    assert split == "shared"


def walk_barriers(stmt: Stmt) -> list[str]:
    """The scopes of all barriers, in order."""
    return [n.args[0].value for n in walk(stmt) if is_call_of(n, "tir.tvm_storage_sync")]


STORES = [
    ("S[tx] = T.float32(0)", "S[tx + 1] = A[tx]", 1),
    ("S[tx * 2] = T.float32(0)", "S[tx * 2 + 1] = A[tx]", 0),
    ("S[tx] = T.float32(0)", "S[tx] = A[tx]", 0),
    ("for k in range(2): S[k * 64 + tx] = T.float32(0)", "S[tx + 1] = A[tx]", 1),
    ("for k in range(2): S[k * 64 + tx] = T.float32(0)", "S[tx + 128] = A[tx]", 0),
    ("S[tx] = T.float32(0)", "S[I[tx]] = A[tx]", 1),
    ("S[I[tx]] = T.float32(0)", "S[I[tx + 64]] = A[tx]", 0),  # two parts of one scatter
    ("S[tx * 4:tx * 4 + 4] = T.Broadcast(T.float32(0), 4)", "S[tx] = A[tx]", 1),
]


@pytest.mark.parametrize(("first", "second", "barriers"), STORES)
def test_stores_of_several_threads_to_one_element(first: str, second: str, barriers: int) -> None:
    text = f"""# from tvm.script import tir as T
@T.prim_func(private=True)
def func(A: T.Buffer((64,), "float32"), I: T.Buffer((128,), "int32")):
    bx = T.launch_thread("blockIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 64)
    D = T.allocate([256], "float32", "shared")
    S = T.Buffer((256,), "float32", data=D, scope="shared")
    {first}
    {second}
"""
    func = from_source(text)
    assert isinstance(func, PrimFunc)
    assert synced(func).count("tvm_storage_sync") == barriers


@pytest.mark.parametrize(("first", "second", "barriers"), [(0, 0, 0), (0, 1, 1)])
def test_stores_of_one_thread(first: int, second: int, barriers: int) -> None:
    text = f"""# from tvm.script import tir as T
@T.prim_func(private=True)
def func(A: T.Buffer((64,), "float32")):
    tx = T.launch_thread("threadIdx.x", 64)
    D = T.allocate([1], "float32", "shared")
    S = T.Buffer((1,), "float32", data=D, scope="shared")
    if tx == {first}:
        S[0] = A[0]
    if tx == {second}:
        S[0] = A[1]
"""
    func = from_source(text)
    assert isinstance(func, PrimFunc)
    assert synced(func).count("tvm_storage_sync") == barriers
