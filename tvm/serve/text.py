"""Between text and tokens: a tokenizer, answers as they grow, conversations as prompts.

Tokenizers are read by the library `tokenizers`, templates of conversations by `jinja2` in its
sandbox; the extra `llm` installs both.
"""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tvm.error import ArgumentValueError, message
from tvm.relax.frontend.nn.llm.models.entries import Entries
from tvm.relax.frontend.nn.llm.models.gguf import GGUF
from tvm.runtime.extras import extra_package
from tvm.serve.pieces import tokenizer_of_pieces
from tvm.support.json_text import from_json

Message = Mapping[str, Any]  # role, content
# for models that come without a template
_PLAIN = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


class Text:
    """The tokenizer of a model, and how it writes conversations."""

    def __init__(self, tokenizer: Any, template: str | None, special: Mapping[str, str]) -> None:
        self._tokenizer = tokenizer
        self._special = special
        self._template = _compiled(template or _PLAIN)

    @classmethod
    def open(cls, path: str | Path) -> Text:
        """That in a model's folder, or beside or within a GGUF file."""
        library = extra_package("tokenizers", "llm", "a tokenizer")
        folder = Path(path) if Path(path).is_dir() else Path(path).parent
        file = folder / "tokenizer.json"
        settings = _json(folder / "tokenizer_config.json")
        template = settings.get("chat_template")
        if isinstance(template, list):  # several, by name
            template = next((t["template"] for t in template if t.get("name") == "default"), None)
        beside = folder / "chat_template.jinja"
        if beside.is_file():
            template = beside.read_text("utf-8")
        special = {
            name: token["content"] if isinstance(token, dict) else token
            for name, token in settings.items()
            if name.endswith("_token") and isinstance(token, (str, dict))
        }
        if file.is_file():
            return cls(_tokenizer(library, file), template, special)
        if Path(path).suffix == ".gguf":
            return cls(*_from_gguf(library, GGUF(path)))
        raise ArgumentValueError(
            message(f"a tokenizer in {folder}", found="no file tokenizer.json",
                    legal="the files that the model was published with")
        )  # fmt: skip

    def encode(self, text: str, special: bool = True) -> list[int]:
        """The tokens of a text; with those that every text begins or ends with, if asked."""
        return list(self._tokenizer.encode(text, add_special_tokens=special).ids)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special ones."""
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text

    def token(self, number: int) -> str:
        """The text of one token."""
        text: str | None = self._tokenizer.id_to_token(number)
        return self.decode([number]) or text or ""

    def token_bytes(self, number: int) -> bytes:
        """The bytes of one token, also where they are a part of a character."""
        text = self.token(number)
        if "\ufffd" not in text:
            return text.encode()
        name = self._tokenizer.id_to_token(number) or ""
        if len(name) == 6 and name.startswith("<0x"):  # as SentencePiece writes a byte
            return bytes.fromhex(name[3:5])
        known = _byte_of_character()
        return bytes(known[c] for c in name) if known.keys() >= set(name) else text.encode()

    def prompt(self, messages: Sequence[Message], **more: Any) -> list[int]:
        """The tokens of a conversation, up to where the answer begins."""
        try:
            text = self._template.render(
                messages=list(messages), add_generation_prompt=True, **self._special, **more
            )
        except Exception as problem:  # a template may raise what it likes
            raise ArgumentValueError(
                message("a conversation", found=str(problem),
                        legal="messages that the model's template takes")
            ) from None  # fmt: skip
        return self.encode(text, special=False)


@functools.cache
def _byte_of_character() -> Mapping[str, int]:
    """The bytes that characters stand for in tokens of byte pairs (Radford et al. 2019).

    Those that can be printed stand for themselves, the others for U+0100 and on, in order.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(b): b for b in plain} | {chr(0x100 + i): b for i, b in enumerate(others)}


class Growing:
    """The text of an answer as its tokens come: what is new, and whole characters only.

    Text that may be the beginning of one of `stop` is held back; from a stop on, nothing comes.
    """

    def __init__(self, text: Text, stop: Sequence[str] = ()) -> None:
        self._text, self._stop = text, [s for s in stop if s]
        self._tokens: list[int] = []
        self._told = 0              # characters of the text of the tokens from `_from` on
        self._from = 0
        self._held = ""
        self.stopped = False

    def add(self, tokens: Sequence[int], last: bool = False) -> str:
        """The new text; `last`: nothing comes behind it."""
        self._tokens += tokens
        whole = self._text.decode(self._tokens[self._from :])
        new = "" if whole.endswith("\ufffd") and not last else whole[self._told :]
        self._told += len(new)
        if new and len(self._tokens) - self._from > 32:  # decode a few tokens, not all, each time
            self._from = len(self._tokens) - 8
            self._told = len(self._text.decode(self._tokens[self._from :]))
        return self._until_stop(new, last)

    def _until_stop(self, new: str, last: bool) -> str:
        if self.stopped:
            return ""
        text = self._held + new
        ends = [offset for stop in self._stop if (offset := text.find(stop)) >= 0]
        if ends:
            self.stopped = True
            self._held = ""
            return text[: min(ends)]
        kept = 0 if last else max((_overlap(text, stop) for stop in self._stop), default=0)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]


