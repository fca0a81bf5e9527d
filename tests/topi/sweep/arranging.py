"""Elements moved, picked, joined and made."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tests.topi.sweep.case import Case, case, floats, ints, numbers
from tvm import topi


def broadcasts() -> list[Case]:
    return [
        case("broadcast_to", [floats(*shape)], lambda a, t=to: np.broadcast_to(a, t),
             symbolic=False, shape=to)
        for shape, to in (((), (10,)), ((4,), (3, 4)), ((1, 2, 1), (3, 2, 4)), ((1,), (5, 3)))
    ]  # fmt: skip


def axes() -> list[Case]:
    x = floats(2, 3, 4)
    cases = [
        case("expand_dims", [x], lambda a, k=k: np.expand_dims(a, k), axis=k) for k in range(-4, 4)
    ]
    cases += [
        case("expand_dims", [x], lambda a: a.reshape(2, 1, 1, 3, 4), axis=1, num_newaxis=2),
        case("expand_dims", [floats()], lambda a: a.reshape(1), axis=0),
        case("expand_like", [floats(3), floats(2, 3)], lambda a, b: np.broadcast_to(a, (2, 3)),
             axis=[0]),
        case("expand_like", [floats(3), floats(3, 2)],
             lambda a, b: np.broadcast_to(a[:, None], (3, 2)), axis=[-1]),
    ]  # fmt: skip
    for order, dtype in product((None, (1, 0, 2), (0, -1, 1)), ("float32", "int8", "bool")):
        y = numbers(2, 3, 4, dtype=dtype)
        cases.append(case("transpose", [y], lambda a, o=order: a.transpose(o), axes=order))
    for k in range(-3, 3):
        cases.append(case("flip", [x], lambda a, k=k: np.flip(a, k), axis=k))
    for axis in (None, 0, 2, (0, 2), -1):
        cases.append(
            case("squeeze", [floats(1, 3, 1)], lambda a, k=axis: np.squeeze(a, k), axis=axis)
        )
    for shape, to in (((2, 6), (3, 4)), ((2, 6), (12,)), ((2, 6), (1, 12, 1)), ((1,), ()),
                      ((), (1, 1)), ((0, 3), (3, 0))):  # fmt: skip
        cases.append(case("reshape", [floats(*shape)], lambda a, t=to: a.reshape(t),
                          symbolic=False, newshape=to))  # fmt: skip
    for dtype, (along, batch) in product(("int32", "int64"), ((1, 0), (0, 1))):
        lengths = np.array([2, 0, 4][: (3, 4)[batch] if along else 3] + [1] * batch, dtype)
        cases.append(
            case("reverse_sequence", [floats(3, 4, 2), lengths], turned(along, batch),
                 seq_axis=along, batch_axis=batch, symbolic=False)
        )  # fmt: skip
    return cases


def turned(along: int, batch: int) -> Any:
    def wanted(a: Any, lengths: Any) -> Any:
        rows = np.moveaxis(a.copy(), (batch, along), (0, 1))
        for row, n in zip(rows, lengths):
            row[:n] = row[:n][::-1].copy()
        return np.moveaxis(rows, (0, 1), (batch, along))

    return wanted


def joins() -> list[Case]:
    cases = []
    for axis in (0, 1, -1):
        shapes = [[2, 3, 4] for _ in range(3)]
        for k, shape in enumerate(shapes):
            shape[axis] += k
        cases.append(
            case("concatenate", [floats(*s) for s in shapes],
                 lambda *a, k=axis: np.concatenate(a, k),
                 lambda *t, k=axis: topi.concatenate(t, k))
        )  # fmt: skip
        cases.append(
            case("stack", [ints(2, 3), ints(2, 3) + 1], lambda *a, k=axis: np.stack(a, k),
                 lambda *t, k=axis: topi.stack(t, k))
        )  # fmt: skip
        cases.append(case("repeat", [floats(2, 3)], lambda a, k=axis: np.repeat(a, 2, k),
                          repeats=2, axis=axis))  # fmt: skip
    for cut, axis in ((2, 0), (2, 1), ((1, 3), 1), ([1], 0), (3, -1)):
        cases.append(case("split", [floats(4, 6, 6)], lambda a, c=cut, k=axis: np.split(a, c, k),
                          indices_or_sections=cut, axis=axis))  # fmt: skip
    cases.append(case("split", [floats(5)], lambda a: [a[:2], a[2:4], a[4:]], symbolic=False,
                      indices_or_sections=3))  # fmt: skip
    for reps in ((2,), (2, 3), (2, 1, 3)):
        cases.append(case("tile", [floats(2, 3)], lambda a, r=reps: np.tile(a, r), reps=reps))
    x = floats(1, 8, 2, 3)
    cases += [
        case("layout_transform", [x], lambda a: a.transpose(0, 2, 3, 1), src_layout="NCHW",
             dst_layout="NHWC"),
        case("layout_transform", [x],
             lambda a: a.reshape(1, 2, 4, 2, 3).transpose(0, 1, 3, 4, 2), symbolic=False,
             src_layout="NCHW", dst_layout="NCHW4c"),
        case("layout_transform", [floats(1, 2, 2, 3, 4)], symbolic=False,
             wanted=lambda a: a.transpose(0, 1, 4, 2, 3).reshape(1, 8, 2, 3),
             src_layout="NCHW4c", dst_layout="NCHW"),
    ]  # fmt: skip
    for axis, window, step in ((1, (2,), (1,)), (0, (2, 2), (1, 2)), (-1, (3,), (2,))):
        cases.append(
            case("sliding_window", [floats(4, 7)], windows(axis, window, step), axis=axis,
                 window_shape=window, strides=step)
        )  # fmt: skip
    return cases


def windows(axis: int, window: Any, step: Any) -> Any:
    def wanted(a: Any) -> Any:
        first = axis % a.ndim
        dims = tuple(range(first, first + len(window)))
        view = np.lib.stride_tricks.sliding_window_view(a, window, dims)
        return view[(slice(None),) * first + tuple(slice(None, None, s) for s in step)]

    return wanted


def made() -> list[Case]:
    cases = []
    for bounds in ((5,), (1, 5), (0, 10, 3), (10, 0, -3), (0, 1, 0.25), (0,), (5, 1)):
        for dtype in ("float32", "int64", "float16"):
            cases.append(
                case("arange", [], lambda b=bounds, d=dtype: np.arange(*b).astype(d),
                     lambda b=bounds, d=dtype: topi.arange(*b, dtype=d), symbolic=False)
            )  # fmt: skip
    for k in ((3,), (3, 4), (4, 3, 1), (3, 5, -2)):
        cases.append(case("eye", [], lambda k=k: np.eye(*k, dtype="float32"),
                          lambda k=k: topi.eye(*k), symbolic=False))  # fmt: skip
    for indexing, count in product(("ij", "xy"), (1, 2, 3)):
        cases.append(
            case("meshgrid", [floats(n) for n in (3, 4, 2)[:count]],
                 lambda *a, i=indexing: list(np.meshgrid(*a, indexing=i)),
                 lambda *t, i=indexing: topi.meshgrid(t, i))
        )  # fmt: skip
    for upper, k, dtype in product((True, False), (0, 1, -2), ("float32", "int32", "bool")):
        rule = np.triu if upper else np.tril
        cases.append(case("trilu", [numbers(2, 3, 4, dtype=dtype)], lambda a, f=rule, k=k: f(a, k),
                          k=k, upper=upper))  # fmt: skip
    for size, periodic in ((8, True), (8, False), (1, True)):
        wave = np.ones(1) if size == 1 else 0.54 - 0.46 * np.cos(
            2 * np.pi * np.arange(size) / (size if periodic else size - 1)
        )  # fmt: skip
        cases.append(
            case("hamming_window", [], lambda w=wave: w.astype("float32"), symbolic=False,
                 tolerance=1e-4, window_size=size, periodic=periodic, alpha=0.54, beta=0.46,
                 dtype="float32")
        )  # fmt: skip
    x = floats(2, 3, 4)
    for dtype in ("int32", "int64"):
        cases += [
            case("shape", [x], lambda a, d=dtype: np.array(a.shape, d), dtype=dtype),
            case("tensor_size", [x], lambda a, d=dtype: np.array(a.size, d), dtype=dtype),
        ]
    return cases


def slices() -> list[Case]:
    cases = []
    x = floats(4, 3, 4)
    for begin, end, step in (
        ([0, 1], [2, 3], None), ([1, 0, 2], [2, 3, 4], [1, 1, 1]), ([-1, 0], [-4, 3], [-1, 1]),
        ([0, 0, 0], [9, 9, 9], [2, 2, 3]), ([3, 2, 3], [0, -9, 0], [-1, -1, -2]),
        ([1, 1], [1, 3], [1, 1]),
    ):  # fmt: skip
        cuts = tuple(slice(*cut) for cut in zip(begin, end, step or [1] * len(begin)))
        cases.append(case("strided_slice", [x], lambda a, c=cuts: a[c], symbolic=False,
                          begin=begin, end=end, strides=step))  # fmt: skip
    cases += [
        case("strided_slice", [x], lambda a: a[1:3, :, 1:4:2], symbolic=False, begin=[1, 1],
             end=[3, 4], strides=[1, 2], axes=[0, -1]),
        case("strided_slice", [x], lambda a: a[1:3, 1:], symbolic=False, begin=[1, 1],
             end=[2, -1], slice_mode="size"),
        case("strided_slice", [x], lambda a: a[:, 1:3:2], begin=[1], end=[3], strides=[2],
             axes=[1]),
    ]  # fmt: skip
    for dtype in ("int32", "int64"):
        bounds = [np.array(b, dtype) for b in ([1, 0], [5, 4], [2, 1])]
        cases.append(
            case("dynamic_strided_slice", [floats(6, 5), *bounds], lambda a, *_: a[1:5:2, 0:4],
                 symbolic=False, output_shape=[2, 4])
        )  # fmt: skip
        for begin, end, step in (
            ([3, 0, 0], [4, 1, 4], [1, 1, 1]), ([1, -1, 0], [2, -3, 3], [1, -1, 1]),
        ):  # fmt: skip
            own = tuple(slice(*cut) for cut in zip(begin, end, step))
            y = floats(4, 4, 4)

            def replaced(a: Any, v: Any, *_: Any, own: Any = own) -> Any:
                out = a.copy()
                out[own] = v
                return out

            bounds = [np.array(b, dtype) for b in (begin, end, step)]
            cases.append(case("strided_set", [y, y[own] + 1, *bounds], replaced, symbolic=False))
    return cases


CASES = [*broadcasts(), *axes(), *joins(), *made(), *slices()]
