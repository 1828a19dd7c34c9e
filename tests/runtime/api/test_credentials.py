"""Tokens from files, and plugins that are run: when they are asked again, and what their failures say."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from config.api.resources import PODS
from config.credentials.kubeconfig import ApiAccess, ClusterAccess, ExecPlugin, Pem, UserAccess
from runtime.api import ApiError, get, watch_objects
from runtime.api.credentials import PLUGIN_REST_NS, TOKEN_FILE_EVERY_NS, Credentials
from tests.runtime.api.conftest import Connect, Serve
from tests.runtime.api.scripted_server import WAIT, Certificates, Handler, echo, reply, status_object

GET = get(PODS, "default", "web")
V1 = "client.authentication.k8s.io/v1"


class Clock:
    """Both clocks of `Credentials`, set by hand."""

    def __init__(self) -> None:
        self.ns = 10**18

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def clock() -> Clock:
    return Clock()


def with_clock(access: ApiAccess, clock: Clock) -> dict[str, Any]:
    return {"credentials": Credentials(access, now_ns=clock, wall_ns=clock)}


def only(*tokens: str) -> Handler:
    """Lets these in."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization", "") in {f"Bearer {token}" for token in tokens}:
            return await echo(request)
        return reply(status_object(401, "Unauthorized"), 401)

    return answer


def failure(pending: Any) -> ApiError:
    error = pending.exception(WAIT)
    assert isinstance(error, ApiError)
    return error


def shown(server: Any) -> list[str]:
    return [asked.header("Authorization").removeprefix("Bearer ") for asked in server.asked]


def test_a_name_and_a_password(serve: Serve, connect: Connect) -> None:
    server = serve(echo)
    connect(server.access(UserAccess(username="jane", password="p:w"))).call(GET).result(WAIT)
    assert server.asked[0].header("Authorization") == "Basic amFuZTpwOnc="


def test_a_refused_token_is_an_answer(serve: Serve, connect: Connect) -> None:
    server = serve(only("good"))
    assert failure(connect(server.access(UserAccess(token="bad"))).call(GET)).code == 401
    assert shown(server) == ["bad"]


async def repeats(request: web.Request) -> web.StreamResponse:
    """A server that refuses, and says what it was shown."""
    if request.query.get("watch"):
        return web.Response(status=403, text=f"{'.' * 280} {request.headers['Authorization']}")
    return reply({**status_object(403, "Forbidden"), "message": f"not with {request.headers['Authorization']}"}, 403)


@pytest.mark.parametrize("user", [UserAccess(token="s3cr3t-token"), UserAccess(username="jane", password="s3cr3t:w")])
def test_credentials_echoed_by_a_server_are_masked_in_errors(serve: Serve, connect: Connect, user: UserAccess) -> None:
    server = serve(repeats)
    client = connect(server.access(user))
    ended: queue.SimpleQueue[ApiError | None] = queue.SimpleQueue()
    watching = client.watch(watch_objects(PODS, "", resource_version="1"), lambda _: None, ended.put)
    errors = [failure(client.call(GET)), ended.get(timeout=WAIT)]
    watching.close()
    shown = server.asked[0].header("Authorization").partition(" ")[2]
    for error in errors:
        assert error is not None
        assert "***" in str(error)
        assert not any(each in f"{error}{error!r}" for each in ("s3cr3t", shown, shown[:12]))


def test_errors_of_a_failing_plugin_show_neither_its_input_nor_its_output(
    serve: Serve, connect: Connect, plugin: Plugin
) -> None:
    plugin.prints({"token": "s3cr3t-token"}, complaint="WHO=s3cr3t-env --key=s3cr3t-arg got s3cr3t-token", ends=3)
    user = plugin.user(env=(("WHO", "s3cr3t-env"),), args=("--key=s3cr3t-arg",))
    error = failure(connect(serve(echo).access(user)).call(GET))
    assert "ended with status 3: WHO=*** *** got ***" in str(error)


