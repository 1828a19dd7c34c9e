"""Decides which container log files are rotated, compressed and removed (spec 3.13). Pure.

A running container has at most `max_files` files: the log, the newest rotated file, and older compressed ones. The
newest rotated file stays plain because somebody may still be reading it. Names of rotated files sort by age, whatever
the clock does: `0.log.20060102-150405`, in UTC, and at least one second later than the youngest.

Files with other names beside a log are not ours and stay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from config.kubelet import KubeletConfiguration
from config.values.quantity import parse_quantity
from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID, pod_uid
from runtime.cri.messages import Container, ContainerState
from runtime.logs.files import GZIP, HALF
from runtime.logs.pod_logs import pod_log_directory

SECOND_NS = 1_000_000_000
_NAME_TIME = "%Y%m%d-%H%M%S"
_ROTATED = re.compile(r"(\d{8}-\d{6})(\.gz)?")
_LAST_SECOND = 253402300799
"""The end of the year 9999."""


class LogLimits(msgspec.Struct, frozen=True):
    """A log is rotated at `max_bytes`, checked every `every_ns`; at most `workers` compress at a time."""

    max_bytes: int
    max_files: int
    workers: int
    every_ns: int


class RunningLog(msgspec.Struct, frozen=True):
    """The log of a running container. `pod_directory`: of all logs of its pod."""

    container_id: str
    pod_directory: str
    path: str


class Tidying(msgspec.Struct, frozen=True):
    """Files to remove and compress beside a log, as full paths, oldest first."""

    remove: tuple[str, ...] = ()
    compress: tuple[str, ...] = ()


def log_limits(configuration: KubeletConfiguration) -> LogLimits | None:
    """The configured limits; None: logs are not rotated (a size below zero)."""
    max_bytes = parse_quantity(configuration.container_log_max_size).value()
    if max_bytes < 0:
        return None
    return LogLimits(
        max_bytes,
        configuration.container_log_max_files,
        configuration.container_log_max_workers,
        configuration.container_log_monitor_interval,
    )


def running_log(container: Container, pod_logs: str) -> RunningLog | None:
    """The log of a container, if it runs and is ours."""
    labels, metadata = container.labels, container.metadata
    uid, name = pod_uid(labels.get(POD_UID)), labels.get(CONTAINER_NAME)
    if container.state != ContainerState.CONTAINER_RUNNING or metadata is None or not (uid and name):
        return None
    pod, namespace = labels.get(POD_NAME, ""), labels.get(POD_NAMESPACE, "")
    directory = pod_log_directory(pod_logs, namespace, pod, uid)
    return RunningLog(container.id, directory, f"{directory}/{name}/{metadata.attempt}.log")


def all_below(max_bytes: int, sizes: Sequence[int | None]) -> bool:
    """Whether every log exists and is smaller than `max_bytes`."""
    there = [*filter(None, sizes)]
    return None not in sizes and max(there, default=0) < max_bytes


def rotated_path(log: str, names: Sequence[str], wall_ns: int) -> str:
    """The path to rename `log` to now, given the `names` beside it."""
    now = datetime.fromtimestamp(min(wall_ns // SECOND_NS, _LAST_SECOND), UTC).strftime(_NAME_TIME)
    own = os.path.basename(log)
    youngest = max((_time_of(own, name) for name in names), default="")
    return f"{log}.{now if now > youngest else _after(youngest)}"


def tidying(log: str, names: Sequence[str], max_files: int) -> Tidying:
    """Which files beside an existing `log` to remove or compress, given their `names`."""
    directory, own = os.path.split(log)
    remove = [name for name in names if name.endswith(HALF) and _time_of(own, name.removesuffix(HALF))]
    packed = [name for name in names if name.endswith(GZIP) and _time_of(own, name)]
    plain = [name for name in names if not name.endswith((GZIP, HALF)) and _time_of(own, name)]
    # A file gets its compressed name only when complete. If both exist, the agent died before it removed the plain one.
    remove += [name for name in plain if name + GZIP in packed]
    rotated = sorted([*packed, *(name for name in plain if name + GZIP not in packed)])
    keep = rotated[-(max_files - 1) :] if max_files > 1 else []
    remove += rotated[: len(rotated) - len(keep)]
    compress = [name for name in keep[:-1] if not name.endswith(GZIP)]
    return Tidying(tuple(f"{directory}/{each}" for each in remove), tuple(f"{directory}/{each}" for each in compress))


def _time_of(own: str, name: str) -> str:
    """The time in the name of a rotated log; empty for other names."""
    match = _ROTATED.fullmatch(name.removeprefix(f"{own}."))
    return match[1] if match and _read(match[1]) is not None else ""


def _read(time: str) -> datetime | None:
    try:
        return datetime.strptime(time, _NAME_TIME)
    except ValueError:
        return None


def _after(youngest: str) -> str:
    """The next second.

    After the last possible second it returns the same: the name is taken and the log stays.
    """
    time = _read(youngest)
    assert time is not None, "only times that can be read are compared"
    try:
        return (time + timedelta(seconds=1)).strftime(_NAME_TIME)
    except OverflowError:
        return youngest
