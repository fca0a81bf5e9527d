from __future__ import annotations

from tests.tir.schedule.cases import chain, check, matmul, open_schedule, refuses, stencil
from tvm.script import tir as T


def test_read_at_the_reduction() -> None:
    func = matmul()
    sch = open_schedule(func)
    i, j, k = sch.get_loops("C")
    (io, ii), (ko, ki) = sch.split(i, factors=[None, 4]), sch.split(k, factors=[None, 4])
    sch.reorder(io, ko, ii, j, ki)
    block = sch.get_block("C")
    for index, name in ((0, "A_shared"), (1, "B_shared")):
        copy = sch.read_at(ko, block, index, "shared")
        node = sch.get(copy)
        assert node.name_hint == name
        assert int(node.annotations["auto_copy"]) == 1
        assert [r.buffer.name for r in node.reads] == [name[0]]
    assert "A_shared[v0 * 4 + ax0, v1 * 4 + ax1] = A[" in sch.mod.script()
    check(sch, func)


def test_write_at_a_row() -> None:
    func = chain()
    sch = open_schedule(func)
    copy = sch.write_at(sch.get_loops("D")[0], sch.get_block("D"), 0, "local")
    assert [w.buffer.name for w in sch.get(copy).writes] == ["D"]
    text = sch.mod.script()
    assert 'D_local = T.alloc_buffer((16, 16), scope="local")' in text
    assert "v0 = T.axis.spatial(16, i)" in text
    assert "for ax0, ax1 in T.grid(1, 16):" in text
    assert "D[v0 + ax0, ax1] = D_local[v0 + ax0, ax1]" in text
    check(sch, func)


def test_single_elements() -> None:
    func = chain()
    sch = open_schedule(func)
    block = sch.get_block("C")
    copy = sch.read_at(sch.get_loops(block)[1], block, 0, "local")
    assert int(sch.get(copy).annotations["auto_copy"]) == 1
    check(sch, func)


def test_loop_of_another_block() -> None:
    sch = open_schedule(chain())
    loop, block = sch.get_loops("B")[0], sch.get_block("C")
    message = refuses(sch, "loop 'i' is not around block 'C'", "read_at", loop, block, 0, "local")
    assert "one of the loops that get_loops of the block gives" in message
    refuses(sch, "loop 'i' is not around block 'C'", "write_at", loop, block, 0, "local")


def test_no_such_buffer() -> None:
    sch = open_schedule(chain())
    loop, block = sch.get_loops("C")[0], sch.get_block("C")
    refuses(sch, "there is no number 3", "read_at", loop, block, 3, "local")


def test_overlapping_regions() -> None:
    sch = open_schedule(stencil())
    (i,) = sch.get_loops("C")
    outer, _ = sch.split(i, factors=[None, 4])
    block = sch.get_block("C")
    sch.read_at(outer, block, 0, "local")
    check(sch, stencil())


def test_a_smaller_last_region() -> None:
    func = chain()
    sch = open_schedule(func)
    outer, _ = sch.split(sch.get_loops("C")[0], factors=[None, 5])
    sch.read_at(outer, sch.get_block("C"), 0, "local")
    assert "if v0 * 5 + ax0 < 16:" in sch.mod.script()
    check(sch, func)


def test_extents_of_several_types() -> None:
    @T.prim_func
    def before(a: T.handle, b: T.handle) -> None:
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "float32")
        B = T.match_buffer(b, (n, 8), "float32")
        for i, j in T.grid(n, T.int64(8)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    sch = open_schedule(before)
    sch.cache_write("B", 0, "shared")
    text = sch.mod.script()
    assert 'B_shared = T.alloc_buffer((n, T.int64(8)), scope="shared")' in text
    assert "for ax0, ax1 in T.grid(n, T.int64(8)):" in text


def test_write_at_what_all_threads_make() -> None:
    """Lowering lets all threads copy the tile together, where they share the memory."""

    @T.prim_func
    def scaled(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
        for b in T.thread_binding(4, thread="blockIdx.x"):
            for y in T.thread_binding(4, thread="threadIdx.y"):
                for x in T.thread_binding(4, thread="threadIdx.x"):
                    for i, j in T.grid(4, 4):
                        with T.block("C"):
                            vi = T.axis.spatial(32, b // 2 * 16 + y * 4 + i)
                            vj = T.axis.spatial(32, b % 2 * 16 + x * 4 + j)
                            C[vi, vj] = A[vi, vj] * T.float32(2)

    for scope, size in (("shared", 16), ("local", 4)):
        sch = open_schedule(scaled)
        copy = sch.write_at(sch.get_loops("C")[2], sch.get_block("C"), 0, scope)
        (region,) = sch.get(copy).writes
        assert [int(r.extent) for r in region.region] == [size, size]
        check(sch, scaled)
