import ctypes

import numpy as np
import pytest

import tvm
from tvm.error import ArgumentCountError, CheckError, DTypeError, ShapeError, TVMError
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import Call
from tvm.tir.functor import walk
from tvm.tir.transform import BindTarget, MakePackedAPI


@T.prim_func
def scaled_sum(a: T.handle, b: T.handle, C: T.Buffer((4,), "float32"), k: T.float32, j: T.int64):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (m, n * 2), offset_factor=1)
    for i in range(4):
        C[i] = A[0, i] * k + B[0, i] + T.Cast("float32", j + n * T.int64(100) + m)


def arrays(n=5, m=4):
    rng = np.random.default_rng(0)
    shapes = ((n, m), (m, 2 * n), (4,))
    return [rng.uniform(-1, 1, shape).astype("float32") for shape in shapes]


@pytest.fixture(scope="module")
def compiled():
    return tvm.compile(scaled_sum, target="llvm")


@pytest.mark.cpu
def test_binds_sizes_and_scalars(compiled):
    a, b, c = arrays()
    out = tvm.runtime.tensor(c)
    compiled["scaled_sum"](tvm.runtime.tensor(a), tvm.runtime.tensor(b), out, 2.0, 7)
    np.testing.assert_allclose(out.numpy(), a[0, :4] * 2 + b[0, :4] + 7 + 500 + 4, rtol=1e-6)


@pytest.mark.cpu
def test_takes_numpy_arrays_and_whole_numbers_for_floats(compiled):
    a, b, c = arrays()
    compiled["scaled_sum"](a, b, c, 2, True)
    np.testing.assert_allclose(c, a[0, :4] * 2 + b[0, :4] + 1 + 500 + 4, rtol=1e-6)


def wrong(change):
    a, b, c = arrays()
    args = [a, b, c, 2.0, 7]
    change(args)
    return args


def text(error):
    return " ".join(str(error.value).split())


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (
            lambda x: x.pop(),
            ArgumentCountError,
            "with 5 arguments found: 4 were given legal: scaled_sum(a",
        ),
        (
            lambda x: x.__setitem__(0, 3),
            DTypeError,
            "argument 0 (a) found: int legal: float32[n, m]",
        ),
        (
            lambda x: x.__setitem__(3, "k"),
            DTypeError,
            "argument 3 (k) found: a string legal: a number, k: float32",
        ),
        (
            lambda x: x.__setitem__(0, ctypes.c_void_p(0)),
            DTypeError,
            "argument 0 (a) found: a null address legal: float32[n, m]",
        ),
        (
            lambda x: x.__setitem__(2, np.zeros(17, "uint8")[1:].view("float32")),
            ValueError,
            "legal: a tensor with memory, at a multiple of 4 bytes",
        ),
        (lambda x: x.__setitem__(0, x[0][0]), ShapeError, "argument 0 (a) found: 1 dimensions"),
        (
            lambda x: x.__setitem__(0, x[0].astype("float64")),
            DTypeError,
            "argument 0 (a) found: float64 legal: float32",
        ),
        (
            lambda x: x.__setitem__(2, np.zeros(3, "float32")),
            ShapeError,
            "argument 2 (C) found: dimension 0 is 3 legal: 4",
        ),
        (
            lambda x: x.__setitem__(1, np.zeros((3, 10), "float32")),
            ShapeError,
            "argument 1 (b) found: dimension 0 is 3 legal: 4 (m), as in float32[m, n * ",
        ),
        (
            lambda x: x.__setitem__(1, np.zeros((4, 9), "float32")),
            ShapeError,
            "argument 1 (b) found: dimension 1 is 9 legal: 10 (n * ",
        ),
        (
            lambda x: x.__setitem__(0, np.zeros((5, 8), "float32")[:, ::2]),
            ShapeError,
            "found: strides (8, 2) legal: a row-major tensor without gaps",
        ),
    ],
)
def test_says_what_is_wrong(compiled, change, kind, words):
    with pytest.raises(kind) as caught:
        compiled["scaled_sum"](*wrong(change))
    assert isinstance(caught.value, TVMError)
    assert text(caught).startswith("call scaled_sum")
    assert words in text(caught)


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_whole_numbers_have_to_fit(target):
    @T.prim_func
    def store(A: T.Buffer((2,), "int64"), n: T.int32, u: T.uint8):
        A[0] = T.Cast("int64", n)
        A[1] = T.Cast("int64", u)

    lib, out = tvm.compile(store, target=target), np.zeros(2, "int64")
    for n, u in ((2**31 - 1, 255), (-(2**31), 0), (True, False)):
        lib["store"](out, n, u)
        assert out.tolist() == [n, u]
    for n, u, words in (
        (2**32, 0, "argument 1 (n) found: 4294967296 legal: a number, n: int32, from -2147483648"),
        (-(2**31) - 1, 0, "argument 1 (n) found: -2147483649"),
        (0, 256, "argument 2 (u) found: 256 legal: a number, u: uint8, from 0 to 255"),
        (0, -1, "argument 2 (u) found: -1"),
    ):
        with pytest.raises(ValueError) as caught:
            lib["store"](out, n, u)
        assert words in text(caught)


