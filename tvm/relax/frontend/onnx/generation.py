"""Text that a decoder writes token by token: GreedySearch and Sampling.

The search becomes nodes of ONNX around the decoder's own: a first run over the prompt, then a loop
of runs over the last token. The decoder is GPT-2's: of tokens, positions, a mask and the keys and
values of each layer, (2, batch, heads, length, size), it makes scores and longer keys and values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from .node import Node
from .registry import Result, convert
from .scope import Ref
from .written import Nodes, read_nodes, run_graph, sizes

LOWEST = np.finfo(np.float32).min  # of a token that is not to come


class Decoder:
    """The graph in the attribute `decoder`, and what its inputs and outputs are."""

    def __init__(self, node: Node, attribute: str = "decoder") -> None:
        node.graph(attribute)  # refuses none
        self.graph = node.attrs[attribute]
        self.inputs = [value.name for value in self.graph.input]
        self.outputs = [value.name for value in self.graph.output]
        self.layers = len(self.inputs) - 3
        if self.layers < 1 or len(self.outputs) != 1 + self.layers:
            found = f"{len(self.inputs)} inputs and {len(self.outputs)} outputs"
            legal = "tokens, positions, mask and n caches; scores and n caches"
            raise node.invalid(attribute, found, legal)
        dims = self.graph.input[3].type.tensor_type.shape.dim
        self.heads, self.size = (dims[i].dim_value if len(dims) == 5 else 0 for i in (2, 4))
        if not self.heads or not self.size:
            raise node.invalid(attribute, f"caches of the shape {_text(dims)}",
                               "(2, batch, heads, length, size), heads and size known")  # fmt: skip

    def run(self, nodes: Nodes, given: Sequence[str], prefix: str) -> list[str]:
        """A run of the decoder on values, in a scope of its own: its results."""
        return run_graph(nodes, self.graph, given, prefix)


def _text(dims: Any) -> str:
    return "(" + ", ".join(d.dim_param or str(d.dim_value or "?") for d in dims) + ")"


class Search(ABC):
    """What the searches share: how scores are changed, what a decoder is given first."""

    def __init__(self, node: Node, inputs: Sequence[str]) -> None:
        self.node = node
        # what the node gives, under names that no decoder has
        self.given = {name: f"search.{name}" for i, name in enumerate(inputs) if node.has(i)}
        self.bound = {f"search.{name}": node.ref(i)
                      for i, name in enumerate(inputs) if node.has(i)}  # fmt: skip
        self.pad, self.end = (int(node.required(f"{name}_token_id")) for name in ("pad", "eos"))
        self.graphs()

    def graphs(self) -> None:
        """Read what the graphs of the node take and give."""
        first = "init_decoder" if "init_decoder" in self.node.attrs else "decoder"
        self.decoder, self.first = Decoder(self.node), Decoder(self.node, first)

    def start(self, nodes: Nodes, tokens: str, mask: str) -> list[str]:
        """What the decoder is given first; positions count tokens that are no padding."""
        counted = nodes("CumSum", self.tokens_marked(nodes, tokens), np.asarray(1))
        one, zero = (np.asarray([n], "int32") for n in (1, 0))
        places = nodes("Max", nodes("Sub", counted, one), zero)
        rows = nodes("Shape", tokens, start=0, end=1)
        rest = sizes(self.decoder.heads, 0, self.decoder.size)
        shape = nodes("Concat", sizes(2), rows, rest, axis=0)
        empty = nodes("ConstantOfShape", shape)
        return [tokens, places, mask, *[empty] * self.decoder.layers]

    def mask(self, nodes: Nodes, tokens: str) -> str:
        """The mask that is given, or of tokens that are no padding."""
        if "attention_mask" in self.given:
            return nodes("Cast", self.given["attention_mask"], to=6)
        return self.tokens_marked(nodes, tokens)

    def tokens_marked(self, nodes: Nodes, tokens: str) -> str:
        """1 for each token that is no padding."""
        padded = nodes("Equal", tokens, np.int32(self.pad))
        return nodes("Cast", nodes("Not", padded), to=6)

    def last(self, nodes: Nodes, logits: str) -> str:
        """The scores behind the last token, (rows, tokens known); the decoder's may be more."""
        picked = nodes("Gather", logits, np.asarray(-1), axis=1)
        if (count := int(self.node.attr("vocab_size", -1))) > 0:
            picked = nodes("Slice", picked, sizes(0), sizes(count), sizes(1))
        return nodes("Cast", picked, to=1)

    def changed(self, nodes: Nodes, scores: str, history: str, *, first: bool) -> str:
        """Scores with what they are to be punished for, and without what is not to come."""
        if "repetition_penalty" in self.given:
            penalty = nodes("Reshape", self.given["repetition_penalty"], sizes(1))
            places = nodes("Cast", history, to=7)
            old = nodes("GatherElements", scores, places, axis=1)
            below = nodes("Less", old, np.float32(0))
            new = nodes("Where", below, nodes("Mul", old, penalty), nodes("Div", old, penalty))
            # a token that stands twice gets the same score twice
            scores = nodes("ScatterElements", scores, places, new, axis=1)
        size = int(self.node.attr("no_repeat_ngram_size", 0))
        if size > 0:
            whole = nodes("Cast", history, to=7)
            scores = nodes("NGramRepeatBlock", whole, scores, domain="com.microsoft",
                           ngram_size=size)  # fmt: skip
            scores = nodes("Max", scores, LOWEST)
        for name in ("vocab_mask", *(["prefix_vocab_mask"] if first else [])):
            if name in self.given:
                none = nodes("Equal", self.given[name], np.int32(0))
                scores = nodes("Where", none, LOWEST, scores)
        if "min_length" in self.given:
            length = nodes("Shape", history, start=1, end=2)
            count = nodes("Squeeze", nodes("Shape", scores, start=1, end=2), sizes(0))
            tokens = nodes("Range", np.asarray(0), count, np.asarray(1))
            ends = nodes("Equal", tokens, np.asarray(self.end))
            early = nodes("And", ends, nodes("Less", length, self.whole(nodes, "min_length")))
            scores = nodes("Where", early, LOWEST, scores)
        return scores

    def whole(self, nodes: Nodes, name: str) -> str:
        """A whole number that the node is given, (1,)."""
        return nodes("Reshape", nodes("Cast", self.given[name], to=7), sizes(1))

    @abstractmethod
    def turn(self, nodes: Nodes, state: Sequence[str]) -> list[str]:
        """Whether to go on, and the next state."""

    def looped(self, nodes: Nodes, tokens: str, state: Sequence[str], more: str) -> list[str]:
        """The state after runs of the decoder, until `max_length` tokens are there.

        Then what each turn makes beyond the state, stacked.
        """
        import onnx

        length = nodes("Shape", tokens, start=1, end=2)
        turns = nodes("Sub", nodes("Sub", self.whole(nodes, "max_length"), length), sizes(1))
        turns = nodes("Squeeze", turns, sizes(0))
        inner = Nodes("search.turn.")
        formal = [f"search.in.{i}" for i in range(len(state))]
        made = self.turn(inner, formal)
        body = onnx.helper.make_graph(
            inner.nodes, "turn",
            [onnx.ValueInfoProto(name=name) for name in ("search.number", "search.go", *formal)],
            [onnx.ValueInfoProto(name=name) for name in made],
        )  # fmt: skip
        ends = [f"search.end.{i}" for i in range(len(made) - 1)]
        nodes.nodes.append(onnx.helper.make_node("Loop", [turns, more, *state], ends, body=body))
        return ends

    def read(self, nodes: Nodes, outputs: Sequence[str]) -> list[Ref]:
        """Read the nodes: the values of these names."""
        return read_nodes(self.node, nodes, self.bound, outputs)


