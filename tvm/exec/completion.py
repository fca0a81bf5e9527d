"""`tvm completion bash`: what a shell needs to complete commands and options with the tab key.

    tvm completion bash > ~/.local/share/bash-completion/completions/tvm
    tvm completion zsh > ~/.zfunc/_tvm
    tvm completion fish > ~/.config/fish/completions/tvm.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module

from tvm.exec.command import Outcome

SHELLS = ("bash", "zsh", "fish")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="whose completion to print")


def run(args: argparse.Namespace) -> Outcome:
    words, values = options(), choices()
    text = {"bash": _bash, "zsh": _zsh, "fish": _fish}[args.shell](words, values)
    return Outcome(text, {"shell": args.shell, "script": text, "commands": words})


def options() -> dict[str, list[str]]:
    """The commands with their options, as their parsers have them."""
    found: dict[str, list[str]] = {}
    for name, actions in _actions():
        own = [word for action in actions for word in action.option_strings]
        found[name] = sorted({"--json", "--verbose", *(w for w in own if w.startswith("--"))})
    return found


def choices() -> dict[str, list[str]]:
    """What stands behind a command, of those that take one of a few words."""
    found = {
        name: [str(word) for action in actions if not action.option_strings
               for word in action.choices or ()]
        for name, actions in _actions()
    }  # fmt: skip
    return {name: words for name, words in found.items() if words}


def _actions() -> Iterator[tuple[str, list[argparse.Action]]]:
    for name in import_module("tvm.exec.cli").COMMANDS:
        parser = argparse.ArgumentParser()
        import_module(f"tvm.exec.{name}").configure(parser)
        yield name, parser._actions


def _cases(words: dict[str, list[str]], values: dict[str, list[str]], line: str) -> str:
    return "\n".join(
        line.format(name=name, own=" ".join(own), values=" ".join(values.get(name, ())))
        for name, own in words.items()
    )


def _bash(words: dict[str, list[str]], values: dict[str, list[str]]) -> str:
    return f"""\
_tvm() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} own= values=
    if [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "{' '.join(words)} --help --version" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{_cases(words, values, '        {name}) own="{own}" values="{values}" ;;')}
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$own" -- "$word")) ;;
        *) if [ -n "$values" ]; then COMPREPLY=($(compgen -W "$values" -- "$word"))
           else COMPREPLY=($(compgen -f -- "$word")); fi ;;
    esac
}}
complete -o filenames -F _tvm tvm"""


def _zsh(words: dict[str, list[str]], values: dict[str, list[str]]) -> str:
    return f"""\
#compdef tvm
if (( CURRENT == 2 )); then
    compadd -- {' '.join(words)} --help --version
    return
fi
local -a own values
case "$words[2]" in
{_cases(words, values, '    {name}) own=({own}) values=({values}) ;;')}
esac
if [[ "$words[CURRENT]" == -* ]]; then
    compadd -- $own
elif (( $#values )); then
    compadd -- $values
else
    _files
fi"""


def _fish(words: dict[str, list[str]], values: dict[str, list[str]]) -> str:
    lines = [f"complete -c tvm -n __fish_use_subcommand -f -a '{' '.join(words)}'"]
    for name, own in words.items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c tvm {seen} -l {word.removeprefix('--')}" for word in own]
        if name in values:
            lines.append(f"complete -c tvm {seen} -f -a '{' '.join(values[name])}'")
    return "\n".join(lines)
