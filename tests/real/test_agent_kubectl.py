"""All of kubectl at once, for a while.

Followers, shells on terminals, copies, forwarded ports, debuggers.

Half of it over websockets and half over SPDY. ACTORLET_KUBECTL_SECONDS says for how long; minutes are as good as any.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.real.agent import Agent
from tests.real.images import BUSYBOX
from tests.real.kubectl import SPDY, WEBSOCKETS, Kubectl, following, kubectl_on
from tests.real.pods import STAY, container, pod
from tests.real.terminals import FIRST_SIZE, Size, Terminal, on_terminal
from tests.real.waiting import until

SECONDS = float(os.environ.get("ACTORLET_KUBECTL_SECONDS", "20"))
PROTOCOLS = {"websockets": WEBSOCKETS, "SPDY": SPDY}
COUNTS = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.02; done"
SERVES = f"mkdir /tmp/www; head -c 300000 /dev/zero | tr '\\0' x > /tmp/www/big; httpd -p 8080 -h /tmp/www; {STAY}"
CRASHES = "echo attempt of $(cat /count/n 2>/dev/null || echo 0); echo x >> /count/n; sleep 0.2; exit 1"
ECHOES = "while read line; do echo heard $line; done"


@pytest.fixture
def kubectl(agent: Agent) -> Iterator[Kubectl]:
    with kubectl_on(agent) as found:
        counting: dict[str, Any] = {"volumeMounts": [{"name": "count", "mountPath": "/count"}]}
        loop = pod("loop", container(script=CRASHES, **counting), volumes=[{"name": "count", "emptyDir": {}}])
        found("apply", "-f", "-", stdin=json.dumps(loop))
        found.run(pod("counts", container(script=COUNTS)))
        found.run(pod("web", container(script=SERVES)))
        for name in PROTOCOLS:
            echoes = container(script=ECHOES, stdin=True, tty=True)
            found.run(pod(f"echo-{name.lower()}", echoes))
        yield found


def shell(kubectl: Kubectl) -> None:
    """A person in a container."""
    with on_terminal(["kubectl", "exec", "-it", "web", "--", "sh"], kubectl.environment) as terminal:
        terminal.until("#")
        terminal.type("echo $((6*7)) is it\r")
        terminal.until("42 is it")
        # kubectl drops a size while the one before waits to be sent: one after the other.
        until_size(terminal, FIRST_SIZE)
        terminal.resize((33, 101))
        until_size(terminal, (33, 101))
        terminal.type("exit 5\r")
        assert terminal.end() == 5, terminal.shown


def until_size(terminal: Terminal, size: Size) -> None:
    """Ask the shell for its size until it is this one.

    A size travels apart from what is typed. On a busy machine it may come seconds later.
    """
    rows, columns = size
    numbers = count()

    def is_set() -> bool:
        number = next(numbers)
        terminal.type(f"stty size; echo size {number}\r")
        terminal.until(f"\nsize {number}")
        return f"\n{rows} {columns}\r" in terminal.shown

    until(is_set, 30, f"the size of the terminal does not become {size}")


def attached(kubectl: Kubectl, name: str) -> None:
    """A person attaches to a process that was there before, and that goes on afterwards."""
    with on_terminal(["kubectl", "attach", "-it", name], kubectl.environment) as terminal:
        terminal.until("If you don't see a command prompt")
        terminal.type("hello\r")
        terminal.until("heard hello")


def copied(kubectl: Kubectl, directory: Path) -> None:
    there, back = directory / "there", directory / "back"
    there.write_bytes(os.urandom(1_000_000))
    kubectl("cp", str(there), f"web:/tmp/{directory.name}")
    kubectl("cp", f"web:/tmp/{directory.name}", str(back))
    assert back.read_bytes() == there.read_bytes()


def forwarded(kubectl: Kubectl) -> None:
    with following(kubectl.popen("port-forward", "pod/web", ":8080", "--address=127.0.0.1")) as told:
        port = int(next(told).split(" -> ")[0].rpartition(":")[2])
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", port), 120) as client:
                client.sendall(b"GET /big HTTP/1.0\r\n\r\n")
                size = 0
                while part := client.recv(65536):
                    size += len(part)
            assert size > 300_000


def piped(kubectl: Kubectl) -> None:
    text = "".join(f"{i}\n" for i in range(50_000))
    assert kubectl("exec", "-i", "web", "--", "cat", stdin=text) == text
    code, out, err = kubectl.attempt("exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (code, out) == (7, "out\n")
    assert "err\n" in err


def debugged(kubectl: Kubectl) -> None:
    """An ephemeral container beside the others, in the namespaces of one of them."""
    command = ["kubectl", "debug", "-it", "web", f"--image={BUSYBOX}", "--image-pull-policy=Never", "--target=main"]
    with on_terminal([*command, "--", "sh"], kubectl.environment) as terminal:
        terminal.until("#", 60)
        terminal.type("ps | grep -q '[h]ttpd' && echo it is there\r")
        terminal.until("\nit is there")
        terminal.type("exit\r")
        assert terminal.end() == 0, terminal.shown


def previous(kubectl: Kubectl) -> None:
    assert kubectl("logs", "loop", "--previous").startswith("attempt of ")


def follow(kubectl: Kubectl, ends: threading.Event) -> int:
    """Every line once, until the end; how many there were."""
    process = kubectl.popen("logs", "-f", "counts", "--tail=1")
    numbers = []
    with following(process) as lines:
        for line in lines:
            numbers.append(int(line.split()[1]))
            if ends.is_set():
                break
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return len(numbers)


def test_kubectl_commands_work_side_by_side_for_a_while(agent: Agent, kubectl: Kubectl, tmp_path: Path) -> None:
    until(lambda: kubectl.attempt("logs", "loop", "--previous")[0] == 0, 30, "there is no life before")
    ends = threading.Event()
    done: Counter[str] = Counter()
    failures: list[str] = []

    def again(name: str, operation: Callable[[], object]) -> None:
        """Until the end, or the first failure."""
        while not (ends.is_set() and done[name]):
            try:
                operation()
            except BaseException as failure:
                failures.append(f"{name}: {failure!r}"[:3000])
                return
            done[name] += 1

    threads = []
    for protocol, environment in PROTOCOLS.items():
        speaker = kubectl.speaking(environment)
        place = tmp_path / protocol
        place.mkdir()
        echo = f"echo-{protocol.lower()}"
        operations: dict[str, Callable[[], object]] = {
            "shell": partial(shell, speaker),
            "attach": partial(attached, speaker, echo),
            "cp": partial(copied, speaker, place),
            "port-forward": partial(forwarded, speaker),
            "exec": partial(piped, speaker),
        }
        threads += [
            threading.Thread(target=again, args=(f"{name} {protocol}", operation))
            for name, operation in operations.items()
        ]
    threads.append(threading.Thread(target=again, args=("logs -f", lambda: follow(kubectl, ends))))
    threads.append(threading.Thread(target=again, args=("logs --previous", lambda: previous(kubectl))))
    for each in threads:
        each.start()
    began = time.monotonic()
    with suppress(AssertionError):
        until(lambda: failures or time.monotonic() - began > SECONDS, SECONDS + 1, "")
    ends.set()
    for each in threads:
        each.join(240)
    assert not failures, "\n".join([*failures, agent.said()[-3000:]])
    assert all(done.values()), done
    assert len(done) == len(threads), done
    # Each leaves a container behind, so that they are not made again and again.
    for environment in PROTOCOLS.values():
        debugged(kubectl.speaking(environment))
    print(f"within {SECONDS:g} s: {dict(done)}")
