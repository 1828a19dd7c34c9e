"""The structs have every field of the API under its right name and type.

They write what the API requires.
"""

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import pytest

import config.objects
from config.objects import ApiObject, ApiStruct, ContainerStatus, EphemeralContainer, ObjectMeta, Pod, UnknownFields

# Types of the schema that stand in the structs as what they are in JSON.
PLAIN = {
    "Time": "str",
    "MicroTime": "str",
    "Quantity": "Quantity",
    "IntOrString": "int | str",
    "FieldsV1": "map of Any",
}
SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}


def name_of(reference: str) -> str:
    return reference.rpartition(".")[2]


def expected(schema: dict[str, Any]) -> str:
    """The type that the schema of a property asks for."""
    reference = schema.get("$ref") or next((part.get("$ref") for part in schema.get("allOf", ())), None)
    if reference:
        return PLAIN.get(name_of(reference), name_of(reference))
    if schema.get("type") == "array":
        return f"list of {expected(schema['items'])}" if "items" in schema else "list"
    if "additionalProperties" in schema:
        return f"map of {expected(schema['additionalProperties'])}"
    return SCALARS[schema["type"]]


def actual(hint: Any) -> str:
    """The type that a struct has."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return "Quantity" if arguments[1].extra else actual(arguments[0])
    if origin is types.UnionType or str(origin) == "typing.Union":
        return " | ".join(sorted(actual(option) for option in arguments if option is not type(None)))
    if origin is Literal:
        return type(arguments[0]).__name__
    if origin is tuple:
        return f"list of {actual(arguments[0])}"
    if origin is Mapping:
        return f"map of {actual(arguments[1])}"
    return "Any" if hint is Any else str(hint.__name__)


def structs(kind: type[ApiStruct], seen: set[type[ApiStruct]]) -> Iterator[type[ApiStruct]]:
    """`kind` and every struct its fields lead to."""
    if kind in seen:
        return
    seen.add(kind)
    yield kind
    for hint in get_type_hints(kind).values():
        todo = [hint]
        while todo:
            part = todo.pop()
            todo += get_args(part)
            if isinstance(part, type) and issubclass(part, ApiStruct):
                yield from structs(part, seen)


KINDS = [kind for kind in ApiObject.__subclasses__() if kind.__module__.startswith("config.objects.")]
"""The kinds of this package.

Others define kinds of their own, such as the simulated API server, and these appear when its tests are imported.
"""


def every_struct() -> list[type[ApiStruct]]:
    seen: set[type[ApiStruct]] = set()
    for kind in (*KINDS, *vars(config.objects).values()):
        if isinstance(kind, type) and issubclass(kind, ApiStruct):
            list(structs(kind, seen))
    return sorted((kind for kind in seen if not kind.__name__.startswith("Api")), key=lambda kind: kind.__name__)


def stands_for(struct: type[ApiStruct], schema: Mapping[str, Any]) -> bool:
    """Whether a struct and a schema of one name are the same.

    A kind and a part of another one may share it (ResourceClaim).
    The document has only some groups, so of such two it may lack one.
    """
    return issubclass(struct, ApiObject) == ("kind" in schema.get("properties", {}))


def test_every_property_of_the_schema_is_a_field_of_the_same_type(api_schemas: dict[str, Any]) -> None:
    by_name: dict[str, Any] = {}
    # Names are unique but for a few (Toleration, ...) that the core group means when it says them.
    for full_name in sorted(api_schemas, key=lambda name: ".core.v1." in name or ".meta.v1." in name):
        by_name[name_of(full_name)] = api_schemas[full_name]
    compared, wrong = 0, []
    for kind in every_struct():
        schema = by_name.get(kind.__name__)
        if schema is None or not stands_for(kind, schema):
            continue
        compared += 1
        hints = get_type_hints(kind, include_extras=True)
        fields = {field.encode_name: actual(hints[field.name]) for field in msgspec.structs.fields(kind)}
        fields.pop("#unknown", None)
        wanted = {name: expected(property_) for name, property_ in schema["properties"].items()}
        if fields != wanted:
            wrong.append((kind.__name__, sorted(set(fields.items()) ^ set(wanted.items()))))
    assert not wrong
    assert compared >= 4


BOUNDS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def bounds_in(hint: Any) -> list[tuple[int, int] | None]:
    """The bounds of each whole number in a type; None for one that has none."""
    if hint is int:
        return [None]
    if get_origin(hint) is Annotated and get_args(hint)[0] is int:
        meta = get_args(hint)[1]
        return [(meta.ge, meta.le)]
    return [bounds for part in get_args(hint) for bounds in bounds_in(part)]


def test_every_whole_number_has_the_bounds_of_the_api(api_schemas: dict[str, Any]) -> None:
    by_name = {name_of(full_name): schema for full_name, schema in api_schemas.items()}
    checked = 0
    for kind in every_struct():
        properties = by_name.get(kind.__name__, {}).get("properties", {})
        hints = get_type_hints(kind, include_extras=True)
        for field in msgspec.structs.fields(kind):
            schema = properties.get(field.encode_name, {})
            known = schema.get("items", schema).get("format")
            for bounds in bounds_in(hints[field.name]):
                checked += 1
                assert bounds in ([BOUNDS[known]] if known in BOUNDS else BOUNDS.values()), (kind, field.name)
    assert checked > 60


def test_every_required_scalar_is_written_even_when_zero(api_schemas: dict[str, Any]) -> None:
    missing = []
    every = every_struct()
    for full_name, schema in api_schemas.items():
        kind = next((each for each in every if each.__name__ == name_of(full_name) and stands_for(each, schema)), None)
        if kind is None or name_of(full_name) in PLAIN:
            continue
        written = msgspec.to_builtins(kind())
        scalars = [name for name in schema.get("required", ()) if schema["properties"][name].get("type") in SCALARS]
        missing += [(name_of(full_name), name) for name in scalars if name not in written]
    assert not missing


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_exported(kind: type[ApiObject]) -> None:
    assert getattr(config.objects, kind.__name__) is kind


def test_a_kind_is_called_as_it_calls_itself() -> None:
    for kind in KINDS:
        assert msgspec.to_builtins(kind())["kind"] == kind.__name__


def test_attributes_are_the_names_of_the_fields_in_snake_case() -> None:
    def squeezed(name: str) -> str:
        return name.replace("_", "").lower()

    strange = [
        (kind.__name__, field.name)
        for kind in every_struct()
        for field in msgspec.structs.fields(kind)
        if squeezed(field.name) != squeezed(field.encode_name) and field.name != "unknown"
    ]
    assert strange == []


def test_objects_do_not_change() -> None:
    pod = Pod(metadata=ObjectMeta(name="a"))
    with pytest.raises(AttributeError):
        pod.metadata.name = "b"  # type: ignore[misc]  # that it is refused is what is tested
    with pytest.raises(AttributeError):
        UnknownFields(()).entries = ()
    assert msgspec.structs.replace(pod, metadata=ObjectMeta(name="b")).metadata.name == "b"
    assert pod.metadata.name == "a"


def test_absent_fields_are_not_written_but_required_ones_are() -> None:
    assert msgspec.to_builtins(Pod()) == {"apiVersion": "v1", "kind": "Pod"}
    assert msgspec.to_builtins(ContainerStatus(name="c")) == {
        "name": "c",
        "image": "",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
    }


def test_an_ephemeral_container_is_a_container_with_a_target() -> None:
    debugger = EphemeralContainer(name="debug", target_container_name="app")
    assert msgspec.to_builtins(debugger) == {"name": "debug", "targetContainerName": "app"}
