"""`docs/how-to/deploy.md`, word by word, on a machine that has never seen an agent.

The page's own blocks are the orders: a reader who types them gets what is asserted here. The machine has no network, so
pip gets its releases from a folder. First the clone of an earlier commit is installed, then today's beside it.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.machine import book, plane
from tests.machine.book import Order
from tests.machine.conftest import KIND
from tests.machine.inside.control_plane import NODE
from tests.machine.machine import SHARED, Machine, machine
from tests.machine.plane import Plane
from tests.machine.root import TREE, Root, export_clone, wheels
from tests.real.pods import STAY, container, pod

PAGE = TREE / "docs" / "how-to" / "deploy.md"
INSTALL, CONFIGURE, JOIN, UNIT, APPROVE, LOOK = (
    "1. Install",
    "2. Configuration",
    "3. Rights and a kubeconfig",
    "4. The unit",
    "5. Approve its certificates",
    "6. Look",
)
UPGRADE, AWAY = "Upgrade, and back", "Take the node away"
RIGHTS = "kubectl apply -f deploy/rbac.yaml\n"
"""For clusters without the Node authorizer; both of ours have it."""

_GIT = ["git", "-c", f"safe.directory={TREE}", "-C", str(TREE)]
IF_ANY = "# if there is one: never run both"
"""A kubelet; here is none."""


@dataclass
class Reader:
    """Who types what the page says, in a clone, on a machine with a control plane."""

    machine: Machine
    plane: Plane
    clone: str

    def follow(self, section: str, **names: str) -> None:
        """Carry out all blocks of a section. `names`: what the page writes in capitals -> what it is here."""
        found = [order for order in book.orders(PAGE) if order.section == section]
        assert found, f"{PAGE.name} has no section {section!r} with blocks: change this test with the page"
        for order in found:
            if order.text != RIGHTS:
                self._carry_out(order, names)

    def _carry_out(self, order: Order, names: dict[str, str]) -> None:
        known = {"SERVER": "127.0.0.1", "USER": plane.CLIENT, "NODE": NODE, **names}
        text = re.sub(r"\b[A-Z]{4,6}\b", lambda word: known.get(word[0], word[0]), order.text)
        text = text.replace("abcdef.0123456789abcdef", self.plane.token)
        if order.path:
            self.machine.put(order.path, text)
            return
        text = "\n".join(line for line in text.splitlines() if not line.endswith(IF_ANY))
        self.machine.run(f"set -e\nexport PIP_NO_INDEX=1 PIP_FIND_LINKS=/opt/releases\ncd {self.clone}\n{text}")

    def approve(self) -> None:
        """Section 5, for the request that waits next."""
        waiting = "kubectl get csr --no-headers | awk '$NF == \"Pending\" {print $1}'"
        self.machine.until(f'[ -n "$({waiting})" ]', "the node asks for a certificate; its journal says why not")
        self.follow(APPROVE, NAME=self.machine.run(waiting).split()[0])


@pytest.fixture(scope="module")
def reader(roots: Callable[[str], Root]) -> Iterator[Reader]:
    """One who has followed the page to its section 6, in the clone of an earlier commit."""
    if (why := plane.complaint()) is not None:
        pytest.skip(why)
    with machine(roots(KIND), memory="3G", disk="6G", swap=None) as one:
        # What the tests' root has beforehand: the page brings its own.
        one.run("rm /usr/bin/actorlet /etc/systemd/system/actorlet.service; systemctl daemon-reload")
        one.run("ctr -n k8s.io images import /opt/images.tar; mkdir /opt/releases")
        _hand_over_releases(one)
        _hand_over_clone(one, "clone", _earlier())
        _hand_over_clone(one, "clone-new")
        found = Reader(one, plane.begin(one), "/root/clone")
        found.follow(INSTALL)
        one.run(f"cp {found.plane.authority} /root/clone/ca.crt")
        found.follow(CONFIGURE)
        found.follow(JOIN)
        found.follow(UNIT)
        found.approve()
        found.machine.until(f"kubectl get node {NODE}", "the node joins")
        found.approve()
        found.follow(LOOK)
        yield found


def test_pods_run_and_their_logs_are_shown(reader: Reader) -> None:
    reader.machine.until(f"kubectl wait --for=condition=Ready node/{NODE} --timeout=10s", "the node is Ready")
    reader.machine.until("kubectl get serviceaccount default", "pods may be made")
    reader.plane.run_pods(pod("web", container(script=f"echo hello; {STAY}")))
    reader.machine.until("kubectl logs web | grep hello", "its log is shown, with the certificate that was approved")


def test_agents_change_and_change_back_and_no_container_restarts(reader: Reader) -> None:
    before = _container_of(reader)
    reader.clone = "/root/clone-new"
    reader.follow(UPGRADE)
    _agrees_again(reader)
    assert reader.machine.run("readlink -f $(readlink -f /usr/bin/actorlet)").startswith("/opt/actorlet-new/")
    reader.machine.run("ln -sfn /opt/actorlet/bin/actorlet /usr/bin/actorlet; systemctl restart actorlet")
    _agrees_again(reader)
    assert _container_of(reader) == before


def test_stopping_the_unit_leaves_the_containers(reader: Reader) -> None:
    before = _container_of(reader)
    reader.machine.run("systemctl stop actorlet; ctr -n k8s.io tasks ls | grep RUNNING; systemctl start actorlet")
    _agrees_again(reader)
    assert _container_of(reader) == before


def test_the_unit_exposes_little(reader: Reader) -> None:
    said = reader.machine.run("systemd-analyze security --no-pager actorlet.service | tail -1")
    found = re.search(r"([\d.]+) (?:OK|MEDIUM|SAFE|EXPOSED|UNSAFE)", said)
    assert found is not None, said
    assert float(found[1]) <= 6.0, said


def test_nothing_of_a_node_that_was_taken_away_is_left(reader: Reader) -> None:
    # A pod without an owner stays when a node is drained, and `kubectl drain` says so: the reader deletes it first.
    reader.plane.kubectl("delete", "pod", "web")
    reader.follow(AWAY)
    assert NODE not in reader.plane.kubectl("get", "nodes", "-o", "name")
    assert reader.machine.run("ctr -n k8s.io tasks ls -q").split() == []
    # The page says that the empty cgroups of all pods stay until the next boot.
    assert reader.machine.run("systemctl list-units --all --no-legend 'actorlet*' 'kubepods-*pod*'").split() == []


def _container_of(reader: Reader) -> tuple[str, int]:
    """ID and restarts of the pod's one container."""
    shown = json.loads(reader.plane.kubectl("get", "pod", "web", "-o", "json"))
    status = shown["status"]["containerStatuses"][0]
    return status["containerID"], status["restartCount"]


