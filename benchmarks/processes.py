"""Other processes of a benchmark: commands of this project, each stopped in order afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ENDS_WITHIN_S = 120


@contextmanager
def process(*words: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run `python -m WORDS` until the block ends."""
    with program(sys.executable, "-m", *words, **options) as running:
        yield running


@contextmanager
def program(*words: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Run a command until the block ends."""
    with subprocess.Popen(words, text=True, **options) as running:
        try:
            yield running
        finally:
            running.send_signal(signal.SIGTERM)
            running.wait(ENDS_WITHIN_S)


@contextmanager
def embedded_apiserver(kubeconfig: str, *flags: str) -> Iterator[None]:
    """Run the embedded API server; enter when it answers with the file `kubeconfig`.

    Raises SystemExit when it ends.
    """
    words = ("actorlet", "simulated-apiserver", "--kubeconfig", kubeconfig, *flags)
    with process(*words, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        while not os.path.exists(kubeconfig) or not os.path.getsize(kubeconfig):
            if not server.stdout.readline():
                raise SystemExit("the API server has ended")
        yield
