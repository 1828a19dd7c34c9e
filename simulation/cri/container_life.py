"""The process of a simulated container: how it starts, what it writes, how it ends.

It ends when its time is up, when it runs out of memory, when it obeys the stop signal, or when it is killed. The first
of these cancels the others. Exit codes and reasons are containerd's: 0 Completed, else Error, 137 for a kill, and
OOMKilled after running out of memory.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from actors.kernel.promise import Promise
from runtime.cri.messages import ContainerState, StopContainerResponse
from simulation.cri.behaviour import at
from simulation.cri.events import STARTED, STOPPED
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord

LOG = logging.getLogger(__name__)

KILLED = 137
TERMINATION_PATH_ANNOTATION = "io.kubernetes.container.terminationMessagePath"
_STOPPED = StopContainerResponse()


def begin(runtime: Runtime, record: ContainerRecord) -> None:
    """Start the process."""
    behaviour, attempt = record.behaviour, record.attempt
    record.state = ContainerState.CONTAINER_RUNNING
    record.started_at = runtime.wall_ns()
    record.pid = runtime.new_pid()
    runtime.state.changed(record)
    runtime.events.publish(STARTED, record.id, record.sandbox)
    run_for = at(behaviour.run_for, attempt)
    oom_after = at(behaviour.oom_after, attempt)
    if oom_after is not None and (run_for is None or oom_after <= run_for):
        record.exit_timer = runtime.after(oom_after, lambda: end(runtime, record, KILLED, "OOMKilled"))
    elif run_for is not None:
        code = at(behaviour.exit_code, attempt)
        record.exit_timer = runtime.after(run_for, lambda: end(runtime, record, code))
    if runtime.files is not None:
        if record.log_path:
            open_log(runtime, record)
        if behaviour.output:
            _write_output(runtime, record)
        for at_ns, line in behaviour.output_at:
            runtime.after(at_ns, partial(_write_later, runtime, record, line))


def end(runtime: Runtime, record: ContainerRecord, code: int, reason: str = "") -> None:
    """End the process. Does nothing if it has ended before."""
    if record.state != ContainerState.CONTAINER_RUNNING:
        return
    for timer in (record.exit_timer, record.output_timer):
        if timer is not None:
            timer.cancel()
    record.exit_timer = record.output_timer = None
    if record.behaviour.termination_message:
        _write_message(runtime, record)
    _close_log(record)
    record.state = ContainerState.CONTAINER_EXITED
    record.pid = 0
    record.finished_at = max(runtime.wall_ns(), record.started_at)
    record.exit_code = code
    record.reason = reason or ("Error" if code else "Completed")
    runtime.state.changed(record)
    runtime.events.publish(STOPPED, record.id, record.sandbox)
    waiters, record.stop_waiters = record.stop_waiters, []
    for waiter in waiters:
        runtime.answer(waiter, _STOPPED)


def ask_to_stop(runtime: Runtime, record: ContainerRecord) -> None:
    """Send the stop signal, once however often this is called."""
    if record.stop_signalled:
        return
    record.stop_signalled = True
    behaviour = record.behaviour
    if not behaviour.ignore_stop_signal:
        if behaviour.stop_delay:
            runtime.after(behaviour.stop_delay, lambda: end(runtime, record, behaviour.stop_exit_code))
        else:
            end(runtime, record, behaviour.stop_exit_code)


def kill(runtime: Runtime, record: ContainerRecord) -> None:
    """Kill the process."""
    if record.state == ContainerState.CONTAINER_RUNNING:
        end(runtime, record, KILLED)


def when_stopped(record: ContainerRecord) -> Promise[StopContainerResponse]:
    """A promise that is kept when the process has ended."""
    promise: Promise[StopContainerResponse] = Promise()
    record.stop_waiters = [waiter for waiter in record.stop_waiters if not waiter.done()]
    record.stop_waiters.append(promise)
    return promise


def open_log(runtime: Runtime, record: ContainerRecord) -> None:
    """Write to the file at the log's path from now on; create it if needed."""
    if runtime.files is None or not record.log_path:
        return
    if record.log is not None:
        _close_log(record)
    try:
        record.log = runtime.files.open_log(record.log_path)
    except OSError as error:
        LOG.warning("simulated container %s of %s has no log: %s", record.id[:13], record.name, error)


def _close_log(record: ContainerRecord) -> None:
    log, record.log = record.log, None
    if log is not None:
        log.close()


def _write_later(runtime: Runtime, record: ContainerRecord, line: str) -> None:
    if record.state == ContainerState.CONTAINER_RUNNING:
        write(runtime, record, (line,))


def _write_output(runtime: Runtime, record: ContainerRecord) -> None:
    """All lines of the output, once or again and again."""
    behaviour = record.behaviour
    runs = record.state == ContainerState.CONTAINER_RUNNING
    if not runs or not behaviour.output:  # which may have been taken back meanwhile
        return
    write(runtime, record, behaviour.output, behaviour.output_size)
    if behaviour.output_every:
        record.output_timer = runtime.after(behaviour.output_every, lambda: _write_output(runtime, record))


def write(runtime: Runtime, record: ContainerRecord, lines: Sequence[str], at_least_bytes: int = 0) -> None:
    """Write the lines to the log again and again, up to that many bytes. They are lost without a log."""
    if record.log is None or not lines:
        return
    time = cri_time(runtime.wall_ns())
    try:
        written = "".join([f"{time} stdout F {line}\n" for line in lines]).encode()
        record.log.write(written * max(1, -(-at_least_bytes // len(written))))
    except OSError as error:
        LOG.warning("simulated container %s loses output: %s", record.id[:13], error)


def _write_message(runtime: Runtime, record: ContainerRecord) -> None:
    if runtime.files is None:
        return
    inside = record.config.annotations.get(TERMINATION_PATH_ANNOTATION) or "/dev/termination-log"
    for mount in record.config.mounts:
        if os.path.normpath(mount.container_path) == os.path.normpath(inside):
            try:
                runtime.files.write_message(mount.host_path, record.behaviour.termination_message.encode())
            except OSError as error:
                LOG.warning("simulated container %s loses its termination message: %s", record.id[:13], error)


def cri_time(wall_ns: int) -> str:
    """The time of a log line: RFC 3339 in UTC with nine digits."""
    seconds, ns = divmod(wall_ns, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ns:09d}Z"
