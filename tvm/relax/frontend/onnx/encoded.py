"""Searches with an encoder, as T5 and Whisper have it: BeamSearch of models of the types 1 and 2.

The encoder makes the keys and values that every run of the decoder attends to; an older form of it
runs the decoder for the first time as well. The keys and values of a text are one tensor each,
(batch, heads, length, size).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .beams import INPUTS, Beams
from .node import Node
from .registry import Result, convert
from .written import Nodes, run_graph, sizes

_T5 = 1
_MASK, _HIDDEN = "encoder_attention_mask", "encoder_hidden_states"


class Parts:
    """What the graphs `encoder` and `decoder` of a node take and give."""

    def __init__(self, node: Node, kind: int) -> None:
        for name in ("encoder", "decoder"):
            node.graph(name)  # refuses none
        self.encoder, self.decoder = node.attrs["encoder"], node.attrs["decoder"]
        inputs, self.takes = self._names(self.encoder), self._names(self.decoder)
        self.has_mask, self.has_hidden = _MASK in self.takes, _HIDDEN in self.takes
        head = 1 + self.has_mask + self.has_hidden
        self.layers, rest = divmod(len(self.takes) - head, 4)
        results = len(self.decoder.output)
        if rest or self.layers < 1 or results != 1 + 2 * self.layers:
            raise node.invalid("decoder", f"{len(self.takes)} inputs and {results} outputs",
                               f"input_ids, {_MASK}, {_HIDDEN} (both may be left out), "
                               "4 caches for each layer; scores and 2 caches")  # fmt: skip
        # a decoder that does not say that it takes one token is given the whole text each time
        dims = self.decoder.input[0].type.tensor_type.shape.dim
        self.rereads = len(dims) != 2 or dims[1].dim_value != 1
        # the older form is given tokens, and makes their scores and caches
        self.starts = "decoder_input_ids" in inputs
        made = len(self.encoder.output)
        cross = 2 * self.layers
        asked = ["encoder_input_ids", *([_MASK] if kind == _T5 else [])]
        asked += ["decoder_input_ids"] if self.starts else []
        if inputs != asked or made != (2 + 2 * cross if self.starts else cross):
            raise node.invalid(
                "encoder", f"the inputs {inputs} and {made} outputs",
                f"the inputs {asked}, and of {self.layers} layers {cross} keys and values, "
                "before them scores, hidden states and as many caches if tokens are given",
            )  # fmt: skip
        if self.has_hidden and not self.starts:
            raise node.invalid("decoder", _HIDDEN, "what the encoder makes: keys and values")

    @staticmethod
    def _names(graph: Any) -> list[str]:
        return [value.name for value in graph.input]

    def own(self) -> Any:
        """The first cache that the decoder takes."""
        return self.decoder.input[len(self.takes) - 4 * self.layers]


class EncodedBeams(Beams):
    """Rows are (batch * K); what the encoder made is the same for the texts of a prompt."""

    def graphs(self) -> None:
        self.kind = int(self.node.attr("model_type", 2))
        self.parts = Parts(self.node, self.kind)

    def begin(self, nodes: Nodes) -> tuple[str, str, list[str]]:
        parts, source = self.parts, self.given["input_ids"]
        tokens = self._first_tokens(nodes, source)
        mask = self.mask(nodes, source) if self.kind == _T5 else ""
        given = [source, *([mask] if mask else []), *([tokens] if parts.starts else [])]
        results = run_graph(nodes, parts.encoder, given, "search.encoded.")
        cross = results[-2 * parts.layers :]
        shared = [mask] * parts.has_mask + results[1:2] * parts.has_hidden
        if parts.starts:
            logits, own = results[0], results[2 : 2 + 2 * parts.layers]
        else:
            none = self._no_cache(nodes, tokens, cross[0])
            given = [tokens, *shared, *[none] * (2 * parts.layers), *cross]
            logits, *own = run_graph(nodes, parts.decoder, given, "search.out.")
        self.shared = [self.repeated(nodes, value) for value in shared]
        self.cross = [self.repeated(nodes, value) for value in cross]
        self.behind = self.last(nodes, logits)
        return tokens, self.behind, [self.repeated(nodes, one) for one in own]

    def tokens_marked(self, nodes: Nodes, tokens: str) -> str:
        """1 from the first token on that is no padding."""
        counted = nodes("CumSum", super().tokens_marked(nodes, tokens), np.asarray(1))
        return nodes("Min", counted, np.asarray([1], "int32"))

    def _first_tokens(self, nodes: Nodes, source: str) -> str:
        """The tokens that a text begins with, (batch, n)."""
        if self.kind != _T5 and "decoder_input_ids" in self.given:
            return nodes("Cast", self.given["decoder_input_ids"], to=6)
        start = int(self.node.required("decoder_start_token_id"))
        if start < 0:
            raise self.node.invalid("decoder_start_token_id", start, "a token")
        shape = nodes("Concat", nodes("Shape", source, start=0, end=1), sizes(1), axis=0)
        return nodes("Expand", np.int32(start), shape)

    def _no_cache(self, nodes: Nodes, tokens: str, cross: str) -> str:
        """A cache of no token, with as many heads as the decoder says, or the encoder's."""
        kind = self.parts.own().type.tensor_type
        dims = [dim.dim_value for dim in kind.shape.dim]
        heads, size = (
            sizes(dims[i]) if len(dims) == 4 and dims[i] > 0
            else nodes("Shape", cross, start=i, end=i + 1) for i in (1, 3)
        )  # fmt: skip
        rows = nodes("Shape", tokens, start=0, end=1)
        shape = nodes("Concat", rows, heads, sizes(0), size, axis=0)
        return nodes("Cast", nodes("ConstantOfShape", shape), to=kind.elem_type or 1)

    def again(
        self, nodes: Nodes, history: str, tokens: str, carried: Sequence[str]
    ) -> tuple[str, list[str]]:
        given = [history if self.parts.rereads else tokens, *self.shared, *carried, *self.cross]
        logits, *own = run_graph(nodes, self.parts.decoder, given, "search.made.")
        return self.last(nodes, logits), own

    def moved(self, nodes: Nodes, rows: str, carried: Sequence[str]) -> list[str]:
        return [nodes("Gather", cache, rows, axis=0) for cache in carried]


@convert("com.microsoft.BeamSearch")
def beam_search(node: Node) -> Result:
    """(batch, tokens) -> (batch, returned, max_length), and scores: their own, those of tokens."""
    kind = int(node.attr("model_type", 0))
    if kind not in (0, 1, 2):
        raise node.invalid("model_type", kind, "0: a decoder, 1 or 2: an encoder and a decoder")
    return (EncodedBeams if kind else Beams)(node, INPUTS).run()