def _overlap(text: str, stop: str) -> int:
    """How many characters at the end of `text` may be the beginning of `stop`."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1)
                 if text.endswith(stop[:n])), 0)  # fmt: skip


def _tokenizer(library: Any, file: Path) -> Any:
    try:
        return library.Tokenizer.from_file(str(file))
    except Exception as problem:  # the library raises the class itself
        raise ArgumentValueError(
            message(f"the tokenizer {file}", found=str(problem), legal="a tokenizer.json")
        ) from None


def _compiled(template: str) -> Any:
    library = extra_package("jinja2.sandbox", "llm", "the template of conversations")
    environment = library.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda x, indent=None, **_: json.dumps(
        x, ensure_ascii=False, indent=indent
    )
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)

    def refuse(text: str) -> None:
        raise ArgumentValueError(text)

    environment.globals["raise_exception"] = refuse
    try:
        return environment.from_string(template)
    except Exception as problem:  # jinja2 is imported here only: its class has no name above
        raise ArgumentValueError(
            message("the template of conversations", found=str(problem), legal="a Jinja template")
        ) from None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = from_json(path.read_text("utf-8"))
    except ValueError as problem:
        raise ArgumentValueError(message(f"the file {path}", found=str(problem), legal="JSON")
                                 ) from None  # fmt: skip
    return found if isinstance(found, dict) else {}


# How a text is cut before pairs of bytes are merged, by what `tokenizer.ggml.pre` says; None: as
# GPT-2 does. The patterns stand in the published tokenizers of these models.
_WORDS: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CUTS: Final = {
    "gpt-2": None, "default": None, "llama-bpe": _WORDS % "{1,3}", "qwen2": _WORDS % "",
}  # fmt: skip


def _from_gguf(library: Any, file: GGUF) -> tuple[Any, str | None, dict[str, str]]:
    """The tokenizer within a GGUF file: byte pairs with their merges, or pieces with scores."""
    entries = file.entries
    kind, cut = entries.get("tokenizer.ggml.model"), entries.get("tokenizer.ggml.pre", "default")
    if kind not in ("gpt2", "llama") or (kind == "gpt2" and cut not in _CUTS):
        raise ArgumentValueError(
            message("the tokenizer in a GGUF file", found=f"kind {kind!r}, cut as {cut!r}",
                    legal=f"'llama' (pieces), 'gpt2' (byte pairs), cut as {', '.join(_CUTS)}; for "
                    "others a tokenizer.json beside the file")
        )  # fmt: skip
    tokens = _texts(entries, "tokenizer.ggml.tokens")
    special = {}
    for name in ("bos", "eos", "unknown"):
        number = entries.get(f"tokenizer.ggml.{name}_token_id")
        if type(number) is int and number < len(tokens):
            special[f"{name}_token"] = tokens[number]
    if kind == "llama":
        made = tokenizer_of_pieces(
            library, tokens, _scores(entries), special.get("unknown_token"),
            entries.truth("tokenizer.ggml.add_space_prefix", True),
        )  # fmt: skip
    else:
        made = _of_merges(library, entries, tokens, cut)
    kinds = entries.get("tokenizer.ggml.token_type") or []
    control = [t for t, k in zip(tokens, kinds) if k in (3, 4)]  # control, user defined
    apart = dict.fromkeys([*control, *special.values()])
    made.add_special_tokens([library.AddedToken(t, special=True) for t in apart])
    first = special.get("bos_token")
    if first is not None and entries.truth("tokenizer.ggml.add_bos_token", kind == "llama"):
        made.post_processor = library.processors.TemplateProcessing(
            single=f"{first} $A", special_tokens=[(first, tokens.index(first))]
        )
    return made, entries.get("tokenizer.chat_template"), special


def _scores(entries: Entries) -> list[float]:
    name = "tokenizer.ggml.scores"
    found = entries.get(name)
    if not isinstance(found, list) or not all(isinstance(score, float) for score in found):
        raise entries.wrong(name, found, "a list of numbers")
    return found


def _of_merges(library: Any, entries: Entries, tokens: Sequence[str], cut: str) -> Any:
    merges = [tuple(pair.split(" ", 1)) for pair in _texts(entries, "tokenizer.ggml.merges")]
    try:
        model = library.models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges)
    except Exception as problem:  # the library raises the class itself
        raise ArgumentValueError(
            message("the tokenizer in a GGUF file", found=str(problem),
                    legal="merges of two tokens each")
        ) from None  # fmt: skip
    made, pattern = library.Tokenizer(model), _CUTS[cut]
    level = library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    if pattern is not None:
        split = library.pre_tokenizers.Split(library.Regex(pattern), "isolated")
        level = library.pre_tokenizers.Sequence([split, level])
    made.pre_tokenizer, made.decoder = level, library.decoders.ByteLevel()
    return made


def _texts(entries: Entries, name: str) -> list[str]:
    found = entries.texts(name, 0)
    if found is None:
        raise entries.wrong(name, None, "a list of texts")
    return found
