"""Declared intrinsics carry what printers and backends ask for."""

from __future__ import annotations

import pytest

from tvm.ir import Op
from tvm.ir.op import OPS
from tvm.tir.op.declare import PURE, intrinsic

pytestmark = pytest.mark.pure


def test_attributes() -> None:
    op = intrinsic("test_declared", PURE, 2, vectorizable=True, dtype_at="first")
    try:
        assert Op.get("tir.test_declared") is op
        assert op.num_inputs == 2
        assert op.get_attr("TCallEffectKind") == PURE
        assert op.get_attr("TVectorizable") is True
        assert op.get_attr("TScriptPrinterName") == "test_declared"
        assert op.get_attr("TScriptDtypePrintLocation") == "first"
        with pytest.raises(KeyError, match=r"operator 'tir\.test_declared' is registered twice"):
            intrinsic("test_declared", PURE)
    finally:
        OPS.remove("tir.test_declared")
