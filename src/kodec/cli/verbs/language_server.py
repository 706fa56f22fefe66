"""kodec language-server: problems, completion and definitions of schemas, for editors."""

from __future__ import annotations

import sys

from kodec.cli.parser import Exit
from kodec.runtime.errors import MissingDependency
from kodec.runtime.extras import install_command

__all__ = ["language_server"]


def language_server() -> None:
    """Serve an editor by the Language Server Protocol, over stdin and stdout.

    Shows the problems of a .ksy file while it is written, with hints; completes keys, types, enums and
    encodings; describes keys, types and fields; finds definitions and references, and renames what has a
    name, in all files that import it.

    example:  kodec language-server

    exit:     0 ended by the editor   1 ended without a request to shut down
    """
    try:
        from kodec.formats.language_server import LanguageServer
    except ImportError as error:
        raise MissingDependency(f"schemas need `{error.name}`: {install_command('generator')}") from error
    raise Exit(LanguageServer(sys.stdin.buffer, sys.stdout.buffer).run())
