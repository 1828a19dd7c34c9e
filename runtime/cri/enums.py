"""The enumerations of runtime.v1, open as proto3 has them.

A runtime that is newer than this agent may send a number that is not named here. Such a number becomes a member
`UNKNOWN_<number>` made on the spot, so that one new value never makes a whole list unreadable. Compare members with
`==`: two members made for the same unknown number are equal, yet not the same object.
"""

from __future__ import annotations

from enum import IntEnum


class OpenEnum(IntEnum):
    """An IntEnum that takes every number."""

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member


class Protocol(OpenEnum):
    """Transport protocol of a port."""

    TCP = 0
    UDP = 1
    SCTP = 2


class MountPropagation(OpenEnum):
    """Which later mounts under a mount are seen on the other side."""

    PROPAGATION_PRIVATE = 0
    PROPAGATION_HOST_TO_CONTAINER = 1
    PROPAGATION_BIDIRECTIONAL = 2


class NamespaceMode(OpenEnum):
    """With whom a namespace is shared."""

    POD = 0
    CONTAINER = 1
    NODE = 2
    TARGET = 3


class SupplementalGroupsPolicy(OpenEnum):
    """Whether the groups that the image gives its user are kept."""

    Merge = 0
    Strict = 1


class PodSandboxState(OpenEnum):
    """Whether a sandbox can take containers."""

    SANDBOX_READY = 0
    SANDBOX_NOTREADY = 1


class Signal(OpenEnum):
    """The stop signal of a container; zero leaves it to the image and the runtime. The numbers are the
    interface's own, not the kernel's."""

    RUNTIME_DEFAULT = 0
    SIGABRT = 1
    SIGALRM = 2
    SIGBUS = 3
    SIGCHLD = 4
    SIGCLD = 5
    SIGCONT = 6
    SIGFPE = 7
    SIGHUP = 8
    SIGILL = 9
    SIGINT = 10
    SIGIO = 11
    SIGIOT = 12
    SIGKILL = 13
    SIGPIPE = 14
    SIGPOLL = 15
    SIGPROF = 16
    SIGPWR = 17
    SIGQUIT = 18
    SIGSEGV = 19
    SIGSTKFLT = 20
    SIGSTOP = 21
    SIGSYS = 22
    SIGTERM = 23
    SIGTRAP = 24
    SIGTSTP = 25
    SIGTTIN = 26
    SIGTTOU = 27
    SIGURG = 28
    SIGUSR1 = 29
    SIGUSR2 = 30
    SIGVTALRM = 31
    SIGWINCH = 32
    SIGXCPU = 33
    SIGXFSZ = 34
    SIGRTMIN = 35
    SIGRTMINPLUS1 = 36
    SIGRTMINPLUS2 = 37
    SIGRTMINPLUS3 = 38
    SIGRTMINPLUS4 = 39
    SIGRTMINPLUS5 = 40
    SIGRTMINPLUS6 = 41
    SIGRTMINPLUS7 = 42
    SIGRTMINPLUS8 = 43
    SIGRTMINPLUS9 = 44
    SIGRTMINPLUS10 = 45
    SIGRTMINPLUS11 = 46
    SIGRTMINPLUS12 = 47
    SIGRTMINPLUS13 = 48
    SIGRTMINPLUS14 = 49
    SIGRTMINPLUS15 = 50
    SIGRTMAXMINUS14 = 51
    SIGRTMAXMINUS13 = 52
    SIGRTMAXMINUS12 = 53
    SIGRTMAXMINUS11 = 54
    SIGRTMAXMINUS10 = 55
    SIGRTMAXMINUS9 = 56
    SIGRTMAXMINUS8 = 57
    SIGRTMAXMINUS7 = 58
    SIGRTMAXMINUS6 = 59
    SIGRTMAXMINUS5 = 60
    SIGRTMAXMINUS4 = 61
    SIGRTMAXMINUS3 = 62
    SIGRTMAXMINUS2 = 63
    SIGRTMAXMINUS1 = 64
    SIGRTMAX = 65


class ContainerState(OpenEnum):
    """Where a container is in its life."""

    CONTAINER_CREATED = 0
    CONTAINER_RUNNING = 1
    CONTAINER_EXITED = 2
    CONTAINER_UNKNOWN = 3


class ContainerEventType(OpenEnum):
    """What happened to a container."""

    CONTAINER_CREATED_EVENT = 0
    CONTAINER_STARTED_EVENT = 1
    CONTAINER_STOPPED_EVENT = 2
    CONTAINER_DELETED_EVENT = 3


class MetricType(OpenEnum):
    """How a metric behaves over time."""

    COUNTER = 0
    GAUGE = 1


class CgroupDriver(OpenEnum):
    """Who manages cgroups."""

    SYSTEMD = 0
    CGROUPFS = 1


class ProfileType(OpenEnum):
    """Where a security profile comes from."""

    RuntimeDefault = 0
    Unconfined = 1
    Localhost = 2