@pytest.mark.cpu
def test_strides_of_unit_dimensions_do_not_matter():
    @T.prim_func
    def copy(A: T.Buffer((1, 4), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[0, i]

    a = np.arange(40, dtype="float32").reshape(4, 10)[:1, :4]  # strides (10, 1)
    b = np.zeros(4, "float32")
    tvm.compile(copy)["copy"](a, b)
    np.testing.assert_array_equal(b, a[0])


@pytest.mark.cpu
def test_buffers_with_strides():
    @T.prim_func
    def copy(a: T.handle, B: T.Buffer((4,), "float32")):
        s = T.int32()
        A = T.match_buffer(a, (4,), strides=(s,))
        for i in range(4):
            B[i] = A[i]

    a, b = np.arange(8, dtype="float32")[::2], np.zeros(4, "float32")
    tvm.compile(copy)["copy"](a, b)
    np.testing.assert_array_equal(b, a)


@pytest.mark.cpu
def test_returned_values():
    @T.prim_func
    def pick(n: T.int32, x: T.float32) -> T.float32:
        if n > 3:
            T.ret(x * 2.0)
        T.ret(x)

    built = tvm.compile(pick)["pick"]
    assert built(4, 1.5) == 3.0
    assert built(2, 1.5) == 1.5


@pytest.mark.cpu
def test_functions_of_a_module_call_each_other():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.handle, b: T.handle):
            n = T.int32()
            A = T.match_buffer(a, (n,))
            B = T.match_buffer(b, (n,))
            Module.double(A.data, B.data)
            Module.exported(B.data, B.data)

        @T.prim_func(private=True)
        def double(a: T.handle, b: T.handle):
            n = T.int32()
            A = T.match_buffer(a, (n,))
            B = T.match_buffer(b, (n,))
            for i in range(n):
                B[i] = A[i] * 2.0

        @T.prim_func
        def exported(a: T.handle, b: T.handle):
            n = T.int32()
            A = T.match_buffer(a, (n,))
            B = T.match_buffer(b, (n,))
            for i in range(n):
                B[i] = A[i] + 1.0

    built = tvm.compile(Module)
    a, b = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    built["main"](a, b)
    np.testing.assert_array_equal(b, a * 2 + 1)
    built["exported"](a, b)
    np.testing.assert_array_equal(b, a + 1)


@pytest.mark.cpu
def test_addresses():
    @T.prim_func
    def store(p: T.handle("float32")):
        P = T.Buffer((2,), data=p)
        P[1] = 5.0

    room = (ctypes.c_float * 2)()
    tvm.compile(store)["store"](ctypes.cast(room, ctypes.c_void_p))
    assert list(room) == [0.0, 5.0]


def packed(mod: IRModule) -> IRModule:
    """With a target that has a host, as the pipeline binds one."""
    return MakePackedAPI()(BindTarget(Target("llvm", host="llvm"))(mod))


@pytest.mark.pure
def test_form():
    mod = packed(IRModule.from_expr(scaled_sum))
    func = mod["scaled_sum"]
    assert [p.name for p in func.params] == ["self_handle", "args", "num_args", "result"]
    assert not func.buffer_map
    assert str(func.attrs["global_symbol"]) == "__tvm_ffi_scaled_sum"
    assert int(func.attrs["calling_conv"]) == 1
    assert MakePackedAPI()(mod)["scaled_sum"] is func


@pytest.mark.pure
def test_functions_without_a_host_are_lowered_already():
    mod = IRModule.from_expr(scaled_sum.with_attr("target", Target("llvm")))
    assert MakePackedAPI()(mod)["scaled_sum"] is mod["scaled_sum"]


@pytest.mark.pure
@pytest.mark.parametrize("target", ["c", "llvm"])
def test_rejects_two_functions_of_one_symbol(target):
    mod = IRModule({"a": scaled_sum, "b": scaled_sum})
    with pytest.raises(CheckError, match=r"functions a and b\n  found: both .* 'scaled_sum'"):
        tvm.compile(mod, target=target)


@pytest.mark.pure
def test_rejects_functions_without_a_target():
    with pytest.raises(CheckError, match="MakePackedAPI required the function to be annotated"):
        MakePackedAPI()(IRModule.from_expr(scaled_sum))


@pytest.mark.pure
def test_functions_without_a_symbol_stay():
    @T.prim_func(private=True)
    def part(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    mod = IRModule({"part": part})
    assert MakePackedAPI()(mod)["part"] is part


@pytest.mark.pure
def test_calls_by_symbol():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((1,), "float32")):
            Module.sub(A.data)

        @T.prim_func
        def sub(a: T.handle("float32")):
            T.evaluate(a)

    calls = [n for n in walk(packed(Module)["main"].body) if isinstance(n, Call)]
    (call,) = [n for n in calls if getattr(n.op, "name", "").endswith("packed")]
    assert call.op.name == "tir.tvm_call_cpacked"
    assert str(call.args[0].value) == "sub"


@pytest.mark.pure
def test_the_target_is_the_host():
    target = Target("cuda", host="llvm")
    mod = IRModule.from_expr(scaled_sum.with_attr("target", target))
    assert MakePackedAPI()(mod)["scaled_sum"].attrs["target"].kind.name == "llvm"


@pytest.mark.pure
def test_rejects_sizes_that_nothing_defines():
    @T.prim_func(check_well_formed=False)
    def bad(a: T.handle):
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (n + m,))
        A[0] = 1.0

    with pytest.raises(TVMError, match="stands alone in no shape"):
        packed(IRModule.from_expr(bad))
