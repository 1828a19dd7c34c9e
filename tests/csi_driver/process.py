"""The test driver for tests: a process that they start, instruct, ask for its calls, and kill."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from runtime.csi.client import GrpcCsiNode
from runtime.plugins.errors import PluginError
from runtime.volumes.mounts import KernelMounts
from tests.csi_driver.volumes import Store
from tests.real.waiting import until

TREE = Path(__file__).parents[2]
NAME = "test.csi.example"
START_S = 120.0


class DriverProcess:
    """See the module.

    `directory` has a short path, since sockets lie in it; `registry` None: it does not register.
    """

    def __init__(self, directory: Path, registry: Path | None = None, *options: str) -> None:
        self.directory = directory
        self.endpoint = str(directory / "csi.sock")
        self._options = ["--directory", str(directory), *options]
        if registry is not None:
            self._options += ["--registry", str(registry)]
        self._process: subprocess.Popen[bytes] | None = None
        self._extra: tuple[str, ...] = ()
        directory.mkdir(parents=True, exist_ok=True)

    def start(self, *options: str) -> None:
        """Start, and return when it answers."""
        self._extra = options
        with (self.directory / "output").open("ab") as output:
            command = [sys.executable, "-m", "tests.csi_driver", *self._options, *options]
            self._process = subprocess.Popen(command, cwd=TREE, stdout=output, stderr=subprocess.STDOUT)
        node = GrpcCsiNode(self.endpoint, 2 * 10**9)
        try:
            until(lambda: self._answers(node), START_S, lambda: (self.directory / "output").read_text()[-2000:])
        finally:
            node.close()

    def _answers(self, node: GrpcCsiNode) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "output").read_text()[-2000:]
        try:
            node.info()
        except PluginError:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL: its sockets and mounts stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """SIGTERM: it takes its sockets away."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(120)

    def renew(self) -> None:
        """Reset it as if it had just been started on an empty disk.

        That costs less than a new process.
        """
        if self._process is None or self._process.poll() is not None or self._extra:
            self.take_down()
            self.start()
        self._drop_devices()
        shutil.rmtree(self.directory / "store")
        Store(self.directory / "store")
        for name in ("calls", "orders"):
            (self.directory / name).unlink(missing_ok=True)

    def take_down(self) -> None:
        """End it, and remove what its volumes have on the machine outside of its directory."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self._drop_devices()

    def _drop_devices(self) -> None:
        store = Store(self.directory / "store")
        for path in (self.directory / "store" / "devices").iterdir():
            store.drop_device(path.name)

    # --- what it is told

    def order(self, **orders: dict[str, Any]) -> None:
        """What happens instead of these methods from now on; see `tests.csi_driver.service`."""
        aside = self.directory / "orders.tmp"
        aside.write_text(json.dumps(orders))
        os.rename(aside, self.directory / "orders")

    # --- what it was asked

    def calls(self, method: str = "") -> list[dict[str, Any]]:
        """Every call, or those of one method, in order; the fields of the request by their names."""
        path = self.directory / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines]
        return [each for each in found if method in ("", each["method"])]

    def methods(self) -> list[str]:
        """The names of what it was asked to do with volumes, in order."""
        operations = ("Stage", "Unstage", "Publish", "Unpublish", "Expand")
        return [each["method"] for each in self.calls() if each["method"].removeprefix("Node").startswith(operations)]

    def files(self, handle: str) -> Path:
        """Where the files of a volume really are."""
        return Store(self.directory / "store").files(handle)

    def mounts(self, below: Path) -> list[str]:
        """What is mounted at or below a path."""
        return list(KernelMounts().below(str(below)))
