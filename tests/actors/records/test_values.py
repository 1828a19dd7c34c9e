"""Values of a record: the same when they are read, and nothing that a record must not name."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import CancelledError
from typing import Any

import pytest

from actors.kernel import Actor, ActorSystem, SimulatedDispatcher
from actors.kernel.recorded.replayed_edges import HandleSite
from actors.messages.pods import SourceProblem
from actors.records.values import Opaque, UnreadableValueError, ValueReader, ValueWriter
from config.documents.codec import from_builtins
from config.frozen_map import FrozenMap
from config.objects import Pod
from runtime.api.calls import ObjectList
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.messages import Container, ContainerMetadata, ContainerState, ListContainersResponse

POD = from_builtins(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"a": "b"}, "unknownField": {"x": [1]}},
        "spec": {"containers": [{"name": "a", "image": "b", "ports": [{"containerPort": 80}]}]},
    },
    Pod,
)
LIST = ListContainersResponse(
    containers=(
        Container(id="1", metadata=ContainerMetadata(name="a"), state=ContainerState.CONTAINER_RUNNING),
        Container(id="2", labels={"x": "y"}),
    )
)


def again(value: Any) -> Any:
    written = ValueWriter(lambda _: None).write(value)
    return ValueReader(lambda path: ("actor", path)).read(written)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        b"bytes",
        2**80,
        (1, [2], {"three": 4.5}, frozenset({6})),
        POD,
        LIST,
        ObjectList((POD, POD), "17"),
        FrozenMap({"a": (1, 2)}),
        ContainerState.CONTAINER_EXITED,
        ContainerState(77),
        SourceProblem("file", "/a", "/a/b", "it is bad"),
        HandleSite("cri.stream#1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_read_as_it_was_written(value: Any):
    assert again(value) == value
    assert type(again(value)) is type(value)


@pytest.mark.parametrize(
    "error",
    [
        CriError(StatusCode.NOT_FOUND, "no such container", "ContainerStatus"),
        FileNotFoundError(2, "No such file or directory"),
        CancelledError(),
        TimeoutError("late"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_is_read_as_it_was_raised(error: BaseException):
    found = again(error)
    assert type(found) is type(error)
    assert (str(found), found.args, vars(found)) == (str(error), error.args, vars(error))


def test_an_actor_is_the_actor_of_that_path():
    ref = ActorSystem(SimulatedDispatcher()).spawn(Actor, name="somebody")
    assert again((ref, 1)) == (("actor", "/somebody"), 1)


def test_what_cannot_be_written_is_opaque():
    assert isinstance(again(lambda: None), Opaque)
    assert isinstance(again(open), Opaque) or again(open) is None


class Bomb:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Bomb()),
        pickle.dumps(os.path.join),
        pickle.dumps(print),
        b"cbuiltins\neval\n(V1\ntR.",
        b"cactors.node.node\nNodeAgent\n.",
        b"cruntime.files.lock_file\nLockFile\n.",
        b"cactors.records.values\nos.system\n.",
        b"cconfig.nowhere\nThing\n.",
        b"nonsense",
        b"",
    ],
)
def test_a_record_cannot_name_anything_but_data(data: bytes):
    with pytest.raises(UnreadableValueError):
        ValueReader(lambda path: path).read(data)
