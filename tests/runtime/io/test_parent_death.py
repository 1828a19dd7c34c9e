"""Programs that the agent runs end with it, even if it is killed while they hang."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

WAIT = 120
IMAGE_PROVIDER = """
import sys, os
from config.credentials.image_providers import ImageProvider
from runtime.image_providers.capability import ProviderRequest
from runtime.image_providers.programs import LocalImageProviders
from runtime.io.event_loop import LoopThread
directory, name = os.path.split(sys.argv[1])
provider = ImageProvider(name, ("r.io",), 7)
who = LocalImageProviders((provider,), directory, LoopThread())
who.ask(provider, ProviderRequest("r.io/app")).result(600)
"""
CREDENTIAL_PLUGIN = """
import sys
from config.credentials.kubeconfig import ApiAccess, ClusterAccess, ExecPlugin, UserAccess
from runtime.api.credentials import Credentials
from runtime.io.event_loop import LoopThread
plugin = ExecPlugin("client.authentication.k8s.io/v1", sys.argv[1])
credentials = Credentials(ApiAccess(ClusterAccess("https://127.0.0.1:1"), UserAccess(exec=plugin)))
LoopThread().submit(credentials.fetch()).result(600)
"""
JOURNAL = """
import sys
from runtime.http_server.log_query import LogQuery
from runtime.http_server.system_logs import SystemLogPlaces, SystemLogs
from runtime.io.event_loop import LoopThread
logs = SystemLogs(SystemLogPlaces(journalctl=sys.argv[1], queries=True))
LoopThread().submit(logs._query(type("Request", (), {"method": "GET"}), LogQuery(("kubelet",)))).result(600)
"""


def _next_piece(pipe: int) -> bytes:
    """What comes next on the pipe; b"" when nobody has it open for writing any more."""
    assert select.select([pipe], [], [], WAIT)[0], "nothing has happened"
    return os.read(pipe, 100)


@pytest.mark.parametrize("agent", [IMAGE_PROVIDER, CREDENTIAL_PLUGIN, JOURNAL], ids=["image", "plugin", "journal"])
def test_a_program_that_hangs_ends_with_an_agent_that_is_killed(tmp_path: Path, agent: str) -> None:
    fifo, program = tmp_path / "fifo", tmp_path / "teller"
    os.mkfifo(fifo)
    program.write_text(
        f"#!{sys.executable}\nimport os, signal\nos.write(os.open({str(fifo)!r}, os.O_WRONLY), b'up')\nsignal.pause()\n"
    )
    program.chmod(0o755)
    pipe = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen([sys.executable, "-c", agent, str(program)])
    try:
        assert _next_piece(pipe) == b"up"
        process.kill()
        assert _next_piece(pipe) == b""
    finally:
        process.kill()
        process.wait(WAIT)
        os.close(pipe)
