"""Products on CUDA: operands padded with zeros to tiles that tensor cores multiply.

    (m, k) x (n, k)      ->      (m + dm, k + dk) x (n + dn, k + dk), and the corner of the result

A tile (m, k, n) is padded to only where that takes less than three times the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.relay import op as R
from tvm.relay.op import nn

Tile = tuple[int, int, int]
TILES: Final[dict[str, tuple[Tile, ...]]] = {
    **dict.fromkeys(("float16", "int8", "uint8"), ((16, 16, 16), (32, 16, 8), (8, 16, 32))),
    **dict.fromkeys(("int4", "uint4"), ((8, 32, 8),)),
}
WORDS: Final[Tile] = (4, 4, 4)  # four 8-bit numbers are multiplied by one instruction
MAX_PADDING_RATIO: Final = 2.0


def pad_to_tensorcore(m: int, k: int, n: int, tiles: Sequence[Tile]) -> tuple[Tile, float]:
    """What is lacking to whole tiles of the cheapest size, and the further work as a ratio."""
    lacking = [(-m % tm, -k % tk, -n % tn) for tm, tk, tn in tiles]
    work = [(m + dm) * (k + dk) * (n + dn) - m * k * n for dm, dk, dn in lacking]
    least = min(range(len(work)), key=work.__getitem__)
    return lacking[least], work[least] / (m * k * n)


def _ints(*extents: Any) -> list[int] | None:
    values = [getattr(extent, "value", extent) for extent in extents]
    return values if all(isinstance(v, int) for v in values) else None


def _padding(
    m: Any, k: Any, n: Any, tiles: Sequence[Tile], words: bool = False
) -> Tile | None:
    """The zeros to add to each extent; None where none are needed or they are too many."""
    known = _ints(m, k, n)
    if known is None:
        return None
    found, ratio = pad_to_tensorcore(known[0], known[1], known[2], tiles)
    if ratio > MAX_PADDING_RATIO and words:
        found, ratio = pad_to_tensorcore(known[0], known[1], known[2], (WORDS,))
    return found if any(found) and ratio <= MAX_PADDING_RATIO else None


def _padded(x: Any, *behind: int) -> Any:
    return nn.pad(x, tuple((0, amount) for amount in behind)) if any(behind) else x


def _corner(x: Any, out_type: Any) -> Any:
    end = [int(extent) for extent in out_type.shape]
    return R.strided_slice(x, begin=[0] * len(end), end=end)


def dense_legalize(attrs: Any, inputs: Sequence[Any], types: Sequence[Any]) -> Any:
    """A product of matrices, (m, k) and (n, k)."""
    dtype, x, w = str(types[0].dtype), types[0], types[1]
    if dtype not in TILES or len(x.shape) != 2:
        return None
    found = _padding(x.shape[0], x.shape[1], w.shape[0], TILES[dtype], "int8" in dtype)
    if found is None:
        return None
    dm, dk, dn = found
    options = {**dict(attrs.items()), "units": None}
    made = nn.dense(_padded(inputs[0], dm, dk), _padded(inputs[1], dn, dk), **options)
    return _corner(made, types[2]) if dm or dn else made


def batch_matmul_legalize(attrs: Any, inputs: Sequence[Any], types: Sequence[Any]) -> Any:
    """Products of matrices, (b, m, k) and (b, n, k), or with either transposed."""
    dtype = str(types[0].dtype)
    if dtype not in TILES:
        return None
    m, k = types[0].shape[1:] if not attrs.transpose_a else reversed(types[0].shape[1:])
    n = types[1].shape[1 if attrs.transpose_b else 2]
    found = _padding(m, k, n, TILES[dtype])
    if found is None:
        return None
    dm, dk, dn = found
    x = _padded(inputs[0], 0, *((dk, dm) if attrs.transpose_a else (dm, dk)))
    y = _padded(inputs[1], 0, *((dn, dk) if attrs.transpose_b else (dk, dn)))
    made = nn.batch_matmul(x, y, **dict(attrs.items()))
    return _corner(made, types[2]) if dm or dn else made


def conv2d_legalize(attrs: Any, inputs: Sequence[Any], types: Sequence[Any]) -> Any:
    """A convolution as the product that it is: images, channels, filters."""
    dtype, layouts = str(types[0].dtype), (attrs.data_layout, attrs.kernel_layout)
    if layouts == ("NCHW", "OIHW"):
        return _words_of_channels(attrs, inputs, types) if dtype in ("int8", "uint8") else None
    axes = {("NHWC", "HWIO"): (0, 3, 2, 3), ("HWNC", "HWOI"): (2, 3, 3, 2)}.get(layouts)
    if axes is None or dtype not in TILES:
        return None
    image, channel, inward, outward = axes
    tiles = TILES[dtype]
    if layouts[0] == "HWNC":
        tiles = tuple(tile for tile in tiles if tile[0] == 8)
    data, kernel = types[0].shape, types[1].shape
    found = _padding(data[image], data[channel], kernel[outward], tiles)
    if found is None:
        return None
    images, channels, filters = found
    x = _padded_at(inputs[0], {image: images, channel: channels})
    w = _padded_at(inputs[1], {inward: channels, outward: filters})
    options = dict(attrs.items())
    if filters:
        options["channels"] = int(kernel[outward]) + filters
    made = nn.conv2d(x, w, **options)
    return _corner(made, types[2]) if images or filters else made


def _padded_at(x: Any, amounts: dict[int, int]) -> Any:
    return _padded(x, *(amounts.get(axis, 0) for axis in range(4)))


def _words_of_channels(attrs: Any, inputs: Sequence[Any], types: Sequence[Any]) -> Any:
    known = _ints(types[0].shape[1], types[1].shape[0])
    if known is None or int(attrs.groups) != 1:
        return None
    channels, filters = -known[0] % 4, -known[1] % 4
    if not channels and not filters:
        return None
    x = _padded_at(inputs[0], {1: channels})
    w = _padded_at(_padded_at(inputs[1], {1: channels}), {0: filters})
    options = dict(attrs.items())
    if filters:
        options["channels"] = known[1] + filters
    made = nn.conv2d(x, w, **options)
    return _corner(made, types[2]) if filters else made

