"""`python -m tools.share_cases JUDGE`: asks the judge and this agent, and counts their differences."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.share_cases.cases import Case, case_of
from tools.share_cases.comparing import first_difference
from tools.share_cases.kept import keep
from tools.share_cases.ours import answers

BATCH = 200
"""Cases that one process of the judge answers."""


def ask(judge: str, cases: list[Case], *, pod_level: bool) -> Iterator[dict[str, Any]]:
    """The judge's answers. A judge that hangs in a case says so and ends; the next one goes on behind it."""
    while cases:
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        done = subprocess.run([judge, f"-plr={str(pod_level).lower()}"], input=lines, capture_output=True, text=True)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        if not found:
            sys.exit(f"the judge answered nothing: {done.stderr}")
        yield from found
        cases = cases[len(found) :]


def main() -> None:
    """See the package."""
    parser = argparse.ArgumentParser(prog="python -m tools.share_cases")
    parser.add_argument("judge", help="the program")
    parser.add_argument("--cases", type=int, default=1000, help="sequences of pods; each has 4 to 12 questions")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--pod-level", action="store_true", help="with pod-level resources")
    parser.add_argument("--mended", action="store_true", help="the judge has the mends that the page lists")
    parser.add_argument("--keep", help="write the cases with the judge's answers to this file (xz)")
    options = parser.parse_args()
    kinds: Counter[str] = Counter()
    examples: dict[str, str] = {}
    kept: list[tuple[Case, dict[str, Any]]] = []
    questions = 0
    for start in range(options.first, options.first + options.cases, BATCH):
        seeds = range(start, min(start + BATCH, options.first + options.cases))
        cases = [case_of(seed, pod_level=options.pod_level) for seed in seeds]
        for seed, case, theirs in zip(
            seeds, cases, ask(options.judge, cases, pod_level=options.pod_level), strict=True
        ):
            ours = answers(case, pod_level=options.pod_level)
            different = first_difference(case, theirs, ours, mended=options.mended)
            questions += len(ours) if different is None else different[0] + 1
            if different is not None:
                kinds[different[1]] += 1
                examples.setdefault(different[1], f"seed {seed}, operation {different[0]}")
            kept.append((case, theirs))
    if options.keep:
        keep(Path(options.keep), kept)
    print(f"{options.cases} cases, {questions} questions, {sum(kinds.values())} differences")
    for kind, count in kinds.most_common():
        print(f"{count:8} {kind} ({examples[kind]})")


if __name__ == "__main__":
    main()
