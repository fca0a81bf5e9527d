"""LegalizeRedistribute: moves as what the workers do."""

from __future__ import annotations

import pytest

import tvm
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.distributed.struct_info import DTensorStructInfo
from tvm.relax.distributed.transform import LegalizeRedistribute
from tvm.relax.distributed.transform.transform import LowerDistIR as FromModule
from tvm.relax.expr import Call, Var

pytestmark = pytest.mark.pure


def _module(source: str, target: str, mesh: str = "(2,), [0, 1]", other: str = "mesh[0]"
            ) -> IRModule:  # fmt: skip
    return tvm.script.from_source(f"""
@I.ir_module
class Module:
    I.module_global_infos({{"mesh": [R.device_mesh({mesh}), R.device_mesh((2,), [2, 3])]}})
    @R.function
    def main(x: R.DTensor((8, 8), "float32", "mesh[0]", "{source}")):
        y = R.dist.redistribute(x, "{other}", "{target}")
        return y
""")


def _value(mod: IRModule) -> object:
    return LegalizeRedistribute()(mod)["main"].body.blocks[0].bindings[0].value


def test_replicas_give_pieces() -> None:
    call = _value(_module("R", "S[1]"))
    assert isinstance(call, Call)
    assert call.op.name == "relax.dist.redistribute_replica_to_shard"
    assert (call.attrs.num_workers, call.attrs.axis) == (2, 1)
    assert isinstance(call.struct_info, DTensorStructInfo)
    assert str(call.struct_info.placement) == "S[1]"


def test_along_one_dimension_of_a_mesh() -> None:
    call = _value(_module("S[0], R", "S[0], S[1]", "(2, 3), [0, 1, 2, 3, 4, 5]"))
    assert isinstance(call, Call)
    assert call.attrs.num_workers == 3


def test_what_lies_there_is_the_tensor_itself() -> None:
    assert isinstance(_value(_module("S[1]", "S[1]")), Var)


@pytest.mark.parametrize(
    ("source", "target", "other", "words"),
    [
        ("S[0]", "R", "mesh[0]", r"S\[0\] to R"),
        ("S[0]", "S[1]", "mesh[0]", r"S\[0\] to S\[1\]"),
        ("R", "S[0]", "mesh[1]", "another mesh"),
    ],
)
def test_other_moves_are_refused(source: str, target: str, other: str, words: str) -> None:
    with pytest.raises(TVMError, match=words):
        _value(_module(source, target, other=other))


def test_the_names_of_the_module() -> None:
    assert FromModule().info.name == "LowerDistIR"
