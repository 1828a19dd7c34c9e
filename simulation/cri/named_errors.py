"""Errors of calls by the name that a user knows: what containerd answers in such a case. Pure.

`{image}` is the full name of the image of a pull, and `{path}` where the registry has it.
"""

from __future__ import annotations

from collections.abc import Mapping

from runtime.cri.errors import StatusCode

_PULL = 'failed to pull and unpack image "{image}": '
_RESOLVE = f'{_PULL}failed to resolve reference "{{image}}": '
_PULLS: Mapping[str, tuple[StatusCode, str]] = {
    "not-found": (StatusCode.NOT_FOUND, _RESOLVE + "{image}: not found"),
    "unauthorized": (
        StatusCode.UNKNOWN,
        _RESOLVE + "pull access denied, repository does not exist or may require authorization: server message: "
        "insufficient_scope: authorization failed",
    ),
    "rate-limited": (
        StatusCode.UNKNOWN,
        _PULL + "failed to copy: httpReadSeeker: failed open: unexpected status code https://{path}: 429 Too Many "
        "Requests - Server message: toomanyrequests: You have reached your pull rate limit.",
    ),
    "no-space": (
        StatusCode.UNKNOWN,
        _PULL + "failed to copy: write /var/lib/containerd/io.containerd.content.v1.content/ingest/1/data: "
        "no space left on device",
    ),
    "timeout": (StatusCode.UNKNOWN, _RESOLVE + 'failed to do request: Head "https://{path}": dial tcp: i/o timeout'),
}
_OTHERS: Mapping[str, tuple[StatusCode, str]] = {
    "no-space": (
        StatusCode.UNKNOWN,
        "failed to create containerd task: failed to create shim task: mkdir "
        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/1: no space left on device",
    ),
    "timeout": (StatusCode.DEADLINE_EXCEEDED, "context deadline exceeded"),
}


def errors_of(verb: str) -> Mapping[str, tuple[StatusCode, str]]:
    """Name -> code and text of the errors of that verb."""
    return _PULLS if verb == "PullImage" else _OTHERS


def error_text(verb: str, name: str, image: str = "") -> str:
    """The runtime's text of that error; `image` is the full name of the image of a pull."""
    host, _, repository = image.partition("/")
    repository, _, tag = repository.rpartition("@" if "@" in repository else ":")
    registry = "registry-1.docker.io" if host == "docker.io" else host
    return errors_of(verb)[name][1].format(image=image, path=f"{registry}/v2/{repository}/manifests/{tag}")