class Greedy(Search):
    """The best token of each row, or one that is drawn, until all rows ended."""

    def run(self) -> Result:
        if kind := int(self.node.attr("model_type", 0)):
            raise self.node.invalid("model_type", kind, "0: a decoder")
        nodes = Nodes("search.first.")
        tokens = self.given["input_ids"]
        mask = self.mask(nodes, tokens)
        given = self.start(nodes, tokens, mask)
        results = self.first.run(nodes, given, "search.out.")
        scores = self.changed(nodes, self.last(nodes, results[0]), tokens, first=True)
        column = nodes("Gather", tokens, np.asarray(0), axis=1)
        following, done = self.chosen(nodes, scores, nodes("Less", column, column))
        after = following_run(nodes, tokens, following, given[1], mask)
        limit = self.whole(nodes, "max_length")
        ends = self.looped(nodes, tokens, [*after, done, *results[1:]], goes_on(nodes, done))
        behind = nodes("Sub", limit, nodes("Shape", ends[0], start=1, end=2))
        pads = nodes("Concat", sizes(0, 0, 0), behind, axis=0)
        nodes("Pad", ends[0], pads, np.int32(self.pad), name="search.sequences")
        if self.node.wants(1):
            raise self.node.invalid("output 1", "filtered scores", "left out")
        return self.read(nodes, ["search.sequences"])

    def turn(self, nodes: Nodes, state: Sequence[str]) -> list[str]:
        """State: history, tokens, positions, mask, which rows ended, caches."""
        history, tokens, places, mask, done, *past = state
        results = self.decoder.run(nodes, [tokens, places, mask, *past], "search.made.")
        scores = self.changed(nodes, self.last(nodes, results[0]), history, first=False)
        following, ended = self.chosen(nodes, scores, done)
        after = following_run(nodes, history, following, places, mask)
        return [goes_on(nodes, ended), *after, ended, *results[1:]]

    def chosen(self, nodes: Nodes, scores: str, done: str) -> tuple[str, str]:
        """The token of each row, padding where it ended, and which rows ended."""
        best = nodes("Cast", self.picked(nodes, scores), to=6)
        ended = nodes("Or", done, nodes("Equal", best, np.int32(self.end)))
        return nodes("Where", ended, np.int32(self.pad), best), ended

    def picked(self, nodes: Nodes, scores: str) -> str:
        """The number of a token for each row."""
        return nodes("ArgMax", scores, axis=1, keepdims=0)


