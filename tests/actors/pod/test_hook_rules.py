"""What a lifecycle hook asks for (spec 3.11)."""

from __future__ import annotations

import pytest

from actors.kernel import Promise
from actors.pod.hook_rules import (
    ExecHook,
    Hook,
    HookImpossibleError,
    HttpHook,
    SleepHook,
    failure_message,
    hook_of,
    known_by_notes,
)
from actors.pod.hook_runner import outcome_of_hook
from config.objects import (
    ContainerPort,
    ExecAction,
    HTTPGetAction,
    HTTPHeader,
    LifecycleHandler,
    SleepAction,
    TCPSocketAction,
)
from runtime.cri.identity import PORTS
from runtime.cri.messages import ExecSyncResponse
from tests.actors.pod_pictures import SECOND_NS, container, pod, seen

WEB = container("a", ports=(ContainerPort(name="web", container_port=8080),))


def http(**fields: object) -> LifecycleHandler:
    return LifecycleHandler(http_get=HTTPGetAction(**fields))  # type: ignore[arg-type]  # a table of fields


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (LifecycleHandler(exec=ExecAction(command=("a", "$(B)"))), ExecHook(("a", "$(B)"))),
        (LifecycleHandler(sleep=SleepAction(seconds=3)), SleepHook(3 * SECOND_NS)),
        (LifecycleHandler(sleep=SleepAction(seconds=0)), SleepHook(0)),
        (http(port=80), HttpHook("http://10.0.0.7:80/")),
        (http(port="web", path="x?y"), HttpHook("http://10.0.0.7:8080/x?y")),
        (http(port=443, scheme="HTTPS", host="h", path="/p"), HttpHook("https://h:443/p")),
        (
            http(port=80, http_headers=(HTTPHeader(name="A", value="b"),)),
            HttpHook("http://10.0.0.7:80/", (("A", "b"),)),
        ),
    ],
)
# (spec 3.11.1)
def test_a_hook_handler_becomes_a_call(handler: LifecycleHandler, expected: Hook) -> None:
    assert hook_of(WEB, handler, "10.0.0.7") == expected


@pytest.mark.parametrize(
    ("handler", "ip", "why"),
    [
        (LifecycleHandler(tcp_socket=TCPSocketAction(port=80)), "10.0.0.7", "tcpSocket is not supported"),
        (LifecycleHandler(), "10.0.0.7", "says nothing of what to do"),
        (http(port="admin"), "10.0.0.7", "admin"),
        (http(port=80), "", "no address"),
    ],
)
# (spec 3.11.4)
def test_an_impossible_hook_says_why(handler: LifecycleHandler, ip: str, why: str) -> None:
    with pytest.raises(HookImpossibleError, match=why):
        hook_of(WEB, handler, ip)


def test_a_hook_without_the_pod_spec_uses_the_ports_in_the_annotations() -> None:
    known = known_by_notes(seen("a", notes={PORTS: '[{"name":"web","containerPort":8080}]'}))
    assert hook_of(known, http(port="web"), "10.0.0.7") == HttpHook("http://10.0.0.7:8080/")
    assert known_by_notes(seen("a", notes={PORTS: "{"})).ports == ()


EXEC = LifecycleHandler(exec=ExecAction(command=("sh", "-c", "exit 5")))


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (EXEC, 'Exec lifecycle hook ([sh -c exit 5]) for Container "a" in Pod "web_shop(uid-1)" failed - error: why'),
        (
            http(port=80, path="/p"),
            'HTTP lifecycle hook (/p) for Container "a" in Pod "web_shop(uid-1)" failed - error: why',
        ),
        (
            LifecycleHandler(sleep=SleepAction(seconds=3)),
            'Sleep lifecycle hook (3) for Container "a" in Pod "web_shop(uid-1)" failed - error: why',
        ),
        (LifecycleHandler(), "Cannot run handler: why"),
    ],
)
def test_a_container_waits_for_its_failed_hook_in_the_words_of_a_kubelet(handler: LifecycleHandler, words: str) -> None:
    assert failure_message(pod(WEB), WEB, handler, "why") == words


def test_a_command_that_failed_tells_its_errors_and_all_that_it_printed() -> None:
    done: Promise[ExecSyncResponse] = Promise()
    done.set_result(ExecSyncResponse(stdout=b"out\n", stderr=b"no", exit_code=5))
    why, fell_back = outcome_of_hook(ExecHook(("sh", "-c")), done)
    assert (why, fell_back) == ("command 'sh -c' exited with 5: no, message: \"out\\nno\"", "")
