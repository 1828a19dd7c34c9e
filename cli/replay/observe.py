"""`actorlet replay DIR --observe`: the observer's page of a record, with a slider.

A process beside this one plays the record (`cli.replay.moments`), since it forks, and this one has threads.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing

import msgspec

from actorlet._process import command
from actors.records.folder import NoRecordError, RecordedRun
from cli.blocked_signals import ENDING, blocking
from cli.printing import say
from cli.recorded_runs import rest
from cli.replay.moments import Moment, Question
from runtime.http_server.heads import HttpRefusal
from runtime.http_server.listener import HttpListener
from runtime.http_server.record_observer import RecordObserver
from runtime.io.event_loop import LoopThread

MS_NS = 1_000_000
HOST = "127.0.0.1"


class RecordedMoments:
    """Asks the process that plays: `runtime.http_server.record_observer.RecordedView`. `close` ends it."""

    def __init__(self, folder: str, runs: Sequence[RecordedRun]) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            command("cli.replay.moments", os.path.abspath(folder)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

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
        with self._lock:
            asked, answers = self._process.stdin, self._process.stdout
            assert asked is not None
            assert answers is not None
            try:
                asked.write(msgspec.json.encode(question) + b"\n")
                asked.flush()
                return msgspec.json.decode(answers.readline(), type=Moment)
            except (OSError, msgspec.MsgspecError):
                raise HttpRefusal(500, "the process that plays the record has ended") from None

    def close(self) -> None:
        """End the process and its forks."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@blocking()
def observe(folder: str, runs: Sequence[RecordedRun]) -> int:
    """Serve the page until a signal comes; the exit status. Raises NoRecordError and OSError."""
    playable = [run for run in runs if run.has_begin]
    if not playable:
        raise NoRecordError(rest(runs))
    token = secrets.token_urlsafe(18)
    with closing(RecordedMoments(folder, playable)) as moments, closing(LoopThread("observer")) as loop:
        listener = HttpListener(loop, RecordObserver(moments, token).answer, host=HOST, port=0)
        listener.start()
        with closing(listener):
            say(f"observer: http://actorlet:{token}@{HOST}:{listener.port}/ui", "Ctrl-C ends it")
            signal.sigwait(ENDING)
    return 0
