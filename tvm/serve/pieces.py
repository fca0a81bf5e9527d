"""Tokenizers of SentencePiece by byte pairs, from pieces and their scores.

SentencePiece joins the two neighbours whose piece has the highest score, the first of them where
several have. The library `tokenizers` joins by a list of pairs: all in which a piece can be cut,
those of high scores first. Spaces are written as U+2581, and so is the beginning of a text; what no
piece has is written as bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tvm.error import ArgumentValueError, message

SPACE: Final = "\u2581"
_BYTES: Final = [f"<0x{byte:02X}>" for byte in range(256)]


def tokenizer_of_pieces(
    library: Any, pieces: Sequence[str], scores: Sequence[float], unknown: str | None,
    space_first: bool,
) -> Any:  # fmt: skip
    """The tokenizer; `space_first`: texts begin with a space that is not in them."""
    if len(scores) != len(pieces):
        raise ArgumentValueError(
            message("scores of a tokenizer's pieces", found=f"{len(scores)} of {len(pieces)}",
                    legal="one for each")
        )  # fmt: skip
    ids = {piece: i for i, piece in enumerate(pieces)}
    model = library.models.BPE(
        vocab=ids, merges=pairs_of(ids, scores), unk_token=unknown, fuse_unk=True,
        byte_fallback=all(byte in ids for byte in _BYTES),
    )  # fmt: skip
    made = library.Tokenizer(model)
    replace = library.normalizers.Replace(" ", SPACE)
    before = [library.normalizers.Prepend(SPACE)] if space_first else []
    made.normalizer = library.normalizers.Sequence([*before, replace])
    after = [library.decoders.Strip(" ", 1, 0)] if space_first else []
    made.decoder = library.decoders.Sequence([
        library.decoders.Replace(SPACE, " "), library.decoders.ByteFallback(),
        library.decoders.Fuse(), *after,
    ])  # fmt: skip
    return made


def pairs_of(ids: Mapping[str, int], scores: Sequence[float]) -> list[tuple[str, str]]:
    """The pairs of pieces that make a piece, those of high scores first."""
    best_first = sorted(ids, key=lambda piece: (-scores[ids[piece]], ids[piece]))
    return [
        (piece[:cut], piece[cut:])
        for piece in best_first
        for cut in range(1, len(piece))
        if piece[:cut] in ids and piece[cut:] in ids
    ]
