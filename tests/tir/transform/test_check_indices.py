"""Checks of indices from data: where they stand, what they say, and what they leave alone."""

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import PLAIN
from tvm.error import BoundsError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.functor import walk
from tvm.tir.transform import CheckIndices

TARGETS = ["llvm", "c"]


def asserts(func):
    body = CheckIndices()(IRModule.from_expr(func))["main"].body
    return [node for node in walk(body) if isinstance(node, s.AssertStmt)]


def refused(func, *args, target="llvm"):
    with pytest.raises(BoundsError) as caught:
        tvm.compile(func, target=target)(*args)
    return str(caught.value)


@T.prim_func
def gather(A: T.Buffer((3, 40), "float32"), P: T.Buffer((3, 32), "int64"),
           B: T.Buffer((3, 32), "float32")):  # fmt: skip
    for i in range(3):
        for j in T.vectorized(32):
            B[i, j] = A[i, P[i, j]]


@T.prim_func
def scatter(P: T.Buffer((24,), "int32"), A: T.Buffer((24,), "float32"),
            B: T.Buffer((5,), "float32")):  # fmt: skip
    for i in range(5):
        B[i] = T.float32(0)
    for i in range(24):
        B[P[i]] = B[P[i]] + A[i]


@pytest.mark.covering(2)
@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bad", [-1, 40, 1 << 40, -(1 << 63)])
@pytest.mark.parametrize("place", [(0, 0), (1, 17), (2, 31)])
def test_a_gather_refuses_any_index_outside(target, bad, place):
    a = np.arange(120, dtype="float32").reshape(3, 40)
    p = np.zeros((3, 32), "int64")
    b = np.zeros((3, 32), "float32")
    p[:] = np.arange(32)
    built = tvm.compile(gather, target=target)
    built(a, p, b)
    assert (b == a[:, :32]).all()
    p[place] = bad
    with pytest.raises(BoundsError) as caught:
        built(a, p, b)
    text = str(caught.value)
    assert "gather: index on axis 1 of A" in text
    assert f"found: {bad}, by P" in text
    assert "legal: 0 <= index < 40" in text
    assert "test_check_indices.py" in text


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_is_written_before_a_bad_place_is_found(target):
    built = tvm.compile(scatter, target=target)
    p, a = np.arange(24, dtype="int32") % 5, np.ones(24, "float32")
    b = np.full(5, 7, "float32")
    built(p, a, b)
    assert list(b) == [5, 5, 5, 5, 4]
    p[23] = 5
    b[:] = 7
    with pytest.raises(BoundsError, match="axis 0 of B"):
        built(p, a, b)
    assert (b == 7).all()


@pytest.mark.cpu
def test_a_target_can_go_without():
    plain = tvm.compile(gather, target="llvm -unsafe-indices=1")
    a, b = np.arange(120, dtype="float32").reshape(3, 40), np.zeros((3, 32), "float32")
    p = np.zeros((3, 32), "int64")
    p[0, 0] = 41  # the next row: wrong, and still within the tensor
    plain(a, p, b)
    assert b[0, 0] == a[1, 1]
    func = gather.with_attr("target", tvm.target.Target("llvm -unsafe-indices=1"))
    func = func.with_attr("global_symbol", "main")
    assert asserts(func) == []
    assert asserts(func.with_attr("target", tvm.target.Target("cuda"))) == []


@pytest.mark.pure
def test_what_is_known_is_not_checked():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32"),
             B: T.Buffer((8,), "float32")):  # fmt: skip
        count = T.alloc_buffer((1,), "int32", scope="local")
        count[0] = 0
        for i in range(8):
            B[i] = A[T.max(T.min(P[i], 7), 0)]
            B[i] = B[i] + A[T.floormod(P[i], 8)]
            B[i] = B[i] + T.if_then_else(0 <= P[i] and P[i] < 8, A[P[i]], T.float32(0))
            if P[i] >= 0 and P[i] < 8:
                B[i] = B[i] + A[P[i]]
            if P[i] > 3:
                B[i] = B[i] + A[count[0]]
                count[0] = count[0] + 1

    assert asserts(main) == []


