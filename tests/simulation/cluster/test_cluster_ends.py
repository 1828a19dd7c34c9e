"""A simulated cluster ends with its test, however that ends, and loads little into its process."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actorlet.testing import Cluster, ClusterError, cluster
from tests.simulation.cluster.plain_client import PlainClient

REPOSITORY = Path(__file__).parents[3]
PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    """Stepped, of two nodes; tests take pods of their own and leave the nodes as they were."""
    with cluster(nodes=2) as found:
        yield found


class TimeIsUpError(Exception):
    """As of a plugin that limits the time of tests."""


def interrupted(operation: Callable[[], object]) -> None:
    """Begin it, and interrupt it by a signal."""

    def came(*_: object) -> None:
        raise TimeIsUpError

    before = signal.signal(signal.SIGALRM, came)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(TimeIsUpError):
            operation()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_test_that_was_torn_out_of_an_order_leaves_no_answer_for_the_next(shared: Cluster):
    before = shared.now
    interrupted(lambda: shared.step("1h"))
    assert shared.now == before + 3600


def test_a_cluster_ends_in_the_midst_of_an_order():
    found = cluster()
    directory = os.path.dirname(found.kubeconfig)
    interrupted(lambda: found.step("8000h"))
    found.close()
    assert found.exit_status == 0
    assert not os.path.exists(directory)


def test_a_cluster_that_died_says_how():
    with cluster() as found:
        os.kill(found.pid, signal.SIGKILL)
        with pytest.raises(ClusterError, match=r"^the simulated cluster has ended by SIGKILL$"):
            found.step()
        assert found.exit_status == -signal.SIGKILL


def test_closing_a_cluster_removes_everything_it_had():
    with cluster() as found:
        kubeconfig, api = found.kubeconfig, PlainClient(found)
        assert os.stat(kubeconfig).st_mode & 0o777 == 0o600
        assert set(api.pods()) == set()
    assert not os.path.exists(os.path.dirname(kubeconfig))
    with pytest.raises(OSError):
        api.pods()
    with pytest.raises(ClusterError, match="has ended"):
        found.step()
    found.close()


def test_a_test_process_that_is_killed_takes_its_cluster_along(tmp_path: Path):
    # A package of the stranger's own that has the name of one of ours disturbs nobody.
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "__init__.py").write_text("raise RuntimeError('this is the stranger')\n")
    program = "from actorlet.testing import cluster; c = cluster(); print(c.pid, c.kubeconfig, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as victim:
        assert victim.stdout is not None
        pid, kubeconfig = victim.stdout.readline().split()
        watched = os.pidfd_open(int(pid))
        victim.send_signal(signal.SIGKILL)
    assert select.select([watched], [], [], PATIENCE_S)[0]
    os.close(watched)
    assert not os.path.exists(os.path.dirname(kubeconfig))


@pytest.mark.parametrize("module", ["actorlet.pytest_plugin", "actorlet.testing"])
def test_importing_the_plugin_loads_only_small_modules(module: str):
    standard = "import sys, pytest, subprocess, select, tempfile, json; before = set(sys.modules)"
    program = f"{standard}; import {module}; print(*sorted(set(sys.modules) - before))"
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=True
    )
    assert all(name.startswith("actorlet") for name in ran.stdout.split())
    assert len(ran.stdout.split()) <= 5, "small modules, of the standard library alone"
