"""The command `tvm`: finds the command's module, runs it, and turns errors into exit codes.

0 all went well; 1 the request cannot be carried out as asked (one message, no traceback);
2 a fault of ours (the message says how to see the traceback).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final, NoReturn, cast

from tvm.base import __version__
from tvm.error import CheckError, InternalError, TVMError, message
from tvm.exec.command import Command, Mistake
from tvm.ffi.library import without_torch
from tvm.support.contiguous_frames import contiguous_frames
from tvm.support.garbage import infrequent_gc
from tvm.support.quick_exit import run_and_leave
from tvm.support.suggest import did_you_mean

OK: Final = 0
MISTAKE: Final = 1
FAULT: Final = 2
INTERRUPTED: Final = 130            # 128 + SIGINT, as shells count

# Name of the command: what it does. Its module is tvm.exec.<name>, loaded only if it is asked for.
COMMANDS: Final = {
    "compile": "compile a model to a library of native code",
    "view": "show what became of a program, as a page in the browser",
    "explain": "tell how each kernel was made, why, and what it costs",
    "run": "run a compiled library on the arrays of a file",
    "bench": "measure a program, kernel by kernel, and beside other runtimes",
    "diff": "tell what changed between two builds, in kernels and time",
    "tune": "search for faster kernels, and compile with the best",
    "serve": "answer requests with a language model, as OpenAI clients ask",
    "keygen": "make a key that signs files",
    "sign": "sign a library or parameters with a key",
    "verify": "tell whether a trusted key signed a file",
    "cache": "show or clear what was compiled before",
    "info": "tell versions, the processor, its roofs, backends and the compile cache",
    "completion": "print what a shell needs to complete commands and options",
}


class _Parser(argparse.ArgumentParser):
    """Refuses like the rest of the command line: exit code 1, and legal forms shown."""

    def error(self, text: str) -> NoReturn:
        usage = " ".join(self.format_usage().removeprefix("usage: ").split())
        asked, _, legal = text.partition("; legal: ")  # that an option's own reader told
        raise Mistake(message(f"{self.prog}: {asked}", legal=legal or usage))


def process() -> int:
    """The command `tvm` as a process of its own, whose end costs nothing."""
    return run_and_leave(main)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (without the program's name); the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # a process of our own
        without_torch()
    try:
        with _ending_on_request():
            return _run(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()          # the reader has left: nobody is there to complain to
        return OK
    except TVMError as error:
        if isinstance(error, CheckError) or not isinstance(error, InternalError):
            return _report(error, str(error), MISTAKE, words)
        return _fault(error, words)
    except OSError as error:        # a full disk, say: the machine's answer to the request
        return _report(error, str(error), MISTAKE, words)
    except Exception as error:      # the outermost edge: whatever is left is our fault
        return _fault(error, words)


@contextlib.contextmanager
def _ending_on_request() -> Iterator[None]:
    """SIGTERM leaves as an exception does: folders of half-written files go.

    What a signal raises within a destructor, Python reports and drops; the signal comes once more.
    """
    main_thread = threading.main_thread().ident
    if main_thread is None or threading.get_ident() != main_thread:
        yield
        return

    def leave(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    def dropped(lost: sys.UnraisableHookArgs) -> None:
        numbers = {KeyboardInterrupt: signal.SIGINT, SystemExit: signal.SIGTERM}
        number = numbers.get(lost.exc_type)
        if number is None:
            reported(lost)
        else:                       # at once would be within the destructor again
            threading.Timer(0.01, signal.pthread_kill, (main_thread, number)).start()

    reported, sys.unraisablehook = sys.unraisablehook, dropped
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        sys.unraisablehook = reported


def _run(words: Sequence[str]) -> int:
    odd = next((word for word in words if "\0" in word), None)
    if odd is not None:             # no shell can say it, a caller in Python can
        raise Mistake(message(f"tvm: the argument {odd!r}", found="a byte of zero",
                              legal="text and names of files"))  # fmt: skip
    parser = _Parser(prog="tvm", description="Compile models and tensor programs.")
    parser.add_argument("--version", action="version", version=f"tvm-py {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in words if not word.startswith("-")), "")
    if asked and asked not in COMMANDS:
        near = did_you_mean(asked, COMMANDS)
        raise Mistake(message(f"tvm: no command {asked!r}{near}", legal=", ".join(COMMANDS)))
    for name, summary in COMMANDS.items():
        command_parser = commands.add_parser(name, help=summary, description=f"{summary}.")
        if name == asked:
            command_parser.add_argument("--json", action="store_true", help="print one JSON object")
            command_parser.add_argument(
                "-v", "--verbose", action="store_true", help="tell the steps; show tracebacks"
            )
            _module(name).configure(command_parser)
    try:
        args = parser.parse_args(words)
    except SystemExit as done:      # --help and --version end here
        return OK if not done.code else MISTAKE
    outcome = contiguous_frames(_module(asked).run)(args)
    print(json.dumps(outcome.record) if args.json else outcome.text, flush=True)
    return OK


def _module(name: str) -> Command:
    with infrequent_gc():
        return cast(Command, import_module(f"tvm.exec.{name}"))


def _report(error: Exception, text: str, code: int, words: Sequence[str]) -> int:
    print(f"error: {text if _is_verbose(words) else in_a_line(text)}", file=sys.stderr)
    if "--json" in words:
        print(json.dumps({"error": {"kind": type(error).__name__, "message": text}}))
    return code


def in_a_line(text: str) -> str:
    """A message of the four parts in one line, without `where`; any other as it is."""
    asked, *rest = text.split("\n")
    parts = [asked]
    in_where = False
    for line in rest:
        label, colon, told = line.strip().partition(":")
        if line.startswith("   "):      # more of the part above
            if not in_where:
                return text
        elif colon and label in ("found", "legal"):
            parts.append(f"{label}: {told.strip()}")
            in_where = False
        elif label == "where":
            in_where = True
        else:
            return text
    more = " (-v shows where)" if any(line.startswith("  where:") for line in rest) else ""
    return "; ".join(parts) + more


def _is_verbose(words: Sequence[str]) -> bool:
    return not {"-v", "--verbose"}.isdisjoint(words)


def _fault(error: Exception, words: Sequence[str]) -> int:
    verbose = _is_verbose(words)
    if verbose:
        import traceback  # 3 ms, for faults alone

        traceback.print_exception(error)
    what = f"a fault of the compiler, not of the request: {type(error).__name__}: {error}"
    more = None if verbose else "the same command with -v prints the traceback"
    return _report(error, message(what, legal=more), FAULT, words)
