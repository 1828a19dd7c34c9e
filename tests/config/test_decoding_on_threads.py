"""Sources decode manifests on several threads at once, from the first moment of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# In a process of its own: what can happen happens once in its life, and it ends it.
PROGRAM = """
import sys, threading
sys.setswitchinterval(1e-6)
from config.documents.codec import from_builtins
from config.objects import Pod
start = threading.Barrier(4)
def read():
    start.wait()
    from_builtins({"spec": {"containers": [{"name": "a", "image": "b"}]}}, Pod)
threads = [threading.Thread(target=read) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.mark.parametrize("attempt", range(4))
def test_the_first_decoding_may_happen_on_many_threads_at_once(attempt: int) -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
