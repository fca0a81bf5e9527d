"""Functions of Relax by their registered names."""

from __future__ import annotations

import importlib

import pytest

import tvm
from tvm import relax
from tvm.driver.relax_by_name import FUNCTIONS, PACKAGES
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Mod:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.exp(x)
        return y


def test_every_name_leads_to_what_a_package_offers() -> None:
    for name, home in FUNCTIONS.items():
        module, _, attribute = home.partition(":")
        assert callable(getattr(importlib.import_module(module), attribute)), name


def test_functions_are_found_and_run() -> None:
    assert tvm.get_global_func("relax.analysis.well_formed")(Mod)
    legal = tvm.get_global_func("relax.transform.LegalizeOps")()(Mod)
    assert isinstance(legal["tir_exp"], tvm.tir.PrimFunc)
    x = Mod["main"].params[0]
    assert tvm.get_global_func("relax.op.nn.relu")(x).op.name == "relax.nn.relu"
    assert tvm.get_global_func("relax.dpl.is_op")("relax.exp").expr.name == "relax.exp"
    assert tvm.get_global_func("relax.op.no_such_operator", allow_missing=True) is None


def test_doors_of_packages() -> None:
    x, y = Mod["main"].params[0], Mod["main"].body.body
    assert list(relax.analysis._ffi_api.bound_vars(Mod["main"])) == [x, y]
    assert relax.op._ffi_api.add(x, x).op.name == "relax.add"
    assert relax.dpl._ffi.wildcard is not None
    with pytest.raises(AttributeError, match=r"relax\.transform\.NoSuchPass"):
        relax.transform._ffi_api.NoSuchPass
    for package in PACKAGES:
        if package not in ("dpl", "op.vision"):
            assert importlib.import_module(f"tvm.relax.{package}._ffi_api")
