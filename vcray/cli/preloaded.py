"""`python -m vcray.cli.preloaded run ...`: the program `vcray`, whose imports are done before it is told to begin.

`vcray up` starts the control plane this way while its API server is still on the way up, so that both load at the same time.
A line on standard input starts it; the end of standard input ends it.
"""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = {"local": ("vcray.app",), "ray": ("vcray.app", "vcray.actors.ray_runtime")}
"""What to load for a runtime."""


def main() -> None:
    """Load, wait for the word, run the command."""
    runtime = "ray" if "ray" in sys.argv else "local"
    for name in MODULES[runtime]:
        import_module(name)
    if not sys.stdin.readline():
        sys.exit(0)
    from vcray.cli.main import main as run

    run(sys.argv[1:])


if __name__ == "__main__":
    main()
