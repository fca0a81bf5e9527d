"""Forms of operators that few programs use: imported, against torch's numbers."""

from __future__ import annotations

import pytest

from tvm.relax.frontend.torch import from_exported_program, from_fx

from .cases import Case, F, case, torch
from .running import (
    assert_same,
    check,
    check_traced,
    compiled,
    exported,
    interpreted,
    module_of,
)

ONE = torch.tensor([0])
PLACE = torch.tensor(0)


def _matrix(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def _solved(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """By factors: on each side, transposed or not, and by torch's old name."""
    lu, pivots = torch.linalg.lu_factor(a)
    known = [torch.linalg.lu_solve(lu, pivots, b if left else b.mT, left=left, adjoint=adjoint)
             for left in (True, False) for adjoint in (True, False)]  # fmt: skip
    return *known, torch.lu_solve(b, lu, pivots)


FACTORS = [
    case("wide", torch.linalg.lu_factor, (3, 5)),
    case("tall", torch.linalg.lu_factor, (7, 5)),
    case("wide with info", torch.linalg.lu_factor_ex, (2, 3, 5)),
    case("tall with info", torch.linalg.lu_factor_ex, (2, 7, 5)),
    case("lu", torch.linalg.lu, (4, 4)),
    case("lu wide", torch.linalg.lu, (2, 3, 5)),
    case("lu tall", torch.linalg.lu, (2, 3, 7, 5)),
    case("unpacked alone", lambda a: torch.lu_unpack(*torch.linalg.lu_factor(a),
                                                     unpack_pivots=False)[1:], (3, 5)),
    case("solutions", _solved, (2, 4, 4), (2, 4, 3)),
    case("solutions of one", _solved, (4, 4), (2, 4, 3)),
]  # fmt: skip


def _reflected(a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.geqrf(a), torch.linalg.householder_product(*torch.geqrf(a))


REFLECTIONS = [
    case("reflections", _reflected, (2, 5, 3)),
    case("reflections of one", _reflected, (4, 4)),
    *[
        case(f"times reflections {left} {turned}",
             lambda a, b, left=left, turned=turned: torch.ormqr(
                 *torch.geqrf(a), b if left else b.T, left, turned), (5, 3), (5, 2))
        for left in (True, False) for turned in (True, False)
    ],
]  # fmt: skip

TAILS = [
    case("erfc", lambda x: torch.log(torch.erfc(x * 5)), (40,)),
    case("log_ndtr", lambda x: torch.special.log_ndtr(x * 9), (40,)),
    case("erfcx", lambda x: torch.special.erfcx(x * 4), (40,)),
]

WITHOUT_AXES = [
    case("index_select", lambda x: torch.index_select(x, 0, ONE), ()),
    case("index_add", lambda x, y: torch.index_add(x, 0, ONE, y, alpha=-1), (), ()),
    case("index_copy", lambda x, y: torch.index_copy(x, 0, ONE, y), (), ()),
    case("index_fill", lambda x: torch.index_fill(x, 0, ONE, 2.5), ()),
    case("scatter", lambda x, y: torch.scatter(x, 0, PLACE, y), (), ()),
    case("scatter a number", lambda x: torch.scatter(x, -1, PLACE, 2.5, reduce="multiply"), ()),
    case("scatter_add", lambda x, y: torch.scatter_add(x, 0, PLACE, y), (), ()),
    *[
        case(f"scatter_reduce {how}",
             lambda x, y, how=how: torch.scatter_reduce(x, 0, PLACE, y, how, include_self=False),
             (), ())
        for how in ("sum", "prod", "mean", "amax", "amin")
    ],
    case("unfold", lambda x: x.unfold(0, 1, 1), ()),
    case("unfold to nothing", lambda x: x.unfold(0, 0, 1), ()),
    case("prelu of a number", lambda x, w: torch.prelu(x, w), (), (1,)),
    case("prelu by a number", lambda x, w: torch.prelu(x, w), (2, 3), ()),
    case("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij"), (), (3,)),
    case("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 0), (), ()),
    case("atleast", lambda x: (torch.atleast_1d(x), torch.atleast_2d(x), torch.atleast_3d(x)), ()),
    case("linspace", lambda x, y: torch.linspace(x, y, 5), (), ()),
    case("linspace of one", lambda x: torch.linspace(x, 4, 1), ()),
    case("logspace", lambda x: torch.logspace(0, x, 5, base=2.0), ()),
]  # fmt: skip

SEVERAL = [
    case("atleast", lambda x, y: (*torch.atleast_1d(x, y), *torch.atleast_2d([x, y]),
                                  *torch.atleast_3d(x, y)), (), (3,)),
    case("atleast_3d of a matrix", torch.atleast_3d, (2, 3)),
    case("take_along_dim, broadcast", lambda x, i: torch.take_along_dim(x, i, 1),
         (1, 5), ((5, 2), "index:5")),
    case("take_along_dim, broadcast places", lambda x, i: torch.take_along_dim(x, i, -1),
         (4, 5), ((1, 2), "index:5")),
    case("tensordot beside ones", lambda a, b: torch.tensordot(a, b, ([0, 1], [2, 0])),
         (1, 3, 2), (3, 4, 5)),
    case("einsum sums an ellipsis", lambda a, b: torch.einsum("...ik, ...j -> ij", a, b),
         (2, 2, 3), (2, 4)),
    case("einsum sums ellipses of two ranks",
         lambda a, b: torch.einsum("...ik, ...kj -> ij", a, b), (4, 2, 3, 5), (2, 5, 3)),
]  # fmt: skip

OPTIONS = [
    *[
        case(f"conv_transpose{n}d, output padding {extra}, padding {pad}",
             lambda x, w, b, n=n, extra=extra, pad=pad: getattr(F, f"conv_transpose{n}d")(
                 x, w, b, 2, pad, extra, 1, 4), (1, 2, *[5, 4][:n]), (2, 3, *[3, 2][:n]), (3,))
        for n in (1, 2) for extra, pad in ((2, 0), (3, 1), (2, 3), (1, 1))
    ],
    *[
        case(f"poisson_nll_loss {log} {how}",
             lambda a, t, log=log, how=how: F.poisson_nll_loss(a, t * 4, log, True, reduction=how),
             ((6, 4), "positive"), ((6, 4), "positive"))
        for log, how in ((True, "none"), (False, "sum"))
    ],
    case("hinge_embedding_loss of other targets",
         lambda a, t: F.hinge_embedding_loss(a, t, 0.5, reduction="none"), (6, 4), (6, 4)),
    *[
        case(f"a wide filter, {how}",
             lambda x, how=how: F.interpolate(x, (4, 7), mode=how, align_corners=True,
                                              antialias=True), (1, 2, 9, 10))
        for how in ("bilinear", "bicubic")
    ],
    case("searchsorted in an order",
         lambda x, v: torch.searchsorted(x, v, sorter=torch.argsort(x)), (3, 7), (3, 4)),
    *[
        case(f"avg_pool{n}d, ceiled and divided",
             lambda x, rule=rule: rule(x, 3, 2, 1, True, False, 5), (1, 2, *[8, 7, 6][:n]))
        for n, rule in ((2, F.avg_pool2d), (3, F.avg_pool3d))
    ],
    case("avg_pool2d, a last window in the padding",
         lambda x: F.avg_pool2d(x, 2, 3, 1, True, True, 3), (1, 1, 5, 6)),
]  # fmt: skip


def _holed(x: torch.Tensor) -> torch.Tensor:
    """With NaNs and an infinity; of the first row nothing else is left."""
    holes = torch.where(x > 0.8, torch.nan, torch.where(x < -1.5, torch.inf, x))
    return torch.where(torch.arange(x.shape[0])[:, None] == 0, torch.nan, holes)


LOSSES = [
    *[
        case(f"multi_margin_loss {p} {how}",
             lambda x, t, w, p=p, how=how: F.multi_margin_loss(x, t, p, 0.7, w, reduction=how),
             (5, 4), ((5,), "index:4"), ((4,), "positive"))
        for p, how in ((1, "none"), (2, "mean"))
    ],
    case("multi_margin_loss of one", F.multi_margin_loss, (4,), ((), "index:4")),
    *[
        case(f"multilabel_margin_loss {how}", lambda x, how=how: F.multilabel_margin_loss(
            x, torch.tensor([[3, 0, -1, 1], [-1, 2, 2, 2], [0, 1, 2, 3]]), reduction=how), (3, 4))
        for how in ("none", "sum")
    ],
    case("multilabel_soft_margin_loss", lambda x, t, w: F.multilabel_soft_margin_loss(
        x, (t > 0).float(), w), (3, 4), (3, 4), (4,)),
]  # fmt: skip

CLOSE = [
    case("isclose", lambda x: torch.isclose(_holed(x), _holed(x) + 1e-4, 1e-4, 1e-5), (4, 7)),
    case("isclose, NaNs too", lambda x: torch.isclose(_holed(x), _holed(x), equal_nan=True),
         (4, 7)),
    case("isclose of integers", lambda x, y: torch.isclose(x, y, 0.3), ((9,), "int32"),
         ((9,), "int32")),
    case("ldexp", torch.ldexp, (4,), ((4,), "int32")),
]  # fmt: skip

PARTS = [
    case("times a complex number", lambda x: torch.view_as_real(
        torch.view_as_complex(x).sum() * torch.tensor(2 - 1j)), (3, 2)),
    case("block_diag", torch.block_diag, (2, 3), (4,), ()),
    case("sum_to_size", lambda x: x.sum_to_size(3, 1), (2, 3, 4)),
    case("unravel_index", lambda i: torch.unravel_index(i, (3, 4, 2)), ((5,), "index:24")),
    case("transposed", lambda x: (x.mH, x[0].H), (2, 3, 4)),
    case("norm of singular values", lambda x: torch.norm(x, "nuc"), (3, 4)),
    case("renorm", lambda x: torch.renorm(x, 2, -1, 0.5), (3, 4)),
    *[
        case(f"index_reduce {how} {whole}", lambda x, y, how=how, whole=whole: torch.index_reduce(
            x, 1, torch.tensor([2, 0, 2]), y, how, include_self=whole), (2, 4), (2, 3))
        for how in ("prod", "mean", "amax", "amin") for whole in (True, False)
    ],
    *[
        case(f"max_unpool{n}d", lambda x, n=n: getattr(F, f"max_unpool{n}d")(
            *getattr(F, f"max_pool{n}d")(x, 2, return_indices=True), 2), (1, 2, *[4, 6, 4][:n]))
        for n in (1, 2, 3)
    ],
    case("max_unpool2d to a size", lambda x: F.max_unpool2d(
        *F.max_pool2d(x, 2, return_indices=True), 2, output_size=(5, 7)), (1, 2, 5, 7)),
]  # fmt: skip


@pytest.mark.parametrize(
    "case",
    [*FACTORS, *REFLECTIONS, *TAILS, *WITHOUT_AXES, *SEVERAL, *OPTIONS, *LOSSES, *CLOSE, *PARTS],
    ids=lambda case: case.name,
)
def test_numbers(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", [*LOSSES, *PARTS[:5]], ids=lambda case: case.name)
def test_numbers_of_traced_functions(case: Case) -> None:
    check_traced(case)


def test_answers_about_whole_tensors() -> None:
    """Of traced functions; an exported program has them as numbers of Python."""
    x, other = _matrix(2, 3), _matrix(2, 3) + 1e-6
    for func in (torch.equal, torch.allclose):
        for a, b in ((x, x), (x, other), (x, x + 1)):
            graph = torch.fx.symbolic_trace(module_of(func, 2))
            mod = from_fx(graph, [((2, 3), "float32")] * 2)
            assert bool(interpreted(mod, (a, b))) == func(a, b)


@pytest.mark.cpu
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_runs_of_equal_elements(dim: int | None) -> None:
    def runs(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made: tuple[torch.Tensor, ...] = torch.unique_consecutive(x, True, True, dim=dim)
        return made

    x = torch.tensor([[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 2, 1]])
    run = compiled(from_exported_program(exported(runs, x)))
    for given in (x, x.flip(0), torch.zeros_like(x), x % 2):
        assert_same(run(given), runs(given))


@pytest.mark.cpu
def test_pieces_between_places_of_a_tensor() -> None:
    def pieces(x: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.tensor_split(x, places, 1)

    x, places = _matrix(2, 9), torch.tensor([2, 5, 6])
    run = compiled(from_exported_program(exported(pieces, x, places)))
    assert_same(run(x, places), pieces(x, places))


@pytest.mark.cpu
def test_factors_of_open_extents() -> None:
    auto = torch.export.Dim.AUTO
    given = [_matrix(2, 3, 5), _matrix(1, 6, 2)]
    axes = {0: auto, 1: auto, 2: auto}
    program = exported(torch.linalg.lu_factor, given[0], dynamic_shapes=(axes,))
    run = compiled(from_exported_program(program))
    for a in given:
        assert_same(run(a), torch.linalg.lu_factor(a))
