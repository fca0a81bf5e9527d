"""The matrix instructions of AMD's wavefronts, `llvm.amdgcn.mfma` (AMD CDNA3 ISA, 7).

Thread t of 64 has row t % 16 of A (column of B) and the elements that follow each other in what is
summed over, beginning at t // 16; of the result it has the rows of t // 16 in column t % 16.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tvm.tir import expr as e

from .expr import Code, Frame
from .mma import Offer, product, together
from .values import Value

_NAME: Final = re.compile(r"llvm\.amdgcn\.mfma\.(f32|i32)\.16x16x(\d+)(f32|f16|i8)")
_SDOT4: Final = "llvm.amdgcn.sdot4"
WAVEFRONT: Final = 64


def is_mfma(name: str) -> bool:
    """Whether threads of a wavefront need each other for an intrinsic."""
    return _NAME.fullmatch(name) is not None


def amdgcn_rule(name: str) -> Callable[[Any, e.Call], Code] | None:
    """What an intrinsic of AMD's GPUs means, or None."""
    if is_mfma(name):
        return _mfma
    return _sdot4 if name == _SDOT4 else None


def _mfma(compiler: Any, op: e.Call) -> Code:
    """`(name, a, b, c, ...)`: c + a @ b; bytes come four to a word."""
    name = op.args[0]
    found = _NAME.fullmatch(name.value) if isinstance(name, e.StringImm) else None
    assert found is not None, "the table asks for such names only"
    k, bytes_ = int(found[2]), found[3] == "i8"
    codes = [compiler.compile(a) for a in op.args[1:4]]
    count = 16 * k // WAVEFRONT
    thread, i = np.indices((WAVEFRONT, count))
    factor = thread % 16, thread // 16 * count + i
    thread, i = np.indices((WAVEFRONT, 4))
    positions = factor, factor, (thread // 16 * 4 + i, thread % 16)

    def compute(offers: list[Offer]) -> Any:
        a, b, c = (np.stack([offer.given[n] for offer in offers]) for n in range(3))
        return product(a, b, c, positions, (16, 16, k))

    def run(frame: Frame) -> Value:
        given = [np.atleast_1d(code(frame)) for code in codes]
        if bytes_:
            given[:2] = [part.view(np.int8) for part in given[:2]]
        result, lane = together(name.value, Offer(*given), compute, WAVEFRONT)
        return result[lane]

    return run


def _sdot4(compiler: Any, op: e.Call) -> Code:
    """`(name, a, b, c, clamp)`: the dot product of four bytes each, and c."""
    codes = [compiler.compile(a) for a in op.args[1:5]]

    def run(frame: Frame) -> Value:
        a, b, c, clamp = (code(frame) for code in codes)
        left, right = (np.atleast_1d(word).view(np.int8).astype(np.int64) for word in (a, b))
        total = int(left @ right) + int(c)
        if clamp:
            total = max(min(total, 2**31 - 1), -(2**31))
        return np.int64(total).astype(np.int32)

    return run