def _agrees_again(reader: Reader) -> None:
    """The agent that runs now has been heard: it is ready, and shows the pod as it is."""
    reader.machine.until("systemctl is-active actorlet && actorlet pods | grep web | grep Running", "the agent is back")
    reader.machine.until(f"kubectl wait --for=condition=Ready node/{NODE} --timeout=10s", "the node is Ready")


def _hand_over_releases(one: Machine) -> None:
    for wheel in wheels().iterdir():
        (one.shared / wheel.name).write_bytes(wheel.read_bytes())
    one.run(f"mv {SHARED}/*.whl /opt/releases")


def _hand_over_clone(one: Machine, name: str, commit: str = "") -> None:
    """A clone at `/root/NAME`: as it is here, or as it was with a commit."""
    packed = one.shared / f"{name}.tar"
    if commit:
        subprocess.run(
            [*_GIT, "archive", f"--prefix={name}/", "-o", str(packed), commit, ":!tests", ":!docs"], check=True
        )
    else:
        with TemporaryDirectory() as copy, tarfile.open(packed, "w") as archive:
            export_clone(TREE, Path(copy))
            archive.add(copy, name)
    one.run(f"tar -C /root --no-same-owner -xf {SHARED}/{name}.tar; rm {SHARED}/{name}.tar")


def _earlier() -> str:
    """The oldest commit with today's lock file, or none where git knows no commits."""
    asked = [*_GIT, "log", "-1", "--format=%H", "--", "deploy/requirements.lock"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
