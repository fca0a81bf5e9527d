"""python -m examples.chat [QUESTION]: answers of a small model that the compiler has trained."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tvm.error import TVMError
from tvm.serve.engine import Engine
from tvm.serve.model import LanguageModel
from tvm.serve.sampling import SamplingParams
from tvm.serve.text import Growing, Text

from .talk import MODEL, said

LONGEST = 80  # tokens of an answer


class Assistant:
    """A model, its tokenizer, and what was said so far."""

    def __init__(self, folder: Path = MODEL, storage: str = "float32") -> None:
        self._text = Text.open(folder)
        self._model = LanguageModel.open(folder, storage, max_sequences=2)
        self._engine = Engine(self._model)
        self._messages: list[dict[str, str]] = []

    def answer(self, question: str, temperature: float = 0.0) -> Iterator[str]:
        """The answer, piece by piece as it comes."""
        self._messages.append({"role": "user", "content": said(question)})
        prompt = self._text.prompt(self._messages[-3:])  # this question and the one before
        params = SamplingParams(temperature=temperature, max_tokens=LONGEST)
        growing, pieces = Growing(self._text), []
        for token in self._engine.generate(prompt, params):
            pieces.append(growing.add([token]))
            yield pieces[-1]
        pieces.append(growing.add([], last=True))
        yield pieces[-1]
        self._messages.append({"role": "assistant", "content": "".join(pieces)})


def main() -> None:
    """One question, or a conversation."""
    parser = argparse.ArgumentParser(prog="python -m examples.chat", description=__doc__)
    parser.add_argument("question", nargs="*", help="without one, questions are read line by line")
    parser.add_argument("--model", type=Path, default=MODEL, help="the folder of another model")
    parser.add_argument("--storage", default="float32", help="of weights: float32, int8, int4, ...")
    parser.add_argument("--temperature", type=float, default=0.0)
    options = parser.parse_args()
    try:
        assistant = Assistant(options.model, options.storage)
    except TVMError as problem:  # a package or a file that is not there
        parser.exit(1, f"{problem}\n")

    def tell(question: str) -> None:
        for piece in assistant.answer(question, options.temperature):
            print(piece, end="", flush=True)
        print()

    if options.question:
        tell(" ".join(options.question))
        return
    try:
        while question := input("> ").strip():
            tell(question)
    except (EOFError, KeyboardInterrupt):
        print()


if __name__ == "__main__":
    main()