def goes_on(nodes: Nodes, done: str) -> str:
    """Whether there is one that has not ended."""
    ended = nodes("ReduceMin", nodes("Cast", done, to=6), keepdims=0)
    return nodes("Equal", ended, np.int32(0))


def following_run(
    nodes: Nodes, history: str, following: str, places: str, mask: str
) -> list[str]:
    """History, tokens, positions and mask of the next run."""
    column = nodes("Unsqueeze", following, sizes(1))
    last = nodes("Unsqueeze", nodes("Gather", places, np.asarray(-1), axis=1), sizes(1))
    seen = nodes("Add", nodes("Mul", column, np.int32(0)), np.int32(1))
    return [
        nodes("Concat", history, column, axis=1), column,
        nodes("Add", last, np.int32(1)), nodes("Concat", mask, seen, axis=1),
    ]  # fmt: skip


_GREEDY = (
    "input_ids", "max_length", "min_length", "repetition_penalty", "vocab_mask",
    "prefix_vocab_mask", "attention_mask",
)  # fmt: skip


@convert("com.microsoft.GreedySearch")
def greedy_search(node: Node) -> Result:
    """(batch, tokens) -> (batch, max_length): the best token each time, padding behind the end."""
    return Greedy(node, _GREEDY).run()


class Drawn(Greedy):
    """A token that is drawn among the best, whose shares add up to `top_p` or more."""

    def run(self) -> Result:
        if self.node.attr("custom", 0):
            raise self.node.invalid("custom", 1, "0")
        return super().run()

    def changed(self, nodes: Nodes, scores: str, history: str, *, first: bool) -> str:
        scores = super().changed(nodes, scores, history, first=first)
        scores = nodes("Div", scores, np.float32(self.node.attr("temperature", 1.0)))
        keep, share = int(self.node.attr("min_tokens_to_keep", 0)), self.node.attr("top_p", 0.0)
        if not 0 < share < 1:
            return scores
        # from the worst on: a token stays if with it the shares are above 1 - top_p
        count = nodes("Shape", scores, start=1, end=2)
        ordered, places = nodes.pair("TopK", scores, count, largest=0)
        shares = nodes("CumSum", nodes("Softmax", ordered, axis=-1), np.asarray(1))
        out = nodes("LessOrEqual", shares, np.float32(1 - float(share)))
        numbers = nodes("Range", np.asarray(0), nodes("Squeeze", count, sizes(0)),
                        np.asarray(1))  # fmt: skip
        rest = nodes("Less", numbers, nodes("Sub", count, sizes(max(keep, 1))))
        out = nodes("And", out, rest)
        low = np.float32(self.node.attr("filter_value", -1e20))
        return nodes("ScatterElements", scores, places, nodes("Where", out, low, ordered), axis=1)

    def picked(self, nodes: Nodes, scores: str) -> str:
        drawn = nodes("Multinomial", nodes("LogSoftmax", scores, axis=-1), dtype=7)
        return nodes("Squeeze", drawn, sizes(1))


@convert("com.microsoft.Sampling")
def sampling(node: Node) -> Result:
    """The same, its tokens drawn by their shares; the seed is that of all random numbers."""
    return Drawn(node, (*_GREEDY, "presence_mask", "seed")).run()
