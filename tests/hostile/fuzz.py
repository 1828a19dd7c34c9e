"""Long runs of atheris over the decoders: `tox -e fuzz`.

Or `python -m tests.hostile.fuzz --seconds 600 [DECODER ...]`.

Each decoder is fuzzed in a process of its own, guided by the coverage of the code that it calls, from its seeds and its
corpus. What breaks it is kept in `corpus/<decoder>/`, which CI reads from then on. At the end there is a table.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS = 600
INPUT_BYTES_AT_MOST = 16_384
MEMORY_MIB_AT_MOST = 2048
_DONE = re.compile(rb"Done ([0-9]+) runs in")


def fuzz_one(name: str, seconds: int, folder: Path) -> None:
    """In this process, which ends with the run: the exit status says whether a fault was found."""
    import atheris

    with atheris.instrument_imports(include=["config", "runtime", "actors", "simulation"]):
        from tests.hostile.registry import DECODERS, corpus_of

    decoder = DECODERS[name]
    for number, data in enumerate((*decoder.seeds, *corpus_of(name))):
        (folder / f"seed-{number}").write_bytes(data)
    words = [b'"%s"' % b"".join(b"\\x%02x" % byte for byte in word) for word in decoder.words if len(word) < 64]
    (folder.parent / "words").write_bytes(b"\n".join(words) + b"\n")
    options = (
        f"-max_total_time={seconds}",
        f"-max_len={INPUT_BYTES_AT_MOST}",
        f"-rss_limit_mb={MEMORY_MIB_AT_MOST}",
        f"-artifact_prefix={folder.parent}/found-",
        f"-dict={folder.parent}/words",
        "-timeout=60",
        "-print_final_stats=1",
    )
    atheris.Setup([sys.argv[0], *options, str(folder)], decoder.check)
    atheris.Fuzz()


def run(name: str, seconds: int, corpus: Path) -> tuple[int, str]:
    """(inputs tried, what was found) of one decoder; what was found is in its corpus then."""
    with tempfile.TemporaryDirectory(prefix="actorlet-fuzz-") as directory:
        folder = Path(directory, "inputs")
        folder.mkdir()
        command = [sys.executable, "-m", "tests.hostile.fuzz", "--child", str(folder), "--seconds", str(seconds), name]
        done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "TMPDIR": directory})
        match = _DONE.search(done.stderr) or re.search(rb"stat::number_of_executed_units: ([0-9]+)", done.stderr)
        tried = int(match[1]) if match else 0
        kept = [_keep(file, corpus / name) for file in sorted(Path(directory).glob("found-*"))]
    if done.returncode == 0:
        return tried, ""
    told = [line for line in (done.stdout + done.stderr).decode(errors="replace").splitlines() if "Error" in line]
    return tried, f"{', '.join(kept) or 'no input was kept'}: {(told or ['it ended at once'])[0].strip()[:160]}"


def _keep(file: Path, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    data = file.read_bytes()
    name = hashlib.sha256(data).hexdigest()[:16]
    (folder / name).write_bytes(data)
    return name


def main() -> int:
    """The exit status: 1 when something was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="for each decoder (default: %(default)s)")
    parser.add_argument("--child", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("decoders", nargs="*", metavar="DECODER", help="default: all")
    options = parser.parse_args()
    if options.child:
        fuzz_one(options.decoders[0], options.seconds, Path(options.child))
        return 0
    from tests.hostile.registry import CORPUS, DECODERS

    unknown = set(options.decoders) - set(DECODERS)
    if unknown:
        parser.error(f"there is no decoder {', '.join(sorted(unknown))}; there are {', '.join(DECODERS)}")
    faults = 0
    print(f"{'decoder':24} {'seconds':>7} {'inputs':>10}  found", flush=True)
    for name in options.decoders or DECODERS:
        tried, found = run(name, options.seconds, CORPUS)
        faults += bool(found)
        print(f"{name:24} {options.seconds:7} {tried:10}  {found or 'nothing'}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
