"""The source of the structs and verbs, made from a small interface."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.text_format import Parse

from runtime.cri.base import OpenEnum
from tools.struct_source import messages_source, verbs_source

FRUIT = """
name: "fruit.proto" package: "shop.v1"
enum_type { name: "Kind" value { name: "APPLE" number: 0 } value { name: "PEAR" number: 3 } }
message_type {
  name: "Seed"
  field { name: "size" type: TYPE_DOUBLE label: LABEL_OPTIONAL }
}
message_type {
  name: "Fruit"
  enum_type { name: "Taste" value { name: "SWEET" number: 0 } }
  nested_type {
    name: "LabelsEntry" options { map_entry: true }
    field { name: "key" type: TYPE_STRING } field { name: "value" type: TYPE_STRING }
  }
  field { name: "kind" type: TYPE_ENUM type_name: ".shop.v1.Kind" label: LABEL_OPTIONAL }
  field { name: "taste" type: TYPE_ENUM type_name: ".shop.v1.Fruit.Taste" label: LABEL_OPTIONAL }
  field { name: "seed" type: TYPE_MESSAGE type_name: ".shop.v1.Seed" label: LABEL_OPTIONAL }
  field { name: "spares" type: TYPE_MESSAGE type_name: ".shop.v1.Seed" label: LABEL_REPEATED }
  field { name: "labels" type: TYPE_MESSAGE type_name: ".shop.v1.Fruit.LabelsEntry" label: LABEL_REPEATED }
  field { name: "recipe" type: TYPE_STRING label: LABEL_OPTIONAL options { debug_redact: true } }
}
service {
  name: "FruitService"
  method { name: "EatFruit" input_type: ".shop.v1.Fruit" output_type: ".shop.v1.Seed" }
  method { name: "WatchFruit" input_type: ".shop.v1.Fruit" output_type: ".shop.v1.Seed" server_streaming: true }
}
source_code_info {
  location { path: 4 path: 1 leading_comments: " Grows\\n on trees.\\n" }
  location { path: 4 path: 1 path: 2 path: 2 leading_comments: " The pip.\\n" }
  location { path: 6 path: 0 path: 2 path: 0 leading_comments: " Eats it.\\n" }
}
"""


@pytest.fixture(scope="module")
def fruit() -> FileDescriptorProto:
    return Parse(FRUIT, FileDescriptorProto())


@pytest.fixture(scope="module")
def made(fruit: FileDescriptorProto) -> Iterator[dict[str, Any]]:
    shop = ModuleType("shop")
    # Structs find the names in their annotations in the module of that name.
    sys.modules["shop"] = shop
    exec(messages_source(fruit), shop.__dict__)
    yield shop.__dict__
    del sys.modules["shop"]


def test_every_field_has_its_type_and_the_zero_of_proto3(made: dict[str, Any]) -> None:
    fruit = made["Fruit"]
    assert fruit.__annotations__ == {
        "kind": "Kind",
        "taste": "Taste",
        "seed": "Seed | None",
        "spares": "tuple[Seed, ...]",
        "labels": "Mapping[str, str]",
        "recipe": "str",
        "secret_fields": "ClassVar[tuple[str, ...]]",
    }
    empty = fruit()
    assert (empty.kind, empty.taste) == (made["Kind"].APPLE, made["Taste"].SWEET)
    assert (empty.seed, empty.spares, empty.labels, empty.recipe, made["Seed"]().size) == (None, (), {}, "", 0.0)


def test_enumerations_are_open_and_keep_their_numbers(made: dict[str, Any]) -> None:
    assert issubclass(made["Kind"], OpenEnum)
    assert {member.name: member.value for member in made["Kind"]} == {"APPLE": 0, "PEAR": 3}


def test_structs_are_frozen(made: dict[str, Any]) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        made["Seed"]().size = 1.0


def test_fields_marked_debug_redact_do_not_show_in_a_repr(made: dict[str, Any]) -> None:
    shown = repr(made["Fruit"](seed=made["Seed"](size=2.0), recipe="pie"))
    assert "seed=Seed(size=2.0)" in shown
    assert "pie" not in shown


def test_comments_become_docstrings_and_comments(fruit: FileDescriptorProto, made: dict[str, Any]) -> None:
    assert made["Fruit"].__doc__ == "Grows on trees."
    assert "    # The pip.\n    seed:" in messages_source(fruit)
    assert "# Eats it.\nEAT_FRUIT = Verb(" in verbs_source(fruit)


def test_all_names_are_exported(made: dict[str, Any]) -> None:
    assert made["__all__"] == ["CriMessage", "Fruit", "Kind", "OpenEnum", "Seed", "Taste"]


def test_a_streaming_method_becomes_a_streaming_verb(fruit: FileDescriptorProto) -> None:
    source = verbs_source(fruit)
    assert 'FRUIT_SERVICE = "shop.v1.FruitService"' in source
    eat, watch = source.split("EAT_FRUIT = ")[1].split("WATCH_FRUIT = ")[:2]
    assert '"EatFruit"' in eat
    assert "streaming" not in eat
    assert "    streaming=True,\n" in watch
    assert "ALL_VERBS: tuple[Verb[Any, Any], ...] = (\n    EAT_FRUIT,\n    WATCH_FRUIT,\n)" in source


def test_a_type_that_the_interface_does_not_use_is_refused() -> None:
    file = FileDescriptorProto(name="odd.proto", package="odd.v1")
    field = file.message_type.add(name="Odd").field.add(name="half", label=FieldDescriptorProto.LABEL_OPTIONAL)
    field.type = FieldDescriptorProto.TYPE_FIXED32
    with pytest.raises(ValueError, match=r"Odd\.half"):
        messages_source(file)
