"""The best of several texts that a decoder writes beside each other: BeamSearch.

Of each prompt K texts go on, by the sum of the logarithms of their tokens' shares. A text that ends
is kept with that sum by (its length ** length_penalty); the K best are kept, sorted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .generation import Nodes, Search, following_run, goes_on, sizes
from .node import Node
from .registry import Result, convert

_INPUTS = (
    "input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty",
    "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask",
)  # fmt: skip
_BEHIND = -1e9  # of texts that are the same as the first one at the start
_NONE = np.finfo(np.float32).min  # the score of a text that is not there


class Beams(Search):
    """Rows are (batch * K); what is kept of ended texts is (batch, K), padded to `max_length`."""

    def run(self) -> Result:
        if self.node.wants(2):
            raise self.node.invalid("output 2", "the scores of all tokens", "left out")
        nodes = Nodes("search.first.")
        prompt = self.given["input_ids"]
        mask = self.mask(nodes, prompt)
        given = self.start(nodes, prompt, mask)
        results = self.first.run(nodes, given, "search.out.")
        # texts are the same until the first token is chosen
        beams, batch = self.whole(nodes, "num_beams"), nodes("Shape", prompt, start=0, end=1)
        history, places, seen, logits, *caches = (
            self._repeated(nodes, value, axis, batch, beams)
            for value, axis in [
                (prompt, 0), (given[1], 0), (mask, 0), (self.last(nodes, results[0]), 0),
                *((cache, 1) for cache in results[1:]),
            ]
        )  # fmt: skip
        shape = nodes("Concat", batch, beams, axis=0)
        number = self._numbers(nodes, nodes("Squeeze", beams, sizes(0)))
        later = nodes("Greater", number, np.asarray(0))
        sums = nodes("Expand", nodes("Where", later, np.float32(_BEHIND), np.float32(0)), shape)
        kept = nodes("Expand", np.float32(_NONE), shape)
        room = nodes("Concat", shape, self.whole(nodes, "max_length"), axis=0)
        texts = nodes("Expand", np.int32(self.pad), room)
        column = nodes("Gather", kept, np.asarray(0), axis=1)
        done = nodes("Less", column, column)
        state = self._step(nodes, logits, history, [sums, kept, texts, done], first=True)
        rows, following, *scored = state
        after = self._after(nodes, history, rows, following, places, seen)
        moved = [nodes("Gather", cache, rows, axis=1) for cache in caches]
        ends = self.looped(nodes, prompt, [*after, *scored, *moved], goes_on(nodes, scored[-1]))
        return self.read(nodes, self._best(nodes, ends))

    def turn(self, nodes: Nodes, state: Sequence[str]) -> list[str]:
        """State: history, tokens, positions, mask; sums, what is kept (2), what ended; caches."""
        history, tokens, places, mask, *scored = state[:8]
        results = self.decoder.run(nodes, [tokens, places, mask, *state[8:]], "search.made.")
        logits = self.last(nodes, results[0])
        rows, following, *scored = self._step(nodes, logits, history, scored, first=False)
        after = self._after(nodes, history, rows, following, places, mask)
        moved = [nodes("Gather", cache, rows, axis=1) for cache in results[1:]]
        return [goes_on(nodes, scored[-1]), *after, *scored, *moved]

    @staticmethod
    def _after(
        nodes: Nodes, history: str, rows: str, following: str, places: str, mask: str
    ) -> list[str]:
        """The next run: texts go on where they came from; positions and masks are a prompt's."""
        return following_run(nodes, nodes("Gather", history, rows), following, places, mask)

    @staticmethod
    def _repeated(nodes: Nodes, value: str, axis: int, batch: str, beams: str) -> str:
        """Each row of a batch K times."""
        count = nodes("Squeeze", nodes("Mul", batch, beams), sizes(0))
        number = nodes("Range", np.asarray(0), count, np.asarray(1))
        return nodes("Gather", value, nodes("Div", number, beams), axis=axis)

    @staticmethod
    def _numbers(nodes: Nodes, count: str) -> str:
        return nodes("Range", np.asarray(0), count, np.asarray(1))

    def _by_length(self, nodes: Nodes, sums: str, history: str) -> str:
        """Sums, by the length of the texts to the power of the penalty."""
        length = nodes("Cast", nodes("Shape", history, start=1, end=2), to=1)
        if "length_penalty" in self.given:
            power = nodes("Reshape", nodes("Cast", self.given["length_penalty"], to=1),
                          sizes(1))  # fmt: skip
            length = nodes("Pow", length, power)
        return nodes("Div", sums, length)

    def _step(
        self, nodes: Nodes, logits: str, history: str, scored: Sequence[str], *, first: bool
    ) -> list[str]:
        """Rows that go on, their tokens (both (batch * K)), and sums, kept texts, what ended."""
        sums, kept, texts, done = scored
        shape = nodes("Shape", sums)
        batch, beams = (nodes("Slice", shape, sizes(i), sizes(i + 1)) for i in (0, 1))
        scores = nodes("LogSoftmax", logits, axis=-1)
        scores = self.changed(nodes, scores, history, first=first)
        tokens = nodes("Shape", scores, start=1, end=2)
        apart = nodes("Concat", shape, tokens, axis=0)
        before = nodes("Unsqueeze", sums, sizes(-1))
        total = nodes("Add", nodes("Reshape", scores, apart), before)
        flat = nodes("Reshape", total, nodes("Concat", batch, sizes(-1), axis=0))
        twice = nodes("Mul", beams, sizes(2))
        best, place = nodes.pair("TopK", flat, twice)
        beam, token = nodes("Div", place, tokens), nodes("Mod", place, tokens)
        ends = nodes("Equal", token, np.asarray(self.end))
        kept, texts, new_done = self._keep(
            nodes, history, (best, beam, ends), (kept, texts, done), beams
        )
        # the first K that do not end
        rank = self._numbers(nodes, nodes("Squeeze", twice, sizes(0)))
        late = nodes("Mul", nodes("Cast", ends, to=7), twice)
        _, going = nodes.pair("TopK", nodes("Add", late, rank), beams, largest=0)
        sums, beam, token = (nodes("GatherElements", v, going, axis=1) for v in (best, beam, token))
        over = nodes("Unsqueeze", done, sizes(1))
        sums = nodes("Where", over, np.float32(0), sums)
        token = nodes("Where", over, np.asarray(self.pad), token)
        beam = nodes("Where", over, np.asarray(0), beam)
        start = nodes("Mul", self._numbers(nodes, nodes("Squeeze", batch, sizes(0))), beams)
        rows = nodes("Add", beam, nodes("Unsqueeze", start, sizes(1)))
        every = sizes(-1)
        following = nodes("Cast", nodes("Reshape", token, every), to=6)
        return [nodes("Reshape", rows, every), following, sums, kept, texts, new_done]

    def _keep(
        self, nodes: Nodes, history: str, found: Sequence[str], before: Sequence[str], beams: str
    ) -> list[str]:
        """The kept texts, with those of the first K candidates that end; and what ended."""
        best, beam, ends = found
        kept, texts, done = before
        start, one = sizes(0), sizes(1)
        top, of, over = (nodes("Slice", v, start, beams, one) for v in (best, beam, ends))
        over = nodes("And", over, nodes("Unsqueeze", nodes("Not", done), sizes(1)))
        score = self._by_length(nodes, top, history)
        score = nodes("Where", over, score, np.float32(_NONE))
        kept, texts = self._merged(nodes, (kept, score), texts, history, of)
        least = nodes("ReduceMin", kept, sizes(1), keepdims=0)
        full = nodes("Greater", least, np.float32(_NONE))
        if not self.node.attr("early_stopping", 0):
            highest = nodes("Gather", best, np.asarray(0), axis=1)
            reached = self._by_length(nodes, highest, history)
            full = nodes("And", full, nodes("GreaterOrEqual", least, reached))
        return [kept, texts, nodes("Or", done, full)]

    def _merged(
        self, nodes: Nodes, scores: Sequence[str], texts: str, history: str, beam: str
    ) -> tuple[str, str]:
        """The best K of what is kept and of texts of these beams."""
        shape = nodes("Shape", scores[0])
        own = self._padded(nodes, history, shape)
        picked = nodes("Unsqueeze", beam, sizes(2))
        picked = nodes("Expand", picked, nodes("Shape", texts))
        own = nodes("GatherElements", own, picked, axis=1)
        both = nodes("Concat", texts, own, axis=1)
        beams = nodes("Slice", shape, sizes(1), sizes(2))
        best, place = nodes.pair("TopK", nodes("Concat", *scores, axis=1), beams)
        place = nodes("Expand", nodes("Unsqueeze", place, sizes(2)), nodes("Shape", texts))
        return best, nodes("GatherElements", both, place, axis=1)

    def _padded(self, nodes: Nodes, history: str, shape: str) -> str:
        """The texts, (batch, K, max_length)."""
        length = nodes("Shape", history, start=1, end=2)
        behind = nodes("Sub", self.whole(nodes, "max_length"), length)
        pads = nodes("Concat", sizes(0, 0, 0), behind, axis=0)
        long = nodes("Pad", history, pads, np.int32(self.pad))
        whole = nodes("Concat", shape, self.whole(nodes, "max_length"), axis=0)
        return nodes("Reshape", long, whole)

    def _best(self, nodes: Nodes, state: Sequence[str]) -> list[str]:
        """The sequences to give, and their scores: where a prompt is open, its texts end now."""
        history, sums, kept, texts, done = (state[i] for i in (0, 4, 5, 6, 7))
        score = self._by_length(nodes, sums, history)
        over = nodes("Unsqueeze", done, sizes(1))
        score = nodes("Where", over, np.float32(_NONE), score)
        count = nodes("Squeeze", nodes("Shape", sums, start=1, end=2), sizes(0))
        beam = nodes("Expand", self._numbers(nodes, count), nodes("Shape", sums))
        kept, texts = self._merged(nodes, (kept, score), texts, history, beam)
        wanted = self.whole(nodes, "num_return_sequences")
        start, one = sizes(0), sizes(1)
        return [nodes("Slice", value, start, wanted, one) for value in (texts, kept)]


@convert("com.microsoft.BeamSearch")
def beam_search(node: Node) -> Result:
    """(batch, tokens) -> (batch, returned, max_length), and their scores."""
    kind = int(node.attr("model_type", 0))
    if kind != 0:
        raise node.invalid("model_type", kind, "0: a decoder alone")
    for at, what in ((10, "decoder_input_ids"), (11, "logits_processor")):
        if node.has(at):
            raise node.invalid(what, "given", "left out")
    return Beams(node, _INPUTS).run()
