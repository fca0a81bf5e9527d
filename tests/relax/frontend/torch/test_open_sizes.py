"""Programs of any size: extents that are open, that values tell, that torch derives or checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tvm.error import TVMError
from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.interp import Interpreter

from .running import assert_same, compiled, module_of

torch = pytest.importorskip("torch")
F = torch.nn.functional
OPEN = torch.export.Dim.AUTO
ROWS, BOTH = {0: OPEN}, {0: OPEN, 1: OPEN}
PICTURE = {0: OPEN, 2: OPEN, 3: OPEN}
Sizes = list[tuple[Any, ...]]


def r(*shape: int) -> Any:
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape))) - 0.4


def whole(*shape: int, high: int = 5) -> Any:
    return torch.randint(0, high, shape, generator=torch.Generator().manual_seed(sum(shape)))


def number(n: int) -> Any:
    return torch.tensor(n)


# --- what is written in the cases ---


def within_a_range(x: Any) -> Any:
    torch._check(x.shape[1] > 8)
    torch._check(x.shape[1] <= 12)
    return x.split(4, 1)


def up_to(x: Any, n: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= x.shape[0])
    return x[:k] * 2


def zeros(x: Any, n: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    return torch.zeros(k, 3) + x.sum(), torch.arange(k) * x.shape[0]


def rows_of(x: Any, n: Any) -> Any:
    k = n.item()
    torch._check(k > 1)
    torch._check(x.shape[0] % k == 0)
    return x.reshape(k, x.shape[0] // k)


def row(x: Any, n: Any) -> Any:
    k = n.item()
    torch._check(k >= 0)
    torch._check(k < x.shape[0])
    return x[k]


def in_two(x: Any, n: Any) -> Any:
    a, b = n.tolist()
    torch._check(a >= 0)
    torch._check(b >= 0)
    torch._check(a + b == x.shape[0])
    return x.split([a, b])


def by_size(x: Any) -> Any:
    return torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,))


def written(x: Any) -> Any:
    y = x.clone()
    y[y > 0] = 0
    y[0] = 1
    y[:, 1:] += 2
    return y


# name: the function, the inputs at each size (the first ones are exported), the open extents
CASES: dict[str, tuple[Callable[..., Any], Sizes, tuple[Any, ...]]] = {
    # extents that values tell
    "nonzero": (lambda x: x.nonzero(), [(r(5, 4) > 0,), (r(3, 7) > 0,)], (BOTH,)),
    "masked": (lambda x: x[x > 0] * 2, [(r(5, 4),), (r(3, 7),)], (BOTH,)),
    "unique": (
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        [(whole(9),), (whole(30),)], (ROWS,),
    ),
    "up to a number": (up_to, [(r(5, 4), number(3)), (r(8, 4), number(6))], (ROWS, None)),
    "zeros of a number": (zeros, [(r(5, 4), number(3)), (r(8, 4), number(0))], (ROWS, None)),
    "rows of a number": (rows_of, [(r(12), number(3)), (r(20), number(5))], (ROWS, None)),
    "a row": (row, [(r(12, 3), number(3)), (r(20, 3), number(5))], (ROWS, None)),
    "in two": (
        in_two, [(r(12, 3), torch.tensor([5, 7])), (r(20, 3), torch.tensor([3, 17]))], (ROWS, None)
    ),
    "a factor": (lambda x, n: x * n.item(), [(r(5), number(3)), (r(8), number(-6))], (ROWS, None)),
    "repeated by": (
        lambda x, n: torch.repeat_interleave(x, n, dim=0),
        [(r(3, 2), torch.tensor([1, 0, 4])), (r(4, 2), torch.tensor([2, 0, 1, 1]))], (ROWS, ROWS),
    ),
    "counted": (
        lambda x: torch.bincount(x, minlength=4),
        [(whole(9),), (whole(30, high=9),), (whole(4, high=1),)], (ROWS,),
    ),
    "weights": (
        lambda x, w: torch.bincount(x, w), [(whole(9), r(9)), (whole(30, high=9), r(30))],
        (ROWS, ROWS),
    ),
    "one of one": (torch.masked_select, [(r(), torch.tensor(True))], (None, None)),
    # pieces of an open axis, as many as torch has fixed
    "split": (lambda x: x.split(5, 1), [(r(3, 5),), (r(3, 4),)], ({1: OPEN},)),
    "split within a range": (within_a_range, [(r(2, 10),), (r(2, 12),)], ({1: OPEN},)),
    "halves": (
        lambda x, y: x.split(x.shape[0] // 2)[0] + y, [(r(6, 2), r(3, 2)), (r(8, 2), r(4, 2))],
        (ROWS, ROWS),
    ),
    "blocks on a diagonal": (
        torch.block_diag, [(r(3, 2), r(2, 4), r(3)), (r(1, 5), r(2, 2), r(4))], (BOTH, BOTH, ROWS)
    ),
    "a grid of one": (
        lambda x: torch.meshgrid(x, indexing="ij"), [(r(3),), (r(5),)], (ROWS,),
    ),
    "parts that broadcast": (
        lambda x, y: torch.view_as_real(torch.complex(x, y)),
        [(r(3, 4), r(4)), (r(2, 5), r(5))], (BOTH, ROWS),
    ),
    # options that are sizes
    "largest half": (
        lambda x: x.topk(x.shape[0] // 2, 0), [(r(9, 4),), (r(20, 5),)], (BOTH,)
    ),
    "median": (lambda x: x.median(0), [(r(9, 4),), (r(20, 5),)], (BOTH,)),
    "padded": (lambda x: F.pad(x, (0, 8 - x.shape[1] % 8)), [(r(3, 9),), (r(2, 13),)], (BOTH,)),
    "a power": (lambda x: x * x.shape[0] ** 0.5, [(r(3, 9),), (r(5, 13),)], (BOTH,)),
    # places that sizes tell
    "diagonal": (lambda x: x.diagonal(), [(r(9, 4),), (r(3, 5),)], (BOTH,)),
    "diagonals": (
        lambda x: x.diagonal(1, -1, 0), [(r(9, 2, 4),), (r(3, 2, 5),)], ({0: OPEN, 2: OPEN},)
    ),
    "windows": (lambda x: x.unfold(0, 3, 2), [(r(9, 4),), (r(20, 5),)], (BOTH,)),
    "patches": (
        lambda x: F.unfold(x, 3, padding=1, stride=2, dilation=2),
        [(r(2, 3, 8, 9),), (r(1, 3, 7, 6),)], (PICTURE,),
    ),
    "patches of a batch": (
        lambda x: F.unfold(x, 3, padding=(1, 2)), [(r(2, 3, 5, 6),), (r(4, 3, 5, 6),)], (ROWS,)
    ),
    "folded": (
        lambda x: F.fold(x, (8, 9), 3, padding=1), [(r(2, 27, 72),), (r(3, 27, 72),)], (ROWS,)
    ),
    "folded to an open size": (
        lambda x: F.fold(F.unfold(x, 3, padding=1, stride=2), x.shape[2:], 3, padding=1, stride=2),
        [(r(2, 3, 8, 9),), (r(1, 3, 7, 6),)], (PICTURE,),
    ),
    "strides": (
        lambda x: x.as_strided((x.shape[0], 2), (4, 1), 1), [(r(5, 4),), (r(9, 4),)], (ROWS,)
    ),
    "next of a source": (
        lambda x, s: x.masked_scatter(x > 0, s),
        [(r(5, 4), r(5, 4)), (r(9, 3), r(9, 3))], (BOTH, BOTH),
    ),
    "unshuffled": (
        lambda x: F.pixel_unshuffle(x, 2), [(r(2, 3, 8, 10),), (r(1, 3, 4, 6),)], (PICTURE,)
    ),
    "largest of all": (
        lambda x: F.adaptive_max_pool2d(x, 1, return_indices=True),
        [(r(2, 3, 8, 9),), (r(1, 3, 5, 6),)], (PICTURE,),
    ),
    "largest of windows": (
        lambda x: F.adaptive_max_pool2d(x, (3, 4)), [(r(2, 3, 8, 9),), (r(1, 3, 5, 6),)],
        (PICTURE,),
    ),
    "places of the largest": (
        lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
        [(r(2, 3, 8, 9),), (r(1, 3, 5, 6),)], (PICTURE,),
    ),
    "vectors as diagonals": (
        lambda x: (torch.diag_embed(x, -1), torch.diag_embed(x, 2, 0, 2), torch.diag(x[0])),
        [(r(9, 4),), (r(3, 5),)], (BOTH,),
    ),
    "a written diagonal": (
        lambda x: (torch.diagonal_scatter(x, x[0]), torch.diagonal_scatter(x, x[0, :-2], -2)),
        [(r(5, 5),), (r(4, 4),)], (BOTH,),
    ),
    "pieces": (
        lambda x: (*x.tensor_split(3, 1), *x.tensor_split((1, x.shape[0] // 2))),
        [(r(6, 7),), (r(9, 13),)], (BOTH,),
    ),
    # places between elements
    "stretched lines": (
        lambda x: [
            F.interpolate(x, scale_factor=f, mode=m)
            for f, m in ((2, "nearest"), (1.7, "linear"), (0.5, "nearest-exact"), (3, "linear"))
        ],
        [(r(2, 3, 10),), (r(1, 3, 17),)], ({0: OPEN, 2: OPEN},),
    ),
    "lines of a size": (
        lambda x: (
            F.interpolate(x, size=7, mode="linear", align_corners=True),
            F.interpolate(x, scale_factor=1.7, mode="linear", recompute_scale_factor=True),
        ),
        [(r(2, 3, 10),), (r(1, 3, 17),)], ({0: OPEN, 2: OPEN},),
    ),
    "stretched pictures": (
        lambda x: (
            F.interpolate(x, scale_factor=1.3, mode="bilinear"),
            F.interpolate(x, scale_factor=(0.7, 2.5), mode="bicubic"),
            F.interpolate(x, size=(9, 9), mode="nearest-exact"),
        ),
        [(r(2, 2, 8, 10),), (r(1, 2, 13, 7),)], (PICTURE,),
    ),
    "stretched volumes": (
        lambda x: (F.interpolate(x, scale_factor=2, mode="trilinear"), F.interpolate(x, size=9)),
        [(r(2, 2, 4, 5, 6),), (r(1, 2, 3, 7, 4),)], ({0: OPEN, 2: OPEN, 3: OPEN, 4: OPEN},),
    ),
    # statistics
    "windows wider than all": (
        lambda x: F.avg_pool2d(x, (70, 90), (70, 2), (3, 1), ceil_mode=True),
        [(r(2, 2, 8, 91),), (r(3, 2, 5, 99),)], (PICTURE,),
    ),
    "the largest so far": (
        lambda x: (x.cummax(1), (x * 9).long().cummin(0)), [(r(5, 4),), (r(3, 8),)], (BOTH,),
    ),
    "filled with a size": (
        lambda x: torch.full_like(x, x.shape[1] // 2), [(r(5, 4),), (r(3, 8),)], (BOTH,),
    ),
    "a norm over all": (
        lambda x: F.layer_norm(x, x.shape[1:]), [(r(3, 9),), (r(5, 4),)], (BOTH,)
    ),
    "products of vectors": (
        lambda x: torch.linalg.cross(x, x.flip(0)), [(r(5, 3),), (r(7, 3),)], (ROWS,)
    ),
    # branches, writes
    "by size": (by_size, [(r(6, 3),), (r(3, 3),)], (ROWS,)),
    "written": (written, [(r(8, 4),), (r(5, 6),)], (BOTH,)),
}  # fmt: skip


def program(func: Callable[..., Any], args: tuple[Any, ...], shapes: tuple[Any, ...]) -> Any:
    return torch.export.export(module_of(func, len(args)), args, dynamic_shapes=shapes)


@pytest.mark.parametrize("name", CASES)
def test_any_size(name: str) -> None:
    func, sizes, shapes = CASES[name]
    mod = from_exported_program(program(func, sizes[0], shapes))
    interpreter = Interpreter(mod)
    for args in sizes:
        found = interpreter.run("main", *(arg.numpy() for arg in args))
        wanted = func(*args)
        assert_same(found, wanted if isinstance(wanted, (tuple, list)) else (wanted,))


REFUSED = {
    "up to a number": (r(4, 4), number(5)),
    "rows of a number": (r(20), number(3)),
    "a row": (r(4, 3), number(5)),
    "in two": (r(20, 3), torch.tensor([3, 16])),
}


@pytest.mark.cpu
@pytest.mark.parametrize("name", REFUSED)
def test_what_torch_assumed_is_checked(name: str) -> None:
    func, sizes, shapes = CASES[name]
    run = compiled(from_exported_program(program(func, sizes[0], shapes)))
    for args in sizes:
        wanted = func(*args)
        assert_same(run(*args), wanted if isinstance(wanted, (tuple, list)) else (wanted,))
    with pytest.raises(TVMError):
        run(*REFUSED[name])


def test_derived_extents() -> None:
    n = torch.export.Dim("n", min=1, max=50)
    args = (r(8, 4), r(4, 4))
    made = program(lambda x, y: x[: y.shape[0]] + y, args, ({0: 2 * n}, {0: n}))
    interpreter = Interpreter(from_exported_program(made))
    x, y = r(20, 4), r(10, 4)
    assert_same(interpreter.run("main", x.numpy(), y.numpy()), (x[:10] + y,))
    with pytest.raises(TVMError):
        interpreter.run("main", r(21, 4).numpy(), y.numpy())


def test_numbers_that_may_be_negative_are_plain_variables() -> None:
    made = program(lambda x, n: x * n.item(), (r(5), number(3)), (ROWS, None))
    assert "T.int64()" in from_exported_program(made).script()


def patches(x: Any) -> Any:
    """What windows count and what a division counts is the same, which nothing here proves."""
    seen = F.conv2d(x, torch.ones(1, 1, 3, 3) / 9, stride=3).flatten(2)
    return seen + torch.arange((x.shape[2] // 3) * (x.shape[3] // 3)).reshape(1, 1, -1)


@pytest.mark.cpu
def test_extents_that_only_run_equal() -> None:
    run = compiled(from_exported_program(program(patches, (r(1, 1, 6, 9),), ({2: OPEN, 3: OPEN},))))
    for shape in ((6, 9), (7, 11), (12, 5), (3, 3)):
        x = r(1, 1, *shape)
        assert_same(run(x), (patches(x),))


@pytest.mark.cpu
def test_parts_of_a_concatenation_before_a_product() -> None:
    """Where the parts meet is an extent of its own, which the kernels of the products need."""
    weight = r(6, 4)

    def parts(x: Any, y: Any) -> Any:
        whole, n = torch.cat([x, y], 1), x.shape[1]
        return whole[:, :n] @ weight + 1, whole[:, n:] @ weight + 1

    sizes: Sizes = [(r(2, 5, 6), r(2, 3, 6)), (r(3, 2, 6), r(3, 7, 6)), (r(1, 1, 6), r(1, 4, 6))]
    run = compiled(from_exported_program(program(parts, sizes[0], (BOTH, BOTH))))
    for given in sizes:
        assert_same(run(*given), parts(*given))
