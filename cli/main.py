"""The kodec command: parse arguments, call one function, print."""

from __future__ import annotations

import sys

from kodec.runtime.errors import KodecError

__all__ = ["main"]

# Not from `outcome`, which needs the libraries that may be missing.
BAD_BYTES = 1
BAD_USAGE = 2


def main(arguments: list[str] | None = None) -> int:
    """Run the command; give its exit code: 0 done, 1 bad bytes or a check that failed, 2 bad usage."""
    try:
        from kodec.cli.app import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f"kodec: the command needs `{error.name}`: pip install 'kodec[cli]'", file=sys.stderr)
        return BAD_USAGE
    try:
        return run(arguments)
    except KodecError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return BAD_BYTES
    except KeyboardInterrupt:
        print("kodec: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # the reader of our output has gone, as in `kodec dump ... | head`
        sys.stderr.close()
        return 0
