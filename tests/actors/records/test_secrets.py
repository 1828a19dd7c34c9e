"""Secrets never reach a record, and what stands there has their form."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from actors.cluster.moments import Moment
from actors.cluster.token_rules import Token
from actors.kernel.recorded.entries import Called, Ended, Entry, Sent
from actors.messages.references import CredentialBundle
from actors.records.format import FORMAT, EntryDecoder, EntryEncoder, Header
from actors.records.secrets import SecretKeeper
from actors.records.values import ValueReader
from config.credentials.docker_config import Credential, read_docker_config_json
from config.objects import Secret
from config.objects.authentication import TokenRequest, TokenRequestStatus
from runtime.cri.messages import AuthConfig, ContainerConfig, CreateContainerRequest, KeyValue

HEADER = Header(FORMAT, "run", 0, "0", "3", "node", 0, b"", ())
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----\n"
DOCKER = json.dumps({"auths": {"r.example": {"auth": base64.b64encode(b"bob:hunter22hunter").decode()}}})


def secret(**data: str) -> Secret:
    return Secret(data={name: base64.b64encode(value.encode()).decode() for name, value in data.items()})


def answer(value: Any) -> Called:
    return Called("api.main.call", (), {}, Ended.VALUE, value)


def payload(*entries: Entry) -> bytes:
    encoder = EntryEncoder(HEADER, SecretKeeper(b"key"))
    encoder.header()
    return encoder.payload(list(entries))


def first_value(data: bytes) -> Any:
    decoder = EntryDecoder(ValueReader(lambda path: path))
    decoder.begin()
    entry = next(decoder.entries(data))
    assert isinstance(entry, Called)
    return entry.value


VALUES = {
    "password": "correct-horse-battery",
    "short": "abcde",
    "lines": "first line of it\nsecond line of it",
    "unicode": "pässwörd-größe",
    "key": PEM,
    "registry": DOCKER,
}


@pytest.mark.parametrize("name", VALUES)
def test_the_data_of_a_secret_is_nowhere_in_the_record(name: str):
    value = VALUES[name]
    request = CreateContainerRequest(
        config=ContainerConfig(envs=(KeyValue(key="P", value=f"before {value} after".encode()),))
    )
    call = Called("cri.call CreateContainer", (request,), {"text": value}, Ended.VALUE, None)
    data = payload(answer(secret(**{name: value})), call)
    hidden = ["hunter22hunter"] if name == "registry" else [line for line in value.splitlines() if "---" not in line]
    for word in hidden:
        assert word.encode() not in data
        assert base64.b64encode(word.encode()) not in data
    assert base64.b64encode(value.encode()) not in data


def test_what_is_read_instead_has_the_same_form():
    read = first_value(payload(answer(secret(**VALUES))))
    found = {name: base64.b64decode(text).decode(errors="replace") for name, text in read.data.items()}
    assert {name: len(base64.b64decode(text)) for name, text in read.data.items()} == {
        name: len(value.encode()) for name, value in VALUES.items()
    }
    assert found["key"].splitlines()[0] == "-----BEGIN PRIVATE KEY-----"
    assert found["lines"].count("\n") == 1
    (entry,) = read_docker_config_json(found["registry"].encode())
    assert entry.registry == "r.example"
    assert entry.credential.username == "bob"
    assert len(entry.credential.password) == len("hunter22hunter")
    assert entry.credential.password != "hunter22hunter"


def test_equal_secrets_have_one_replacement_in_a_record_and_another_in_the_next():
    one, other = SecretKeeper(b"one"), SecretKeeper(b"other")
    assert one.learn(b"correct-horse") == one.learn(b"correct-horse")
    assert one.learn(b"correct-horse") != other.learn(b"correct-horse")


def test_what_a_replay_compares_is_what_the_record_shows():
    """The replay packs the replacement, so the record has the checksum of that."""
    from actors.records.written import checksum, packed

    data = payload(answer(secret(password="correct-horse-battery")), Sent("/a", "it is correct-horse-battery"))
    decoder = EntryDecoder(ValueReader(lambda path: path))
    decoder.begin()
    called, sent = decoder.entries(data)
    assert isinstance(called, Called)
    assert isinstance(sent, Sent)
    other = base64.b64decode(called.value.data["password"]).decode()
    assert sent.message.checksum == checksum(packed(f"it is {other}"))


@pytest.mark.parametrize(
    "value",
    [
        Credential("bob", "hunter22hunter"),
        Credential("", "", "hunter22hunter"),
        AuthConfig(username="bob", password="hunter22hunter"),
        Token("hunter22hunter", 1, 2, 1, Moment(0, 0)),
        CredentialBundle(b"hunter22hunter", b"chain"),
        TokenRequest(status=TokenRequestStatus(token="hunter22hunter")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_credentials_tokens_and_keys_are_hidden(value: Any):
    data = payload(answer(value), answer("hunter22hunter"))
    assert b"hunter22hunter" not in data
    assert type(first_value(data)) is type(value)


def test_words_of_the_formats_themselves_stay_and_are_counted():
    keeper = SecretKeeper(b"key")
    for word in (b"true", b"abc", b"metadata", b"restart_policy", b"password"):
        assert keeper.learn(word) == word
    assert keeper.kept == 5


def test_a_scrubbed_payload_still_decodes():
    values = {f"name-{number}": f"value-of-{number}" for number in range(50)}
    data = payload(*(answer(secret(**{name: value})) for name, value in values.items()))
    assert len(msgspec.msgpack.decode(data)) == 50


def test_the_log_warns_once_of_values_that_are_too_short_to_be_replaced(caplog: pytest.LogCaptureFixture):
    keeper = SecretKeeper(b"key")
    keeper.seen(secret(namespace="default", password="correct-horse-battery"))
    assert not caplog.records
    for pin in ("123", "12", "1"):
        keeper.seen(secret(pin=pin))
    (warning,) = caplog.records
    assert "shorter than 4 bytes" in warning.getMessage()
    assert "12" not in warning.getMessage()
