"""Writes the Python source of the CRI's messages and verbs from the descriptor of `api.proto`.

`messages_source` gives an `OpenEnum` for every enumeration and a frozen struct for every message; `verbs_source` gives
a `Verb` for every method. Comments of the interface become docstrings and comments. Both handle what `api.proto` uses:
proto3 without `oneof` and `optional`, messages at the top level, enumerations anywhere, the scalar types of `PLAIN`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

Path = tuple[int, ...]
"""Where a declaration stands in its file, in the numbers of `SourceCodeInfo.Location.path`."""
MESSAGES, ENUMS, SERVICES = 4, 5, 6
"""Members of a file in such a path."""
FIELDS_OR_VALUES, NESTED_ENUMS = 2, 4
"""Members of a message, an enumeration or a service in such a path; methods count as fields."""

LINE_LENGTH = 120
HEADER = '''"""{title}

Generated from `{proto}` by `python -m tools.protos`: do not edit.
"""

from __future__ import annotations
'''
PLAIN = {
    FieldDescriptorProto.TYPE_STRING: ("str", '""'),
    FieldDescriptorProto.TYPE_BYTES: ("bytes", 'b""'),
    FieldDescriptorProto.TYPE_BOOL: ("bool", "False"),
    FieldDescriptorProto.TYPE_DOUBLE: ("float", "0.0"),
    FieldDescriptorProto.TYPE_INT32: ("int", "0"),
    FieldDescriptorProto.TYPE_INT64: ("int", "0"),
    FieldDescriptorProto.TYPE_UINT32: ("int", "0"),
    FieldDescriptorProto.TYPE_UINT64: ("int", "0"),
}
"""Python type and zero of each scalar type of the interface."""


def messages_source(file: FileDescriptorProto) -> str:
    """The module of all enumerations and messages."""
    comments = _comments(file)
    enums: list[tuple[EnumDescriptorProto, Path]] = [
        (enum, (ENUMS, index)) for index, enum in enumerate(file.enum_type)
    ]
    enums += [
        (enum, (MESSAGES, index, NESTED_ENUMS, nested))
        for index, message in enumerate(file.message_type)
        for nested, enum in enumerate(message.enum_type)
    ]
    zeros = {enum.name: f"{enum.name}.{enum.value[0].name}" for enum, _ in enums}
    lines = [
        HEADER.format(title=f"The messages of {file.package} as frozen structs.", proto=file.name),
        "from collections.abc import Mapping",
        "from typing import ClassVar",
        "",
        "from runtime.cri.base import CriMessage, OpenEnum, SecretMessage",
    ]
    for enum, path in enums:
        lines += ["", "", *_enum(enum, path, comments)]
    for index, message in enumerate(file.message_type):
        lines += ["", "", *_message(message, (MESSAGES, index), comments, zeros)]
    names = [enum.name for enum, _ in enums] + [message.name for message in file.message_type]
    return "\n".join([*lines, "", "", *_exported([*names, "CriMessage", "OpenEnum"]), ""])


def verbs_source(file: FileDescriptorProto) -> str:
    """The module of all verbs, one constant per method, and `ALL_VERBS`."""
    comments = _comments(file)
    services = [_constant(service.name) for service in file.service]
    lines = [
        HEADER.format(title=f"The methods of {file.package} as verbs.", proto=file.name),
        "from typing import Any",
        "",
        "from runtime.cri.base import Verb",
        "from runtime.cri.v1 import messages",
        "",
        *(f'{_constant(service.name)} = "{file.package}.{service.name}"' for service in file.service),
    ]
    names = []
    for index, service in enumerate(file.service):
        for place, method in enumerate(service.method):
            names.append(_constant(method.name))
            lines += ["", *_comment(comments, (SERVICES, index, FIELDS_OR_VALUES, place), "")]
            lines += [
                f"{names[-1]} = Verb(",
                f'    {_constant(service.name)}, "{method.name}",',
                f"    messages.{_short(method.input_type)},",
                f"    messages.{_short(method.output_type)},",
                *(["    streaming=True,"] if method.server_streaming else []),
                ")",
            ]
    lines += ["", "ALL_VERBS: tuple[Verb[Any, Any], ...] = (", *(f"    {name}," for name in names), ")", ""]
    return "\n".join([*lines, *_exported([*services, *names, "ALL_VERBS"]), ""])


def _comments(file: FileDescriptorProto) -> dict[Path, str]:
    """The comment before each declaration, as one line."""
    return {tuple(place.path): " ".join(place.leading_comments.split()) for place in file.source_code_info.location}


def _enum(enum: EnumDescriptorProto, path: Path, comments: dict[Path, str]) -> Iterator[str]:
    yield f"class {enum.name}(OpenEnum):"
    yield from _docstring(comments, path)
    for index, value in enumerate(enum.value):
        yield from _comment(comments, (*path, FIELDS_OR_VALUES, index), "    ")
        yield f"    {value.name} = {value.number}"


def _message(message: DescriptorProto, path: Path, comments: dict[Path, str], zeros: dict[str, str]) -> Iterator[str]:
    secret = tuple(field.name for field in message.field if field.options.debug_redact)
    yield f"class {message.name}({'SecretMessage' if secret else 'CriMessage'}, frozen=True, kw_only=True):"
    yield from _docstring(comments, path)
    maps = {nested.name: nested for nested in message.nested_type if nested.options.map_entry}
    for index, field in enumerate(message.field):
        yield from _comment(comments, (*path, FIELDS_OR_VALUES, index), "    ")
        try:
            kind, zero = _type_and_zero(field, maps, zeros)
        except KeyError as error:
            raise ValueError(f"{message.name}.{field.name} has a type that the generator does not know") from error
        yield f"    {field.name}: {kind} = {zero}"
    if secret:
        yield f"    secret_fields: ClassVar[tuple[str, ...]] = {secret}"


def _type_and_zero(
    field: FieldDescriptorProto, maps: dict[str, DescriptorProto], zeros: dict[str, str]
) -> tuple[str, str]:
    """Absent messages are None, absent lists (), absent maps empty, absent scalars the zero of their type."""
    name = _short(field.type_name)
    if name in maps:
        key, value = (_type_and_zero(each, {}, zeros)[0] for each in maps[name].field)
        return f"Mapping[{key}, {value}]", "{}"
    if field.type == FieldDescriptorProto.TYPE_MESSAGE:
        kind, zero = name, "None"
    elif field.type == FieldDescriptorProto.TYPE_ENUM:
        kind, zero = name, zeros[name]
    else:
        kind, zero = PLAIN[field.type]
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"tuple[{kind}, ...]", "()"
    return (f"{kind} | None", zero) if zero == "None" else (kind, zero)


def _docstring(comments: dict[Path, str], path: Path) -> Iterator[str]:
    text = comments.get(path) or "Not described by the interface."
    yield from textwrap.wrap(f'"""{text}"""', LINE_LENGTH, initial_indent="    ", subsequent_indent="    ")
    yield ""


def _comment(comments: dict[Path, str], path: Path, indent: str) -> list[str]:
    start = f"{indent}# "
    return textwrap.wrap(comments.get(path, ""), LINE_LENGTH, initial_indent=start, subsequent_indent=start)


def _exported(names: list[str]) -> list[str]:
    return ["__all__ = [", *(f'    "{name}",' for name in sorted(names)), "]"]


def _short(type_name: str) -> str:
    """`.runtime.v1.SecurityProfile.ProfileType` -> `ProfileType`."""
    return type_name.rpartition(".")[2]


def _constant(name: str) -> str:
    """`RunPodSandbox` -> `RUN_POD_SANDBOX`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
