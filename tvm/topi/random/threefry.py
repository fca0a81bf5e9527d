"""Random bits by counting: each block of four words is a hash of a key and a counter.

A key is 10 words of 64 bits: 0-3 key, 4-5 the path of splits, 6-7 the counter, 8-9 a single bit,
where the next split writes into the path. The hash is Threefry 4x64 with 20 rounds (Salmon et al.,
2011), splitting as Claessen and Palka (2013) have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.topi.loops import load, local, loop, sequence, store, when

_ROTATIONS: Final = ((14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32))
_PARITY: Final = 0x1BD11BDAA9FC1A22
_ROUNDS: Final = 20
_WORD: Final = "uint64"


def _word(value: int) -> PrimExpr:
    return tir.const(value, _WORD)


def _hash(key: Any, block: Any, done: Any) -> tir.Stmt:
    """Hash `block(0..3)` under `key(0..3)`; `done(words)` says what becomes of the four words."""

    def rounds(words: tir.Buffer) -> tir.Stmt:
        def subkey(at: int) -> PrimExpr:
            at %= 5
            if at < 4:
                return key(at)  # type: ignore[no-any-return]
            mixed: PrimExpr = _word(_PARITY) ^ key(0) ^ key(1) ^ key(2) ^ key(3)
            return mixed

        steps: list[tir.Stmt] = [store(words, block(k) + subkey(k), k) for k in range(4)]
        for step in range(_ROUNDS):
            for (a, b), by in zip(((0, 1), (2, 3)), _ROTATIONS[step % 8]):
                if step % 2:
                    b = 4 - b  # odd rounds mix 0 with 3 and 2 with 1
                steps.append(store(words, load(words, a) + load(words, b), a))
                turned = (load(words, b) << _word(by)) | (load(words, b) >> _word(64 - by))
                steps.append(store(words, turned ^ load(words, a), b))
            if step % 4 == 3:
                more = step // 4 + 1
                steps += [
                    store(words, load(words, k) + subkey(more + k) + _word(more if k == 3 else 0),
                          k)
                    for k in range(4)
                ]  # fmt: skip
        return sequence(*steps, done(words))

    return local(_WORD, rounds, 4, "words")


def _extern(shapes: Sequence[Any], inputs: Sequence[te.Tensor], body: Any, name: str) -> Any:
    return te.extern(
        shapes, inputs, body, dtype=[_WORD] * len(shapes),
        in_buffers=[tir.decl_buffer(t.shape, t.dtype, f"in{k}") for k, t in enumerate(inputs)],
        out_buffers=[tir.decl_buffer(s, _WORD, f"out{k}") for k, s in enumerate(shapes)],
        name=name, tag=name,
    )  # fmt: skip


def threefry_generate(gen: te.Tensor, out_shape: Sequence[int]) -> list[te.Tensor]:
    """A key for what follows, and random words of a shape."""
    count = 1
    for extent in out_shape:
        count *= int(extent)
    blocks = -(-count // 4)

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        (old,), (new, words) = ins, outs

        def block(n: PrimExpr) -> tir.Stmt:
            def position(k: int) -> PrimExpr:
                step = n.astype(_WORD) if k == 3 else _word(0)
                return load(old, 4 + k) + step

            def put(made: tir.Buffer) -> tir.Stmt:
                return sequence(*[
                    when(n * 4 + k < count, store(words, load(made, k), n * 4 + k))
                    for k in range(4)
                ])  # fmt: skip

            return _hash(lambda k: load(old, k), position, put)

        keep = [store(new, load(old, k), k) for k in range(10) if k != 7]
        return sequence(*keep, store(new, load(old, 7) + _word(blocks), 7), loop(blocks, block))

    key, words = _extern([(10,), (count,)], [gen], body, "threefry_generate")
    from tvm.topi.reshaping import reshape

    return [key, reshape(words, tuple(out_shape))]


def threefry_split(gen: te.Tensor) -> list[te.Tensor]:
    """Two keys whose words have nothing in common, left and right."""

    def body(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        (old,), (left, right) = ins, outs
        full = tir.all(load(old, 8).equal(_word(0)), load(old, 9).equal(_word(0)))

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
            high, low = load(old, 8), load(old, 9)
            for out, taken in ((left, False), (right, True)):
                made += [store(out, load(old, k), k) for k in range(4)]
                made += [
                    store(out, load(old, 4 + k) | load(old, 8 + k) if taken else load(old, 4 + k),
                          4 + k)
                    for k in range(2)
                ]  # fmt: skip
                made += [store(out, _word(0), 6), store(out, _word(0), 7)]
                made.append(store(out, high >> _word(1), 8))
                made.append(store(out, (low >> _word(1)) | (high << _word(63)), 9))
            return sequence(*made)

        packed = _hash(lambda k: load(old, k), lambda k: load(old, 4 + k), fresh)
        return when(full, packed, longer())

    return list(_extern([(10,), (10,)], [gen], body, "threefry_split"))


def _unit(words: te.Tensor, dtype: str) -> te.Tensor:
    """Words as numbers in [0, 1): their first bits are the fraction of one in [1, 2)."""
    fraction, bits, one = {
        "float32": (23, "uint32", 0x3F800000), "float64": (52, "uint64", 0x3FF0000000000000),
    }[dtype]  # fmt: skip

    def element(*i: Any) -> PrimExpr:
        high = (words[i] >> _word(64 - fraction)).astype(bits)
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
        angle = tir.cos(unit(1, *i) * tir.const(6.283185307179586, out_dtype))
        value: PrimExpr = radius * angle * scale() + mean()
        return value

    return [key, te.compute(tuple(out_shape), element, name="normal")]
