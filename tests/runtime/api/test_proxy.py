"""The way through a proxy: which one, and that it is taken."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from config.api.resources import PODS
from config.credentials.kubeconfig import ApiAccess, ClusterAccess, Pem
from runtime.api import get
from runtime.api.proxy import proxy_for
from runtime.io.event_loop import LoopThread
from tests.runtime.api.conftest import Connect, Serve
from tests.runtime.api.scripted_server import WAIT, Certificates, echo

GET = get(PODS, "default", "web")
HTTPS = "https://api.example.com:6443"


@pytest.mark.parametrize(
    ("server", "environment", "proxy"),
    [
        (HTTPS, {}, ""),
        (HTTPS, {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        (HTTPS, {"https_proxy": "p:1"}, "http://p:1"),
        (HTTPS, {"HTTP_PROXY": "http://p:1"}, ""),
        ("http://api", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("https://localhost", {"HTTPS_PROXY": "http://p:1"}, ""),
    ],
)
def test_the_environment_names_a_proxy(server: str, environment: dict[str, str], proxy: str) -> None:
    assert proxy_for(server, environment) == proxy


@pytest.mark.parametrize(
    ("server", "exceptions", "direct"),
    [
        (HTTPS, "*", True),
        (HTTPS, "example.com", True),
        (HTTPS, ".example.com", True),
        (HTTPS, "*.example.com", True),
        (HTTPS, "API.example.com", True),
        (HTTPS, "api.example.com:6443", True),
        (HTTPS, "api.example.com:443", False),
        (HTTPS, "ample.com", False),
        (HTTPS, ".api.example.com", False),
        (HTTPS, " , other.org ,example.com", True),
        (HTTPS, "10.0.0.0/8", False),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "11.0.0.0/8,10.1.2.3", True),
        ("https://10.1.2.3", "10.1.2.3:443", True),
        ("https://10.1.2.3", "10.1.2.3:6443", False),
        ("https://10.1.2.3", "2.3", False),
        ("https://10.1.2.3", "not/a/range", False),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://[fd00::1]", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
    ],
)
def test_no_proxy_has_exceptions(server: str, exceptions: str, direct: bool) -> None:
    environment = {"HTTPS_PROXY": "http://p:1", "NO_PROXY": exceptions}
    assert (proxy_for(server, environment) == "") is direct


def test_plain_http_goes_to_the_proxy_with_the_whole_address(serve: Serve, connect: Connect) -> None:
    proxy = serve(echo)
    access = ApiAccess(ClusterAccess("http://api.inside:8080", proxy_url=proxy.url))
    assert connect(access).call(GET).result(WAIT).metadata.name == "web"
    assert proxy.asked[0].header("Host") == "api.inside:8080"


def test_a_proxy_of_the_environment_is_taken(serve: Serve, connect: Connect) -> None:
    proxy = serve(echo)
    access = ApiAccess(ClusterAccess("http://api.inside:8080"))
    assert connect(access, {"environment": {"HTTP_PROXY": proxy.url}}).call(GET).result(WAIT)
    assert proxy.asked[0].header("Host") == "api.inside:8080"


def test_https_goes_through_a_tunnel(serve: Serve, connect: Connect, loop: LoopThread) -> None:
    certificates = Certificates()
    server = serve(echo, certificates=certificates)
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(65536):
            writer.write(chunk)
        writer.close()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(tunnel, "127.0.0.1", 0)

    listening = loop.submit(start()).result(WAIT)
    proxy = f"http://user:word@127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    access = server.access(certificate_authority=Pem(data=certificates.authority), proxy_url=proxy)
    client = connect(access)
    assert client.call(GET).result(WAIT).metadata.name == "web"
    assert client.call(GET).result(WAIT).metadata.name == "web"
    (head,) = asked
    assert head.startswith(b"CONNECT localhost:")
    assert b"Proxy-Authorization: Basic dXNlcjp3b3Jk" in head
    loop.submit(stop(listening)).result(WAIT)


async def stop(server: asyncio.Server) -> None:
    server.close()


def test_a_proxy_that_is_not_there_is_named(serve: Serve, connect: Connect) -> None:
    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=407, text="who are you?")

    proxy = serve(refuse)
    access = ApiAccess(ClusterAccess("http://api.inside:8080", proxy_url=proxy.url))
    assert str(connect(access).call(GET).exception(WAIT)) == (
        "get pods default/web: who are you? (407 ProxyAuthenticationRequired)"
    )
