"""Random bits by counting: each block of four words is a hash of a key and a counter.

A key is 10 words of 64 bits: 0-3 key, 4-5 the path of splits, 6-7 the counter, 8-9 a single bit,
where the next split writes into the path. The hash is Threefry 4x64 with 20 rounds (Salmon et al.,
2011), splitting as Claessen and Palka (2013) have it. Keys and words are those of TVM v0.18.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.topi.loops import load, local, loop, sequence, store, when

_ROTATIONS: Final = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_PARITY: Final = 0x1BD11BDAA9FC1A22
_ROUNDS: Final = 20
_WORD: Final = "uint64"
_MOST: Final = (1 << 64) - 1  # of a counter: no word is made of it


def _word(value: int) -> PrimExpr:
    return tir.const(value, _WORD)


def _hash(key: Any, block: Any, done: Any) -> tir.Stmt:
    """Hash `block(0..3)` under `key(0..3)`; `done(words)` says what becomes of the four words.

    NOTE: two steps differ from the paper, as the words of TVM v0.18 do: the second word of a pair
    is `(a + b) + b` with its turned bits, and no key is added after the last round.
    """

    def rounds(words: tir.Buffer) -> tir.Stmt:
        def subkey(at: int) -> PrimExpr:
            at %= 5
            if at < 4:
                return key(at)  # type: ignore[no-any-return]
            mixed: PrimExpr = _word(_PARITY) ^ key(0) ^ key(1) ^ key(2) ^ key(3)
            return mixed

        steps: list[tir.Stmt] = [store(words, block(k), k) for k in range(4)]
        for step in range(_ROUNDS):
            if step % 4 == 0:
                more = step // 4
                steps += [
                    store(words, load(words, k) + subkey(more + k) + _word(more if k == 3 else 0),
                          k)
                    for k in range(4)
                ]  # fmt: skip
            for (a, b), by in zip(((0, 1), (2, 3)), _ROTATIONS[step % 8]):
                if step % 2:
                    b = 4 - b  # odd rounds mix 0 with 3 and 2 with 1
                steps.append(store(words, load(words, a) + load(words, b), a))
                turned = (load(words, b) << _word(by)) | (load(words, b) >> _word(64 - by))
                steps.append(store(words, turned ^ (load(words, a) + load(words, b)), b))
        return sequence(*steps, done(words))

    return local(_WORD, rounds, 4, "words")


def _extern(shapes: Sequence[Any], inputs: Sequence[te.Tensor], body: Any, name: str) -> Any:
    return te.extern(
        shapes, inputs, body, dtype=[_WORD] * len(shapes),
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(s, _WORD, f"out{k}") for k, s in enumerate(shapes)],
        name=name, tag=name,
    )  # fmt: skip


def _next_bit(old: tir.Buffer) -> tuple[PrimExpr, PrimExpr]:
    """The single bit of words 8 and 9, one to the right."""
    high, low = load(old, 8), load(old, 9)
    return high >> _word(1), tir.Select(
        high.equal(_word(1)), _word(1 << 63),
        tir.Select(high.equal(_word(0)), low >> _word(1), _word(0)),
    )  # fmt: skip


def _with_room(old: tir.Buffer, new: tir.Buffer, count: int) -> tir.Stmt:
    """The key for `count` words: of a longer path, or a fresh one, where the counter is used up."""
    same = [store(new, load(old, k), k) for k in range(10)]
    high, low = _next_bit(old)
    longer = [
        *same[:4], *[store(new, load(old, 4 + k) | load(old, 8 + k), 4 + k) for k in range(2)],
        store(new, _word(0), 6), store(new, _word(0), 7), store(new, high, 8), store(new, low, 9),
    ]  # fmt: skip

    def fresh(words: tir.Buffer) -> tir.Stmt:
        return sequence(*[store(new, load(words, k), k) for k in range(4)],
                        *[store(new, _word(1 << 63 if k == 8 else 0), k)
                          for k in range(4, 10)])  # fmt: skip

    def used_up(k: int) -> PrimExpr:
        return load(old, 4 + k) if k < 2 else _word(_MOST)

    hashed = _hash(lambda k: load(old, k), used_up, fresh)
    return when(
        load(old, 7) < _word(_MOST - count), sequence(*same),
        when(load(old, 8).equal(_word(0)), hashed, sequence(*longer)),
    )  # fmt: skip


def threefry_generate(gen: te.Tensor, out_shape: Sequence[int]) -> list[te.Tensor]:
    """A key for what follows, and random words of a shape."""
    count = 1
    for extent in out_shape:
        count *= int(extent)
    whole, rest = divmod(count, 4)

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        (old,), (new, words) = ins, outs

        def counted(state: tir.Buffer) -> tir.Stmt:
            def block(n: PrimExpr) -> tir.Stmt:
                def put(made: tir.Buffer) -> tir.Stmt:
                    return sequence(*[store(words, load(made, k), n * 4 + k) for k in range(4)])

                return _hash(
                    lambda k: load(state, k), lambda k: load(state, 4 + k) + n.astype(_WORD), put
                )

            def last(made: tir.Buffer) -> tir.Stmt:
                return sequence(*[
                    store(words, load(made, k), 4 * whole + k) for k in range(rest)
                ])  # fmt: skip

            def behind(k: int) -> PrimExpr:
                return load(state, 4 + k) + _word(4 * whole if k == 3 else 0)

            steps = [_with_room(old, state, count)]
            if whole:
                steps.append(loop(whole, block))
            if rest:
                steps.append(_hash(lambda k: load(state, k), behind, last))
            steps += [store(new, load(state, k), k) for k in range(10) if k not in (6, 7)]
            steps += [store(new, _word(0), 6),
                      store(new, load(state, 7) + _word(4 * -(-count // 4)), 7)]  # fmt: skip
            return sequence(*steps)

        return local(_WORD, counted, 10, "state")

    key, words = _extern([(10,), (count,)], [gen], body, "threefry_generate")
    from tvm.topi.reshaping import reshape

    return [key, reshape(words, tuple(out_shape))]


def threefry_split(gen: te.Tensor) -> list[te.Tensor]:
    """Two keys whose words have nothing in common, left and right."""

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        (old,), (left, right) = ins, outs

        def fresh(words: tir.Buffer) -> tir.Stmt:
            """The path has no room: the hash of all so far is the new key."""
            made: list[tir.Stmt] = []
            for out, bit in ((left, 0), (right, 1 << 63)):
                made += [store(out, load(words, k), k) for k in range(4)]
                made += [store(out, _word(bit if k == 4 else 0), k) for k in range(4, 8)]
                made += [store(out, _word(1 << 62), 8), store(out, _word(0), 9)]
            return sequence(*made)

        def longer() -> tir.Stmt:
            made: list[tir.Stmt] = []
            high, low = _next_bit(old)
            for out, taken in ((left, False), (right, True)):
                made += [store(out, load(old, k), k) for k in (0, 1, 2, 3, 6, 7)]
                made += [
                    store(out, load(old, 4 + k) | load(old, 8 + k) if taken else load(old, 4 + k),
                          4 + k)
                    for k in range(2)
                ]  # fmt: skip
                made += [store(out, high, 8), store(out, low, 9)]
            return sequence(*made)

        packed = _hash(lambda k: load(old, k), lambda k: load(old, 4 + k), fresh)
        return when(load(old, 8).equal(_word(0)), packed, longer())

    return list(_extern([(10,), (10,)], [gen], body, "threefry_split"))


def _unit(words: te.Tensor, dtype: str) -> te.Tensor:
    """Words as numbers in [0, 1): bits of them are the fraction of one in [1, 2).

    Of a word that is too long its lower half is taken.
    """
    fraction, bits, one = {
        "float32": (23, "uint32", 0x3F800000), "float64": (52, "uint64", 0x3FF0000000000000),
    }[dtype]  # fmt: skip

    def element(*i: Any) -> PrimExpr:
        word = words[i].astype(bits)
        high = word >> tir.const(DataType(bits).bits - fraction, bits)
        return tir.reinterpret(dtype, high | tir.const(one, bits)) - tir.const(1, dtype)

    made: te.Tensor = te.compute(words.shape, element, name="uniform")
    return made


def uniform(
    gen: te.Tensor, low: te.Tensor, high: te.Tensor, out_shape: Sequence[int], out_dtype: str
) -> list[te.Tensor]:
    """A key for what follows, and numbers in [low, high)."""
    key, words = threefry_generate(gen, out_shape)
    unit = _unit(words, out_dtype)
    made = te.compute(
        unit.shape, lambda *i: unit[i] * (high() - low()) + low(), name="scaled_uniform"
    )
    return [key, made]


def normal(
    gen: te.Tensor, mean: te.Tensor, scale: te.Tensor, out_shape: Sequence[int], out_dtype: str
) -> list[te.Tensor]:
    """A key for what follows, and numbers of a normal distribution (Box and Muller, 1958)."""
    key, words = threefry_generate(gen, [2, *out_shape])
    unit = _unit(words, out_dtype)

    def element(*i: Any) -> PrimExpr:
        radius = tir.sqrt(-2 * tir.log(1 - unit(0, *i)))
        angle = tir.sin(unit(1, *i) * tir.const(6.283185307179586, out_dtype))
        value: PrimExpr = radius * angle * scale() + mean()
        return value

    return [key, te.compute(tuple(out_shape), element, name="normal")]
