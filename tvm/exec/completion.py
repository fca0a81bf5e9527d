"""`tvm completion bash`: what a shell needs to complete commands and options with the tab key.

    tvm completion bash > ~/.local/share/bash-completion/completions/tvm
    tvm completion zsh > ~/.zfunc/_tvm
    tvm completion fish > ~/.config/fish/completions/tvm.fish
"""

from __future__ import annotations

import argparse
from importlib import import_module

from tvm.exec.command import Outcome

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="whose completion to print")


def run(args: argparse.Namespace) -> Outcome:
    words = options()
    text = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](words)
    return Outcome(text, {"shell": args.shell, "script": text, "commands": words})


def options() -> dict[str, list[str]]:
    """The commands with their options, as their parsers have them."""
    found: dict[str, list[str]] = {}
    for name in import_module("tvm.exec.cli").COMMANDS:
        parser = argparse.ArgumentParser()
        import_module(f"tvm.exec.{name}").configure(parser)
        own = [word for action in parser._actions for word in action.option_strings]
        found[name] = sorted({"--json", "--verbose", *(w for w in own if w.startswith("--"))})
    return found


def _cases(words: dict[str, list[str]], line: str) -> str:
    return "\n".join(line.format(name=name, own=" ".join(own)) for name, own in words.items())


def _bash(words: dict[str, list[str]]) -> str:
    return f"""\
_tvm() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} own=
    if [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "{' '.join(words)} --help --version" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{_cases(words, '        {name}) own="{own}" ;;')}
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$own" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _tvm tvm"""


def _zsh(words: dict[str, list[str]]) -> str:
    return f"""\
#compdef tvm
if (( CURRENT == 2 )); then
    compadd -- {' '.join(words)} --help --version
    return
fi
local -a own
case "$words[2]" in
{_cases(words, '    {name}) own=({own}) ;;')}
esac
if [[ "$words[CURRENT]" == -* ]]; then
    compadd -- $own
else
    _files
fi"""


def _fish(words: dict[str, list[str]]) -> str:
    lines = [f"complete -c tvm -n __fish_use_subcommand -f -a '{' '.join(words)}'"]
    for name, own in words.items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c tvm {seen} -l {word.removeprefix('--')}" for word in own]
    return "\n".join(lines)
