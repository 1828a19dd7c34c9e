"""How a container ended, in words: exit codes, signals, out of memory, a failed liveness probe. Pure."""

from __future__ import annotations

import signal
from typing import NamedTuple

from config.objects import Container, ContainerStateTerminated
from config.values.ages import SECOND_NS, spoken
from config.values.api_time import seconds_of

_CODES = {
    126: "its command cannot be executed",
    127: "its command was not found",
    128: "it could not be started",
}
_SIGNALS = {
    signal.SIGKILL: "it was killed",
    signal.SIGTERM: "it was asked to stop",
    signal.SIGSEGV: "it crashed: invalid memory access",
    signal.SIGABRT: "it gave up: abort",
    signal.SIGILL: "it crashed: this processor does not know an instruction of it",
    signal.SIGBUS: "it crashed: bus error",
    signal.SIGFPE: "it crashed: arithmetic error",
}
OOM_KILLED = "OOMKilled"
STARTS_THAT_FAILED = frozenset({"StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError"})
_OTHER_MACHINE = "exec format error"


class End(NamedTuple):
    """`cause` is a word for tools, `advice` says what to do.

    `text` goes on after the name of the container.
    """

    cause: str
    text: str
    advice: str


def end_of(ended: ContainerStateTerminated, container: Container | None, *, by_liveness: bool = False) -> End:
    """The end in words.

    `by_liveness`: the agent stopped it, since its liveness probe had failed.
    """
    if by_liveness:
        text = f"it was stopped because its liveness probe failed (exit code {ended.exit_code})"
        return End(
            "LivenessProbe", text, "mend what the probe asks for, or give it more time: a startup probe, its limits"
        )
    if ended.reason == OOM_KILLED:
        limit = container.resources.limits.get("memory", "") if container and container.resources else ""
        text = f"it was killed: it used more memory than {f'its limit of {limit}' if limit else 'there was for it'}"
        return End("OutOfMemory", f"{text} (exit code {ended.exit_code})", "raise its memory limit, or let it use less")
    said = ended.message or ""
    if _OTHER_MACHINE in said:
        return End(
            "ImageArchitecture",
            "its program is for another processor than that of this machine",
            "build the image for this platform, or select other nodes with a nodeSelector",
        )
    if ended.reason in STARTS_THAT_FAILED or ended.exit_code in _CODES:
        text = _CODES.get(ended.exit_code, _CODES[128]) + f" (exit code {ended.exit_code})"
        return End("CannotStart", text, "correct its command and args, or the image")
    if ended.exit_code == 0:
        return End("EndsByItself", "it ended by itself with exit code 0", "let its program run on, or use a Job")
    return End("Crash", f"it ended with exit code {ended.exit_code}{_signalled(ended)}", "mend what its log tells")


def _signalled(ended: ContainerStateTerminated) -> str:
    number = ended.signal or (ended.exit_code - 128 if 128 < ended.exit_code < 160 else 0)
    try:
        name = signal.Signals(number)
    except ValueError:
        return ""
    return f" ({name.name}: {_SIGNALS.get(name, 'it was ended')})"


def lasted(ended: ContainerStateTerminated) -> str:
    """` after 3 min`; empty where its times are not known.

    A status has whole seconds, so less than a minute is told as "about 12 s". A crash after 0.2 s may have times a
    second apart, so that is told as "within two seconds".
    """
    began, over = seconds_of(ended.started_at), seconds_of(ended.finished_at)
    if not began or not over or over < began:
        return ""
    if over == began:
        return " within a second"
    if over - began == 1:
        return " within two seconds"
    about = "about " if over - began < 60 else ""
    return f" after {about}{spoken((over - began) * SECOND_NS).replace('.0', '')}"
