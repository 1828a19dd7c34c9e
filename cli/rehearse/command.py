"""`actorlet rehearse DIR`: plays the record of a node with a version, and lists what differs.

Exit status 1: a decision differs that no row of `--expected` names. 0: none. 2: the record, the table or the version
cannot be read. 130: interrupted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from actors.records.folder import NoRecordError, runs_in
from actors.records.format import FormatError
from actors.replays.rehearsal import Decision, Expected, Rehearsal, split
from actors.replays.rehearse import Rehearsed, rehearse
from cli.command_parser import CommandParser
from cli.file_errors import why
from cli.moments import shown
from cli.printing import complain, say, say_json
from cli.silence import silence
from cli.simulate.play_watch import Interrupt, interruptible
from cli.simulate.report import of
from cli.version import VERSION
from runtime.io.rings import few_collections

TEXT_AT_MOST = 400
PROCESS = "actorlet/_process.py"


class VersionError(ValueError):
    """The other version cannot be used; the text says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    options = _parser().parse_args(argv)
    try:
        if options.version is not None:
            return _by_other_version(options)
        return _rehearse(options)
    except (NoRecordError, FormatError, VersionError, msgspec.MsgspecError, OSError) as error:
        complain(f"actorlet rehearse: {why(error)}")
        return 2


def _rehearse(options: argparse.Namespace) -> int:
    expected = () if options.expected is None else _table(options.expected)
    rehearsal, interrupt = Rehearsal(), Interrupt()
    with ExitStack() as stack:
        for manager in (interruptible(interrupt), few_collections(), silence()):
            stack.enter_context(manager)
        runs = runs_in(options.record)
        rehearsed = rehearse(runs, rehearsal, lambda: not interrupt.came)
    if not rehearsed.runs:
        raise NoRecordError("no run of the record has its beginning; a larger --record-size keeps more")
    judged = tuple(split(rehearsal.sorted(), expected))
    if options.output == "json":
        say_json(msgspec.json.encode(_document(judged, rehearsal, rehearsed)))
    else:
        say(*_lines(options.record, judged, rehearsal, rehearsed))
    if interrupt.came:
        return 130
    return 1 if any(row is None for _, row in judged) else 0


def _table(path: str) -> tuple[Expected, ...]:
    """The table of expected differences: a YAML list. Raises ValidationError and OSError."""
    return msgspec.yaml.decode(Path(path).read_bytes(), type=tuple[Expected, ...])


def _lines(
    record: str, judged: Sequence[tuple[Decision, Expected | None]], rehearsal: Rehearsal, rehearsed: Rehearsed
) -> Iterator[str]:
    size = f"{of(rehearsed.steps, 'step')} of {of(rehearsed.runs, 'agent')}"
    if not judged:
        yield f"actorlet {VERSION} decides all as recorded: {size}"
    kind = None
    for decision, row in judged:
        if decision.kind is not kind:
            kind = decision.kind
            yield f"{kind.value}:"
        times = f", {decision.times} times" if decision.times > 1 else ""
        yield f"  {decision.what}{times}"
        if row is not None:
            yield f"    expected: {row.why or row.what}"
            continue
        first = decision.first
        yield f"    first at {shown(first.wall_ns)}, by {first.actor or 'what came from outside'}"
        yield f"    recorded: {_cut(first.expected) or 'nothing'}"
        yield f"    now:      {_cut(first.got) or 'nothing'}"
        yield f"    actorlet replay {record} --run {decision.run} --until {first.step} --step"
    if judged:
        unexpected = sum(row is None for _, row in judged)
        followed = f"; {of(rehearsal.followed, 'difference')} followed from them" if rehearsal.followed else ""
        counted = f"{of(unexpected, 'decision')} that nobody expects, {len(judged) - unexpected} expected"
        yield f"{counted}, in {size}{followed}"
    if rehearsed.left_out:
        yield f"{of(rehearsed.left_out, 'agent')} left out, whose beginning made room for newer segments"


def _document(
    judged: Sequence[tuple[Decision, Expected | None]], rehearsal: Rehearsal, rehearsed: Rehearsed
) -> dict[str, object]:
    return {
        "actorlet": VERSION,
        "runs": rehearsed.runs,
        "leftOut": rehearsed.left_out,
        "steps": rehearsed.steps,
        "followed": rehearsal.followed,
        "decisions": [
            {
                "kind": decision.kind.value,
                "what": decision.what,
                "times": decision.times,
                "run": decision.run,
                "step": decision.first.step,
                "at": shown(decision.first.wall_ns),
                "actor": decision.first.actor,
                "recorded": decision.first.expected,
                "now": decision.first.got,
                "expected": None if row is None else row.why or row.what,
            }
            for decision, row in judged
        ],
    }


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_AT_MOST else f"{text[:TEXT_AT_MOST]}..."


# --- another version --------------------------------------------------------------------------------------------------


def _by_other_version(options: argparse.Namespace) -> int:
    """Let the code of a wheel, or of a clone, do the same. It uses the libraries of this installation."""
    arguments = ["rehearse", options.record, "--output", options.output]
    if options.expected is not None:
        arguments += ["--expected", options.expected]
    with tempfile.TemporaryDirectory(prefix="actorlet-rehearse-") as place:
        program = _program_in(Path(options.version), Path(place))
        return subprocess.run([sys.executable, "-I", str(program), "cli.main", *arguments], check=False).returncode


def _program_in(version: Path, place: Path) -> Path:
    """The program of that version. A wheel is unpacked into `place`. Raises VersionError."""
    if version.is_dir():
        program = version / PROCESS
    else:
        try:
            with zipfile.ZipFile(version) as wheel:
                wheel.extractall(place)
        except zipfile.BadZipFile:
            raise VersionError(f"{version} is no wheel and no folder with actorlet in it") from None
        program = place / PROCESS
    if not program.is_file():
        raise VersionError(f"{version} has no {PROCESS}: it is no wheel and no clone of actorlet")
    return program


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="actorlet rehearse",
        description="Play the record of a node with this version, or another one, and list each decision that it would "
        "take otherwise. See docs/reference/records.md.",
    )
    parser.add_argument("record", metavar="DIR", help="as `actorlet run --record` has written it")
    parser.add_argument("--with", dest="version", metavar="WHEEL|DIR", help="that version: a wheel, or a clone")
    parser.add_argument("--expected", metavar="FILE", help="a table of differences that are expected")
    parser.add_argument("--output", choices=("text", "json"), default="text")
    return parser