@pytest.mark.pure
def test_half_a_condition_leaves_half_a_check():
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), P: T.Buffer((8,), "int32"),
             B: T.Buffer((8,), "float32")):  # fmt: skip
        for i in T.parallel(8):
            if P[i] >= 0:
                B[i] = A[P[i]]

    (found,) = asserts(main)
    assert str(found.condition) == "P[i] < 8"


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_an_element_found_by_one_number(target):
    """Beyond the end of a row lies the next row: memory of the tensor, and not what was meant."""

    @T.prim_func
    def main(P: T.Buffer((2, 8), "int64"), A: T.Buffer((2, 8), "float32"),
             B: T.Buffer((2, 4, 3), "float32")):  # fmt: skip
        for i, k in T.grid(2, 8):
            place = T.int64()
            with T.LetStmt(T.Cast("int64", i) * T.int64(12) + P[i, k] * T.int64(3) + T.int64(1),
                           var=place):  # fmt: skip
                B[place // T.int64(12), place % T.int64(12) // T.int64(3), place % T.int64(3)] = (
                    A[i, k]
                )

    built = tvm.compile(main, target=target)
    p, a = np.arange(16).reshape(2, 8) % 4, np.ones((2, 8), "float32")
    b = np.zeros((2, 4, 3), "float32")
    built(p, a, b)
    assert (b == np.array([0, 1, 0], "float32")).all()
    p[0, 5] = 4
    with pytest.raises(BoundsError) as caught:
        built(p, a, b)
    assert "axis 1 of B" in str(caught.value)
    assert "0 <= index < 4" in str(caught.value)


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_other_lengths_than_those_of_the_tensor(target):
    """Two rows of 12, read as four columns of three: a place within a row may be any of them."""

    @T.prim_func
    def main(P: T.Buffer((2, 3), "int64"), A: T.Buffer((2, 3, 4), "float32"),
             B: T.Buffer((2, 3), "float32"), C: T.Buffer((2, 3), "float32")):  # fmt: skip
        for i, j in T.grid(2, 3):
            B[i, j] = A[
                (i * 12 + P[i, j] * 3 + j) // 12,
                (i * 12 + P[i, j] * 3 + j) // 4 % 3,
                (i * 12 + P[i, j] * 3 + j) % 4,
            ]
        for i, j in T.grid(2, 3):
            C[i, j] = A[0, (i * 12 + P[i, j]) // 4 % 3, (i * 12 + P[i, j]) % 4]

    a = np.arange(24, dtype="float32").reshape(2, 3, 4)
    p = np.array([[3, 0, 2], [1, 3, 3]])
    b, c = (np.zeros((2, 3), "float32") for _ in range(2))
    built = tvm.compile(main, target=target)
    built(p, a, b, c)
    rows = a.reshape(2, 12)
    wanted = [[rows[i, 3 * p[i, j] + j] for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(b, wanted)
    np.testing.assert_array_equal(c, rows[0][p])
    for bad in (4, -1, 1 << 40):
        p[1, 1] = bad
        with pytest.raises(BoundsError, match="legal: 0 <= index < 4"):
            built(p, a, b, c)


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_rows_of_open_lengths(target):
    @T.prim_func
    def main(a: T.handle, p: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (6, n), "float32")
        P = T.match_buffer(p, (3,), "int64")
        B = T.match_buffer(b, (3,), "float32")
        for i in range(3):
            B[i] = A[(i * (n * 2) + P[i]) // n, (i * (n * 2) + P[i]) % n]

    data = np.arange(30, dtype="float32").reshape(6, 5)
    out = np.zeros(3, "float32")
    built = tvm.compile(main, target=target)
    built(data, np.array([9, 0, 6]), out)
    np.testing.assert_array_equal(out, [9, 10, 26])
    with pytest.raises(BoundsError, match="found: 10, by P"):
        built(data, np.array([9, 10, 6]), out)


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_a_number_of_a_whole_tensor_is_no_remainder(target):
    """Nothing is added to it but zero, so no row is known that it would have to stay in."""

    @T.prim_func
    def main(a: T.handle, p: T.handle, b: T.handle):
        m, n, k = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (m, n))
        P = T.match_buffer(p, (k,), "int64")
        B = T.match_buffer(b, (k,))
        for i in range(k):
            B[i] = A[T.Add(P[i], T.int64(0)) // n % m, T.Add(P[i], T.int64(0)) % n]

    built = tvm.compile(main, target=target)
    a, p = np.arange(12, dtype="float32").reshape(3, 4), np.arange(12)[::-1].copy()
    b = np.zeros(12, "float32")
    built(a, p, b)
    assert (b == np.arange(12)[::-1]).all()


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_indices_made_on_the_way(target):
    """Computed into memory of the kernel: checked behind the loop that makes them."""

    @T.prim_func
    def main(P: T.Buffer((16,), "int32"), A: T.Buffer((9,), "float32"),
             B: T.Buffer((16,), "float32")):  # fmt: skip
        twice = T.alloc_buffer((16,), "int32")
        for i in range(16):
            twice[i] = P[i] * 2
        for i in range(16):
            B[i] = A[twice[i]]

    built = tvm.compile(main, target=target)
    p, a, b = np.arange(16, dtype="int32") % 5, np.arange(9, dtype="float32"), np.zeros(16, "f4")
    built(p, a, b)
    assert (b == 2 * p).all()
    p[3] = 5
    with pytest.raises(BoundsError, match="found: 10, by twice"):
        built(p, a, b)


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_ranges_and_places_that_data_gives(target):
    """Rows of a sparse matrix: loops from data, negative indices counted from the end."""

    @T.prim_func
    def rows(ptr: T.Buffer((3,), "int32"), col: T.Buffer((4,), "int32"),
             x: T.Buffer((6,), "float32"), y: T.Buffer((2,), "float32")):  # fmt: skip
        for i in range(2):
            y[i] = T.float32(0)
            for k in range(ptr[i + 1] - ptr[i]):
                y[i] = y[i] + x[
                    T.if_then_else(col[ptr[i] + k] < 0, col[ptr[i] + k] + 6, col[ptr[i] + k])
                ]

    built = tvm.compile(rows, target=target)
    y, x = np.zeros(2, "float32"), np.arange(6, dtype="float32")
    built(np.array([0, 1, 4], "int32"), np.array([5, 1, 2, -1], "int32"), x, y)
    assert list(y) == [5, 8]
    with pytest.raises(BoundsError, match="axis 0 of col"):
        built(np.array([0, 1, 9], "int32"), np.array([5, 1, 2, -1], "int32"), x, y)
    with pytest.raises(BoundsError) as caught:
        built(np.array([0, 1, 4], "int32"), np.array([5, 1, 2, -7], "int32"), x, y)
    assert "found: -7" in str(caught.value)
    assert "legal: -6 <= index < 6" in str(caught.value)


@pytest.mark.cpu
@pytest.mark.parametrize("target", TARGETS)
def test_indices_of_indices(target):
    """The inner one first, also where the outer one says where to write."""

    @T.prim_func
    def main(P: T.Buffer((8,), "int32"), Q: T.Buffer((4,), "int32"), A: T.Buffer((8,), "float32"),
             B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):  # fmt: skip
        for i in range(8):
            B[Q[P[i]]] = A[i]
        for i in range(8):
            if Q[P[i]] > 0:
                C[P[i]] = A[i]

    built = tvm.compile(main, target=target)
    p, q = np.arange(8, dtype="int32") % 4, np.array([7, 0, 1, 2], "int32")
    a, b, c = np.ones(8, "float32"), np.zeros(8, "float32"), np.zeros(8, "float32")
    built(p, q, a, b, c)
    assert list(b) == [1, 1, 1, 0, 0, 0, 0, 1]
    assert list(c) == [1, 0, 1, 1, 0, 0, 0, 0]
    b[:] = 0
    for bad in (4, -1, 1 << 30, -(1 << 31)):
        p[5] = bad
        with pytest.raises(BoundsError, match=f"axis 0 of Q\n  found: {bad}, by P"):
            built(p, q, a, b, c)
    p[5], q[3] = 1, 8
    with pytest.raises(BoundsError, match="axis 0 of B\n  found: 8, by Q"):
        built(p, q, a, b, c)
    assert not b.any()


@pytest.mark.cpu
def test_sizes_known_when_it_runs():
    @T.prim_func
    def main(a: T.handle, p: T.handle, b: T.handle):
        n, k = T.int64(), T.int64()
        A = T.match_buffer(a, (n,), "float32")
        P = T.match_buffer(p, (k,), "int64")
        B = T.match_buffer(b, (k,), "float32")
        for i in range(k):
            B[i] = A[P[i]]

    built = tvm.compile(main)
    a, p, b = np.arange(5, dtype="float32"), np.arange(11) % 5, np.zeros(11, "float32")
    built(a, p, b)
    assert (b == p).all()
    p[10] = 5
    with pytest.raises(BoundsError, match="legal: 0 <= index < 5"):
        built(a, p, b)
    built(a, np.zeros(0, "int64"), np.zeros(0, "float32"))


@pytest.mark.cpu
def test_names_that_look_like_places_for_values():
    func = scatter.with_attr("global_symbol", "a{}b")
    p = np.full(24, 9, "int32")
    with pytest.raises(BoundsError, match=r"a\{ \}b: index on axis 0 of B\n  found: 9, by P"):
        tvm.compile(func)(p, np.ones(24, "float32"), np.zeros(5, "float32"))


@T.prim_func
def pick(A: T.Buffer((9,), "float32"), P: T.Buffer((70,), "int64"), Q: T.Buffer((70,), "int32"),
         B: T.Buffer((70,), "float32")):  # fmt: skip
    for i in range(70):
        B[i] = A[P[i]] + A[Q[i]]


@T.prim_func
def pick_few(A: T.Buffer((9,), "float32"), P: T.Buffer((8,), "int64"), Q: T.Buffer((8,), "int32"),
             B: T.Buffer((8,), "float32")):  # fmt: skip
    for i in T.vectorized(8):
        B[i] = A[P[i]] + A[Q[i]]


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", f"llvm -mcpu={PLAIN}", "c"])
@pytest.mark.parametrize("func", [pick, pick_few])
def test_indices_of_two_widths_in_one_look(target, func):
    """Each value of each, also the outermost of its type, at the first, a middle and the last."""
    built = tvm.compile(func, target=target)
    n = 70 if func is pick else 8
    a, b = np.arange(9, dtype="float32"), np.full(n, -1, "float32")
    for width, name in ((64, "P"), (32, "Q")):
        for bad in (-1, 9, -9, 1 << 30, -(1 << (width - 1)), (1 << (width - 1)) - 1):
            for place in (0, n // 2, n - 1):
                p, q = np.arange(n) % 9, np.arange(n, dtype="int32")[::-1] % 9
                (p if name == "P" else q)[place] = bad
                with pytest.raises(BoundsError, match=rf"found: {bad}, by {name}\n"):
                    built(a, p, q, b)
                # whole blocks ahead of the bad one, and what remains one by one
                done = 0 if func is pick_few else place if place >= 64 else place // 32 * 32
                assert (b[done:] == -1).all()
                assert (b[:done] == (a[p[:done]] + a[q[:done]])).all()
                b[:] = -1
    p, q = np.arange(n) % 9, np.arange(n, dtype="int32")[::-1].copy() % 9
    built(a, p, q, b)
    assert (b == a[p] + a[q]).all()


@pytest.mark.cpu
@pytest.mark.parametrize("target", [f"llvm -mcpu={PLAIN}", "c"])
@pytest.mark.parametrize("width", [32, 64])
def test_blocks_of_indices_and_what_remains(target, width):
    """Pairs of indices from the start or the end, in blocks and one by one, of any size."""
    dtype = f"int{width}"

    @T.prim_func
    def main(a: T.handle, p: T.handle, b: T.handle):
        m, n, k = T.int64(), T.int64(), T.int64()
        A = T.match_buffer(a, (m, n), "float32")
        P = T.match_buffer(p, (k, 2), dtype)
        B = T.match_buffer(b, (k,), "float32")
        for i in range(k):
            B[i] = A[T.if_then_else(P[i, 0] < 0, P[i, 0] + T.Cast(dtype, m), P[i, 0]),
                     T.if_then_else(P[i, 1] < 0, P[i, 1] + T.Cast(dtype, n), P[i, 1])]  # fmt: skip

    built = tvm.compile(main, target=target)
    a = np.arange(15, dtype="float32").reshape(3, 5)
    for size in (1, 31, 32, 70):
        p = np.stack([np.arange(size) % 6 - 3, np.arange(size) % 10 - 5], axis=1).astype(dtype)
        b = np.zeros(size, "float32")
        built(a, p, b)
        assert (b == a[p[:, 0], p[:, 1]]).all()
        for axis, extent in enumerate(a.shape):
            for bad in (extent, -extent - 1, (1 << (width - 1)) - 1, -(1 << (width - 1))):
                wrong = p.copy()
                wrong[size - 1, axis] = bad
                with pytest.raises(BoundsError, match=rf"axis {axis} of A\n  found: .*, by P\n"):
                    built(a, wrong, b)
    for shape in ((0, 5), (3, 0)):  # no index is inside
        with pytest.raises(BoundsError):
            built(np.zeros(shape, "float32"), np.zeros((70, 2), dtype), np.zeros(70, "float32"))


@pytest.mark.cpu
def test_what_the_function_has_overwritten_need_not_be_kept():
    """Without noalias the tensor that is overwritten might be the one with the data."""

    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32"), P: T.Buffer((64,), "int32"),
             C: T.Buffer((64,), "float32"), B: T.Buffer((4, 8), "float32")):  # fmt: skip
        for i in T.parallel(32):
            B[i // 8, i % 8] = A[i // 8, i % 8]
        for i in range(64):
            B[1, P[i]] = C[i]

    p, c = np.arange(64, dtype="int32") % 8, np.arange(64, dtype="float32")
    for func, kept in ((main, True), (main.with_attr("tir.noalias", True), False)):
        built = tvm.compile(func, target="llvm")
        p[63] = 7
        a, b = np.ones((4, 8), "float32"), np.zeros((4, 8), "float32")
        built(a, p, c, b)
        assert (b[0] == 1).all()
        assert (b[1] == c[56:]).all()
        p[63] = 8
        b[:] = 0
        with pytest.raises(BoundsError, match="axis 1 of B\n  found: 8, by P"):
            built(a, p, c, b)
        assert (b == 0).all() == kept


@pytest.mark.cpu
def test_two_tensors_of_one_shape_are_looked_at_both():
    @T.prim_func
    def both(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32"), J: T.Buffer((8,), "int32"),
             B: T.Buffer((8,), "float32")):  # fmt: skip
        for i in range(8):
            B[i] = A[I[i]] + A[J[i]]

    good, bad = np.arange(8, dtype="int32"), np.full(8, 99, "int32")
    for given in ((bad, good), (good, bad)):
        assert "found: 99" in refused(both, np.zeros(8, "float32"), *given, np.zeros(8, "float32"))


def test_a_sign_of_another_tensor_is_no_count_from_the_end():
    @T.prim_func
    def odd(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32"), J: T.Buffer((8,), "int32"),
            B: T.Buffer((8,), "float32")):  # fmt: skip
        for i in range(8):
            B[i] = A[T.Select(J[i] < 0, I[i] + 8, I[i])]

    good, negative = np.arange(8, dtype="int32"), np.full(8, -1, "int32")
    assert "found: 8" in refused(odd, np.zeros(8, "float32"), good, negative,
                                 np.zeros(8, "float32"))  # fmt: skip
