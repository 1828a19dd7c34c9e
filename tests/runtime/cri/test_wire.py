"""The structs and the interface say the same, and every message survives the way to bytes and back."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.cri import messages
from runtime.cri.messages import (
    AuthConfig,
    Container,
    ContainerConfig,
    ContainerEventResponse,
    ContainerState,
    ContainerStatus,
    CriMessage,
    Int64Value,
    LinuxContainerSecurityContext,
    ListContainersResponse,
    Metric,
    OpenEnum,
    PodSandboxConfig,
    PodSandboxFilter,
    PodSandboxStats,
    PodSandboxStatusResponse,
    StatusResponse,
)
from runtime.cri.v1 import api_pb2
from runtime.cri.verbs import ALL_VERBS
from runtime.cri.wire import codec

WIRE_TYPES = api_pb2.DESCRIPTOR.message_types_by_name
STRUCTS: dict[str, type[CriMessage]] = {
    name: value
    for name, value in vars(messages).items()
    if isinstance(value, type) and issubclass(value, CriMessage) and value is not CriMessage
}
PLAIN = {
    FieldDescriptor.CPPTYPE_STRING: str,
    FieldDescriptor.CPPTYPE_BOOL: bool,
    FieldDescriptor.CPPTYPE_DOUBLE: float,
    FieldDescriptor.CPPTYPE_INT32: int,
    FieldDescriptor.CPPTYPE_INT64: int,
    FieldDescriptor.CPPTYPE_UINT32: int,
    FieldDescriptor.CPPTYPE_UINT64: int,
}


def is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def expected_type(field: FieldDescriptor) -> Any:
    if is_map(field):
        return Mapping[str, str]
    if field.message_type is not None:
        struct = STRUCTS[field.message_type.name]
        return tuple[struct, ...] if field.is_repeated else struct | None  # type: ignore[valid-type]
    if field.enum_type is not None:
        return getattr(messages, field.enum_type.name)
    plain = bytes if field.type == FieldDescriptor.TYPE_BYTES else PLAIN[field.cpp_type]
    return tuple[plain, ...] if field.is_repeated else plain  # type: ignore[valid-type]


def test_every_message_of_the_interface_has_a_struct_and_no_struct_is_left_over() -> None:
    assert set(STRUCTS) == set(WIRE_TYPES)


@pytest.mark.parametrize("name", sorted(WIRE_TYPES))
def test_struct_has_the_fields_and_types_of_the_interface(name: str) -> None:
    struct = STRUCTS[name]
    hints = {field: kind for field, kind in typing.get_type_hints(struct).items() if field in struct.__struct_fields__}
    assert hints == {field.name: expected_type(field) for field in WIRE_TYPES[name].fields}


@pytest.mark.parametrize("name", sorted(WIRE_TYPES))
def test_default_struct_is_the_empty_message(name: str) -> None:
    """Zero defaults: an unset field takes no bytes, and no bytes read as the default struct."""
    both = codec(STRUCTS[name])
    assert both.encode(STRUCTS[name]()) == b""
    assert both.decode(b"") == STRUCTS[name]()


def test_every_enumeration_has_the_values_of_the_interface() -> None:
    wire = dict(api_pb2.DESCRIPTOR.enum_types_by_name)
    for message in WIRE_TYPES.values():
        wire.update(message.enum_types_by_name)
    ours = {e.__name__: e for e in OpenEnum.__subclasses__()}
    assert {name: {v.name: v.number for v in d.values} for name, d in wire.items()} == {
        name: {member.name: member.value for member in e} for name, e in ours.items()
    }


def test_every_verb_of_the_interface_is_there_with_its_types() -> None:
    wire = {
        (service.full_name, method.name): (method.input_type.name, method.output_type.name, method.server_streaming)
        for service in api_pb2.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    ours = {(v.service, v.name): (v.request.__name__, v.response.__name__, v.streaming) for v in ALL_VERBS}
    assert ours == wire
    assert len(ALL_VERBS) == len(wire)


NUMBERS = {
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_DOUBLE: st.floats(allow_nan=False),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=8),
    FieldDescriptor.TYPE_STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
}


def value_of(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if is_map(field):
        text = NUMBERS[FieldDescriptor.TYPE_STRING]
        return st.dictionaries(text, text, max_size=2)
    if field.message_type is not None:
        one: st.SearchStrategy[Any] = message_of(field.message_type.name)
        return st.lists(one, max_size=2).map(tuple) if field.is_repeated else st.none() | one
    if field.enum_type is not None:
        known = getattr(messages, field.enum_type.name)
        return st.sampled_from(list(known)) | st.integers(1000, 2**31 - 1).map(known)
    plain = NUMBERS[field.type]
    return st.lists(plain, max_size=2).map(tuple) if field.is_repeated else plain


def message_of(name: str) -> st.SearchStrategy[CriMessage]:
    fields = {field.name: value_of(field) for field in WIRE_TYPES[name].fields}
    return st.deferred(lambda: st.builds(STRUCTS[name], **fields))


@pytest.mark.parametrize(
    "message",
    [
        ContainerConfig,
        PodSandboxConfig,
        ContainerEventResponse,
        PodSandboxStatusResponse,
        PodSandboxStats,
        StatusResponse,
        LinuxContainerSecurityContext,
        Metric,
    ],
    ids=lambda m: m.__name__,
)
def test_any_message_survives_the_way_to_bytes_and_back(message: type[CriMessage]) -> None:
    both = codec(message)

    @given(message_of(message.__name__))
    @settings(max_examples=25, deadline=None)
    def survives(original: CriMessage) -> None:
        assert both.decode(both.encode(original)) == original

    survives()


def test_an_empty_message_is_not_an_absent_one() -> None:
    both = codec(PodSandboxFilter)
    empty = PodSandboxFilter(state=messages.PodSandboxStateValue())
    assert both.decode(both.encode(empty)) == empty
    assert both.decode(both.encode(PodSandboxFilter())).state is None


def test_a_number_the_enumeration_does_not_name_is_kept_and_says_so() -> None:
    wire = api_pb2.ListContainersResponse(containers=[{"id": "a", "state": 77}, {"id": "b", "state": 1}])
    first, second = codec(ListContainersResponse).decode(wire.SerializeToString()).containers
    assert isinstance(first.state, ContainerState)
    assert (first.state, first.state.name) == (77, "UNKNOWN_77")
    assert second.state is ContainerState.CONTAINER_RUNNING
    assert ContainerState(77) == first.state


def test_fields_of_a_newer_interface_are_passed_over() -> None:
    newer = codec(Container).encode(Container(id="a")) + bytes([0xC2, 0x3E, 3]) + b"new"  # field 1000
    assert codec(Container).decode(newer) == Container(id="a")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (ContainerStatus(exit_code=2**31), "range"),
        (ContainerStatus(id="\ud800"), "surrogate"),
        (Int64Value(value=-(2**63) - 1), "range"),
    ],
)
def test_a_value_that_protobuf_cannot_encode_is_refused(message: CriMessage, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        codec(type(message)).encode(message)


def test_bytes_that_are_no_such_message_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"not a Container of runtime\.v1"):
        codec(Container).decode(b"\xff\xff\xff")


def test_credentials_do_not_show_in_a_repr() -> None:
    auth = AuthConfig(username="me", password="pa55", auth="YQ==", identity_token="t0k", server_address="registry")
    shown = repr(messages.PullImageRequest(auth=auth))
    assert "AuthConfig(server_address='registry', ...)" in shown
    assert not any(secret in shown for secret in ("pa55", "YQ==", "t0k"))
