"""Random kernels in stages: the threads of a block hand numbers on through shared memory.

Each stage writes a buffer from those of earlier stages, at other places than a thread's own, so
that a barrier that is missing, or stands where not all threads come by, shows. Within a stage are
loops, jumps, branches, names, arrays of a thread's own, and vectors; stages stand in loops and
branches, too.
"""

from __future__ import annotations

import numpy as np

from tests.backend.device.random_words import Made, Rng, flip, pick
from tvm.script import from_source

_TYPES = ("int32", "int32", "float32", "float32", "int64", "float16", "int8", "int16", "float64")
_MOST = 50  # of what a buffer holds: all types have it exactly


class _Writer:
    """Writes the text of one kernel."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.memory: list[str] = []  # lines of what threads share
        self.buffers: dict[str, str] = {}  # those that are full, and what they hold
        self.unread: list[str] = []  # what the next stage has to read: barriers are for reads
        self.count = 0
        self.rows = pick(rng, (1, 1, 2, 3))
        self.columns = pick(rng, (3, 8, 31, 32, 33, 64))
        self.each = pick(rng, (1, 2, 3, 4))
        self.blocks = int(rng.integers(1, 4))
        self.size = self.rows * self.columns * self.each
        self.kinds = [pick(rng, _TYPES) for _ in range(2)]

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def kind(self) -> str:
        return str(pick(self.rng, self.kinds))

    # --- expressions ---

    def small(self, text: str, kind: str) -> str:
        """The value in a buffer's type, and in its range."""
        return f"T.Cast({kind!r}, T.max(T.min({text}, {_MOST}), -{_MOST}))"

    def place(self, at: str) -> str:
        """Some other place of a buffer."""
        rng, size = self.rng, self.size
        return str(pick(rng, (
            at, f"({at} + {int(rng.integers(size))}) % {size}", f"{size - 1} - {at}",
            f"({at} * {int(rng.integers(2, 7))} + {int(rng.integers(size))}) % {size}",
            f"{at} // 2", f"T.if_then_else({at} < {size // 2}, {at}, {size - 1} - {at})",
        )))  # fmt: skip

    def read(self, at: str) -> str:
        """An element of a full buffer as int32."""
        name = self.unread.pop() if self.unread else pick(self.rng, list(self.buffers))
        load = f"{name}[{self.place(at)}]"
        return load if self.buffers[name] == "int32" else f"T.Cast('int32', {load})"

    def value(self, at: str, depth: int = 2) -> str:
        """An expression of int32."""
        rng = self.rng
        if depth == 0 and self.unread:
            return self.read(at)
        if depth == 0:
            return str(pick(rng, (self.read(at), self.read(at), str(int(rng.integers(-3, 9))))))
        a, b = self.value(at, depth - 1), self.value(at, depth - 1)
        return str(pick(rng, (
            f"({a} + {b})", f"({a} - {b})", f"T.max({a}, {b})", f"T.min({a}, {b})",
            f"({a} * {int(rng.integers(-3, 4))})", f"T.Select({a} < {b}, {a}, {b} + 1)",
            f"T.floordiv({a}, 3)", f"T.floormod({a} + {b}, 7)", f"T.truncmod({a}, 5)",
        )))  # fmt: skip

    # --- stages ---

    def stage(self, depth: int, into: str, kind: str) -> None:
        """All threads write all of a buffer."""
        base = depth
        if self.rows > 1:
            self.line(base, f'for ty in T.thread_binding({self.rows}, thread="threadIdx.y"):')
            base += 1
        self.line(base, f'for tx in T.thread_binding({self.columns}, thread="threadIdx.x"):')
        name = self.fresh("stage")
        self.line(base + 1, f'with T.block("{name}"):')
        me = "tx" if self.rows == 1 else f"(ty * {self.columns} + tx)"
        self.body(base + 2, into, kind, me)
        if into != "B":
            self.unread.append(into)

    def body(self, depth: int, into: str, kind: str, me: str) -> None:
        form = pick(self.rng, ("plain", "plain", "vector", "loop", "while", "branch", "own", "let",
                               "jump"))  # fmt: skip
        if form == "vector" and self.each > 1:
            self.line(depth, f"for v in T.vectorized({self.each}):")
            at = f"{me} * {self.each} + v"
            self.line(depth + 1, f"{into}[{at}] = {self.small(self.value(f'({at})'), kind)}")
            return
        j = self.fresh("j")
        self.line(depth, f"for {j} in {pick(self.rng, ('T.serial', 'T.unroll'))}({self.each}):")
        threads = self.rows * self.columns
        at = f"({me} * {self.each} + {j})" if flip(self.rng) else f"({j} * {threads} + {me})"
        getattr(self, f"_{form}", self._plain)(depth + 1, into, kind, at)

    def _plain(self, depth: int, into: str, kind: str, at: str) -> None:
        self.line(depth, f"{into}[{at}] = {self.small(self.value(at), kind)}")

    def _let(self, depth: int, into: str, kind: str, at: str) -> None:
        x = self.fresh("x")
        self.line(depth, f"{x}: T.int32 = {self.value(at)}")
        self.line(depth, f"{into}[{at}] = {self.small(f'{x} * 2 - T.floormod({x}, 3)', kind)}")

    def _branch(self, depth: int, into: str, kind: str, at: str) -> None:
        condition = pick(self.rng, (
            f"{at} % 3 == 1", f"{self.read(at)} < 1", f"{at} < {self.size // 3}",
            f"T.And({self.read(at)} > 0, {at} % 2 == 0)",
        ))  # fmt: skip
        self.line(depth, f"if {condition}:")
        self._plain(depth + 1, into, kind, at)
        self.line(depth, "else:")
        self.body_of(depth + 1, into, kind, at)

    def body_of(self, depth: int, into: str, kind: str, at: str) -> None:
        form = pick(self.rng, ("plain", "loop", "own", "let"))
        getattr(self, f"_{form}")(depth, into, kind, at)

    def _array(self, depth: int, count: int, kind: str = "int32") -> str:
        name = self.fresh("own")
        self.line(depth, f'{name} = T.alloc_buffer(({count},), "{kind}", scope="local")')
        return name

    def _loop(self, depth: int, into: str, kind: str, at: str) -> None:
        own, i = self._array(depth, 1), self.fresh("i")
        self.line(depth, f"{own}[0] = {self.value(at, 1)}")
        extent = pick(self.rng, ("1", "2", "5", f"{at} % 4", f"T.max({self.read(at)}, 0)"))
        self.line(depth, f"for {i} in range({extent}):")
        step = self.value(f"(({at} + {i}) % {self.size})", 1)
        self.line(depth + 1, f"{own}[0] = T.min({own}[0] + {step}, 1000)")
        self.line(depth, f"{into}[{at}] = {self.small(f'{own}[0]', kind)}")

    def _while(self, depth: int, into: str, kind: str, at: str) -> None:
        own = self._array(depth, 2)
        self.line(depth, f"{own}[0] = {self.value(at, 1)}")
        self.line(depth, f"{own}[1] = {int(self.rng.integers(0, 3))}")
        stop = pick(self.rng, ("5", f"{at} % 5", f"T.min({self.read(at)}, 6)"))
        self.line(depth, f"while {own}[1] < {stop}:")
        self.line(depth + 1, f"{own}[0] = {own}[0] + {self.read(at)} - {own}[1]")
        self.line(depth + 1, f"{own}[1] = {own}[1] + 1")
        self.line(depth, f"{into}[{at}] = {self.small(f'{own}[0]', kind)}")

    def _jump(self, depth: int, into: str, kind: str, at: str) -> None:
        own, i = self._array(depth, 1), self.fresh("i")
        self.line(depth, f"{own}[0] = {self.value(at, 1)}")
        self.line(depth, f"for {i} in range(6):")
        self.line(depth + 1, f"if {self.read(at)} + {i} > 3:")
        self.line(depth + 2, pick(self.rng, ("T.evaluate(T.break_loop())",
                                             "T.evaluate(T.continue_loop())")))  # fmt: skip
        self.line(depth + 1, f"{own}[0] = {own}[0] + {self.read(at)}")
        self.line(depth, f"{into}[{at}] = {self.small(f'{own}[0]', kind)}")

    def _own(self, depth: int, into: str, kind: str, at: str) -> None:
        """An array that a thread walks through in some order."""
        count = pick(self.rng, (2, 3, 4, 8))
        held = self.kind()
        own, i, k = self._array(depth, count, held), self.fresh("i"), self.fresh("k")
        loop = pick(self.rng, ("T.serial", "T.unroll", "T.vectorized"))
        self.line(depth, f"for {i} in {loop}({count}):")
        value = self.small(self.value(f"(({at} + {i}) % {self.size})", 1), held)
        self.line(depth + 1, f"{own}[{i}] = {value}")
        self.line(depth, f"for {k} in {pick(self.rng, ('T.serial', 'T.unroll'))}({count}):")
        other = f"{own}[({k} * 3 + 1) % {count}]"
        mixed = f"T.Cast('int32', {own}[{k}]) - T.Cast('int32', {other})"
        self.line(depth + 1, f"{own}[{k}] = {self.small(mixed, held)}")
        last = f"({self.read(at)} & {1 if count < 4 else 3})" if flip(self.rng) else count - 1
        whole = f"T.Cast('int32', {own}[{last}])"
        self.line(depth, f"{into}[{at}] = {self.small(whole, kind)}")

    # --- the kernel ---

    def steps(self, depth: int, count: int) -> None:
        """Stages one after another, into new buffers or in turns."""
        for _ in range(count):
            known = [name for name in self.buffers if name not in ("A", *self.unread)]
            if len(known) > 1 and flip(self.rng, 0.5):
                self.turns(depth, known)
                continue
            name, kind = self.allocated()
            self.stage(depth, name, kind)
            self.buffers[name] = kind

    def allocated(self) -> tuple[str, str]:
        """A buffer that threads share."""
        name, kind = self.fresh("S"), self.kind()
        scope = pick(self.rng, ("shared", "shared", "shared.dyn"))
        self.memory.append(
            f'        {name} = T.alloc_buffer(({self.size},), "{kind}", scope="{scope}")'
        )
        return name, kind

    def turns(self, depth: int, known: list[str]) -> None:
        """Two buffers that are made from each other in a loop, or one where a condition holds."""
        first, second = (str(x) for x in self.rng.permutation(known)[:2])
        r, kinds = self.fresh("r"), dict(self.buffers)
        if flip(self.rng):
            self.line(depth, f"for {r} in range({int(self.rng.integers(1, 4))}):")
            self.unread.append(second)  # by the next iteration
            pairs = [(first, depth + 1), (second, depth + 1)]
        else:
            self.line(depth, f"if bx % 2 == {int(self.rng.integers(2))}:")
            pairs = [(first, depth + 1)]
        for name, below in pairs:
            del self.buffers[name]  # what is written is not read by the same stage
            self.stage(below, name, kinds[name])
            self.buffers[name] = kinds[name]

    def kernel(self) -> tuple[str, tuple[tuple[tuple[int, ...], str], ...]]:
        """The text, and the arguments."""
        given, result, total = self.kind(), self.kind(), self.size * self.blocks
        self.line(2, f'for bx in T.thread_binding({self.blocks}, thread="blockIdx.x"):')
        self.buffers = {"A": given}
        self.steps(3, int(self.rng.integers(2, 7)))
        self.stage(3, "B", result)
        head = [
            "from tvm.script import tir as T", "@T.prim_func",
            f'def main(A: T.Buffer(({total},), "{given}"), B: T.Buffer(({total},), "{result}")):',
            '    T.func_attr({"tir.noalias": True})', '    with T.block("root"):',
        ]  # fmt: skip
        text = "\n".join([*head, *self.memory, *self.lines])
        text = text.replace("B[", f"B[bx * {self.size} + ").replace("A[", f"A[bx * {self.size} + ")
        return text, (((total,), given), ((total,), result))


def text_of(seed: int) -> str:
    """The script of the kernel of a number."""
    return _Writer(np.random.default_rng(seed)).kernel()[0]


def made(seed: int) -> Made:
    """The kernel of a number."""
    writer = _Writer(np.random.default_rng(seed))
    text, shapes = writer.kernel()
    func = from_source(text)
    words = (
        f"{writer.rows} x {writer.columns} threads, {writer.each} each, {'/'.join(writer.kinds)}"
    )
    return Made(func, func, shapes, words)
