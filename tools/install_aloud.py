"""Install this project into the Python that runs this, and say so meanwhile.

    python tools/install_aloud.py DIR

A first `tox -e up` installs for one to three minutes. tox and pip either say nothing or print each package. DIR
remembers what was installed, so that the next run begins at once. Exit status: that of pip; its words are printed when
it fails.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

EVERY_S = 5.0
SOURCES = ("setup.cfg", "pyproject.toml")


def main() -> int:
    stamp = Path(sys.argv[1]) / "installed"
    wanted = hashlib.sha256(b"".join(Path(name).read_bytes() for name in SOURCES)).hexdigest()
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        return 0
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--editable", "."]
    print("installing actorlet and what it needs; this takes one to three minutes, once", flush=True)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        seconds = 0.0
        while True:
            try:
                said, _ = pip.communicate(timeout=EVERY_S)
                break
            except subprocess.TimeoutExpired:
                seconds += EVERY_S
                print(f"  {seconds:.0f} s ...", flush=True)
    if pip.returncode:
        print(said, file=sys.stderr)
        return pip.returncode
    stamp.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
