"""Tokens, growing answers, conversations."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.error import TVMError
from tvm.serve.text import Growing, Text

pytestmark = pytest.mark.pure


def test_text_and_tokens(folder: Path) -> None:
    text = Text.open(folder)
    tokens = text.encode("größer 🙂")
    assert text.decode(tokens) == "größer 🙂"
    assert text.decode([1, *tokens, 2]) == "größer 🙂"


@pytest.mark.parametrize("words", ["größer 🙂 als", "a" * 100 + "ü" * 50, ""])
def test_answers_grow_by_whole_characters(folder: Path, words: str) -> None:
    text = Text.open(folder)
    growing, pieces = Growing(text), []
    tokens = text.encode(words)
    for i, token in enumerate(tokens):
        pieces.append(growing.add([token], i + 1 == len(tokens)))
    assert "".join(pieces) == words
    assert all("\ufffd" not in piece for piece in pieces)


def test_stops_are_cut_and_their_beginnings_held_back(folder: Path) -> None:
    text = Text.open(folder)
    growing = Growing(text, ["END", "\n\n"])
    shown = [growing.add(text.encode(c)) for c in "an ENemy.EN"]
    assert "".join(shown) == "an ENemy."
    assert growing.add(text.encode("D and more")) == ""
    assert growing.stopped
    growing = Growing(text, ["END"])
    assert growing.add(text.encode("EN"), last=True) == "EN"


def test_conversations_are_written_as_the_model_wants(folder: Path, tmp_path: Path) -> None:
    text = Text.open(folder)
    prompt = text.prompt([{"role": "user", "content": "hi"}])
    assert prompt == [1, *text.encode("user: hi"), 2, 1, *text.encode("assistant: ")]
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    assert Text.open(tmp_path).prompt([{"role": "user", "content": "hi"}]) == text.encode(
        "user: hi\nassistant: "
    )
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('no system role') }}")
    with pytest.raises(TVMError, match="no system role"):
        Text.open(tmp_path).prompt([{"role": "system", "content": "x"}])
    (tmp_path / "chat_template.jinja").write_text("{% for %}")
    with pytest.raises(TVMError, match="the template of conversations"):
        Text.open(tmp_path)
    # a template cannot reach into Python
    (tmp_path / "chat_template.jinja").write_text("{{ messages.__class__.__mro__ }}")
    with pytest.raises(TVMError, match="unsafe"):
        Text.open(tmp_path).prompt([{"role": "user", "content": "x"}])


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(TVMError, match=r"no file tokenizer.json"):
        Text.open(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(TVMError, match=r"tokenizer_config.json"):
        Text.open(tmp_path)


@pytest.mark.parametrize(("cut", "pieces"), [
    ("gpt-2", ["1234", " a"]), ("llama-bpe", ["123", "4", " a"]),
    ("qwen2", ["1", "2", "3", "4", " a"]),
])  # fmt: skip
def test_texts_of_gguf_files_are_cut_as_they_say(
    cut: str, pieces: list[str], tmp_path: Path
) -> None:
    """Every piece could be one token: which tokens there are tells the pieces."""
    import gguf
    import numpy as np

    tokens = ["<s>", *"1234a", "Ġ", "12", "123", "1234", "Ġa"]
    writer = gguf.GGUFWriter(str(tmp_path / "x.gguf"), "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(cut)
    writer.add_token_list(tokens)
    writer.add_token_merges(["1 2", "12 3", "123 4", "Ġ a"])
    writer.add_bos_token_id(0)
    writer.add_add_bos_token(cut == "llama-bpe")
    writer.add_tensor("x", np.zeros(1, "float32"))
    for name in ("write_header_to_file", "write_kv_data_to_file", "write_tensors_to_file"):
        getattr(writer, name)()
    writer.close()
    text = Text.open(tmp_path / "x.gguf")
    found = text.encode("1234 a")
    first = [0] if cut == "llama-bpe" else []
    assert found == [*first, *(tokens.index(piece.replace(" ", "Ġ")) for piece in pieces)]
    assert text.decode(found) == "1234 a"


def test_bytes_of_tokens(folder: Path) -> None:
    """Each byte of a text is in one of its tokens, parts of characters too."""
    text = Text.open(folder)
    for given in ("TVM", "a \u20ac, \U0001f600\n"):
        raw = [text.token_bytes(token) for token in text.encode(given, special=False)]
        assert b"".join(raw) == given.encode()
