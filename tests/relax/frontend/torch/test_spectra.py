"""Factorizations by orthogonal matrices, and exponentials: compiled, against torch's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from tvm.relax.frontend.torch import from_exported_program

from .running import assert_same, compiled, exported, interpreted, torch

linalg = torch.linalg


def _matrix(*shape: int, dtype: Any = None) -> Any:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(dtype or torch.float32)


TALL, WIDE, SQUARE = _matrix(2, 5, 3), _matrix(3, 5), _matrix(3, 4, 4)
SYMMETRIC = SQUARE + SQUARE.mT
LOW: Final = _matrix(4, 2) @ _matrix(2, 5)  # of rank 2


def _svd(x: Any) -> tuple[Any, ...]:
    """What does not depend on the signs of the vectors."""
    u, s, v = linalg.svd(x)
    count = s.shape[-1]
    rebuilt = u[..., :count] @ (s[..., None] * v[..., :count, :])
    return rebuilt, u.mT @ u, v @ v.mT, s


def _eigh(x: Any) -> tuple[Any, ...]:
    values, vectors = linalg.eigh(x)
    return values, vectors @ (values[..., None] * vectors.mT)


CASES: Final[dict[str, tuple[Callable[..., Any], Any]]] = {
    **{f"qr_{mode}_{name}": (lambda x, mode=mode: tuple(linalg.qr(x, mode=mode)), x)
       for mode in ("reduced", "complete", "r")
       for name, x in (("tall", TALL), ("wide", WIDE), ("double", SQUARE.double()))},
    **{f"svd_{name}": (_svd, x) for name, x in (
        ("tall", TALL), ("wide", WIDE), ("ones", torch.ones(4, 3)), ("zeros", torch.zeros(3, 3)),
        ("gap", torch.diag(torch.tensor([3.0, 0.0, 1.0]))))},
    **{f"rank_{name}": (linalg.matrix_rank, x) for name, x in (
        ("tall", TALL), ("low", LOW), ("zeros", torch.zeros(2, 2)))},
    **{f"pinv_{name}": (linalg.pinv, x)
       for name, x in (("tall", TALL), ("wide", WIDE), ("low", LOW))},
    "svdvals": (linalg.svdvals, SQUARE),
    "eigvalsh": (linalg.eigvalsh, SYMMETRIC),
    "eigvalsh_upper": (lambda x: linalg.eigvalsh(x, UPLO="U"), SQUARE),
    "eigh": (_eigh, SYMMETRIC),
    "pinv_hermitian": (lambda x: linalg.pinv(x, hermitian=True), SYMMETRIC),
    "pinv_tolerance": (lambda x: linalg.pinv(x, atol=1.0, rtol=0.1), SQUARE),
    "rank_tolerance": (lambda x: linalg.matrix_rank(x, 1.0), SQUARE),
    "rank_hermitian": (lambda x: linalg.matrix_rank(x, hermitian=True), SYMMETRIC),
    "pinverse": (torch.pinverse, TALL),
    "matrix_exp": (torch.matrix_exp, SQUARE),
    "matrix_exp_large": (torch.matrix_exp, SQUARE.double() * 5),
    "matrix_exp_of_nothing": (torch.matrix_exp, torch.zeros(3, 3)),
    "matrix_power": (lambda x: linalg.matrix_power(x, 5), SQUARE),
    "matrix_power_of_the_inverse": (lambda x: linalg.matrix_power(x, -2), SQUARE),
    "matrix_power_none": (lambda x: linalg.matrix_power(x, 0), SQUARE),
    "cond": (linalg.cond, SQUARE),
    "norm_nuclear": (lambda x: linalg.matrix_norm(x, "nuc"), SQUARE),
    "norm_spectral": (lambda x: linalg.matrix_norm(x, 2, dim=(0, 1), keepdim=True), SQUARE),
    "norm_smallest": (lambda x: linalg.matrix_norm(x, -2), SQUARE),
}  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("name", CASES)
def test_numbers(name: str) -> None:
    func, x = CASES[name]
    mod = from_exported_program(exported(func, x))
    assert_same(compiled(mod)(x), func(x), 1e-3)


def test_interpreted() -> None:
    for func in (linalg.svdvals, torch.matrix_exp):
        assert_same(interpreted(from_exported_program(exported(func, TALL[..., :3, :])),
                                [TALL[..., :3, :]]), func(TALL[..., :3, :]))  # fmt: skip


@pytest.mark.cpu
def test_matrices_of_open_size() -> None:
    auto = torch.export.Dim.AUTO

    def several(x: Any) -> tuple[Any, ...]:
        return (*linalg.qr(x), linalg.svdvals(x), linalg.pinv(x), linalg.matrix_rank(x),
                torch.matrix_exp(x))  # fmt: skip

    given = [_matrix(batch, n, n, dtype=torch.float64) for batch, n in ((2, 3), (3, 5), (2, 2))]
    program = exported(several, given[0], dynamic_shapes=({0: auto, 1: auto, 2: auto},))
    run = compiled(from_exported_program(program))
    for x in given:
        assert_same(run(x), several(x))


CHECKED: Final = {
    "inv": linalg.inv, "cholesky": lambda x: linalg.cholesky(x @ x.mT + torch.eye(4)),
    "solve": lambda x: linalg.solve(x, x), "twice": lambda x: linalg.inv(linalg.inv(x)),
    "det": linalg.det, "slogdet": linalg.slogdet, "eigvalsh": linalg.eigvalsh,
    "rank": linalg.matrix_rank, "svdvals": linalg.svdvals,
}  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("name", CHECKED)
def test_after_decompositions(name: str) -> None:
    """torch puts its checks of `info` between tokens; those are no values of the program."""
    func = CHECKED[name]
    program = exported(func, SQUARE).run_decompositions()
    count = len(program.graph.nodes)
    mod = from_exported_program(program)
    assert len(program.graph.nodes) == count
    assert len(mod["main"].params) == 1
    assert_same(compiled(mod)(SQUARE), func(SQUARE), 1e-3)


def test_other_data_types_are_refused() -> None:
    half = SYMMETRIC.to(torch.bfloat16)
    with pytest.raises(NotImplementedError, match="bfloat16"):
        from_exported_program(exported(lambda x: torch.ops.aten.linalg_eigvalsh(x), half))