# --- a token in a file ----------------------------------------------------------------------------------------------


def test_a_token_file_is_read_every_minute(serve: Serve, connect: Connect, tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "token"
    path.write_text("one\n")
    server = serve(echo)
    access = server.access(UserAccess(token="spare", token_file=str(path)))
    client = connect(access, with_clock(access, clock))
    client.call(GET).result(WAIT)
    path.write_text("two\n")
    client.call(GET).result(WAIT)
    clock.ns += TOKEN_FILE_EVERY_NS
    client.call(GET).result(WAIT)
    path.unlink()
    clock.ns += TOKEN_FILE_EVERY_NS
    client.call(GET).result(WAIT)
    assert shown(server) == ["one", "one", "two", "two"]


def test_a_refused_token_is_read_again_at_once(serve: Serve, connect: Connect, tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    server = serve(only("new"))
    access = server.access(UserAccess(token_file=str(path)))
    client = connect(access, with_clock(access, clock))
    assert failure(client.call(GET)).code == 401
    path.write_text("new")
    assert client.call(GET).result(WAIT)
    assert shown(server) == ["old", "old", "new"]


def test_a_token_file_that_is_not_there(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "token"
    server = serve(echo)
    client = connect(server.access(UserAccess(token_file=str(path))))
    assert failure(client.call(GET)).message == f"token file {path}: No such file or directory"
    path.write_text(" \n")
    assert failure(client.call(GET)).message == f"token file {path}: it is empty"
    path.write_text("late")
    assert client.call(GET).result(WAIT)
    spare = UserAccess(token="spare", token_file=str(tmp_path / "missing"))
    connect(server.access(spare)).call(GET).result(WAIT)
    assert shown(server) == ["late", "spare"]


# --- a plugin -------------------------------------------------------------------------------------------------------


class Plugin:
    """A program that counts its runs and prints what it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.command = folder / "login"
        self.command.write_text(
            f"#!{sys.executable}\n"
            "import os, pathlib, sys\n"
            f"folder = pathlib.Path({str(folder)!r})\n"
            "with open(folder / 'runs', 'a') as runs: runs.write('x')\n"
            "(folder / 'info').write_text(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "(folder / 'seen').write_text(' '.join([os.environ.get('WHO', ''), *sys.argv[1:]]))\n"
            "sys.stderr.write((folder / 'complaint').read_text())\n"
            "sys.stdout.write((folder / 'answer').read_text())\n"
            "sys.exit(int((folder / 'status').read_text()))\n"
        )
        self.command.chmod(self.command.stat().st_mode | stat.S_IEXEC)
        self.prints({})

    def prints(self, status: Any, *, complaint: str = "", ends: int = 0, **changes: Any) -> None:
        document = {"apiVersion": V1, "kind": "ExecCredential", "status": status} | changes
        (self.folder / "answer").write_text(json.dumps(document))
        (self.folder / "complaint").write_text(complaint)
        (self.folder / "status").write_text(str(ends))

    @property
    def runs(self) -> int:
        return len((self.folder / "runs").read_text()) if (self.folder / "runs").exists() else 0

    def user(self, **fields: Any) -> UserAccess:
        return UserAccess(exec=ExecPlugin(V1, str(self.command), **fields))


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def test_a_plugin_runs_once_for_all_calls(serve: Serve, connect: Connect, plugin: Plugin) -> None:
    plugin.prints({"token": "t"})
    server = serve(only("t"))
    client = connect(server.access(plugin.user()), in_flight=30)
    for pending in [client.call(GET) for _ in range(30)]:
        pending.result(WAIT)
    assert plugin.runs == 1
    assert set(shown(server)) == {"t"}


def test_a_plugin_is_told_what_the_kubeconfig_says(serve: Serve, connect: Connect, plugin: Plugin) -> None:
    plugin.prints({"token": "t"})
    user = plugin.user(args=("get", "token"), env=(("WHO", "me"),))
    client = connect(serve(only("t")).access(user), {"environment": dict(os.environ)})
    client.call(GET).result(WAIT)
    assert (plugin.folder / "seen").read_text() == "me get token"
    info = json.loads((plugin.folder / "info").read_text())
    assert info == {"apiVersion": V1, "kind": "ExecCredential", "spec": {"interactive": False}}


def test_a_plugin_is_told_of_the_cluster_if_it_wants_to_know(serve: Serve, connect: Connect, plugin: Plugin) -> None:
    plugin.prints({"token": "t"})
    server = serve(only("t"))
    (plugin.folder / "ca.crt").write_text("PEM")
    extension = msgspec.Raw(b'{"audience":"x"}')
    access = server.access(plugin.user(provide_cluster_info=True), exec_extension=extension)
    cluster = msgspec.structs.replace(access.cluster, certificate_authority=Pem(str(plugin.folder / "ca.crt")))
    connect(msgspec.structs.replace(access, cluster=cluster)).call(GET).result(WAIT)
    info = json.loads((plugin.folder / "info").read_text())
    assert info["spec"]["cluster"] == {
        "server": server.url,
        "certificate-authority-data": "UEVN",
        "config": {"audience": "x"},
    }


def test_a_token_is_renewed_when_it_expires(serve: Serve, connect: Connect, plugin: Plugin, clock: Clock) -> None:
    server = serve(only("one", "two"))
    access = server.access(plugin.user())
    client = connect(access, with_clock(access, clock))
    plugin.prints({"token": "one", "expirationTimestamp": "2001-09-09T01:46:50Z"})  # 10 s after the clock's start
    client.call(GET).result(WAIT)
    clock.ns += 9 * 10**9
    client.call(GET).result(WAIT)
    plugin.prints({"token": "two"})
    clock.ns += 1 * 10**9
    client.call(GET).result(WAIT)
    assert shown(server) == ["one", "one", "two"]
    assert plugin.runs == 2


def test_a_refused_token_is_renewed_once_and_not_over_and_over(
    serve: Serve, connect: Connect, plugin: Plugin, clock: Clock
) -> None:
    server = serve(only("two"))
    access = server.access(plugin.user())
    client = connect(access, with_clock(access, clock))
    plugin.prints({"token": "one"})
    assert failure(client.call(GET)).code == 401
    assert failure(client.call(GET)).code == 401
    assert plugin.runs == 1, "it has just been asked"
    plugin.prints({"token": "two"})
    clock.ns += PLUGIN_REST_NS
    assert client.call(GET).result(WAIT)
    assert plugin.runs == 2
    assert shown(server) == ["one", "one", "one", "two"]


def test_a_certificate_of_a_plugin(serve: Serve, connect: Connect, plugin: Plugin) -> None:
    certificates = Certificates()
    pair = certificates.pair("from-plugin")
    plugin.prints({"clientCertificateData": pair.certificate, "clientKeyData": pair.key})
    server = serve(echo, certificates=certificates, require_client=True)
    access = server.access(plugin.user(), certificate_authority=Pem(data=certificates.authority))
    assert connect(access).call(GET).result(WAIT)
    assert server.asked[0].peer_name == "from-plugin"
    assert server.asked[0].header("Authorization") == ""


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        (
            {"status": {"token": "t"}, "complaint": "no \n network", "ends": 3},
            "ended with status 3: no network; brew it",
        ),
        ({"status": {}}, "printed an ExecCredential without a token or certificate in its status"),
        ({"status": None}, "printed an ExecCredential without a token or certificate in its status"),
        ({"status": {"token": "t"}, "kind": "Pod"}, f"printed {V1} Pod; the kubeconfig asks for {V1} ExecCredential"),
        (
            {"status": {"token": "t"}, "apiVersion": V1 + "beta1"},
            f"printed {V1}beta1 ExecCredential; the kubeconfig asks",
        ),
        (
            {"status": {"clientKeyData": "k"}},
            "printed one of clientCertificateData and clientKeyData without the other",
        ),
        ({"status": {"token": 1}}, "printed no ExecCredential: Expected `str | null`, got `int`"),
        ({"status": {"token": "t", "expirationTimestamp": "soon"}}, "printed the expirationTimestamp 'soon'"),
        ({"status": {"token": "t", "expirationTimestamp": "2026-01-01T00:00:00"}}, "it has no time zone"),
    ],
)
def test_a_plugin_that_gives_nothing(
    serve: Serve, connect: Connect, plugin: Plugin, printed: dict[str, Any], why: str
) -> None:
    plugin.prints(**printed)
    server = serve(echo)
    error = failure(connect(server.access(plugin.user(install_hint="brew it"))).call(GET))
    assert error.reason == "Unreachable"
    assert why in error.message
    assert server.asked == []


def test_a_plugin_that_is_not_there(serve: Serve, connect: Connect) -> None:
    user = UserAccess(exec=ExecPlugin(V1, "no-such-login", install_hint="get it from the shop"))
    error = failure(connect(serve(echo).access(user)).call(GET))
    assert error.message == "no-such-login cannot be run: No such file or directory; get it from the shop"


def test_a_broken_plugin_is_left_in_peace_for_a_while(
    serve: Serve, connect: Connect, plugin: Plugin, clock: Clock
) -> None:
    access = serve(only("t")).access(plugin.user())
    client = connect(access, with_clock(access, clock))
    plugin.prints({}, ends=1)
    for _ in range(5):
        assert "ended with status 1" in failure(client.call(GET)).message
    assert plugin.runs == 1
    plugin.prints({"token": "t"})
    clock.ns += PLUGIN_REST_NS
    assert client.call(GET).result(WAIT)


def test_a_cancelled_call_does_not_end_the_run_for_the_others(serve: Serve, connect: Connect, plugin: Plugin) -> None:
    """The plugin waits until a file it reads, a fifo, is written."""
    plugin.prints({"token": "t"})
    answer = (plugin.folder / "answer").read_text()
    (plugin.folder / "answer").unlink()
    os.mkfifo(plugin.folder / "answer")
    client = connect(serve(only("t")).access(plugin.user()))
    first, second = client.call(GET), client.call(GET)
    with open(plugin.folder / "answer", "w") as fifo:  # opens when the plugin reads
        assert first.cancel()
        fifo.write(answer)
    assert second.result(WAIT).metadata.name == "web"
    assert plugin.runs == 1


def test_closing_ends_a_plugin_that_hangs(serve: Serve, connect: Connect, plugin: Plugin) -> None:
    plugin.prints({"token": "t"})
    (plugin.folder / "answer").unlink()
    os.mkfifo(plugin.folder / "answer")
    access = ApiAccess(ClusterAccess("http://127.0.0.1:1"), plugin.user())
    credentials = Credentials(access)

    async def begin_and_close() -> None:
        running = asyncio.create_task(credentials.fetch())
        reading = threading.Event()

        def open_fifo() -> int:
            descriptor = os.open(plugin.folder / "answer", os.O_WRONLY)  # opens when the plugin reads
            reading.set()
            return descriptor

        descriptor = await asyncio.get_running_loop().run_in_executor(None, open_fifo)
        assert reading.is_set()
        await credentials.close()
        with pytest.raises(asyncio.CancelledError):
            await running
        with pytest.raises(BrokenPipeError):
            os.write(descriptor, b"x")
        os.close(descriptor)

    asyncio.run(begin_and_close())


def test_a_plugin_that_prints_without_end_is_ended(serve: Serve, connect: Connect, plugin: Plugin) -> None:
    plugin.command.write_text(
        f"#!{sys.executable}\nimport sys\nwhile True: sys.stdout.write('x' * 65536); sys.stderr.write('y' * 65536)\n"
    )
    error = failure(connect(serve(echo).access(plugin.user())).call(GET))
    assert f"{plugin.command} printed more than 1048576 bytes" in error.message
