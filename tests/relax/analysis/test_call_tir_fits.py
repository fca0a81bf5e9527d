"""Operands and results of a kernel call against the kernel's signature."""

import pytest

from tvm.relax.analysis import well_formed
from tvm.relax.analysis.well_formed import faults_of
from tvm.script import from_source

pytestmark = pytest.mark.cpu

PROGRAM = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor({x}, "float16")):
        y = {call}
        return y

    @T.prim_func(private=True)
    def f({params}):
        {body}
"""


def _module(x, result, a="16", b="16", call="R.call_tir(M.f, x, out_sinfo={})"):
    handles = "A_: T.handle, B_: T.handle"
    body = (
        "n = T.int64()\n        m = T.int64()\n"
        f"        A = T.match_buffer(A_, ({a},), 'float16')\n"
        f"        B = T.match_buffer(B_, ({b},), 'float16')\n"
        "        T.evaluate(0)"
    )
    source = PROGRAM.format(x=x, call=call.format(result), params=handles, body=body)
    return from_source(source, check_well_formed=False)


@pytest.mark.parametrize(
    ("x", "result", "a", "b"),
    [
        ("[16]", 'R.Tensor([16], "float16")', "16", "16"),
        ("[16]", 'R.Tensor([2, 8], "float16")', "16", "n, m"),  # it is for the caller to say
        ("[16]", 'R.Tensor([8, 16, 2], "float16")', "16", "8, n, m"),
        ("[8, 4]", 'R.Tensor([32], "float16")', "n, m", "n * m"),
    ],
)
def test_fits(x, result, a, b):
    assert well_formed(_module(x, result, a, b))


@pytest.mark.parametrize(
    ("x", "result", "a", "b", "why"),
    [
        ("[4, 4]", 'R.Tensor([16], "float16")', "16", "16", "operand 0 is"),
        ("[32]", 'R.Tensor([16], "float16")', "16", "16", "operand 0 is"),
        ("[16]", 'R.Tensor([4, 4], "float16")', "16", "16", "result 0 is"),
        ("[16]", 'R.Tensor([32], "float16")', "16", "16", "result 0 is"),
        ("[16]", 'R.Tensor([16], "float32")', "16", "16", "result 0 is"),
        ("[16]", 'R.Tensor([2, 4, 2], "float16")', "16", "n, m", "result 0 is"),
        ("[8, 4]", 'R.Tensor([64], "float16")', "n, m", "n * m", "function takes R.Tensor((32,)"),
        ("[16]", '[R.Tensor([16], "float16"), R.Tensor([16], "float16")]', "16", "16",
         "2 parameters, and the call gives operand 0, result 0, result 1"),
    ],
)  # fmt: skip
def test_does_not_fit(x, result, a, b, why):
    mod = _module(x, result, a, b)
    assert any(why in fault for fault in faults_of(mod)), faults_of(mod)
    assert not well_formed(mod)


def test_results_in_place():
    call = "R.call_tir_inplace(M.f, x, [{}], out_sinfo=[R.Tensor([16], 'float16')%s])"
    two = ", R.Tensor([16], 'float16')"
    assert well_formed(_module("[16]", "0, -1", call=call % two))
    wrong = _module("[16]", "0", call=call % "")  # the kernel has one buffer more
    assert "the call gives operand 0" in faults_of(wrong)[0]


def test_symbols_given_as_numbers():
    call = "R.call_tir(M.f, (), out_sinfo={}, tir_vars=R.shape([16]))"
    source = PROGRAM.format(
        x="[16]", call=call.format('R.Tensor([16], "float16")'),
        params="B: T.Buffer(16, 'float16'), n: T.int64", body="B[0] = T.Cast('float16', n)",
    )  # fmt: skip
    assert well_formed(from_source(source, check_well_formed=False))
    without = source.replace(", tir_vars=R.shape([16])", "")
    assert not well_formed(from_source(without, check_well_formed=False))
