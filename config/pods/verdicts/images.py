"""Why an image cannot be had: what the errors of runtimes and registries mean. Pure.

The texts are those of containerd, CRI-O and Docker. A text that no row knows is shown as it is.
"""

from __future__ import annotations

import re

from config.credentials.docker_config import full_name
from config.pods.verdicts.faults import Fault

KNOWN_AT_MOST = 4096
"""So many characters of an error are looked at: an error may quote a page of a proxy."""

_ROWS: tuple[tuple[re.Pattern[str], Fault], ...] = (
    (
        re.compile(r"SignatureValidationFailed|signature validation", re.IGNORECASE),
        Fault("ImageSignature", "its signature is not valid", "sign it, or correct the policy of the runtime"),
    ),
    (
        re.compile(
            r"no match for platform|no matching manifest|no image found in (image index|manifest list)"
            r"|does not match the specified",
            re.IGNORECASE,
        ),
        Fault(
            "ImageArchitecture",
            "it has no variant for the processor or system of this machine",
            "build it for this platform, or select nodes of another with a nodeSelector",
        ),
    ),
    (
        re.compile(r"toomanyrequests|too many requests|\b429\b|rate limit", re.IGNORECASE),
        Fault(
            "ImageRateLimited",
            "its registry refuses more pulls for now",
            "wait, pull with credentials (imagePullSecrets), or use a mirror",
        ),
    ),
    (
        re.compile(r"x509|certificate|gave HTTP response to HTTPS client", re.IGNORECASE),
        Fault(
            "ImageRegistryCertificate",
            "the runtime does not trust the certificate of its registry",
            "give the runtime the authority of the registry, or configure it as one without TLS",
        ),
    ),
    (
        re.compile(
            r"\b401\b|\b403\b|unauthorized|forbidden|pull access denied|authorization failed|insufficient_scope"
            r"|\bdenied\b|no basic auth|authentication required",
            re.IGNORECASE,
        ),
        Fault(
            "ImageForbidden",
            "its registry gives it to nobody with these credentials, or does not know its repository",
            "correct the name, or give credentials for this registry in imagePullSecrets",
        ),
    ),
    (
        re.compile(r"not found|manifest unknown|NAME_UNKNOWN|NotFound|does not exist|\b404\b", re.IGNORECASE),
        Fault("ImageNotFound", "its registry has no such image or tag", "correct the name or tag, or push it"),
    ),
    (
        re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE),
        Fault("DiskFull", "the disk of the node is full", "free space on the file system of images, or make it larger"),
    ),
    (
        re.compile(
            r"RegistryUnavailable|no such host|server misbehaving|Temporary failure in name resolution"
            r"|connection refused|timeout|timed out|network is unreachable|no route to host|connection reset"
            r"|deadline exceeded|\bEOF\b|\b50[0-9]\b|dial tcp",
            re.IGNORECASE,
        ),
        Fault(
            "ImageRegistryUnreachable",
            "its registry cannot be reached",
            "correct the name of the registry, or look at the node's DNS, route, proxy and firewall",
        ),
    ),
)


def image_fault(error: str, image: str = "") -> Fault | None:
    """What an error of a pull means; None where it is not known.

    What the name of the image says counts for nothing. An error may have several of the texts, such as
    `failed to authorize: ... 403`: the first row wins.
    """
    text = error[:KNOWN_AT_MOST]
    for name in (image, full_name(image)) if image else ():
        text = text.replace(name if "/" in name or ":" in name else f'"{name}"', "")
    return next((fault for pattern, fault in _ROWS if pattern.search(text)), None)


def registry_of(image: str) -> str:
    """The registry that a name means: `docker.io` for `busybox:1`."""
    return full_name(image).partition("/")[0]
