"""How the answers of the embedded API server differ from recorded ones.

`python -m tools.recordings.compare` prints shares for each resource: answers with the same code, the same but for
words, and the same to the letter. Then come the kinds of differences, the most frequent first. Words are the texts of
refusals and warnings. `--floors` raises the shares in `floors.json`, below which the tests fail; it lowers none.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from actors.kernel.pool_dispatcher import PoolDispatcher
from runtime.io.event_loop import LoopThread
from simulation.apiserver.core import Options
from simulation.apiserver.front.http_front import HttpFront
from simulation.apiserver.server import ApiServer
from tools.recordings.__main__ import HERE, sender_to
from tools.recordings.player import Answer, Request, Script, Send, comparable, play

_SCRIPTS = msgspec.json.Decoder(Script)
WORDS = frozenset({"message"})
FLOORS = "floors.json"


class Pair(msgspec.Struct, frozen=True):
    """A request, what a real server answered, and what the embedded one did."""

    script: str
    number: int
    request: Request
    real: Answer
    ours: Answer

    @property
    def same_code(self) -> bool:
        return self.real.code == self.ours.code

    @property
    def same_but_for_words(self) -> bool:
        return self.same_code and _wordless(self.real.body) == _wordless(self.ours.body)

    @property
    def same(self) -> bool:
        return self.same_code and self.real.body == self.ours.body and self.real.warnings == self.ours.warnings

    @property
    def is_refusal(self) -> bool:
        return self.real.code >= 400

    @property
    def same_words(self) -> bool:
        return bool(self.same_code and self.real.body == self.ours.body)

    def difference(self) -> str:
        """The kind of difference, short; empty for none."""
        if not self.same_code:
            return f"code {self.real.code} is {self.ours.code}"
        return next((f"{_kind(path)}: {what}" for path, what in differences(self.real.body, self.ours.body)), "")


def resources(directory: Path = HERE) -> list[str]:
    """The resources that are recorded."""
    return sorted(path.stem for path in directory.glob("*.jsonl"))


def recorded(resource: str, directory: Path = HERE) -> list[Script]:
    """The scripts of a resource."""
    return [_SCRIPTS.decode(line) for line in (directory / f"{resource}.jsonl").read_bytes().splitlines()]


def replayed(scripts: list[Script], send: Send) -> Iterator[Pair]:
    """Play scripts on another server."""
    for script in scripts:
        asked = script.requests[script.prelude :]
        both = comparable(script.answers), comparable(play(script, send))
        for number, (request, real, our) in enumerate(zip(asked, *both, strict=True)):
            yield Pair(script.name, number, request, real, our)


@contextmanager
def embedded() -> Iterator[Send]:
    """An embedded API server of its own, as an admin asks it.

    No controller acts, as when the pairs were recorded.
    """
    loop, clock = LoopThread(), PoolDispatcher()
    front = HttpFront(ApiServer(clock, Options(storage_protection=False, quota_usage=False)), loop)
    front.start()
    try:
        with sender_to(front.url, None) as send:  # A front that closes waits for its connections.
            yield send
    finally:
        front.close()
        clock.close()
        loop.close()


def differences(real: Any, ours: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each place where two documents differ, with what differs."""
    if isinstance(real, Mapping) and isinstance(ours, Mapping):
        for name in sorted({*real, *ours}):
            if name not in ours:
                yield f"{path}.{name}", "missing"
            elif name not in real:
                yield f"{path}.{name}", "too much"
            else:
                yield from differences(real[name], ours[name], f"{path}.{name}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for number, (one, other) in enumerate(zip(real, ours, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif real != ours:
        yield path, "another value"


def _kind(path: str) -> str:
    return ".metadata.managedFields" if path.startswith(".metadata.managedFields") else path


def _wordless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _wordless(each) for name, each in value.items() if name not in WORDS}
    return [_wordless(each) for each in value] if isinstance(value, list) else value


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.recordings.compare", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--only", default="", help="only files whose name has this in it")
    parser.add_argument("--show", default="", help="show requests whose kind of difference has this in it")
    parser.add_argument("--from", dest="place", type=Path, default=HERE)
    parser.add_argument("--floors", action="store_true", help="raise the least shares to those of now")
    options = parser.parse_args()
    found: dict[str, Shares] = {}
    kinds: Counter[str] = Counter()
    every: list[Pair] = []
    for name in resources(options.place):
        if options.only not in name:
            continue
        with embedded() as send:
            pairs = list(replayed(recorded(name, options.place), send))
        every.extend(pairs)
        found[name] = shares_of(pairs)
        print(f"{name:70} {_line(pairs)}")
        for pair in pairs:
            kind = pair.difference()
            if kind:
                kinds[kind] += 1
            if kind and options.show and options.show in kind:
                _show(pair)
    print(f"{'all':70} {_line(every)}\n")
    for kind, count in kinds.most_common(60):
        print(f"{count:6} {kind}")
    if options.floors:
        _raise_floors(options.place, found)
    return 0


class Shares(msgspec.Struct, frozen=True):
    """How many of the pairs are the same, in percent."""

    code: float
    but_for_words: float
    whole: float
    words_of_refusals: float


def shares_of(pairs: list[Pair]) -> Shares:
    refused = [pair for pair in pairs if pair.is_refusal]
    return Shares(
        _share(sum(pair.same_code for pair in pairs), len(pairs)),
        _share(sum(pair.same_but_for_words for pair in pairs), len(pairs)),
        _share(sum(pair.same for pair in pairs), len(pairs)),
        _share(sum(pair.same_words for pair in refused), len(refused)),
    )


def floors(directory: Path = HERE) -> dict[str, Shares]:
    """The least shares by resource."""
    path = directory / FLOORS
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Shares]) if path.exists() else {}


def _raise_floors(directory: Path, found: Mapping[str, Shares]) -> None:
    """Cut to whole percents, so that a new recording of the same version stays above them."""
    known = floors(directory)
    for name, shares in found.items():
        before = known.get(name, Shares(0, 0, 0, 0))
        pairs = zip(msgspec.structs.astuple(before), msgspec.structs.astuple(shares), strict=True)
        known[name] = Shares(*(max(low, float(math.floor(now))) for low, now in pairs))
    text = msgspec.json.format(msgspec.json.encode(dict(sorted(known.items()))))
    (directory / FLOORS).write_bytes(text + b"\n")


def _line(pairs: list[Pair]) -> str:
    shares = shares_of(pairs)
    return (
        f"{len(pairs):5} pairs  code {shares.code:5.1f} %  but for words {shares.but_for_words:5.1f} %  "
        f"all {shares.whole:5.1f} %  words of refusals {shares.words_of_refusals:5.1f} %"
    )


def _share(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def _show(pair: Pair) -> None:
    print(f"--- {pair.script} #{pair.number}: {pair.difference()}")
    print(msgspec.json.encode(pair.request).decode()[:1500])
    print("real:", pair.real.code, msgspec.json.encode(pair.real.body).decode()[:1500], pair.real.warnings)
    print("ours:", pair.ours.code, msgspec.json.encode(pair.ours.body).decode()[:1500], pair.ours.warnings)


if __name__ == "__main__":
    sys.exit(main())
