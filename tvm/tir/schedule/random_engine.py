"""The linear congruential generator behind sampling: same seed, same schedule, on every machine."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tvm.ir.node import number

# The "minimal standard" constants of Park and Miller, revised (Comm. ACM 36, 1993).
_FACTOR = 48271
_PRIME = 2147483647
_BELOW_ONE = 1.0 - 2.0**-53


class RandomEngine:
    """Draws numbers; the state is one integer and can be copied."""

    __slots__ = ("state",)

    def __init__(self, seed: int | None = -1) -> None:
        self.state = self.normalize(seed)

    @staticmethod
    def normalize(seed: int | None) -> int:
        """A legal state for a seed; None and -1 mean "any", 0 counts as 1."""
        if seed is None or seed == -1:
            return random.SystemRandom().randrange(1, _PRIME)
        seed = number(int, seed, "Random seed")
        if seed < 0:
            raise ValueError(f"Random seed must be non-negative, or -1 for any, found {seed}")
        return seed % _PRIME or 1

    def next(self) -> int:
        """The next number in [1, 2147483647)."""
        self.state = self.state * _FACTOR % _PRIME
        return self.state

    def fork(self) -> int:
        """A seed for an independent engine."""
        return self.next() * 32767 % 1999999973

    def below(self, bound: int) -> int:
        """A number in [0, bound), each equally likely: of the largest draws too many are left."""
        width = (_PRIME - 1) // bound
        while (drawn := self.next()) >= width * bound:
            pass
        return drawn // width

    def uniform(self) -> float:
        """A number in [0, 1) of two draws, the second for the leading digits."""
        low = self.next()
        return min((low + self.next() * _PRIME) / _PRIME**2, _BELOW_ONE)

    def weighted(self, weights: Sequence[float]) -> int:
        """An index, drawn with probability proportional to its weight."""
        if len(weights) == 1:
            return 0
        total, reached, drawn = sum(weights), 0.0, self.uniform()
        for i, weight in enumerate(weights[:-1]):
            reached += weight / total
            if reached >= drawn:
                return i
        return len(weights) - 1

    def subset(self, size: int, count: int) -> list[int]:
        """`count` different numbers in [0, size), ascending."""
        if count == 2:
            first, second = self.below(size), self.below(size - 1)
            return sorted((first, second + (second >= first)))
        numbers = list(range(size))
        for i in range(count):
            other = i + self.below(size - i)
            numbers[i], numbers[other] = numbers[other], numbers[i]
        return sorted(numbers[:count])
