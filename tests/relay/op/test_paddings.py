"""Options that name fewer paddings than an operator has sides, as texts do."""

from __future__ import annotations

import pytest

from tvm import relay

pytestmark = pytest.mark.pure


def result(call: str, operands: str) -> str:
    mod = relay.parse(f'#[version = "0.0.5"]\ndef @main({operands}) {{ {call} }}')
    return str(relay.transform.InferType()(mod)["main"].ret_type)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("padding", ["none", "one", "each", "both"])
def test_pools(kind: str, rank: int, padding: str) -> None:
    count = {"none": 0, "one": 1, "each": rank, "both": 2 * rank}[padding]
    option = f", padding=[{', '.join(['1'] * count)}]" if count else ""
    shape = ", ".join(["1", "3"] + ["8"] * rank)
    size = ", ".join(["2"] * rank)
    found = result(
        f"nn.{kind}_pool{rank}d(%x, pool_size=[{size}]{option})",
        f"%x: Tensor[({shape}), float32]",
    )
    wanted = ", ".join(["1", "3"] + ["9" if count else "7"] * rank)
    assert found == f"Tensor[({wanted}), float32]"


@pytest.mark.parametrize(
    ("name", "extent"),
    [("conv2d", 7), ("conv3d", 7), ("conv2d_transpose", 9), ("conv3d_transpose", 9)],
)
def test_convolutions_without_padding(name: str, extent: int) -> None:
    rank = int(name[4])
    found = result(
        f"nn.{name}(%x, %w, kernel_size=[{', '.join(['2'] * rank)}])",
        f"%x: Tensor[(1, 4{', 8' * rank}), float32], %w: Tensor[(4, 4{', 2' * rank}), float32]",
    )
    assert found == f"Tensor[(1, 4{f', {extent}' * rank}), float32]"
