"""Train the model of the chat example and write the folder `model` beside this file.

    pip install -e ".[serve]" && python -m examples.chat.train

Takes about five minutes. The result is in the repository: this is needed only to make it anew. The
network, its gradients and the optimizer's step are functions of Relax, compiled to native code.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import tvm
from tvm import relax
from tvm.relax.training import Adam, CrossEntropyLoss, SetupTrainer, Trainer

from .network import CONFIG, LENGTH, VOCABULARY, backbone, parameter_shapes
from .talk import ASSISTANT, END, MODEL, SPECIAL, TEMPLATE, USER, Pair, read_pairs, said

SEED: Final = 7
BATCH: Final = 12
RATES: Final = ((2e-3, 600), (5e-4, 250), (1e-4, 150))  # learning rate, steps
IGNORED: Final = -100       # a target that the loss does not count
MISHEARD: Final = 0.1       # how often a token of a question is another one in training

Tokens = NDArray[np.int64]
Weights = dict[str, NDArray[Any]]


def make_tokenizer(pairs: list[Pair]) -> Any:
    """Byte pairs (Sennrich et al. 2016) that occur in the text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=list(SPECIAL), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator([t for p in pairs for t in (*p.questions, p.answer)], trainer)
    return tokenizer


def batches(pairs: list[Pair], tokenizer: Any, rng: np.random.Generator) -> Iterator[Any]:
    """Rows of conversations, and what comes next where the assistant speaks."""
    special = [tokenizer.token_to_id(token) for token in SPECIAL]
    while True:
        tokens = np.full((BATCH, LENGTH), tokenizer.token_to_id(END), np.int64)
        targets = np.full((BATCH, LENGTH), IGNORED, np.int64)
        for row in range(BATCH):
            at = 0
            while at < LENGTH:
                pair = pairs[rng.integers(len(pairs))]
                question = said(pair.questions[rng.integers(len(pair.questions))])
                asked = tokenizer.encode(USER + question + END + ASSISTANT).ids
                for i, token in enumerate(asked):
                    if token not in special and rng.random() < MISHEARD:
                        asked[i] = int(rng.integers(len(special), VOCABULARY))
                answer = tokenizer.encode(pair.answer + END).ids
                line = (asked + answer)[: LENGTH - at]
                tokens[row, at : at + len(line)] = line
                first, last = at + len(asked) - 1, at + len(line) - 1
                if first < last:
                    targets[row, first:last] = tokens[row, first + 1 : last + 1]
                at += len(line)
        yield tokens, targets.reshape(-1)


def first_weights(rng: np.random.Generator) -> Weights:
    """Weights to begin with: norms of ones, products that keep the size of what they get."""
    return {
        name: np.ones(shape, np.float32) if len(shape) == 1
        else rng.normal(0, shape[1] ** -0.5, shape).astype(np.float32)
        for name, shape in parameter_shapes().items()
    }  # fmt: skip


def train(
    pairs: list[Pair], tokenizer: Any, rates: tuple[tuple[float, int], ...] = RATES
) -> tuple[Weights, list[float]]:
    """Trained weights, and the loss before each step."""
    rng = np.random.default_rng(SEED)
    weights, losses = first_weights(rng), []
    data = batches(pairs, tokenizer, rng)
    scores = relax.TensorStructInfo((BATCH * LENGTH, VOCABULARY), "float32")
    wanted = relax.TensorStructInfo((BATCH * LENGTH,), "int64")
    for rate, steps in rates:
        loss = CrossEntropyLoss(ignore_index=IGNORED)
        mod = SetupTrainer(loss, Adam(rate), [scores, wanted])(backbone(BATCH))
        trainer = Trainer(mod, relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu()), tvm.cpu())
        trainer.load_params(list(weights.values()))
        start = time.perf_counter()
        for step in range(steps):
            losses.append(float(trainer.update(*next(data)).numpy()))
            if (step + 1) % 50 == 0:
                each = (time.perf_counter() - start) / (step + 1)
                print(f"rate {rate:g}, step {step + 1}: loss {np.mean(losses[-50:]):.3f}, "
                      f"{each * 1e3:.0f} ms a step", flush=True)  # fmt: skip
        weights = dict(
            zip(weights, (v.numpy() for v in trainer.export_params().values()), strict=True)
        )
    return weights, losses


def write(folder: Path, weights: Weights, tokenizer: Any) -> None:
    """The files by which models are published."""
    from safetensors.numpy import save_file

    folder.mkdir(exist_ok=True)
    halves = {name: values.astype(np.float16) for name, values in weights.items()}
    save_file(halves, folder / "model.safetensors")
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    settings = {"eos_token": END, "chat_template": TEMPLATE}
    for name, entries in (("config", CONFIG), ("tokenizer_config", settings)):
        (folder / f"{name}.json").write_text(json.dumps(entries, indent=2) + "\n", "utf-8")


def main() -> None:
    """Train, and write the files."""
    parser = argparse.ArgumentParser(prog="python -m examples.chat.train", description=__doc__)
    parser.add_argument("--out", type=Path, default=MODEL, help="the folder of the model")
    options = parser.parse_args()
    pairs = read_pairs()
    tokenizer = make_tokenizer(pairs)
    weights, losses = train(pairs, tokenizer)
    write(options.out, weights, tokenizer)
    print(f"{sum(v.size for v in weights.values()):,} weights in {options.out}, "
          f"loss {np.mean(losses[-50:]):.4f}")  # fmt: skip


if __name__ == "__main__":
    main()
