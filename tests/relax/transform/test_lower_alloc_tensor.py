"""LowerAllocTensor: storage for every tensor that has none."""

from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest
from tvm.relax.transform import LowerAllocTensor
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestKnownAndSymbolicSizes(RelaxPassTest):
    run = LowerAllocTensor()
    sizes = {"n": 4}
    same_results = False

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 32), "float32")):
            n = T.int64()
            a = R.builtin.alloc_tensor(R.shape([16, 32]), "float32", 1, "shared")
            b = R.builtin.alloc_tensor(R.shape([n, 32]), "float16", 0)
            return (a, b)

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n", 32), "float32")):
            n = T.int64()
            storage = R.memory.alloc_storage(R.shape([2048]), 1, "shared", "uint8")
            a = R.memory.alloc_tensor(storage, 0, R.shape([16, 32]), "float32")
            storage1 = R.memory.alloc_storage(R.shape([2 * n * 32]), 0, "global", "uint8")
            b = R.memory.alloc_tensor(storage1, 0, R.shape([n, 32]), "float16")
            return (a, b)
