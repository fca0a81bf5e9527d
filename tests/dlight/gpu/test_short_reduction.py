from __future__ import annotations

import tvm
from tests.dlight.gpu.lowered import CUDA, scheduled
from tests.dlight.programs import reduction
from tvm import te
from tvm.dlight.gpu import Fallback, ShortReduction


def test_windows_have_a_thread_for_each_result() -> None:
    func = reduction((5000, 9), (1,), te.max)
    made = scheduled(ShortReduction(), func, CUDA)
    tvm.ir.assert_structural_equal(made, scheduled(Fallback(), func, CUDA))


def test_other_reductions_are_left() -> None:
    for shape in ((5000, 90), (50, 9)):
        assert ShortReduction().apply(reduction(shape, (1,)), CUDA, False) is None
