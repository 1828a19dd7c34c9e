"""Decoders of the texts in objects and flags: quantities, times, selectors, names, references, images."""

from __future__ import annotations

from actors.model.expansion import ExpansionTooLongError, expand, expand_all, expand_strictly
from actors.model.id_ranges import IdRangeError, node_range, read_document
from actors.model.refusal import ContainerRefusedError
from actors.start.env_file import EnvFileError, read_env_file
from config.api.selectors import SelectorError, parse_field_selector, parse_label_selector
from config.credentials.docker_config import (
    DockerConfigError,
    credentials_for,
    full_name,
    read_docker_config_json,
    read_dockercfg,
)
from config.credentials.masked_urls import masked_url, without_secrets
from config.flags.command_line import parse_flags
from config.kubelet.feature_gates import choose_gates, parse_gates
from config.values import name_rules
from config.values.ages import since
from config.values.api_time import ns_of, seconds_of
from config.values.durations import DurationError, format_duration_ns, parse_duration_ns
from config.values.image_names import InvalidImageNameError, is_latest, short_form, with_default_tag
from config.values.quantity import QuantityError, format_quantity, parse_quantity
from runtime.http_server.local_site import refuse_other_pages
from runtime.logs.lines import time_ns
from tests.expressions import Use, cost_of
from tests.hostile.decoder import Decoder, text_of

VARIABLES = {"A": "1", "B": "x" * 50, "": "empty"}
RULES = (
    name_rules.dns_label,
    name_rules.dns_subdomain,
    name_rules.qualified_name,
    name_rules.label_value,
    name_rules.environment_name,
    name_rules.port_name,
    name_rules.header_name,
    name_rules.config_key,
    name_rules.object_uid,
    name_rules.ip,
    name_rules.is_host,
)


def quantity(data: bytes) -> object:
    value = parse_quantity(text_of(data))
    written = format_quantity(value)
    return written, parse_quantity(written), value.value(), value.milli_value()


def duration(data: bytes) -> object:
    value = parse_duration_ns(text_of(data))
    assert parse_duration_ns(format_duration_ns(value)) == value
    return value


def times(data: bytes) -> object:
    text = text_of(data)
    return seconds_of(text), ns_of(text), time_ns(text), time_ns(data), since(text, 10**18)


def label_selector(data: bytes) -> object:
    query = parse_label_selector(text_of(data))
    return query, query.matches({"a": "b", "app": "web"}), str(query)


def field_selector(data: bytes) -> object:
    query = parse_field_selector(text_of(data))
    return query, query.matches({"metadata.name": "web"}), str(query)


def names(data: bytes) -> object:
    text = text_of(data)
    return [rule(text) for rule in RULES]


def references(data: bytes) -> object:
    text = text_of(data)
    words = text.split("\0")
    return expand(text, VARIABLES), expand_all(words, VARIABLES), expand_strictly(text, VARIABLES, "$.path")


def images(data: bytes) -> object:
    text = text_of(data)
    return full_name(text), short_form(text), is_latest(text), with_default_tag(text)


def docker_config(data: bytes) -> object:
    entries = read_dockercfg(data) if data[:1] == b"#" else read_docker_config_json(data)
    return credentials_for("registry.example/team/app:1", entries), credentials_for("docker.io/library/a", entries)


def id_ranges(data: bytes) -> object:
    text = text_of(data)
    return read_document(text) if text.startswith("{") else node_range(text, text, 65536, 110)


def urls(data: bytes) -> object:
    text = text_of(data)
    return masked_url(text), without_secrets(text, text)


def flags(data: bytes) -> object:
    return parse_flags(text_of(data).split("\0"))


def gates(data: bytes) -> object:
    chosen, faults = parse_gates(text_of(data))
    return chosen, faults, choose_gates(chosen).faults


def expressions(data: bytes) -> object:
    text = text_of(data)
    return [cost_of(text, use).value for use in Use]


def sites(data: bytes) -> object:
    host, _, origin = text_of(data).partition("\0")
    refuse_other_pages(host, origin or None, "")
    return host


def errors_of_sites() -> tuple[type[Exception], ...]:
    from runtime.http_server.heads import HttpRefusal

    return (HttpRefusal,)


def errors_of_expressions() -> tuple[type[Exception], ...]:
    import re

    return (re.error, OverflowError, RecursionError)


VALUES = (
    Decoder("quantity", quantity, (QuantityError,), (b"1.5Gi", b"100m", b"-1e3", b"+.5", b"12E+2")),
    Decoder("duration", duration, (DurationError,), (b"1h2m3.5s", b"-1.5ms", b"0", b"9223372036s")),
    Decoder(
        "times", times, (), (b"2026-01-31T12:00:00Z", b"2026-01-31T12:00:00.123456789+02:00", b"0001-01-01T00:00:00Z")
    ),
    Decoder("label-selector", label_selector, (SelectorError,), (b"a=b,c!=d,!e,f in (g,h)", b"a>1,b notin ()")),
    Decoder("field-selector", field_selector, (SelectorError,), (b"metadata.name=web,spec.a!=b\\,c", b"a==b\\\\")),
    Decoder("names", names, (), (b"web-1.example", b"example.com/app", b"127.0.0.1", b"2001:db8::1", b"A_B")),
    Decoder(
        "references",
        references,
        (ExpansionTooLongError, ContainerRefusedError),
        (b"$(A) $$(B) $(C", b"$($(A))", b"$$$(A)"),
        (b"$(", b")", b"$$", b"$(A)", b"$(B)"),
    ),
    Decoder("env-file", lambda data: read_env_file(text_of(data)), (EnvFileError,), (b"A='1'\n# x\nB='two\nlines'\n",)),
    Decoder(
        "images",
        images,
        (InvalidImageNameError,),
        (b"nginx:1", b"localhost:5000/a/b:c@sha256:" + b"0" * 64, b"docker.io/library/a", b"A/b"),
    ),
    Decoder(
        "docker-config",
        docker_config,
        (DockerConfigError,),
        (b'{"auths":{"https://index.docker.io/v1/":{"auth":"YTpi"},"*.x.io:1/p":{"username":"a","password":"b"}}}',),
    ),
    Decoder(
        "id-ranges",
        id_ranges,
        (IdRangeError,),
        (
            b'{"uidMappings":[{"containerId":0,"hostId":65536,"length":65536}],"gidMappings":[]}',
            b"0:65536:65536",
        ),
    ),
    Decoder("urls", urls, (), (b"http://user:password@host:1/path?token=x", b"//[::1", b"http://[")),
    Decoder("flags", flags, (), (b"--max-pods=3\0--node-ip\0::1\0-v\0x", b"--feature-gates=A=true\0--help")),
    Decoder("gates", gates, (), (b"AllAlpha=true,NodeSwap=false", b"a=b,=c")),
    Decoder("expressions", expressions, errors_of_expressions(), (b"(a*)*b", b"[a-z]{2,5}(?=x)$", b"(?P<a>.)(?P=a)")),
    Decoder("sites", sites, errors_of_sites(), (b"127.0.0.1:1\0http://127.0.0.1:1", b"[::1]:2", b"x\0null")),
)
