import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import UnmaskLocalVectors

pytestmark = pytest.mark.pure


class TestRowsOfFour(PassTest):
    """Rows of six elements in vectors of eight get eight places each."""

    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        data = T.allocate([12], "float32", "local")
        C = T.decl_buffer((12,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C.vstore([T.Ramp(0, 1, 8)], T.Broadcast(T.float32(0), 8), predicate=m)
        C.vstore([T.Ramp(6, 1, 8)], A.vload([T.Ramp(6, 1, 8)], predicate=m), predicate=m)
        C.vstore(
            [T.Ramp(0, 1, 8)],
            C.vload([T.Ramp(0, 1, 8)], predicate=m) + A.vload([T.Ramp(0, 1, 8)], predicate=m),
            predicate=m,
        )
        B.vstore([T.Ramp(0, 1, 8)], C.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B.vstore([T.Ramp(6, 1, 8)], C.vload([T.Ramp(6, 1, 8)], predicate=m), predicate=m)

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        data = T.allocate([16], "float32", "local")
        C = T.decl_buffer((16,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C[0:8] = T.Broadcast(T.float32(0), 8)
        C[8:16] = A.vload([T.Ramp(6, 1, 8)], predicate=m)
        C[0:8] = C[0:8] + A.vload([T.Ramp(0, 1, 8)], predicate=m)
        B.vstore([T.Ramp(0, 1, 8)], C[0:8], predicate=m)
        B.vstore([T.Ramp(6, 1, 8)], C[8:16], predicate=m)


class TestKeepsVectorsThatShareElements(PassTest):
    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        data = T.allocate([12], "float32", "local")
        C = T.decl_buffer((12,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(6, 1, 8)], predicate=m), predicate=m)
        B.vstore([T.Ramp(0, 1, 8)], C.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B.vstore([T.Ramp(8, 1, 8)], C.vload([T.Ramp(4, 1, 8)], predicate=m), predicate=m)

    Expected = Before


class TestKeepsWhatIsReadWhole(PassTest):
    """The lanes behind the mask are those of the first store."""

    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        data = T.allocate([8], "float32", "local")
        C = T.decl_buffer((8,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C[0:8] = T.Broadcast(T.float32(1), 8)
        C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B[0:8] = C[0:8]

    Expected = Before


class TestKeepsMasksThatChange(PassTest):
    """What one iteration wrote, another one with a wider mask reads."""

    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        data = T.allocate([8], "float32", "local")
        C = T.decl_buffer((8,), "float32", data=data, scope="local")
        for i in range(2):
            m = T.meta_var(T.Ramp(i, 1, 8) < T.Broadcast(6, 8))
            C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
            B.vstore([T.Ramp(0, 1, 8)], C.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)

    Expected = Before


class TestKeepsScalars(PassTest):
    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        data = T.allocate([8], "float32", "local")
        C = T.decl_buffer((8,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B[0] = C[3]

    Expected = Before
