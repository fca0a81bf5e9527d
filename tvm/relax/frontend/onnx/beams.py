"""The best of several texts that a decoder writes beside each other: BeamSearch.

Of each prompt K texts go on, by the sum of the logarithms of their tokens' shares. A text that ends
is kept with that sum by (its length ** length_penalty); the K best are kept, sorted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .generation import Search, goes_on
from .registry import Result
from .written import Nodes, sizes

INPUTS = (
    "input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty",
    "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask",
    "decoder_input_ids", "logits_processor",
)  # fmt: skip
_BEHIND = -1e9  # of texts that are the same as the first one at the start
_NONE = np.finfo(np.float32).min  # the score of a text that is not there


class Beams(Search):
    """Rows are (batch * K); what is kept of ended texts is (batch, K), padded to `max_length`."""

    def run(self) -> Result:
        nodes = Nodes("search.first.")
        batch = nodes("Shape", self.given["input_ids"], start=0, end=1)
        beams = self.whole(nodes, "num_beams")
        count = nodes("Squeeze", nodes("Mul", batch, beams), sizes(0))
        self.prompts = nodes("Div", self._numbers(nodes, count), beams)
        if (masks := "prefix_vocab_mask") in self.given:
            self.given[masks] = self.repeated(nodes, self.given[masks])
        prompt, logits, carried = self.begin(nodes)
        # texts are the same until the first token is chosen
        history, logits = (self.repeated(nodes, value) for value in (prompt, logits))
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
        ends = self.looped(nodes, prompt, self._moved(nodes, history, state, carried),
                           goes_on(nodes, state[5]))  # fmt: skip
        results = self._best(nodes, ends)
        if self.node.wants(2):
            results.append(self._scores(nodes, prompt, state[-1], ends[-1]))
        for i, value in self.others(nodes).items():
            results += results[:1] * (i - len(results))  # of outputs that nobody reads
            results.append(value)
        return self.read(nodes, results)

    def others(self, nodes: Nodes) -> dict[int, str]:
        """What else is read, by the number of the output."""
        return {}

    def begin(self, nodes: Nodes) -> tuple[str, str, list[str]]:
        """The first tokens and the scores behind them, one row a prompt; what runs hand on."""
        prompt = self.given["input_ids"]
        mask = self.mask(nodes, prompt)
        given = self.start(nodes, prompt, mask)
        results = self.first.run(nodes, given, "search.out.")
        rows = [self.repeated(nodes, value) for value in (given[1], mask)]
        caches = [self.repeated(nodes, cache, 1) for cache in results[1:]]
        return prompt, self.last(nodes, results[0]), [*rows, *caches]

    def again(
        self, nodes: Nodes, history: str, tokens: str, carried: Sequence[str]
    ) -> tuple[str, list[str]]:
        """A run on the last tokens: the scores behind them; what it hands on."""
        results = self.decoder.run(nodes, [tokens, *carried], "search.made.")
        return self.last(nodes, results[0]), [*carried[:2], *results[1:]]

    def moved(self, nodes: Nodes, rows: str, carried: Sequence[str]) -> list[str]:
        """What the next run is given: texts go on where they came from."""
        places, mask, *caches = carried  # the first two are the same for all texts of a prompt
        last = nodes("Unsqueeze", nodes("Gather", places, np.asarray(-1), axis=1), sizes(1))
        seen = nodes("Add", nodes("Mul", last, np.int32(0)), np.int32(1))
        return [
            nodes("Add", last, np.int32(1)), nodes("Concat", mask, seen, axis=1),
            *(nodes("Gather", cache, rows, axis=1) for cache in caches),
        ]  # fmt: skip

    def turn(self, nodes: Nodes, state: Sequence[str]) -> list[str]:
        """State: history, tokens; sums, what is kept (2), what ended; what runs hand on."""
        history, tokens, *scored = state[:6]
        logits, carried = self.again(nodes, history, tokens, state[6:])
        step = self._step(nodes, logits, history, scored, first=False)
        made = [goes_on(nodes, step[5]), *self._moved(nodes, history, step, carried)]
        return [*made, step[-1]] if self.node.wants(2) else made

    def _moved(
        self, nodes: Nodes, history: str, step: Sequence[str], carried: Sequence[str]
    ) -> list[str]:
        """The state after a step."""
        rows, following, *scored = step[:6]
        column = nodes("Unsqueeze", following, sizes(1))
        longer = nodes("Concat", nodes("Gather", history, rows), column, axis=1)
        return [longer, column, *scored, *self.moved(nodes, rows, carried)]

    def _scores(self, nodes: Nodes, prompt: str, first: str, others: str) -> str:
        """The scores of all tokens, (steps, batch, K, tokens); zeros behind the end."""
        made = nodes("Concat", nodes("Unsqueeze", first, sizes(0)), others, axis=0)
        steps = nodes("Sub", self.whole(nodes, "max_length"),
                      nodes("Shape", prompt, start=1, end=2))  # fmt: skip
        behind = nodes("Sub", steps, nodes("Shape", made, start=0, end=1))
        pads = nodes("Concat", sizes(0, 0, 0, 0), behind, sizes(0, 0, 0), axis=0)
        return nodes("Pad", made, pads)

    def repeated(self, nodes: Nodes, value: str, axis: int = 0) -> str:
        """Each row of a batch K times."""
        return nodes("Gather", value, self.prompts, axis=axis)

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
        """Rows that go on, their tokens (both (batch * K)), and sums, kept texts, what ended.

        Then the scores of all tokens.
        """
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
        return [nodes("Reshape", rows, every), following, sums, kept, texts, new_done, total]

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
        history, sums, kept, texts, done = (state[i] for i in (0, 2, 3, 4, 5))
        score = self._by_length(nodes, sums, history)
        over = nodes("Unsqueeze", done, sizes(1))
        score = nodes("Where", over, np.float32(_NONE), score)
        count = nodes("Squeeze", nodes("Shape", sums, start=1, end=2), sizes(0))
        beam = nodes("Expand", self._numbers(nodes, count), nodes("Shape", sums))
        kept, texts = self._merged(nodes, (kept, score), texts, history, beam)
        wanted = self.whole(nodes, "num_return_sequences")
        start, one = sizes(0), sizes(1)
        return [nodes("Slice", value, start, wanted, one) for value in (texts, kept)]
