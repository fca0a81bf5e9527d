"""No variation of ONNX's cases differs from ONNX Runtime: a part here, all as a long test."""

from __future__ import annotations

import random

import pytest

from tests.relax.frontend.onnx.variations import difference, variations, wanted

pytestmark = pytest.mark.cpu
STEP = 41
# Where ONNX Runtime is known to differ from the definition, or leaves it open:
KNOWN = (
    "dilations=",     # it pads to the same as if there were none
    "auto_pad=SAME",
    ": 17", ": 18",   # floats of 8 bits, which numpy has none of
    "FLOAT8", "FLOAT4", "E8M0", "E5M2", "E4M3", "_to_INT4", "_to_UINT4", "_to_INT2", "_to_UINT2",
    "sorted=0",       # any order
    "qk_matmul",      # what is masked out is the lowest number, or an infinity
    "gridsample_reflection",  # halves, turned at the border before or after they are rounded
    "empty_set",      # the interpreter starts no sum that has no terms
    # whole numbers cut from 1.9999999, or from 2: sums are in another order
    "linear_align_corners: uint8", "linear_align_corners: int8", "linear_align_corners: int32",
    "not_smaller: axes=[-2, -1]",  # it takes the scale of another axis
    "quantizelinear", "mvn", "dft", "stft", "saturate=",
)  # fmt: skip


def differing(step: int) -> tuple[int, list[str]]:
    """How many were compared, and which differ."""
    compared, found = 0, []
    for variation in variations(random.Random(0), 4, step):
        if any(word in variation.name for word in KNOWN):
            continue
        results = wanted(variation)
        if results is not None:
            compared += 1
            found.append(difference(variation, results))
    return compared, [text for text in found if text]


def test_a_part_of_the_variations() -> None:
    compared, found = differing(STEP)
    assert compared > 100
    assert not found, "\n".join(found)


@pytest.mark.long
def test_all_variations() -> None:
    compared, found = differing(1)
    assert compared > 5000
    assert not found, "\n".join(found)
