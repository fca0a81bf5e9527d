"""Products with weights of few bits, made by instructions that multiply bytes and sum the products.

Inputs become whole numbers of 24 bits, in steps of their own for each 32 of a row, and these three
digits of 8 bits with sign. A group of 32 inputs and an output is then

    x[k] = step * (n[k, 0] + 256 * n[k, 1] + 65536 * n[k, 2])             |x - x[k]| <= step / 2
    S[d] = sum over k of (q[k] - offset) * n[k, d]                        exact, in 32 bits
    y   += scale * step * (S[0] + 256 * S[1] + 65536 * S[2])              in float32

and so differs from one of float32 by no more than 2**-24 of the largest |x| of 32 for each unit of
weight, beside the rounding of sums that float32 has as well. With fewer digits (`Packed.digits`) an
input has 8 or 16 bits. Where the largest of 32 inputs is below 2**-104 they count as zeros, and a
NaN or an infinity among inputs makes the results of the row NaN.

A word of weights has numbers of 8, 4 or 2 bits: masked (and moved), it is four bytes of inputs
32 / bits apart, by which the digits of the inputs are ordered beforehand. The usual offset is the
start of each sum; what an array says of zero points is subtracted in float32.

    VPDPBUSD, USDOT    u8 x s8, four products to a sum of 32 bits
    SDOT               s8 x s8: numbers of 8 bits get a sign, which takes the offset away
    VPMADDUBSW         u8 x s8, two products to a sum of 16 bits: 16 of numbers of 4 bits fit in it
                       (15 * 128 * 16 < 2**15), VPMADDWD sums pairs of them in 32 bits
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from tvm import tir
from tvm.target import Target
from tvm.tir.op import call_llvm_pure_intrin
from tvm.tir.stmt import ForKind
from tvm.topi.kernel import Kernel
from tvm.topi.loops import let, load, local, loop, sequence, store
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import (
    GROUP,
    LANES,
    MADE_FOR,
    MAX_GEMV_ROWS,
    Packed,
    Weights,
    in_groups,
    scratch,
    serial,
    store_lanes,
    unrolled,
    vector,
)

WORDS: Final = GROUP // 4  # of four bytes, in a group


class Bytes(NamedTuple):
    """How a CPU multiplies bytes: `lanes` sums of 32 bits at once."""

    lanes: int
    dot: str = ""      # four products added to a sum
    signed: bool = False
    pairs: str = ""    # two products in 16 bits
    sums: str = ""     # pairs of these in 32 bits

    @property
    def max_bits(self) -> int:
        """Of weights."""
        return 8 if self.dot else 4


_X86: Final = "llvm.x86."
_NEON: Final = "llvm.aarch64.neon."
_LANES_OF: Final = {512: 16, 256: 8, 128: 4}


def bytes_of(target: Target | None) -> Bytes | None:
    """The instructions of a target; None if it has none, or its code is not made by LLVM."""
    if target is None or not target.kind.traits.machine_code or "gpu" in target.keys:
        return None
    cpu = target.cpu
    has, lanes = cpu.features, _LANES_OF.get(cpu.vector_bits, 4)
    if cpu.arch == "aarch64":
        if "i8mm" in has:
            return Bytes(4, _NEON + "usdot.v4i32.v16i8")
        return Bytes(4, _NEON + "sdot.v4i32.v16i8", True) if "dotprod" in has else None
    if cpu.arch != "x86_64":
        return None
    if lanes == 16 and "avx512vnni" in has:
        return Bytes(16, _X86 + "avx512.vpdpbusd.512")
    if lanes == 8 and not has.isdisjoint(("avx512vnni", "avxvnni")):
        return Bytes(8, _X86 + "avx512.vpdpbusd.256")
    if lanes == 16 and "avx512bw" in has:
        return Bytes(16, pairs=_X86 + "avx512.pmaddubs.w.512", sums=_X86 + "avx512.pmaddw.d.512")
    if "avx2" in has:
        return Bytes(8, pairs=_X86 + "avx2.pmadd.ub.sw", sums=_X86 + "avx2.pmadd.wd")
    return None


def for_target(func: tir.PrimFunc, target: Target) -> tir.PrimFunc:
    """The kernel of `few_bits.product`, by bytes if the target multiplies them."""
    said = func.attrs.get(MADE_FOR)
    if not isinstance(said, Mapping):
        return func
    form, rows = Packed(**{key: said[key] for key in said if key != "rows"}), said["rows"]
    how = bytes_of(target)
    func = func.without_attr(MADE_FOR)
    if how is None or form.bits > how.max_bits:
        return func
    made = product(str(func.attrs.get("global_symbol", "product")), form, rows or None, how)
    if "global_symbol" not in func.attrs:
        made = made.without_attr("global_symbol")
    return made.with_attrs(func.attrs)


def product(name: str, form: Packed, rows: int | None, how: Bytes) -> tir.PrimFunc:
    """The kernel of `few_bits.product`, few rows of it by bytes."""
    return few_bits.product(name, form, rows, lambda *given: _few_rows(how, *given))


class _Inputs(NamedTuple):
    """Rows in whole numbers: buffers of all rows, one after another."""

    digits: tir.Buffer  # words of four inputs: (row, group, digit, WORDS)
    steps: tir.Buffer   # (row, group)
    starts: tir.Buffer  # int32 of sums: (row, group, digit); float32 of zero points: (row, group)


def _few_rows(
    how: Bytes, kernel: Kernel, weights: Weights, rows: Any, x: tir.Buffer, y: tir.Buffer
) -> tir.Stmt:
    form = weights.form
    parts, most = form.inputs // GROUP, 1 if rows == 1 else MAX_GEMV_ROWS
    count = most * parts

    def body(inputs: _Inputs) -> tir.Stmt:
        def block(b: Any) -> tir.Stmt:
            return in_groups(rows, (1,) if rows == 1 else (4, 2, 1), lambda row, high: (
                _sums_of_block(how, weights, b, inputs, y, row, high)
            ))  # fmt: skip

        prepare = loop(tir.const(0, "int64") + rows, lambda r: serial(
            parts, lambda p: _prepare(how, form, x, inputs, r, p), "part"
        ), "row")  # fmt: skip
        return sequence(prepare, kernel.rows((form.blocks,), block))

    starts, kind = (count, "float32") if form.zeros else (count * form.digits, "int32")

    def buffers(digits: tir.Buffer) -> tir.Stmt:
        return scratch(count, "steps", lambda steps: scratch(
            starts, "starts", lambda start: body(_Inputs(digits, steps, start)), kind
        ))  # fmt: skip

    return scratch(count * form.digits * WORDS, "digits", buffers, "int32")


def _prepare(
    how: Bytes, form: Packed, x: tir.Buffer, inputs: _Inputs, r: Any, p: Any
) -> tir.Stmt:
    """32 inputs as whole numbers: their step, their digits, what sums start with."""
    digits, at = form.digits, r * (form.inputs // GROUP) + p
    top = float(127 << 8 * (digits - 1))  # so that its highest digit is one with sign
    half = sum(0x80 << 8 * d for d in range(digits))
    stride = 8 // form.bits

    def value(i: Any) -> Any:
        return load(x, r, p * GROUP + i)

    def tree(values: list[Any], join: Callable[[Any, Any], Any]) -> Any:
        while len(values) > 1:
            values = [join(*pair) for pair in zip(values[::2], values[1::2])]
        return values[0]

    def largest(high: tir.Buffer, nothing: tir.Buffer) -> tir.Stmt:
        def lane(i: Any) -> tir.Stmt:
            a, b = value(i), value(i + LANES)
            return sequence(
                store(high, tir.Max(tir.abs(a), tir.abs(b)), i),
                store(nothing, a * 0.0 + b * 0.0, i),  # NaN, if one of them is no finite number
            )

        return vector(lane)

    def numbers(n: tir.Buffer, scale: Any) -> tir.Stmt:
        def lane(first: int, i: Any) -> tir.Stmt:
            number = tir.nearbyint(value(i + first) * scale)
            kept = tir.Select(tir.abs(number) <= float(0x7FFFFF), number, tir.const(0.0, "float32"))
            whole = kept.astype("int32") + tir.const(half, "int32")
            return store(n, tir.bitwise_xor(whole, tir.const(half, "int32")), i + first)

        return sequence(*(vector(partial(lane, first)) for first in (0, LANES)))

    def word(n: tir.Buffer, d: int) -> Callable[[Any], tir.Stmt]:
        def lane(w: Any) -> tir.Stmt:
            first = tir.floordiv(w, stride) * form.per_word + tir.floormod(w, stride)
            whole: Any = tir.const(0, "int32")
            for i in range(4):
                moved = tir.shift_right(load(n, first + i * stride), tir.const(8 * d, "int32"))
                byte = tir.bitwise_and(moved, tir.const(255, "int32"))
                whole = tir.bitwise_or(whole, tir.shift_left(byte, tir.const(8 * i, "int32")))
            return store(inputs.digits, whole, (at * digits + d) * WORDS + w)

        return lane

    def starts(total: tir.Buffer) -> tir.Stmt:
        byte = 1 if form.zeros else 0 if _flips(how, form) else form.offset
        word = tir.Broadcast(tir.const(byte * 0x01010101, "uint32"), how.lanes)
        sums = sequence(
            _all_lanes(total, how, digits, lambda d: tir.const(0, "int32")),
            _dots(how, total, inputs.digits, [at], digits, [lambda w: word]),
        )
        found = [load(total, d * how.lanes) for d in range(digits)]
        if not form.zeros:
            kept = [store(inputs.starts, -value, at * digits + d) for d, value in enumerate(found)]
            return sequence(sums, *kept)
        return sequence(sums, store(inputs.starts, -_joined(found), at))

    def rest(high: Any, nothing: Any) -> tir.Stmt:
        zero = tir.const(0.0, "float32")
        return let(tir.Select(high > 0.0, top / high, zero), lambda scale: sequence(
            store(inputs.steps, high * (1 / top) + nothing, at),
            local("int32", lambda n: sequence(
                numbers(n, scale),
                *(loop(tir.const(WORDS, "int64"), word(n, d), "word", ForKind.VECTORIZED)
                  for d in range(digits)),
            ), GROUP, "n"),
            local("int32", starts, digits * how.lanes, "total"),
        ), "scale")  # fmt: skip

    return local("float32", lambda high: local("float32", lambda nothing: sequence(
        largest(high, nothing),
        let(tree([load(high, i) for i in range(LANES)], tir.Max), lambda m: let(
            tree([load(nothing, i) for i in range(LANES)], lambda a, b: a + b),
            lambda none: rest(m, none), "none",
        ), "high"),
    ), LANES, "nothing"), LANES, "high")  # fmt: skip


def _flips(how: Bytes, form: Packed) -> bool:
    """Whether numbers of 8 bits get a sign."""
    return how.signed and form.bits == 8


def _all_lanes(
    buffer: tir.Buffer, how: Bytes, count: int, value: Callable[[int], Any]
) -> tir.Stmt:
    """Vectors with one number each."""
    return unrolled(count, lambda c: buffer.vstore(
        [c * how.lanes], tir.Broadcast(value(c), how.lanes)
    ))  # fmt: skip


def _joined(digits: Sequence[Any]) -> Any:
    """The sum that sums of digits stand for; two of them fit into 32 bits."""
    low = digits[0]
    if len(digits) > 1:
        low = low + tir.shift_left(digits[1], tir.const(8, "int32"))
    whole = low.astype("float32")
    return whole + digits[2].astype("float32") * 65536.0 if len(digits) > 2 else whole


def _dots(
    how: Bytes, total: tir.Buffer, numbers: tir.Buffer, groups: Sequence[Any], digits: int,
    words: Sequence[Callable[[int], Any]],
) -> tir.Stmt:  # fmt: skip
    """Add to sums (vector, group, digit) the products of 32 inputs and weights.

    `words[v](w)` are four inputs' weights for the lanes of a vector.
    """
    lanes, count = how.lanes, len(groups) * digits
    sums = [(g * digits + d, (group * digits + d) * WORDS) for g, group in enumerate(groups)
            for d in range(digits)]  # fmt: skip

    def as_bytes(vector: Any) -> Any:
        return tir.reinterpret(f"int8x{4 * lanes}", vector)

    def product(position: int, inputs: Any, w: int, weights: Any) -> tir.Stmt:
        kind = f"int32x{lanes}"
        pair = (tir.reinterpret(kind, weights), inputs)
        if not how.dot.startswith(_X86):
            pair = (as_bytes(pair[0]), as_bytes(pair[1]))
        before = total.vload([position * lanes], kind)
        after = call_llvm_pure_intrin(kind, how.dot, before, *pair)
        return total.vstore([position * lanes], after)

    def half(halves: tir.Buffer, position: int, inputs: Any, w: int, weights: Any) -> tir.Stmt:
        kind = f"int16x{2 * lanes}"
        pair = (as_bytes(weights), as_bytes(inputs))
        found = call_llvm_pure_intrin(kind, how.pairs, *pair)
        where = [position * 2 * lanes]
        return halves.vstore(where, halves.vload(where, kind) + found if w else found)

    def whole(halves: tir.Buffer, position: int) -> tir.Stmt:
        kind = f"int32x{lanes}"
        pairs = halves.vload([position * 2 * lanes], f"int16x{2 * lanes}")
        ones = tir.Broadcast(tir.const(1, "int16"), 2 * lanes)
        found = call_llvm_pure_intrin(kind, how.sums, pairs, ones)
        return total.vstore([position * lanes], total.vload([position * lanes], kind) + found)

    def each_word(add: Callable[..., tir.Stmt]) -> tir.Stmt:
        def of_word(w: int, vectors: tuple[Any, ...]) -> tir.Stmt:
            if len(vectors) < len(words):
                value = words[len(vectors)](w)
                return let(value, lambda v: of_word(w, (*vectors, v)), "weights")
            return sequence(*(
                let(tir.Broadcast(load(numbers, at + w), lanes), lambda given, n=number: sequence(*(
                    add(v * count + n, given, w, weights) for v, weights in enumerate(vectors)
                )), "inputs") for number, at in sums
            ))  # fmt: skip

        return unrolled(WORDS, lambda w: of_word(w, ()))

    if how.dot:
        return each_word(product)
    positions = range(len(words) * count)
    return local("int16", lambda halves: sequence(
        each_word(lambda *given: half(halves, *given)), *(whole(halves, p) for p in positions)
    ), len(positions) * 2 * lanes, "halves")  # fmt: skip


def _sums_of_block(
    how: Bytes, weights: Weights, block: Any, inputs: _Inputs, y: tir.Buffer, row: Any, high: int
) -> tir.Stmt:
    """16 results of `high` rows."""
    form, lanes = weights.form, how.lanes
    digits, parts = form.digits, form.inputs // GROUP
    vectors = range(0, LANES, lanes)
    together = 1 if high > 1 or lanes == LANES else 2  # vectors that share what they read of inputs

    def group(acc: tir.Buffer, total: tir.Buffer, g: Any) -> tir.Stmt:
        groups = [(row + r) * parts + g for r in range(high)]

        def start(c: int) -> Any:
            r, d = c // digits % high, c % digits
            return tir.const(0, "int32") if form.zeros else load(
                inputs.starts, groups[r] * digits + d
            )  # fmt: skip

        def scaled(v: int, lane: int, r: int) -> Callable[[Any], tir.Stmt]:
            found = (v * high + r) * digits

            def one(i: Any) -> tir.Stmt:
                value = _joined([load(total, (found + d) * lanes + i) for d in range(digits)])
                if form.zeros:
                    zero = weights.zero(block, g, lane + i)
                    less = zero - float(form.offset) if _flips(how, form) else zero
                    value = less * load(inputs.starts, groups[r]) + value
                step = weights.scaled(load(inputs.steps, groups[r]), block, g, lane + i)
                at = r * LANES + lane + i
                return store(acc, value * step + load(acc, at), at)

            return one

        def some(chosen: Sequence[int]) -> tir.Stmt:
            words = [_word_of(how, weights, block, g, lane) for lane in chosen]
            return sequence(
                _all_lanes(total, how, len(chosen) * high * digits, start),
                _dots(how, total, inputs.digits, groups, digits, words),
                *(loop(tir.const(lanes, "int64"), scaled(v, lane, r), "lane", ForKind.VECTORIZED)
                  for v, lane in enumerate(chosen) for r in range(high)),
            )  # fmt: skip

        return sequence(*(
            some(vectors[v : v + together]) for v in range(0, len(vectors), together)
        ))  # fmt: skip

    def body(acc: tir.Buffer, total: tir.Buffer) -> tir.Stmt:
        return sequence(
            unrolled(high, lambda r: vector(lambda i: store(acc, 0.0, r * LANES + i))),
            serial(parts, lambda g: group(acc, total, g), "group"),
            unrolled(high, lambda r: store_lanes(
                form, block, lambda i: load(acc, r * LANES + i),
                lambda value, n: store(y, value, row + r, n),
            )),
        )  # fmt: skip

    return local("float32", lambda acc: local(
        "int32", lambda total: body(acc, total), together * high * digits * lanes, "total"
    ), high * LANES, "acc")  # fmt: skip


def _word_of(
    how: Bytes, weights: Weights, block: Any, g: Any, lane: int
) -> Callable[[int], Any]:
    """Four inputs' weights of a group for the outputs from a lane on."""
    form, lanes = weights.form, how.lanes
    stride = 8 // form.bits

    def all_lanes(number: int) -> Any:
        return tir.Broadcast(tir.const(number, "uint32"), lanes)

    def word(w: int) -> Any:
        at = [block, g * form.bits + w // stride, tir.const(lane, "int64")]
        value = weights.q.vload(at, f"uint32x{lanes}")
        if _flips(how, form):
            return tir.bitwise_xor(value, all_lanes(0x80808080))
        if form.bits == 8:
            return value
        if w % stride:
            value = tir.shift_right(value, all_lanes(w % stride * form.bits))
        return tir.bitwise_and(value, all_lanes(((1 << form.bits) - 1) * 0x01010101))

    return word
