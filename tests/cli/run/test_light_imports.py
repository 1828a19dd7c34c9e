"""The agent carries no library that most nodes never use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120
HEAVY = ("cryptography", "h2", "importlib.metadata", "psutil")
"""For certificates, gRPC probes, versions of installed packages, and the addresses of the machine."""


def test_the_agent_imports_heavy_libraries_when_it_needs_them() -> None:
    assert printed(f"import sys, cli.run.command; print(sorted(set({HEAVY}) & sys.modules.keys()))") == "[]\n"


def test_the_imports_read_no_trusted_certificates() -> None:
    before = "import gc, os, ssl; place = os.environ.get('SSL_CERT_FILE'); import cli.run.command"
    read = "sum(each.cert_store_stats()['x509'] for each in gc.get_objects() if isinstance(each, ssl.SSLContext))"
    assert printed(f"{before}; print({read}, os.environ.get('SSL_CERT_FILE') == place)") == "0 True\n"


def printed(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout
