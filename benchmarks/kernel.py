"""What the actor kernel costs, compared with Pykka's thread per actor.

Both run on the same machine in the same run.

    python -m benchmarks.kernel [--json] [--actors 10000]

Each of three measurements runs in a fresh process, so that none pays for another's garbage. They measure idle actors
(KiB of resident memory each, and how fast they start), messages spread over many actors, and timers. `ThreadingActor`
is Pykka's own, used plainly. The ratio columns say how many times cheaper or faster the kernel is. The numbers depend
on the machine and the moment: compare within a run, not between runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pykka

from actors.kernel import Actor, ActorSystem, Message, PoolDispatcher, SimulatedDispatcher, handles

IDLE_ACTORS = 10_000
BUSY_ACTORS = 5_000
MESSAGES_EACH = 20
TIMERS = 20_000
ROUNDS = 3
SECOND_NS = 1_000_000_000


class Work(Message, frozen=True):
    number: int


class Idle(Actor):
    """Reports that it has started, then does nothing."""

    def __init__(self, countdown: Countdown) -> None:
        super().__init__()
        self.countdown = countdown

    def on_start(self) -> None:
        self.countdown.one_less()

    @handles(Work)
    def work(self, message: Work) -> int:
        return message.number


class Busy(Actor):
    """Counts down a shared number of messages; the handler of the last one reports it."""

    def __init__(self, countdown: Countdown) -> None:
        super().__init__()
        self.countdown = countdown

    @handles(Work)
    def work(self, message: Work) -> None:
        self.countdown.one_less()


class IdleThread(pykka.ThreadingActor):
    def __init__(self, countdown: Countdown) -> None:
        super().__init__()
        self.countdown = countdown

    def on_start(self) -> None:
        self.countdown.one_less()

    def on_receive(self, message: Any) -> Any:
        return message.number


class BusyThread(pykka.ThreadingActor):
    def __init__(self, countdown: Countdown) -> None:
        super().__init__()
        self.countdown = countdown

    def on_receive(self, message: Any) -> Any:
        self.countdown.one_less()


class Countdown:
    """A counter for many threads: each calls `one_less`; `done` is set when all have."""

    def __init__(self, count: int) -> None:
        self._left = [None] * count
        self.done = threading.Event()

    def one_less(self) -> None:
        self._left.pop()  # atomic, unlike a decrement
        if not self._left:
            self.done.set()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


# --- the measurements, each run in a process of its own -------------------------------------------------------------


def idle_kernel(actors: int) -> dict[str, float]:
    system = ActorSystem(PoolDispatcher())
    system.spawn(Idle, Countdown(1), name="warm").ask(Work(0))
    countdown = Countdown(actors)
    before, began = resident_bytes(), time.perf_counter()
    for number in range(actors):
        system.spawn(Idle, countdown, name=str(number))
    countdown.done.wait()
    took = time.perf_counter() - began
    return {
        "actors": actors,
        "kib_each": (resident_bytes() - before) / actors / 1024,
        "start_us_each": took / actors * 1e6,
        "threads": threading.active_count(),
    }


def idle_threads(actors: int) -> dict[str, float]:
    IdleThread.start(Countdown(1)).ask(Work(0))
    countdown = Countdown(actors)
    before, began = resident_bytes(), time.perf_counter()
    started = 0
    for _ in range(actors):
        try:
            IdleThread.start(countdown)
        except RuntimeError:  # the machine has no more threads: measure those that run
            countdown.one_less()
        else:
            started += 1
    countdown.done.wait()
    took = time.perf_counter() - began
    return {
        "actors": started,
        "kib_each": (resident_bytes() - before) / started / 1024,
        "start_us_each": took / started * 1e6,
        "threads": threading.active_count(),
    }


def spread_kernel(actors: int) -> dict[str, float]:
    system = ActorSystem(PoolDispatcher())
    countdown = Countdown(actors * MESSAGES_EACH)
    refs = [system.spawn(Busy, countdown, name=str(number)) for number in range(actors)]
    system.spawn(Idle, Countdown(1), name="last").ask(Work(0))
    return _send_and_wait(lambda number: refs[number % actors].tell(Work(number)), actors, countdown)


def spread_threads(actors: int) -> dict[str, float]:
    countdown = Countdown(actors * MESSAGES_EACH)
    refs = [BusyThread.start(countdown) for _ in range(actors)]
    return _send_and_wait(lambda number: refs[number % actors].tell(Work(number)), actors, countdown)


def spread_simulated(actors: int) -> dict[str, float]:
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    countdown = Countdown(actors * MESSAGES_EACH)
    refs = [system.spawn(Busy, countdown, name=str(number)) for number in range(actors)]
    dispatcher.run_until_idle()
    messages = actors * MESSAGES_EACH
    began = time.perf_counter()
    for number in range(messages):
        refs[number % actors].tell(Work(number))
    dispatcher.run_until_idle()
    took = time.perf_counter() - began
    return {"actors": actors, "messages": messages, "per_second": messages / took, "us_each": took / messages * 1e6}


def _send_and_wait(send: Callable[[int], None], actors: int, countdown: Countdown) -> dict[str, float]:
    messages = actors * MESSAGES_EACH
    began = time.perf_counter()
    for number in range(messages):
        send(number)
    countdown.done.wait()
    took = time.perf_counter() - began
    return {"actors": actors, "messages": messages, "per_second": messages / took, "us_each": took / messages * 1e6}


def timers_kernel(count: int) -> dict[str, float]:
    dispatcher = PoolDispatcher()
    countdown = Countdown(count)
    began = time.perf_counter()
    for number in range(count):
        dispatcher.schedule(number % 1_000_000, countdown.one_less)
    countdown.done.wait()
    return {"timers": count, "per_second": count / (time.perf_counter() - began)}


def timers_threads(count: int) -> dict[str, float]:
    countdown = Countdown(count)
    began = time.perf_counter()
    for number in range(count):
        threading.Timer(number % 1_000_000 / SECOND_NS, countdown.one_less).start()
    countdown.done.wait()
    return {"timers": count, "per_second": count / (time.perf_counter() - began)}


MEASUREMENTS: dict[str, Callable[[int], dict[str, float]]] = {
    function.__name__: function
    for function in (
        idle_kernel,
        idle_threads,
        spread_kernel,
        spread_threads,
        spread_simulated,
        timers_kernel,
        timers_threads,
    )
}


# --- the run --------------------------------------------------------------------------------------------------------


def measure(name: str, size: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.kernel", "--measure", name, "--size", str(size)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if shown.returncode != 0:
        raise SystemExit(f"{name} with {size} failed:\n{shown.stderr}")
    result: dict[str, float] = json.loads(shown.stdout)
    return result


def spread_threads_as_many_as_possible(actors: int) -> dict[str, float]:
    """Start threads up to the wanted number. A machine may allow fewer; the table then says how many ran."""
    while True:
        try:
            return best("spread_threads", actors)
        except SystemExit:
            if actors <= 100:
                raise
            actors //= 2


def best(name: str, size: int) -> dict[str, float]:
    """The fastest of `ROUNDS`: other programs on the machine can only slow a round down."""
    return max((measure(name, size) for _ in range(ROUNDS)), key=lambda result: result["per_second"])


def run(idle_actors: int) -> dict[str, dict[str, float]]:
    return {
        "idle_kernel": measure("idle_kernel", idle_actors),
        "spread_kernel": best("spread_kernel", BUSY_ACTORS),
        "spread_simulated": best("spread_simulated", BUSY_ACTORS),
        "timers_kernel": best("timers_kernel", TIMERS),
        # Ten thousand ending threads load the machine for a while: they come last.
        "timers_threads": best("timers_threads", TIMERS),
        "spread_threads": spread_threads_as_many_as_possible(BUSY_ACTORS),
        "idle_threads": measure("idle_threads", idle_actors),
    }


def table(results: dict[str, dict[str, float]]) -> str:
    """The results as text: measurement, kernel, ThreadingActor, and the ratio between them.

    The ratio says how many times better the kernel is.
    """
    idle, idle_t = results["idle_kernel"], results["idle_threads"]
    spread, spread_t, sim = results["spread_kernel"], results["spread_threads"], results["spread_simulated"]
    timers, timers_t = results["timers_kernel"], results["timers_threads"]
    rows = [
        ("idle actors", idle["actors"], idle_t["actors"], None),
        ("  KiB each", idle["kib_each"], idle_t["kib_each"], idle_t["kib_each"] / idle["kib_each"]),
        (
            "  us to start",
            idle["start_us_each"],
            idle_t["start_us_each"],
            idle_t["start_us_each"] / idle["start_us_each"],
        ),
        ("  threads", idle["threads"], idle_t["threads"], idle_t["threads"] / idle["threads"]),
        ("busy actors", spread["actors"], spread_t["actors"], None),
        (
            "  messages per second",
            spread["per_second"],
            spread_t["per_second"],
            spread["per_second"] / spread_t["per_second"],
        ),
        (
            "  simulated, per second",
            sim["per_second"],
            spread_t["per_second"],
            sim["per_second"] / spread_t["per_second"],
        ),
        ("  simulated, us each", sim["us_each"], spread_t["us_each"], spread_t["us_each"] / sim["us_each"]),
        (
            "timers per second",
            timers["per_second"],
            timers_t["per_second"],
            timers["per_second"] / timers_t["per_second"],
        ),
    ]
    lines = [f"{'':28}{'kernel':>12}{'ThreadingActor':>16}{'ratio':>8}"]
    for what, ours, theirs, ratio in rows:
        lines.append(f"{what:28}{_short(ours):>12}{_short(theirs):>16}{'' if ratio is None else f'{ratio:.1f}x':>8}")
    return "\n".join(lines)


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--actors", type=int, default=IDLE_ACTORS, help="idle actors")
    parser.add_argument("--measure", choices=sorted(MEASUREMENTS), help="one measurement, in this process")
    parser.add_argument("--size", type=int, default=1_000, help="of that one measurement")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(MEASUREMENTS[arguments.measure](arguments.size)), flush=True)
        os._exit(0)  # Python would wait for thousands of Pykka's threads: this process has printed everything
    results = run(arguments.actors)
    print(json.dumps(results, indent=2) if arguments.json else table(results))


if __name__ == "__main__":
    main()
