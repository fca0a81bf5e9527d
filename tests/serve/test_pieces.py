"""Pieces with scores: joined as SentencePiece joins them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tvm.error import TVMError
from tvm.serve.pieces import SPACE, pairs_of, tokenizer_of_pieces
from tvm.serve.text import Text

tokenizers = pytest.importorskip("tokenizers")
pytestmark = pytest.mark.pure
WORDS = "the cat sat on that mat, then the hat that sat"


def joined(text: str, pieces: Sequence[str], scores: Sequence[float]) -> list[str]:
    """SentencePiece's rule itself: again and again the two whose piece has the highest score."""
    known, parts = dict(zip(pieces, scores)), list(text)
    while True:
        found = [
            (-known[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in known
        ]
        if not found:
            return parts
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def vocabulary(seed: int) -> tuple[list[str], list[float]]:
    """Letters, and parts of words, each with a score of its own."""
    rng, text = random.Random(seed), WORDS.replace(" ", SPACE)
    parts = {text[i : i + n] for i in range(len(text)) for n in (2, 3, 4) if rng.random() < 0.5}
    pieces = ["<unk>", *sorted(set(text)), *sorted(parts)]
    scores = [-float(i) for i in range(len(pieces))]
    rng.shuffle(scores)
    return pieces, scores


@pytest.mark.parametrize("seed", range(8))
def test_joins_as_sentencepiece_does(seed: int) -> None:
    pieces, scores = vocabulary(seed)
    made = tokenizer_of_pieces(tokenizers, pieces, scores, "<unk>", True)
    for text in (WORDS, "that", "he sat", " the  hat"):
        wanted = joined(SPACE + text.replace(" ", SPACE), pieces, scores)
        assert made.encode(text).tokens == wanted
        assert made.decode(made.encode(text).ids) == text


def test_pairs_come_by_their_scores() -> None:
    places = {piece: i for i, piece in enumerate(["a", "b", "ab", "aba", "ba"])}
    found = pairs_of(places, [0.0, 0.0, -3.0, -1.0, -2.0])
    assert found == [("a", "ba"), ("ab", "a"), ("b", "a"), ("a", "b")]


def test_scores_that_are_missing() -> None:
    with pytest.raises(TVMError, match="found: 1 of 2"):
        tokenizer_of_pieces(tokenizers, ["a", "b"], [0.0], None, True)


@pytest.mark.parametrize("space", [True, False])
def test_from_a_gguf_file(space: bool, tmp_path: Path) -> None:
    """Letters that no piece has are bytes; a text begins with its special token."""
    gguf: Any = pytest.importorskip("gguf")
    import numpy as np

    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    pieces = ["<unk>", "<s>", "</s>", *bytes_, SPACE, "a", "b", "ab", SPACE + "ab"]
    writer = gguf.GGUFWriter(str(tmp_path / "x.gguf"), "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([0.0] * 259 + [-5.0, -4.0, -3.0, -2.0, -1.0])
    writer.add_token_types([2, 3, 3, *[6] * 256, *[1] * 5])
    for name, number in (("unk", 0), ("bos", 1), ("eos", 2)):
        getattr(writer, f"add_{name}_token_id")(number)
    if not space:
        writer.add_add_space_prefix(False)
    writer.add_tensor("x", np.zeros(1, "float32"))
    for name in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file"):
        getattr(writer, name)()
    writer.close()
    text = Text.open(tmp_path / "x.gguf")
    found = text.encode("ab \u00e9</s>")
    first = [pieces.index(SPACE + "ab")] if space else [pieces.index("ab")]
    rest = [pieces.index(SPACE), *(bytes_.index(b) + 3 for b in ("<0xC3>", "<0xA9>"))]
    assert found == [1, *first, *rest, 2]
    assert text.decode(found) == "ab \u00e9"
