"""Tests on a whole machine: systemd, cgroup v2, a disk whose power is cut.

Needed: root and the packages of `tests.machine.components`. Without them the tests are skipped, with a sentence that
says what to install. Machines run one at a time: each takes a CPU for minutes.

`ACTORLET_MACHINE_KIND` is `uml` (the default) or `qemu`: what the tests run on that may run on either. With
`ACTORLET_MACHINE_OPTIONAL` they are also skipped where no machine can be made or none boots: CI runs them anywhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import pytest

from tests.machine.components import complaint
from tests.machine.link import OutsideServer, Wire, link
from tests.machine.machine import Machine, MachineError, machine
from tests.machine.root import Root, RootError, root_for, with_agent

KIND = os.environ.get("ACTORLET_MACHINE_KIND") or "uml"
OPTIONAL = bool(os.environ.get("ACTORLET_MACHINE_OPTIONAL"))


@pytest.fixture(scope="session")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Root]:
    """The root file system of a kind, with the agent of this clone.

    It skips the test if none can be made here.
    """
    made: dict[str, Root] = {}

    def root(kind: str) -> Root:
        why = complaint(kind)
        if why is not None:
            pytest.skip(why)
        if kind not in made:
            try:
                found = with_agent(root_for(kind), tmp_path_factory.mktemp("root"))
                if OPTIONAL:
                    with machine(found, memory="1G", disk="2G", swap=None):
                        pass
            except (RootError, MachineError, OSError) as error:
                if not OPTIONAL:
                    raise
                pytest.skip(f"no {kind} machine runs here: {error}")
            made[kind] = found
        return made[kind]

    return root


@pytest.fixture(scope="module")
def booted(roots: Callable[[str], Root]) -> Iterator[Machine]:
    """One machine for all tests of a file; none may cut its power without booting it again."""
    with machine(roots(KIND)) as one:
        yield one


class Linked(NamedTuple):
    """A booted machine, and an API server on this host at the other end of its wire."""

    machine: Machine
    wire: Wire
    server: OutsideServer


@pytest.fixture
def linked(roots: Callable[[str], Root]) -> Iterator[Linked]:
    """The server has not begun."""
    if KIND != "uml":
        pytest.skip("machines of QEMU have no link")
    root = roots(KIND)
    with (
        link() as wire,
        machine(root, memory="2G", disk="3G", swap=None, link=wire.name) as one,
        closing(OutsideServer(one, wire)) as server,
    ):
        yield Linked(one, wire, server)
