"""`actorlet replay DIR --observe`: the observer's page of a record, with a slider.

A process beside this one plays the record (`cli.replay.moments`), since it forks, and this one has threads.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress

import msgspec

from actors.records.folder import NoRecordError, RecordedRun
from cli.blocked_signals import ENDING, blocking
from cli.printing import say
from cli.recorded_runs import rest
from cli.replay.moments import Moment, Question, play_moments
from runtime.http_server.heads import HttpRefusal
from runtime.http_server.record_observer import RecordObserver
from runtime.io.event_loop import LoopThread

MS_NS = 1_000_000


class RecordedMoments:
    """Asks a process that plays: `runtime.http_server.record_observer.RecordedView`.

    Made before there are threads, since it forks. `close` ends the process. One thread uses it.
    """

    def __init__(self, runs: Sequence[RecordedRun]) -> None:
        self._runs = runs
        asked, questions = os.pipe()
        answers, told = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(questions)
            os.close(answers)
            with suppress(BaseException):
                play_moments(runs, os.fdopen(asked, "rb"), os.fdopen(told, "wb"))
            os._exit(0)
        os.close(asked)
        os.close(told)
        self._questions, self._answers = os.fdopen(questions, "wb"), os.fdopen(answers, "rb")

    def span(self) -> bytes:
        """See `RecordedView`."""
        pairs = [(run.header.began_wall_ns // MS_NS, run.ended_wall_ns() // MS_NS + 1) for run in self._runs]
        return msgspec.json.encode({"from": pairs[0][0], "to": max(to for _, to in pairs), "runs": pairs})

    def look_at(self, at_ms: int) -> Mapping[str, bytes]:
        """See `RecordedView`."""
        moment = self._ask(Question(at_ms * MS_NS))
        if moment.parts is None:
            raise HttpRefusal(500, moment.error)
        return {name: bytes(part) for name, part in moment.parts.items()}

    def timeline_at(self, at_ms: int, uid: str) -> bytes | None:
        """See `RecordedView`."""
        moment = self._ask(Question(at_ms * MS_NS, uid))
        return None if moment.timeline is None else moment.timeline.encode()

    def _ask(self, question: Question) -> Moment:
        try:
            self._questions.write(msgspec.json.encode(question) + b"\n")
            self._questions.flush()
            return msgspec.json.decode(self._answers.readline(), type=Moment)
        except (OSError, msgspec.MsgspecError):
            raise HttpRefusal(500, "the process that plays the record has ended") from None

    def close(self) -> None:
        """End the process; its forks end with it."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        with suppress(BrokenPipeError):
            self._questions.close()
        self._answers.close()


@blocking()
def observe(runs: Sequence[RecordedRun]) -> int:
    """Serve the page until a signal comes; the exit status. Raises NoRecordError and OSError."""
    playable = [run for run in runs if run.has_begin]
    if not playable:
        raise NoRecordError(rest(runs))
    with ExitStack() as after:
        moments = after.enter_context(closing(RecordedMoments(playable)))
        loop = after.enter_context(closing(LoopThread("observer")))
        observer = after.enter_context(closing(RecordObserver(moments, loop)))
        say(f"observer: {observer.start()}", "Ctrl-C ends it")
        signal.sigwait(ENDING)
    return 0
