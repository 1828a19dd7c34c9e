"""The embedded API server as commands use it, with a scheduler and a kubeconfig.

At the end it leaves nothing behind.

It listens on loopback. Over TLS, whoever has the kubeconfig, which only its user can read, is its admin. Nobody else on
the machine gets in: with a real runtime behind it, pods are processes of root. Over plain HTTP, clients of Kubernetes
send no credentials, so everybody who can reach the port is admin.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from actors.kernel import PoolDispatcher
from config.credentials.kubeconfig import Pem, kubeconfig_document
from config.documents.codec import decode
from config.objects import Pod
from runtime.files.directories import make_directories
from runtime.files.tree import remove_tree
from runtime.files.whole_file import write_whole
from runtime.io.event_loop import LoopThread
from simulation.apiserver.core import Options
from simulation.apiserver.front.http_front import HttpFront
from simulation.apiserver.front.tls import Authority
from simulation.apiserver.requests.answers import ListAnswer
from simulation.apiserver.requests.bodies import JSON
from simulation.apiserver.requests.calls import ApiRequest, ApiUser
from simulation.apiserver.server import ApiServer
from simulation.controllers.resource_claims import ResourceClaims
from simulation.controllers.scheduler import Scheduler
from simulation.controllers.signer import Signer

HOST = "127.0.0.1"
PASSING_PREFIX = "actorlet-"
"""Prefix of the directories that commands make for their lifetime."""
CONTEXT = "actorlet"
ADMIN = "admin"
_READER = ApiUser("system:actorlet", ("system:masters", "system:authenticated"))
TOWARDS_AGENTS = ("kube-apiserver-kubelet-client", "system:masters")
"""The server's identity when it calls an agent, and the group that may do so."""


@dataclass(frozen=True, slots=True)
class ApiServerOptions:
    """The options of the command line.

    `directory`: for keys, made and removed. `kubeconfig`: its path; the directory must exist.

    `nodes`: names of nodes that get a kubeconfig of their own in `directory`, `NAME.kubeconfig`.
    """

    directory: str
    kubeconfig: str
    port: int = 0
    tls: bool = True
    node_authorizer: bool = False
    nodes: tuple[str, ...] = ()
    rbac: bool = False


@dataclass(frozen=True, slots=True)
class EmbeddedApi:
    """A server that runs.

    `kubeconfig` is a path; `node_kubeconfigs`: node -> path. `authority`: path of the certificate of its authority,
    which signs those of its clients and its own towards agents; empty without TLS.
    """

    server: ApiServer
    url: str
    kubeconfig: str
    node_kubeconfigs: dict[str, str]
    authority: str = ""

    def pods_without_node(self) -> tuple[Pod, ...]:
        """The pods that no node took: no agent knows of them."""
        query = (("fieldSelector", "spec.nodeName="),)
        asked = ApiRequest("GET", "/api/v1/pods", query, b"", JSON, _READER, user_agent="actorlet")
        answer = self.server.handle(asked)
        versions = answer.versions if isinstance(answer, ListAnswer) else ()
        return tuple(decode(version.body(), Pod) for version in versions)


@contextmanager
def embedded_api(options: ApiServerOptions) -> Iterator[EmbeddedApi]:
    """Serve for as long as the context lasts.

    Raises OSError when the port is taken or a file cannot be written.
    """
    with ExitStack() as after:
        dispatcher = PoolDispatcher(1)
        after.callback(dispatcher.close)
        loop = after.enter_context(closing(LoopThread("apiserver")))
        make_directories(options.directory, 0o700)
        after.callback(_remove, options.directory)
        tokens = {_token(dispatcher): name for name in (ADMIN, *(f"system:node:{node}" for node in options.nodes))}
        made: Authority | None = None
        context, authority, towards_agents, authority_path = None, Pem(), "", ""
        if options.tls:
            made, directory = Authority(dispatcher.wall_ns()), Path(options.directory)
            context, authority = made.server_context(directory), Pem(data=made.certificate)
            towards_agents, authority_path = made.client_file(directory, *TOWARDS_AGENTS), str(directory / "ca.crt")
        server = ApiServer(
            dispatcher,
            Options(
                seed=int(_token(dispatcher), 16),
                authorization="RBAC" if options.rbac else "Node" if options.node_authorizer else "AlwaysAllow",
                anonymous=not options.tls,
                tokens=tokens,
                root_ca=authority.data,
                garbage_collection=True,
            ),
        )
        front = HttpFront(server, loop, host=HOST, port=options.port, tls=context, node_client=towards_agents)
        _listen(front, options.port)
        after.callback(front.close)
        scheduler, claims = Scheduler(server, dispatcher), ResourceClaims(server, dispatcher)
        scheduler.start()
        claims.start()
        after.callback(scheduler.stop)
        after.callback(claims.stop)
        if made is not None:
            signer = Signer(server, dispatcher, made)
            signer.start()
            after.callback(signer.stop)
        paths = [options.kubeconfig, *(_node_kubeconfig(options, node) for node in options.nodes)]
        for (token, user), path in zip(tokens.items(), paths, strict=True):
            write_kubeconfig(path, front.url, user, token, authority)
            after.callback(_remove, path)
        nodes = dict(zip(options.nodes, paths[1:], strict=True))
        yield EmbeddedApi(server, front.url, paths[0], nodes, authority_path)


def _listen(front: HttpFront, wanted: int) -> None:
    try:
        front.start()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise OSError(f"the API server cannot listen on {HOST}:{wanted}: {reason}; choose another --port") from None


def write_kubeconfig(path: str, url: str, user: str, token: str, authority: Pem) -> None:
    """Write a kubeconfig that only its owner can read. Raises OSError."""
    document = kubeconfig_document(url, name=CONTEXT, user=user, token=token, certificate_authority=authority)
    write_whole(path, document, lasting=False)


def _node_kubeconfig(options: ApiServerOptions, node: str) -> str:
    return os.path.join(options.directory, f"{node}.kubeconfig")


def _token(dispatcher: PoolDispatcher) -> str:
    return dispatcher.new_uid().replace("-", "")


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        remove_tree(path)


def port(text: str) -> int:
    """Parse the value of a port option, for argparse."""
    if not text.isascii() or not text.isdecimal() or not 0 <= int(text) < 2**16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number up to 65535")
    return int(text)


def new_file(text: str) -> str:
    """The value of an option, for argparse: an absolute path in a directory that is there."""
    path = os.path.abspath(text)
    if not os.path.isdir(os.path.dirname(path)):
        raise argparse.ArgumentTypeError(f"there is no directory {os.path.dirname(path)}")
    if os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"{path} is a directory")
    return path
