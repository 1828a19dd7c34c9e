"""A Prometheus server of a test, on loopback.

It writes everything into one directory, and ends with the test.

It scrapes the pages of one node with the token of an admin, as a cluster's Prometheus does.
"""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.real.waiting import until


class Prometheus:
    """See the module. `pages`: paths on the node's server at `port`; `token` is shown to it."""

    def __init__(self, directory: Path, port: int, pages: Sequence[str], token: str) -> None:
        directory.mkdir()
        self.port = free_port()
        (directory / "token").write_text(token)
        jobs = [
            {
                "job_name": page.strip("/").replace("/", "-"),
                "scheme": "https",
                "metrics_path": page,
                "tls_config": {"insecure_skip_verify": True},
                "authorization": {"credentials_file": str(directory / "token")},
                "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
            }
            for page in pages
        ]
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"}, "scrape_configs": jobs}
        (directory / "prometheus.yml").write_text(json.dumps(config))
        command = [
            "prometheus",
            f"--config.file={directory}/prometheus.yml",
            f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        self.log = directory / "log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=directory)
        until(self._answers, 30, lambda: f"Prometheus does not answer: {self.log.read_text()[-2000:]}")

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(120)

    def targets(self) -> list[dict[str, Any]]:
        """What it scrapes, with the last error of each."""
        found: list[dict[str, Any]] = self._ask("targets")["activeTargets"]
        return found

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an instant query."""
        found: list[dict[str, Any]] = self._ask("query?" + urllib.parse.urlencode({"query": expression}))["result"]
        return found

    def _ask(self, what: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{what}", timeout=120) as answer:
            return json.load(answer)["data"]

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()[-2000:]
        try:
            self._ask("targets")
        except OSError:
            return False
        return True
