"""Speech as text: WhisperBeamSearch, whose texts may hold times.

Times stand in pairs, where one piece of text ends and the next one begins, and never go back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvm import tir
from tvm.relax.extents import require_equal

from .beams import INPUTS
from .encoded import EncodedBeams
from .generation import LOWEST
from .node import Node
from .registry import Result, convert
from .written import Nodes, sizes

_INPUTS = (*INPUTS, "cross_qk_layer_head", "extra_decoding_ids", "temperature")
_PROCESSOR, _TIMES = 11, 1  # the input that asks for rules of tokens, and its value for times


class Whisper(EncodedBeams):
    """Scores are divided by a temperature; then tokens out of place are left out."""

    def __init__(self, node: Node, inputs: Sequence[str]) -> None:
        if (kind := int(node.attr("model_type", 2))) != 2:
            raise node.invalid("model_type", kind, "2")
        if node.wants(3) or node.attr("decoder_output_cross_qk", 0):
            raise node.invalid("decoder_output_cross_qk, output 3", "products of attention",
                               "left out")  # fmt: skip
        for at in (12, 13):
            if node.has(at):
                raise node.invalid(inputs[at], "given", "left out")
        super().__init__(node, inputs)
        self.times = int(node.attr("beginning_timestamp_token_id", -1))
        self.rules = node.known(_PROCESSOR) if node.has(_PROCESSOR) else np.asarray([0])
        if self.rules is not None and self.rules.reshape(-1).tolist() != [_TIMES]:
            self.times = -1
        elif self.times < 0 and self.rules is not None:
            raise node.invalid("beginning_timestamp_token_id", self.times, "the token of time 0")
        elif self.times < 0:
            # which rules there are is seen when it runs: without the tokens of times, none
            number = node.numbers(_PROCESSOR, "logits_processor", 1)[0] + tir.const(0, "int64")
            require_equal(node.bb, number, tir.const(0, "int64"))

    def changed(self, nodes: Nodes, scores: str, history: str, *, first: bool) -> str:
        scores = super().changed(nodes, scores, history, first=first)
        if "temperature" in self.given:
            scores = nodes("Div", scores, nodes("Reshape", self.given["temperature"], sizes(1)))
            scores = nodes("Max", scores, LOWEST)
        if self.times < 0:
            return scores
        kept = self._in_place(nodes, scores, history)
        if self.rules is not None:
            return kept
        asked = nodes("Equal", self.whole(nodes, "logits_processor"), sizes(_TIMES))
        return nodes("Where", asked, kept, scores)

    def _in_place(self, nodes: Nodes, scores: str, history: str) -> str:
        """Scores without those of tokens that cannot come next."""
        count = nodes("Squeeze", nodes("Shape", scores, start=1, end=2), sizes(0))
        tokens = nodes("Range", np.asarray(0), count, np.asarray(1))
        times = nodes("GreaterOrEqual", tokens, np.asarray(self.times))
        texts = nodes("Less", tokens, np.asarray(self.end))
        were = nodes("Cast", nodes("GreaterOrEqual", history, np.int32(self.times)), to=7)
        # tokens from the first time on
        begun = nodes("Min", nodes("CumSum", were, np.asarray(1)), sizes(1))
        since = nodes("ReduceSum", begun, sizes(1))
        any_, several = (nodes("GreaterOrEqual", since, sizes(n)) for n in (1, 2))
        is_time = [nodes("Cast", nodes("Gather", were, sizes(-1), axis=1), to=9)]
        longer = nodes("Concat", nodes("Gather", were, sizes(0), axis=1), were, axis=1)
        is_time.append(nodes("Cast", nodes("Gather", longer, sizes(-2), axis=1), to=9))
        closed = nodes("Or", is_time[1], nodes("Not", several))
        opens = nodes("And", is_time[0], closed)  # text has to follow
        ends = nodes("And", is_time[0], nodes("Not", closed))  # the same time again may follow
        length = nodes("Squeeze", nodes("Shape", history, start=1, end=2), sizes(0))
        places = nodes("Range", np.asarray(1), nodes("Add", length, np.asarray(1)), np.asarray(1))
        place = nodes("ArgMax", nodes("Mul", were, places), axis=1, keepdims=1)
        latest = nodes("GatherElements", nodes("Cast", history, to=7), place, axis=1)
        least = nodes("Sub", nodes("Add", latest, sizes(1)), nodes("Cast", ends, to=7))
        back = nodes("And", any_, nodes("Less", tokens, least))
        out = nodes("And", nodes("Or", back, opens), times)
        out = nodes("Or", out, nodes("And", ends, texts))
        out = nodes("Or", out, self._of(nodes, tokens, "no_timestamps", "start_of_lm"))
        tasks = self._of(nodes, tokens, "decoder_start", "translate", "transcribe")
        out = nodes("Or", out, nodes("And", tasks, several))
        scores = nodes("Where", out, LOWEST, scores)
        # a time it is, if times together are likelier than each other token
        share = nodes("ReduceLogSumExp", nodes("Where", times, scores, LOWEST), sizes(1))
        best = nodes("ReduceMax", nodes("Where", times, LOWEST, scores), sizes(1))
        forced = nodes("And", nodes("Greater", share, best), nodes("Not", times))
        return nodes("Where", forced, LOWEST, scores)

    def _of(self, nodes: Nodes, tokens: str, *names: str) -> str:
        """Which tokens are those in attributes."""
        found = [int(self.node.attr(f"{name}_token_id", -1)) for name in names]
        column = nodes("Unsqueeze", tokens, sizes(1))
        same = nodes("Cast", nodes("Equal", column, sizes(*found)), to=7)
        return nodes("Cast", nodes("ReduceMax", same, sizes(1), keepdims=0), to=9)

    def others(self, nodes: Nodes) -> dict[int, str]:
        if not self.node.wants(4):
            return {}
        token = int(self.node.required("no_speech_token_id"))
        shares = nodes("Softmax", self.behind, axis=-1)
        return {4: nodes("Gather", shares, np.asarray(token), axis=1)}


@convert("com.microsoft.WhisperBeamSearch")
def whisper_beam_search(node: Node) -> Result:
    """(batch, features, frames) -> (batch, returned, max_length), scores, whether none speaks."""
    return Whisper(node, _INPUTS).run()
