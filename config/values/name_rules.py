"""How names, labels and keys are spelled in the API.

Pure: each function gives None for a good text, else (reason, hint). Refuses to know what is being named.
"""

from __future__ import annotations

import re
from ipaddress import ip_address

from config.caches import KIB, kept
from config.documents.places import DocumentPlace

Refusal = tuple[str, str] | None

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9_][-A-Za-z0-9_]{0,62}(\.[A-Za-z0-9_][-A-Za-z0-9_]{0,62})*\.?", re.ASCII)
_ZONE = re.compile(r"[A-Za-z0-9_.-]{1,15}", re.ASCII)
"""The name of an interface."""
_SEARCH_DOMAIN = re.compile(r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*", re.ASCII)
_WORD = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_PORT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", re.ASCII)
_ENVIRONMENT = re.compile(r"[ -<>-~]+", re.ASCII)
_HEADER = re.compile(r"[-A-Za-z0-9]+", re.ASCII)
_UID = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]{0,127}", re.ASCII)
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)

_LABEL_HINT = "use at most 63 of a-z, 0-9 and -, a letter or digit first and last"
_SUBDOMAIN_HINT = "use at most 253 of a-z, 0-9, - and ., a letter or digit at both ends of every part"
_WORD_HINT = "use at most 63 of letters, digits, -, _ and ., a letter or digit first and last"

WORDS_BYTES = 256 * KIB
"""For keys and for values of labels that were judged: the objects of a cluster use the same few."""


def dns_label(text: str) -> Refusal:
    """RFC 1123 label: the name of a container, a volume, a namespace."""
    return None if len(text) <= 63 and _LABEL.fullmatch(text) else (f"{text!r} is not a DNS label", _LABEL_HINT)


def dns_subdomain(text: str) -> Refusal:
    """RFC 1123 subdomain: the name of most objects."""
    good = len(text) <= 253 and _SUBDOMAIN.fullmatch(text)
    return None if good else (f"{text!r} is not a DNS name", _SUBDOMAIN_HINT)


def search_domain(text: str) -> Refusal:
    """A search domain of DNS: each part may begin with an underscore, and have some within (since 1.34)."""
    good = len(text) <= 253 and _SEARCH_DOMAIN.fullmatch(text)
    return None if good else (f"{text!r} is not a search domain", _SUBDOMAIN_HINT.replace(", - and .", ", -, _ and ."))


def path_segment(text: str) -> Refusal:
    """The rule for a path segment, such as the name of a role."""
    good = text not in (".", "..") and not {"/", "%"} & set(text)
    return None if good else (f"{text!r} does not fit into a path", "use neither / nor %, and not . or .. alone")


@kept(WORDS_BYTES)
def qualified_name(text: str) -> Refusal:
    """Why the text may not be the key of a label or annotation; None if it may.

    A key is a name, with or without the DNS name of its owner and a slash before it.
    """
    prefix, slash, name = text.rpartition("/")
    if slash and (dns_subdomain(prefix) or not prefix):
        return f"{text!r} has a prefix that is not a DNS name", _SUBDOMAIN_HINT
    good = len(name) <= 63 and _WORD.fullmatch(name)
    return None if good else (f"{text!r} is not a qualified name", _WORD_HINT)


@kept(WORDS_BYTES)
def label_value(text: str) -> Refusal:
    """Value of a label: empty, or like the name part of its key."""
    good = not text or (len(text) <= 63 and _WORD.fullmatch(text))
    return None if good else (f"{text!r} is not the value of a label", _WORD_HINT)


def environment_name(text: str) -> Refusal:
    """Name of a variable: printable ASCII but for =."""
    return (
        None
        if _ENVIRONMENT.fullmatch(text)
        else (f"{text!r} is not the name of a variable", "use printable ASCII without =")
    )


def port_name(text: str) -> Refusal:
    """IANA service name."""
    good = len(text) <= 15 and _PORT_NAME.fullmatch(text) and "--" not in text and re.search("[a-z]", text)
    return (
        None
        if good
        else (f"{text!r} is not the name of a port", "use at most 15 of a-z, 0-9 and -, one letter at least")
    )


def header_name(text: str) -> Refusal:
    """Name of an HTTP header."""
    return None if _HEADER.fullmatch(text) else (f"{text!r} is not the name of a header", "use letters, digits and -")


def config_key(text: str) -> Refusal:
    """Key in a ConfigMap or a Secret."""
    good = len(text) <= 253 and _CONFIG_KEY.fullmatch(text) and text not in (".", "..") and not text.startswith("..")
    return None if good else (f"{text!r} is not a key", "use at most 253 of letters, digits, -, _ and .")


def object_uid(text: str) -> Refusal:
    """UID of an object. It names directories, cgroups and sockets, so it must be one step of a path."""
    good = _UID.fullmatch(text)
    return None if good else (f"{text!r} is not a UID", "use at most 128 of letters, digits, -, _ and ., or remove it")


def ip(text: str) -> Refusal:
    """An IP address."""
    try:
        ip_address(text)
    except ValueError:
        return f"{text!r} is not an IP address", "write it like 10.0.0.1 or 2001:db8::1"
    return None


def is_host(text: str) -> bool:
    """Whether it is a host name (letters of both cases, a point at the end allowed) or an IP address.

    Underscores are allowed, as some internal name servers have them. No host begins with `-`.
    """
    address, percent, zone = text.partition("%")
    if ip(address) is None:
        return not percent or (":" in address and _ZONE.fullmatch(zone) is not None)
    return len(text) <= 253 and _HOST.fullmatch(text) is not None


def check(place: DocumentPlace, refusal: Refusal) -> None:
    """Pin the refusal, if there is one, to the place."""
    if refusal is not None:
        place.fault(*refusal)
