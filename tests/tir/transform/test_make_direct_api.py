import pytest

from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.tir.transform import MakeDirectAPI

pytestmark = pytest.mark.pure


def test_private_functions_take_addresses_and_sizes():
    @T.prim_func(private=True)
    def part(a: T.handle, k: T.int32):
        n = T.int32()
        A = T.match_buffer(a, (n, 4))
        for i in range(n):
            A[i, 0] = T.Cast("float32", k)

    func = MakeDirectAPI()(IRModule({"part": part}))["part"]
    assert [p.name for p in func.params][1:] == ["k", "n"]
    assert not func.buffer_map
    assert func.attrs.get("calling_conv") is None


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        Module.exported(A.data)

    @T.prim_func
    def exported(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            A[i] = 1.0


def test_functions_called_both_ways_are_there_twice():
    mod = MakeDirectAPI()(Module)
    direct, packed = mod["exported"], mod["exported_packed"]
    assert direct.attrs.get("global_symbol") is None
    assert [p.name for p in direct.params][1:] == ["n"]
    assert str(packed.attrs["global_symbol"]) == "exported"
    assert packed.buffer_map


def test_calls_give_the_sizes():
    call = MakeDirectAPI()(Module)["main"].body.value
    assert int(call.args[1]) == 8


def test_keeps_functions_that_nothing_calls():
    main = Module["exported"]
    mod = IRModule({"exported": main})
    assert MakeDirectAPI()(mod)["exported"] is main
