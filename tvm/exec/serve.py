"""`tvm serve MODEL`: a language model behind the HTTP interface that clients of OpenAI speak."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from tvm.error import message
from tvm.exec.command import Mistake, Outcome, Steps
from tvm.relax.frontend.nn.llm.models.storage import STORAGES
from tvm.runtime.extras import extra_package


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", type=Path, metavar="MODEL",
        help="a folder with config.json, *.safetensors and tokenizer.json; or a file *.gguf",
    )  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", help="where to listen (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="%(default)s")
    parser.add_argument(
        "--storage", choices=STORAGES, default="float32", help="how weights lie in memory"
    )
    parser.add_argument("--target", default="llvm", help="what to compile for")
    parser.add_argument("--name", help="the model's name for clients (default: the file's)")
    parser.add_argument("--batch", type=int, default=16, metavar="N", help="requests at once")
    parser.add_argument("--capacity", type=int, metavar="TOKENS", help="of the cache, in all")
    parser.add_argument("--queue", type=int, default=256, metavar="N", help="how many may wait")
    parser.add_argument(
        "--timeout", type=float, default=300.0, metavar="S", help="seconds that a request may take"
    )
    parser.add_argument("--draft", type=Path, metavar="MODEL", help="a small model that guesses")
    parser.add_argument(
        "--lookup", action="store_true", help="guess what followed the same words before"
    )


def run(args: argparse.Namespace) -> Outcome:
    uvicorn = extra_package("uvicorn", "serve", "a server")
    key = os.environ.get("TVM_SERVE_KEY")
    if args.host not in ("127.0.0.1", "localhost", "::1") and not key:
        raise Mistake(
            message(f"tvm serve --host {args.host}", found="no key: anybody could use the model",
                    legal="a key that clients know in TVM_SERVE_KEY, or --host 127.0.0.1")
        )  # fmt: skip
    if args.draft and args.lookup:
        raise Mistake(message("tvm serve", found="--draft and --lookup", legal="one of them"))
    steps = Steps(args.verbose)
    app = _app(args, steps, key)
    print(f"serving {_name(args)} at http://{args.host}:{args.port}/v1", flush=True)
    uvicorn.run(app, host=args.host, port=args.port, log_level="warning")
    return Outcome("the server has ended", {"seconds": steps.seconds})


def _name(args: argparse.Namespace) -> str:
    return str(args.name or args.model.resolve().stem)


def _app(args: argparse.Namespace, steps: Steps, key: str | None) -> Any:
    from tvm.serve.engine import Engine
    from tvm.serve.model import LanguageModel
    from tvm.serve.openai import make_app
    from tvm.serve.speculation import DraftModel, PromptLookup, Proposer
    from tvm.serve.text import Text

    if not args.model.exists():
        raise Mistake(message(f"the model {args.model}", found="no such file or folder",
                              legal="a folder or a *.gguf file"))  # fmt: skip
    options = {
        "target": args.target, "max_sequences": args.batch, "capacity": args.capacity,
        "storage": args.storage,
    }  # fmt: skip
    with steps.step("tokenizer"):
        text = Text.open(args.model)
    with steps.step("model"):
        model = LanguageModel.open(args.model, **options)
    proposer: Proposer | None = PromptLookup() if args.lookup else None
    if args.draft:
        with steps.step("draft"):
            draft = LanguageModel.open(args.draft, **options)
        if draft.config.vocab_size != model.config.vocab_size:
            raise Mistake(
                message("the draft model", found=f"{draft.config.vocab_size} tokens",
                        legal=f"the {model.config.vocab_size} tokens of the model")
            )  # fmt: skip
        proposer = DraftModel(draft)
    engine = Engine(model, proposer=proposer, queue_limit=args.queue)
    return make_app(engine, text, _name(args), timeout=args.timeout, api_key=key)
