"""Elements picked and written by index, sorted and searched."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.topi.sweep.case import Case, case, floats, ints, numbers
from tvm import topi

INDEX = ("int32", "int64")


def picks() -> list[Case]:
    cases = []
    for mode, dtype, axis in product(("clip", "wrap", "fast"), (*INDEX, "uint8"), (None, 0, -1)):
        beyond = mode != "fast" and dtype != "uint8"
        index = np.array([[0, -5], [7, 1]] if beyond else [[0, 2], [1, 1]], dtype)
        cases.append(
            case("take", [floats(3, 4), index],
                 lambda a, j, k=axis, m=mode: np.take(
                     a, j.astype("int64"), k, mode="raise" if m == "fast" else m),
                 axis=axis, mode=mode)
        )  # fmt: skip
    x = floats(2, 3, 4)
    cases.append(
        case("take", [x, ints(2, 5, low=0, high=3)], axis=1, batch_dims=1,
             wanted=lambda a, j: np.stack([a[k][j[k]] for k in range(2)]))
    )  # fmt: skip
    for axis, dtype in product((0, 1, -1), (*INDEX, "uint32")):
        shape = [3, 4]
        shape[axis] = 2
        cases.append(
            case("gather", [floats(3, 4), ints(*shape, low=0, high=3, dtype=dtype)],
                 lambda a, j, k=axis: np.take_along_axis(a, j.astype("int64"), k),
                 lambda a, j, k=axis: topi.gather(a, k, j))
        )  # fmt: skip
    deep = floats(3, 4, 2)
    for dtype in (*INDEX, "uint8", "float32"):
        cases.append(
            case("gather_nd", [deep, np.array([[0, 2.6], [1, 3]]).astype(dtype)],
                 lambda a, j: a[tuple(j.astype(int))], symbolic=False)
        )  # fmt: skip
    cases += [
        case("gather_nd", [deep, np.int32([0, 2, 1])], lambda a, j: a[0, 2, 1], symbolic=False),
        case("gather_nd", [deep, np.int32([[0, 2, 1]])], symbolic=False, batch_dims=1,
             wanted=lambda a, j: np.stack([a[k, j[0, k]] for k in range(3)])),
    ]  # fmt: skip
    y = floats(4, 5, 6)
    j, k = ints(2, 3, low=0, high=4), ints(3, low=0, high=5)
    cases += [
        case("adv_index", [y, j], lambda a, *t: a[t], lambda a, *t: topi.adv_index(a, t)),
        case("adv_index", [y, j, k], lambda a, *t: a[t], lambda a, *t: topi.adv_index(a, t)),
        case("index_tensor", [y, k % 4, ints(3, low=0, high=6)], lambda a, j, k: a[j, :, k],
             lambda a, j, k: topi.index_tensor(a, [j, None, k])),
        case("index_tensor", [y, j], lambda a, j: a[:, j],
             lambda a, j: topi.index_tensor(a, [None, j])),
        case("unravel_index", [ints(4, low=0, high=24), np.int32([2, 3, 4])], symbolic=False,
             wanted=lambda x, s: np.stack(np.unravel_index(x, s)).astype("int32")),
        case("unravel_index", [np.int64(17), np.int64([2, 3, 4])], symbolic=False,
             wanted=lambda x, s: np.stack(np.unravel_index(x, s)).astype("int64")),
    ]  # fmt: skip
    return cases


def chosen() -> list[Case]:
    cases = []
    for kind in (numbers(3, 4, dtype="bool"), ints(3, 4, low=0, high=2), floats(3, 4).round(),
                 numbers(3, 1, dtype="bool"), numbers(dtype="bool")):  # fmt: skip
        cases.append(case("where", [kind, floats(3, 4), floats(3, 4) + 1], np.where))
        cases.append(
            case("where", [kind, ints(3, 4), ints(4)],
                 lambda c, x, y: np.broadcast_to(np.where(c, x, y), (3, 4)))
        )  # fmt: skip
    for axis, dtype in product((-1, 0, 1), ("float32", "int32", "bool", "int8")):
        cases.append(
            case("one_hot", [ints(2, 3, low=0, high=5)],
                 lambda j, k=axis, d=dtype: np.moveaxis(np.eye(5)[j], -1, k).astype(d),
                 on_value=1, off_value=0, depth=5, axis=axis, dtype=dtype)
        )  # fmt: skip
    for axis, value in product((0, 1), (0, -3.5)):
        cases.append(
            case("sequence_mask", [floats(4, 4, 2), np.int32([0, 3, 4, 1])], masked(axis, value),
                 axis=axis, mask_value=value)
        )  # fmt: skip
    cases += [
        case("sparse_to_dense", [np.int32(3), floats()], symbolic=False,
             wanted=lambda j, v: np.where(np.arange(5) == 3, v, 0).astype("float32"),
             call=lambda j, v: topi.sparse_to_dense(j, (5,), v)),
        case("sparse_to_dense", [np.int64([[0, 1], [1, 2]]), ints(2)], symbolic=False,
             wanted=lambda j, v: np.int32([[0, v[0], 0], [0, 0, v[1]]]),
             call=lambda j, v: topi.sparse_to_dense(j, (2, 3), v)),
    ]  # fmt: skip
    for k, align in product((0, 1, (0, 1), (-1, 1)), ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT")):
        low, high = k if isinstance(k, tuple) else (k, k)
        longest = max(min(4 - max(d, 0), 3 + min(d, 0)) for d in range(low, high + 1))
        shape = (2, longest) if low == high else (2, high - low + 1, longest)
        cases.append(
            case("matrix_set_diag", [floats(2, 3, 4), floats(*shape) + 5], symbolic=False,
                 wanted=lambda a, d, k=k, x=align: topi.testing.matrix_set_diag(a, d, k, x),
                 k=k, align=align)
        )  # fmt: skip
    return cases


def masked(axis: int, value: float) -> Any:
    def wanted(a: Any, lengths: Any) -> Any:
        out = np.moveaxis(a.copy(), axis, 1)
        for row, n in zip(out, lengths):
            row[n:] = value
        return np.moveaxis(out, 1, axis)

    return wanted


def orders() -> list[Case]:
    cases = []
    for axis, upward in product((0, 1, -1), (True, False)):
        for dtype in ("float32", "int32", "float16", "uint8"):
            x = np.random.default_rng(0).permutation(60).reshape(3, 4, 5).astype(dtype)
            cases.append(
                case("sort", [x], lambda a, k=axis, u=upward: np.sort(a, k) if u else np.flip(
                    np.sort(a, k), k), symbolic=dtype == "float32", axis=axis, is_ascend=upward)
            )  # fmt: skip
        for out in ("float32", "int64"):
            cases.append(
                case("argsort", [x.astype("float32")],
                     lambda a, k=axis, u=upward, o=out: np.argsort(a if u else -a, k).astype(o),
                     symbolic=False, axis=axis, is_ascend=upward, dtype=out)
            )  # fmt: skip
        for what, k in product(("both", "values", "indices"), (1, 2, -1)):
            cases.append(
                case("topk", [x.astype("float32")], first(what, k, axis, upward),
                     symbolic=k == 2, k=k, axis=axis, ret_type=what, is_ascend=upward)
            )  # fmt: skip
    cases.append(
        case("argsort", [floats(3, 5), np.int32([2, 5, 0])], symbolic=False,
             wanted=lambda a, n: np.float32([[*np.argsort(r[:m]), *range(m, 5)]
                                             for r, m in zip(a, n)]))
    )  # fmt: skip
    for right, dtype, out in product((False, True), ("float32", "int32"), INDEX):
        rows = np.sort(floats(3, 7, low=0, high=9).astype(dtype), -1)
        values = floats(3, 4, low=0, high=9).astype(dtype)
        side = "right" if right else "left"
        cases += [
            case("searchsorted", [rows, values], right=right, out_dtype=out,
                 wanted=lambda a, v, s=side, o=out: np.stack(
                     [np.searchsorted(r, x, s) for r, x in zip(a, v)]).astype(o)),
            case("searchsorted", [rows[0], values], right=right, out_dtype=out,
                 wanted=lambda a, v, s=side, o=out: np.searchsorted(a, v, s).astype(o)),
        ]  # fmt: skip
    return cases


def first(what: str, k: int, axis: int, upward: bool) -> Any:
    def wanted(a: Any) -> Any:
        count = k if k > 0 else a.shape[axis]
        order = np.take(np.argsort(a if upward else -a, axis), range(count), axis)
        values = np.take_along_axis(a, order, axis)
        return {"both": [values, order], "values": values, "indices": order}[what]

    return wanted


JOIN = {"update": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": np.minimum,
        "max": np.maximum}  # fmt: skip


def writes() -> list[Case]:
    cases = []
    for how, dtype in product(JOIN, INDEX):
        for axis in (0, -1):
            cases.append(
                case("scatter_elements", [floats(4, 4), ints(3, 3, low=-4, high=4, dtype=dtype),
                                          floats(3, 3) + 1],
                     scattered(how, axis), symbolic=dtype == "int64", axis=axis, reduction=how)
            )  # fmt: skip
        for data, index, update in (((4, 5, 3), (2, 6), (6, 3)), ((4, 5), (2, 2, 3), (2, 3))):
            cases.append(
                case("scatter_nd", [floats(*data), ints(*index, low=0, high=4, dtype=dtype),
                                    floats(*update) + 1],
                     written(how), symbolic=False, mode=how)
            )  # fmt: skip
    for add in (False, True):
        cases.append(
            case("index_put", [floats(4, 5), np.int64([0, 2, 3]), np.int64([1, 1, 4]), floats(3)],
                 put(add), lambda d, j, k, v, add=add: topi.index_put(d, [j, k], v, add),
                 symbolic=False)
        )  # fmt: skip
    for axis, begin, end, step in ((0, 1, 4, 1), (1, 0, 5, 2), (-1, 1, 5, 2)):
        own: list[Any] = [slice(None)] * 2
        own[axis] = slice(begin, end, step)

        def replaced(a: Any, v: Any, own: Any = tuple(own)) -> Any:
            out = a.copy()
            out[own] = v
            return out

        x = floats(4, 5)
        cases.append(case("slice_scatter", [x, x[tuple(own)] + 1], replaced, symbolic=False,
                          start=begin, end=end, step=step, axis=axis))  # fmt: skip
    return cases


def scattered(how: str, axis: int) -> Any:
    def wanted(data: Any, index: Any, update: Any) -> Any:
        out = data.copy()
        for at in np.ndindex(*index.shape):
            goal = list(at)
            goal[axis] = index[at]
            out[tuple(goal)] = JOIN[how](out[tuple(goal)], update[at])
        return out

    return wanted


def written(how: str) -> Any:
    def wanted(data: Any, index: Any, update: Any) -> Any:
        out = data.copy()
        for at in np.ndindex(*index.shape[1:]):
            goal = tuple(index[(slice(None), *at)])
            out[goal] = JOIN[how](out[goal], update[at])
        return out

    return wanted


def put(add: bool) -> Any:
    def wanted(data: Any, j: Any, k: Any, v: Any) -> Any:
        out = data.copy()
        if add:
            np.add.at(out, (j, k), v)
        else:
            out[j, k] = v
        return out

    return wanted


CASES = [*picks(), *chosen(), *orders(), *writes()]
