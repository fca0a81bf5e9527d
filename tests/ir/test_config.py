"""Options of a pass context: checked names, checked types, records with defaults."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.ir.transform import PassContext

pytestmark = pytest.mark.pure


def test_unknown_key_offers_the_nearest() -> None:
    with pytest.raises(AttributeError, match=r"did you mean 'tir\.UnrollLoop'"):
        PassContext(config={"tir.UnrolLoop": {}})


def test_records() -> None:
    ctx = PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})
    assert ctx.option("tir.UnrollLoop").auto_max_step == 16
    assert ctx.option("tir.UnrollLoop").explicit_unroll is True
    assert PassContext().option("tir.LoopPartition").partition_const_loop is False
    with pytest.raises(tvm.TVMError, match="has no field 'auto_max_stp'"):
        PassContext(config={"tir.UnrollLoop": {"auto_max_stp": 16}})


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("tir.noalias", "yes", "bool"),
        ("tir.vtcm_capacity", True, "int"),
        ("cuda.kernels_output_dir", 3, "str"),
        ("tir.UnrollLoop", 3, "dict"),
        ("tir.add_lower_pass", 3, "list"),
    ],
)
def test_values_of_another_type(key: str, value: object, kind: str) -> None:
    with pytest.raises(tvm.TVMError, match=f"legal: a value of type {kind}"):
        PassContext(config={key: value})


def test_literals_stand_for_their_values() -> None:
    ctx = PassContext(config={"tir.vtcm_capacity": tir.IntImm("int32", 5), "tir.noalias": 0})
    assert ctx.option("tir.vtcm_capacity") == 5
    assert ctx.option("tir.noalias") is False
    assert ctx.option("tir.disable_assert", "default") == "default"


def test_list_configs_names_all() -> None:
    assert PassContext.list_configs()["tir.noalias"] == {"type": "bool"}


def test_fields_of_records_are_checked() -> None:
    for fields, text in (({"nope": 3}, "no field 'nope'"), ({"auto_max_step": "x"}, "found: 'x'")):
        with pytest.raises(TypeError, match=text):
            PassContext(config={"tir.UnrollLoop": fields})
    ctx = PassContext(config={"tir.UnrollLoop": {"auto_max_step": tir.IntImm("int32", 4)}})
    assert ctx.config["tir.UnrollLoop"].auto_max_step == 4
