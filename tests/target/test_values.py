"""Options whose values no machine has are refused where the target is made."""

from __future__ import annotations

import pytest

from tvm.error import TargetError
from tvm.target import Target

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        ("llvm -num-cores=-1", "0 or more"),
        ("llvm -vector-width=7", "a power of two"),
        ("llvm -mattr=avx2", r"\+avx2 to have it"),
        ("cuda -max_threads_per_block=-1", "1 or more"),
        ("cuda -thread_warp_size=0", "1 or more"),
        ("cuda -max_shared_memory_per_block=-1", "0 or more"),
        ("opencl -max_num_threads=0", "1 or more"),
    ],
)
def test_refused(text: str, legal: str) -> None:
    with pytest.raises(TargetError, match=rf"(?s)found: +.*legal: +.*{legal}"):
        Target(text)


@pytest.mark.parametrize(
    "text",
    [
        "llvm -num-cores=0", "llvm -opt-level=9", "llvm -mattr=+avx2,-avx512f", "cuda -arch=sm_20",
        "cuda -arch=sm_100a", "opencl -max_num_threads=1", "llvm -vector-width=256",
    ],
)  # fmt: skip
def test_accepted(text: str) -> None:
    assert Target(Target(text).export()) == Target(text)
