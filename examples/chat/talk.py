"""The text of the example as conversations, and conversations as tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

HERE: Final = Path(__file__).parent
MODEL: Final = HERE / "model"

# What stands between the parts of a conversation: one token each.
END, USER, ASSISTANT = "<|end|>", "<|user|>", "<|assistant|>"
SPECIAL: Final = (END, USER, ASSISTANT)
TEMPLATE: Final = (
    "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


class Pair(NamedTuple):
    """The ways to ask for one thing, and the answer."""

    questions: tuple[str, ...]
    answer: str


def read_pairs(file: Path = HERE / "talk.txt") -> list[Pair]:
    """The pairs of a text: a line `? one way | another`, the answer below it, an empty line."""
    pairs = []
    for entry in file.read_text("utf-8").strip().split("\n\n"):
        question, answer = entry.split("\n", 1)
        ways = tuple(way.strip() for way in question.removeprefix("?").split("|"))
        pairs.append(Pair(ways, " ".join(answer.split())))
    return pairs


def said(question: str) -> str:
    """A question as the network sees it: case, signs and spaces around it make no difference."""
    return " ".join(question.lower().replace("?", " ").replace("!", " ").split()).rstrip(" .")
