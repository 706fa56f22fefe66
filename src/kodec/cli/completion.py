"""Completion of verbs, options and their values in bash, zsh and fish.

A shell calls `kodec` with its own name in `_KODEC_COMPLETE` and the words up to the cursor as arguments. It
gets a line for each word that fits, and completes paths itself if there is none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kodec.cli.commands import VERBS
from kodec.cli.lines import printable, show, warn

__all__ = ["complete", "set_up"]

_BAD_USAGE = 2
_FIRST = {
    "--help": "Show the verbs and leave",
    "--version": "Show the version and leave",
    "--install-completion": "Complete verbs and options in the shell",
    "--show-completion": "Print what --install-completion installs",
}
_SCRIPTS: Mapping[str, str] = {
    "bash": """\
_kodec() {
    local IFS=$'\\n' words=("${COMP_WORDS[@]:1:COMP_CWORD}")
    # bash makes words of its own of --name=value
    COMPREPLY=($(_KODEC_COMPLETE=bash "$1" "${words[@]}" 2>/dev/null))
}
complete -o bashdefault -o default -F _kodec kodec
""",
    "zsh": """\
#compdef kodec
_kodec() {
    local -a found
    found=("${(@f)$(_KODEC_COMPLETE=zsh "${words[1]}" "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then _describe kodec found; else _files; fi
}
if [[ "${funcstack[1]}" == _kodec ]]; then _kodec "$@"; else compdef _kodec kodec; fi
""",
    "fish": """\
function __kodec_complete
    set -l words (commandline --cut-at-cursor --tokenize --current-process)
    set -a words (commandline --cut-at-cursor --current-token)
    set -l found (env _KODEC_COMPLETE=fish $words 2>/dev/null)
    if test (count $found) -gt 0
        string join -- \\n $found
    else
        __fish_complete_path (commandline --current-token)
    end
end
complete --command kodec --no-files --arguments "(__kodec_complete)"
""",
}


def complete(shell: str, words: Sequence[str]) -> int:
    """Print what completes the last word; nothing where that is a path, or where no verb is known."""
    for word, text in _fitting(words):
        text = printable(text)
        if shell == "zsh":
            print(word.replace(":", "\\:") + (f":{text}" if text else ""))
        elif shell == "fish":
            print(f"{word}\t{text}" if text else word)
        else:
            print(word)
    return 0


def _fitting(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The words that begin as the last one, and what each is for."""
    *before, last = words or [""]
    if not before:
        known = _FIRST if last.startswith("-") else VERBS
        yield from ((word, text) for word, text in known.items() if word.startswith(last))
        return
    if before[0] not in VERBS or "--" in before:
        return
    from kodec.cli.app import command
    from kodec.cli.parser import HELP

    options = {option.name: option for option in command(before[0]).options}
    preceding = options.get(before[-1])
    if preceding is not None and not preceding.is_flag:
        yield from ((value, "") for value in preceding.values if value.startswith(last))
    elif last.startswith("-"):
        name, equals, value = last.partition("=")
        if equals and name in options:
            choices = (choice for choice in options[name].values if choice.startswith(value))
            yield from ((f"{name}={choice}", "") for choice in choices)
            return
        helps = {name: option.help for name, option in options.items()} | {
            HELP[0]: "Show this help and exit."
        }
        yield from ((name, text) for name, text in helps.items() if name.startswith(last))


def set_up(words: Sequence[str], *, install: bool) -> int:
    """Print the script for a shell, which `$SHELL` names by default, or install it; the exit code."""
    shell = words[0] if words else Path(os.environ.get("SHELL", "")).name
    if shell not in _SCRIPTS or len(words) > 1:
        names = ", ".join(_SCRIPTS)
        unsupported = " ".join(words) or shell or "an unknown shell"
        warn(f"kodec: completion is for {names}, not {unsupported}: name one of them")
        return _BAD_USAGE
    if install:
        show(*_install(shell, Path.home()))
    else:
        sys.stdout.write(_SCRIPTS[shell])
    return 0


def _install(shell: str, home: Path) -> Iterator[str]:
    """Write the script where the shell finds it; a line about each file that changed."""
    path = {
        "bash": home / ".bash_completions" / "kodec.sh",
        "zsh": home / ".zfunc" / "_kodec",
        "fish": home / ".config" / "fish" / "completions" / "kodec.fish",
    }[shell]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_SCRIPTS[shell], encoding="utf-8")
    yield f"written: {path}"
    settings, line = {
        "bash": (home / ".bashrc", f"source '{path}'"),
        "zsh": (home / ".zshrc", f"fpath+=('{path.parent}'); autoload -Uz compinit && compinit"),
        "fish": (None, ""),
    }[shell]
    if settings is not None:
        text = settings.read_text("utf-8", "surrogateescape") if settings.exists() else ""
        if line not in text.splitlines():
            with settings.open("a", encoding="utf-8") as file:
                file.write(f"{'' if text.endswith(chr(10)) or not text else chr(10)}{line}\n")
            yield f"added a line: {settings}"
    yield f"It is in use in the next {shell}."
