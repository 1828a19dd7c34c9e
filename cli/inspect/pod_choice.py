"""Which pod an argument names: by name, namespace/name or UID; or which refused manifest. Pure.

The name of a static pod may leave out the node's name at its end, as in its manifest. Of several pods of one name, the
one that still exists is chosen, or else the last of those that are gone. A name that exists in several namespaces is
refused.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import PurePath

from actors.messages.history import KnownPod
from actors.messages.pods import SourceProblem

NEAR_MAX = 5
_LINE = re.compile(r":[0-9]+$")


class NoSuchPodError(Exception):
    """No pod matches, or several do. The text lists the candidates and says what to write."""


def choose(wanted: str, known: Sequence[KnownPod], node_name: str) -> KnownPod:
    """The pod that `wanted` names. Raises NoSuchPodError."""
    namespace, slash, name = wanted.rpartition("/")
    matches = [
        pod
        for pod in known
        if pod.uid == wanted
        or (pod.name in (name, f"{name}-{node_name}") and (not slash or pod.namespace == namespace))
    ]
    living = [pod for pod in matches if not pod.gone]
    if len(living) == 1:
        return living[0]
    if len({(pod.namespace, pod.name) for pod in living or matches}) > 1:
        names = ", ".join(f"{pod.namespace}/{pod.name}" for pod in living or matches)
        raise NoSuchPodError(f"several pods are called {wanted}: {names}; name one of them with its namespace")
    if len(living) > 1:
        uids = ", ".join(pod.uid for pod in living)
        raise NoSuchPodError(f"{wanted} has lived more than once, and more than one life goes on: name a UID, {uids}")
    if matches:
        return matches[-1]
    raise NoSuchPodError(_nobody(wanted, name, known, node_name))


def refusals_of(wanted: str, problems: Sequence[SourceProblem], node_name: str) -> tuple[SourceProblem, ...]:
    """Why the pod that `wanted` names does not run as its manifest says.

    `wanted` is the name of the pod, or else that of the file.
    """
    namespace, slash, name = wanted.rpartition("/")
    name = name.removesuffix(f"-{node_name}")
    fatal = [problem for problem in problems if problem.fatal]
    named = [
        problem
        for problem in fatal
        if any(name == short and (not slash or namespace == of) for of, _, short in map(_parted, problem.pods))
    ]
    return tuple(named or [problem for problem in fatal if not problem.pods and name == _stem(problem.origin)])


def _parted(full_name: str) -> tuple[str, str, str]:
    return full_name.partition("/")


def _stem(origin: str) -> str:
    """The name of a manifest's file, without its ending: of `/etc/manifests/web.yaml:3`, `web`."""
    return PurePath(_LINE.sub("", origin)).stem


def _nobody(wanted: str, name: str, known: Sequence[KnownPod], node_name: str) -> str:
    if not known:
        return f"there is no pod {wanted}: the agent knows no pod at all"
    shown = {f"{pod.namespace}/{pod.name}": pod.name for pod in known}
    near = [full for full, short in shown.items() if name and (name in short or short in name)]
    # A person leaves out the node's name at the end, as the manifest does.
    written = {full: (short, short.removesuffix(f"-{node_name}")) for full, short in shown.items()}
    words = dict.fromkeys(word for pair in written.values() for word in pair)
    close = set(difflib.get_close_matches(name, list(words), NEAR_MAX, 0.6))
    near += [full for full, pair in written.items() if full not in near and close.intersection(pair)]
    if near:
        return f"there is no pod {wanted}; did you mean {', '.join(near[:NEAR_MAX])}?"
    return f"there is no pod {wanted} among the {len(shown)} that the agent knows; `actorlet pods` lists them"
