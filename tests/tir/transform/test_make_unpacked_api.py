import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import stmt as s
from tvm.tir.transform import BindTarget, MakeUnpackedAPI

pytestmark = pytest.mark.pure
HOSTED = Target("llvm", host="llvm")


@T.prim_func
def stores(A: T.Buffer((4,), "int32"), n: T.int32):
    A[0] = n


def unpacked(func, target: Target = HOSTED):
    mod = BindTarget(target)(IRModule.from_expr(func))
    (made,) = MakeUnpackedAPI()(mod).functions.values()
    return made


@pytest.mark.parametrize(("kind", "device"), [("llvm", 1), ("cuda", 2)])
def test_plain_parameters_and_the_device(kind: str, device: int) -> None:
    made = unpacked(stores, Target(kind, host="llvm"))
    assert [str(p.dtype) for p in made.params] == ["handle", "int32"]
    assert made.params[0] is stores.buffer_map[stores.params[0]].data
    assert not made.buffer_map
    assert made.ret_type.dtype == "int32"
    number, kind_of = made.body, made.body.body
    assert (number.attr_key, number.value.value) == ("device_id", 0)
    assert (kind_of.attr_key, kind_of.value.value) == ("device_type", device)
    assert made.attrs["target"].host is None
    assert made.attrs["target"].kind.name == "llvm"
    assert "calling_conv" not in made.attrs
    assert made.body.body.body.seq[-1].script() == "return 0"


def test_without_tensors_there_is_no_device() -> None:
    @T.prim_func
    def number(n: T.int32):
        T.evaluate(n)

    assert isinstance(unpacked(number).body, s.SeqStmt)


def test_what_stays_as_it_is() -> None:
    @T.prim_func(private=True)
    def private(A: T.Buffer((4,), "int32")):
        A[0] = 1

    assert unpacked(private).buffer_map
    lowered = unpacked(stores, Target("llvm"))
    assert lowered.buffer_map


def test_addresses_in_the_place_of_tensors() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            Module.sub(T.tvm_stack_make_array(A.data, 0, 0, 1, T.float32(0), 0))

        @T.prim_func
        def sub(B: T.Buffer((4,), "float32")):
            B[0] = T.float32(1)

    made = MakeUnpackedAPI()(BindTarget(HOSTED)(Module))["main"]
    assert "tvm_stack_make_array" not in made.script()


def test_rejects_sizes_that_are_no_parameters() -> None:
    @T.prim_func
    def func(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        A[0] = 1.0

    with pytest.raises(TVMError, match="size n is no parameter"):
        unpacked(func)


def test_rejects_functions_without_a_target() -> None:
    with pytest.raises(TVMError, match="required the function to be annotated with"):
        MakeUnpackedAPI()(IRModule.from_expr(stores))
