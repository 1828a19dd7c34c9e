"""Any moment of a record, as the observer's page shows it.

A process plays to it (`play_moments`). It reads questions from one pipe and writes answers to another, a line of JSON
each, one after the other.

A question to an actor gives it turns, so a player that was asked cannot go on as recorded. And no player can go back.
So forks do both. The player goes on, and a fork of it is asked. At some moments a fork stays behind and sleeps. A
question about an earlier time wakes the sleeper before it: another fork of that plays on from there. Forks share their
memory, and end with the process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

import msgspec

from actors.records.folder import RecordedRun
from actors.replays.player import RunPlayer
from cli.recorded_runs import run_before
from cli.run.observer_view import look, timeline
from cli.silence import silence

SLEEPERS_AT_MOST = 24
APART_STEPS = 2000
"""A fork stays behind after so many steps of the player. Twice as many when there are too many forks."""


class Question(msgspec.Struct, frozen=True):
    """`at_ns` is since 1970. `uid`: the timeline of that pod; empty: all parts."""

    at_ns: int
    uid: str = ""


class Moment(msgspec.Struct, frozen=True):
    """One of these is the answer: parts by name, the timeline of a pod as JSON, or why there is none."""

    parts: dict[str, msgspec.Raw] | None = None
    timeline: str | None = None
    error: str = ""


@dataclass(slots=True)
class Sleeper:
    """A fork that has stayed behind: `questions` is the pipe that wakes it."""

    run: RecordedRun
    wall_ns: int
    questions: IO[bytes]
    process: int


class Moments:
    """Answers questions. One thread."""

    def __init__(self, runs: Sequence[RecordedRun], answers: IO[bytes]) -> None:
        self._runs = runs
        self._answers = answers
        self._player: RunPlayer | None = None
        self._sleepers: list[Sleeper] = []
        self._apart = APART_STEPS
        self._next_fork = 0

    def answer(self, question: Question) -> None:
        """Write the answer, from whichever process."""
        run = run_before(self._runs, question.at_ns)
        player = self._player
        if player is not None and player.run is run and player.wall_ns <= question.at_ns:
            self._go_on(player, question)
            return
        before = [each for each in self._sleepers if each.run is run and each.wall_ns <= question.at_ns]
        if before:
            sleeper = max(before, key=lambda each: each.wall_ns)
            sleeper.questions.write(msgspec.json.encode(question) + b"\n")
            sleeper.questions.flush()
            return
        if player is not None:
            self._stay_behind(player)
        self._player = RunPlayer(run, lambda _: None)
        self._stay_behind(self._player)
        self._go_on(self._player, question)

    def _go_on(self, player: RunPlayer, question: Question) -> None:
        while _is_before(player, question.at_ns) and player.step() is not None:
            if player.steps >= self._next_fork:
                self._stay_behind(player)
        self._asked(player, question)

    def _asked(self, player: RunPlayer, question: Question) -> None:
        """Let a fork answer: this player stays as it is."""
        fork = os.fork()
        if fork == 0:
            _write_answer(self._answers, player, question)
            os._exit(0)
        os.waitpid(fork, 0)

    def _stay_behind(self, player: RunPlayer) -> None:
        """Leave a fork here."""
        if len(self._sleepers) >= SLEEPERS_AT_MOST:
            self._thin_out()
        theirs, ours = os.pipe()
        fork = os.fork()
        if fork == 0:
            os.close(ours)
            for each in self._sleepers:
                each.questions.close()
            self._sleepers.clear()
            self._sleep(player, theirs)
            os._exit(0)
        os.close(theirs)
        self._sleepers.append(Sleeper(player.run, player.wall_ns, os.fdopen(ours, "wb"), fork))
        self._next_fork = player.steps + self._apart

    def _sleep(self, player: RunPlayer, questions: int) -> None:
        """Wait for questions until the process that asks has ended."""
        with os.fdopen(questions, "rb") as file:
            for line in file:
                question = msgspec.json.decode(line, type=Question)
                fork = os.fork()
                if fork == 0:
                    while _is_before(player, question.at_ns) and player.step() is not None:
                        pass
                    _write_answer(self._answers, player, question)
                    os._exit(0)
                os.waitpid(fork, 0)

    def _thin_out(self) -> None:
        """End every other sleeper, but none at the beginning of a run."""
        kept: list[Sleeper] = []
        for place, each in enumerate(self._sleepers):
            is_first = not kept or kept[-1].run is not each.run
            if is_first or place % 2 == 0:
                kept.append(each)
                continue
            each.questions.close()
            os.waitpid(each.process, 0)
        self._sleepers = kept
        self._apart *= 2


def _is_before(player: RunPlayer, at_ns: int) -> bool:
    began = player.dispatcher.began
    return not player.dispatcher.stops_next() and player.dispatcher.next_ns() - began.now_ns <= at_ns - began.wall_ns


def _write_answer(answers: IO[bytes], player: RunPlayer, question: Question) -> None:
    try:
        answer = _answer(player, question)
    except Exception as failure:
        answer = Moment(error=f"{type(failure).__name__}: {failure}")
    answers.write(msgspec.json.encode(answer) + b"\n")
    answers.flush()


def _answer(player: RunPlayer, question: Question) -> Moment:
    if question.uid:
        told = timeline(player.node, question.uid)
        return Moment(error="no such pod") if told is None else Moment(timeline=told.decode())
    parts = look(player.node, player.run.header.actorlet)
    return Moment(parts={name: msgspec.Raw(part) for name, part in parts.items()})


def play_moments(runs: Sequence[RecordedRun], questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more questions."""
    moments = Moments(runs, answers)
    with silence():
        for line in questions:
            try:
                moments.answer(msgspec.json.decode(line, type=Question))
            except Exception as failure:
                answers.write(msgspec.json.encode(Moment(error=str(failure))) + b"\n")
                answers.flush()
