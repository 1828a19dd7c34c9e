"""Variables: expansion, order, precedence and references (spec 13.2 to 13.4)."""

from __future__ import annotations

import contextlib
import re
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.model.expansion import EXPANDED_AT_MOST, ExpansionTooLongError, expand, expand_all
from actors.model.refusal import ContainerRefusedError
from actors.start.environment import FileText, Sources, environment, file_references
from config.objects import (
    ConfigMapEnvSource,
    ConfigMapKeySelector,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
    ResourceRequirements,
    SecretEnvSource,
    SecretKeySelector,
)
from tests.actors.pod_pictures import container, pod

KNOWN = {"A": "1", "B": "$(A)", "": "empty"}


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        pytest.param("plain", "plain", id="nothing to do"),
        pytest.param("$(A)-$(A)", "1-1", id="known"),
        pytest.param("$(X)", "$(X)", id="unknown stays"),
        pytest.param("$$(A)", "$(A)", id="a doubled dollar"),
        pytest.param("$$$(A)", "$1", id="a doubled dollar, then a reference"),
        pytest.param("$$$$(A)", "$$(A)", id="two doubled dollars"),
        pytest.param("$(A", "$(A", id="never closed"),
        pytest.param("$A $", "$A $", id="a dollar alone"),
        pytest.param("$(B)", "$(A)", id="values are not expanded again"),
        pytest.param("a$(A)b$(X)c", "a1b$(X)c", id="in the midst"),
    ],
)
# (spec 13.4.1)
def test_expansion(text: str, expanded: str) -> None:
    assert expand(text, KNOWN) == expanded


@given(st.text(alphabet="$()AB x"))
# (spec 13.4.1)
def test_expansion_takes_every_text_and_without_variables_only_halves_dollars(text: str) -> None:
    # Of `$($$)` nothing is halved: it is a reference to something unknown, and stays.
    assert text.count("$") - text.count("$$") <= expand(text, {}).count("$") <= text.count("$")


@pytest.mark.parametrize("unit", ["$(", "$$(", "$(A)", "$()", "$(A", "$"])
def test_the_work_of_an_expansion_grows_with_the_length_of_the_text(unit: str) -> None:
    def cpu_s(times: int) -> float:
        text = unit * times
        began = time.process_time()
        with contextlib.suppress(ExpansionTooLongError):
            expand(text, KNOWN)
        return time.process_time() - began

    # So many times the text: as many times the work when it is linear, 1,024 times when it is quadratic. The least of
    # three, since a busy machine may stretch one of them.
    times, short = 32, 4_000
    assert min(cpu_s(times * short) for _ in range(3)) < 300 * max(0.001, min(cpu_s(short) for _ in range(3)))


@pytest.mark.parametrize("text", ["$(" * 3 + "A)", "$(A)$(", "$($$", "$(A)$$$(", ")$(", "$$)$$("])
# (spec 13.4.1)
def test_an_unclosed_reference_stays_as_text(text: str) -> None:
    expression = re.compile(r"\$(?:\$|\(([^)]*)\))")  # the rule of upstream in one expression, but quadratic
    expected = expression.sub(lambda found: "$" if found[1] is None else KNOWN.get(found[1], found[0]), text)
    assert expand(text, KNOWN) == expected


def test_variables_that_double_with_each_line_are_refused() -> None:
    bomb = [EnvVar(name="A0", value="x" * 100), *(EnvVar(f"A{n}", f"$(A{n - 1})$(A{n - 1})") for n in range(1, 26))]
    tracemalloc.start()
    with pytest.raises(
        ContainerRefusedError, match=r"^\$\.spec\.containers\[0\]\.env: .*longer than 2097152 characters"
    ):
        env(*bomb)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 20 * EXPANDED_AT_MOST


def test_one_variable_that_multiplies_another_is_refused_before_it_is_made() -> None:
    long = EnvVar(name="A", value="x" * 1_000_000)
    with pytest.raises(ContainerRefusedError, match="longer than"):
        env(long, EnvVar(name="B", value="$(A)" * 100_000))


def test_a_config_map_named_a_thousand_times_is_refused() -> None:
    large = Sources(config_maps={"m": {f"K{n}": "x" * 1000 for n in range(100)}})
    origins = tuple(EnvFromSource(prefix=f"P{n}", config_map_ref=ConfigMapEnvSource(name="m")) for n in range(1000))
    with pytest.raises(ContainerRefusedError, match="longer than"):
        env(origins=origins, sources=large)


def test_words_of_a_command_are_bounded_together() -> None:
    with pytest.raises(ExpansionTooLongError):
        expand_all(["$(A)" * 1000] * 1000, {"A": "x" * 1000})


def env(*variables: EnvVar, origins: tuple[EnvFromSource, ...] = (), sources: Sources | None = None, **fields):
    web = container("web", env=variables, env_from=origins, **fields)
    the_pod = pod(web, container("db", resources=ResourceRequirements(limits={"memory": "1Gi"})), **POD)
    return environment(the_pod, web, "$.spec.containers[0]", sources or Sources())


POD: dict[str, Any] = {
    "meta": {"labels": {"app": "shop"}, "annotations": {"k/n": "v"}},
    "node_name": "n1",
    "service_account_name": "sa",
}
MAPS = Sources(
    config_maps={"m": {"A": "map", "K": "key"}},
    secrets={"s": {"A": "secret"}},
    services={"SVC": "10.0.0.1", "A": "service"},
    pod_ips=("10.0.0.7", "fd00::7"),
    host_ips=("192.0.2.1",),
    allocatable={"cpu": "3500m"},
)
FROM_MAP = EnvFromSource(config_map_ref=ConfigMapEnvSource(name="m"))
FROM_SECRET = EnvFromSource(secret_ref=SecretEnvSource(name="s"))


@pytest.mark.parametrize(
    ("variables", "origins", "expected"),
    [
        pytest.param((), (FROM_MAP, FROM_SECRET), "secret", id="a later origin wins"),
        pytest.param((), (FROM_SECRET, FROM_MAP), "map", id="in the other order too"),
        pytest.param((EnvVar(name="A", value="own"),), (FROM_MAP,), "own", id="env wins over envFrom"),
        pytest.param(
            (EnvVar(name="A", value="1"), EnvVar(name="A", value="2")), (), "2", id="a repeated name keeps the last"
        ),
        pytest.param((), (), "service", id="services fill what is left"),
    ],
)
# (spec 13.2.1)
def test_precedence(variables, origins, expected: str) -> None:
    assert env(*variables, origins=origins, sources=MAPS)["A"] == expected


# (spec 13.2.1)
def test_values_may_use_what_came_before_them() -> None:
    found = env(
        EnvVar(name="X", value="$(K) $(SVC) $(Y)"), EnvVar(name="Y", value="<$(X)>"), origins=(FROM_MAP,), sources=MAPS
    )
    assert (found["X"], found["Y"]) == ("key 10.0.0.1 $(Y)", "<key 10.0.0.1 $(Y)>")


# (spec 13.2.1)
def test_a_prefix_stands_before_every_key() -> None:
    origin = EnvFromSource(prefix="P_", config_map_ref=ConfigMapEnvSource(name="m"))
    assert env(origins=(origin,), sources=MAPS)["P_K"] == "key"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "shop"),
        ("metadata.uid", "uid-1"),
        ("metadata.labels['app']", "shop"),
        ("metadata.annotations['k/n']", "v"),
        ("metadata.labels['none']", ""),
        ("spec.nodeName", "n1"),
        ("spec.serviceAccountName", "sa"),
        ("status.hostIP", "192.0.2.1"),
        ("status.hostIPs", "192.0.2.1"),
        ("status.podIP", "10.0.0.7"),
        ("status.podIPs", "10.0.0.7,fd00::7"),
    ],
)
# (spec 13.3.1)
def test_fields(path: str, value: str) -> None:
    origin = EnvVarSource(field_ref=ObjectFieldSelector(field_path=path))
    assert env(EnvVar(name="F", value_from=origin), sources=MAPS)["F"] == value


@pytest.mark.parametrize(
    ("selector", "value"),
    [
        pytest.param(ResourceFieldSelector(resource="limits.memory"), "200", id="in whole units"),
        pytest.param(ResourceFieldSelector(resource="limits.memory", divisor="3"), "67", id="divided, rounded up"),
        pytest.param(ResourceFieldSelector(resource="requests.cpu", divisor="1m"), "250", id="in thousandths"),
        pytest.param(ResourceFieldSelector(resource="requests.cpu"), "1", id="a part of a CPU is one"),
        pytest.param(ResourceFieldSelector(resource="limits.cpu"), "4", id="no limit: the node's"),
        pytest.param(ResourceFieldSelector(resource="requests.memory"), "0", id="no request: none"),
        pytest.param(
            ResourceFieldSelector(resource="limits.memory", container_name="db", divisor="1Mi"), "1024", id="of another"
        ),
        pytest.param(
            ResourceFieldSelector(resource="limits.memory", divisor="0"), "200", id="a divisor of zero is one"
        ),
    ],
)
# (spec 13.3.2)
def test_resources(selector: ResourceFieldSelector, value: str) -> None:
    own = ResourceRequirements(limits={"memory": "200"}, requests={"cpu": "250m"})
    origin = EnvVarSource(resource_field_ref=selector)
    assert env(EnvVar(name="R", value_from=origin), sources=MAPS, resources=own)["R"] == value


# (spec 13.2.3)
def test_a_written_value_wins_over_a_reference() -> None:
    origin = EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="nowhere", key="K"))
    assert env(EnvVar(name="X", value="own", value_from=origin))["X"] == "own"


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        pytest.param(
            EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="n", key="K")), "configMapKeyRef", id="map"
        ),
        pytest.param(EnvVarSource(secret_key_ref=SecretKeySelector(name="n", key="K")), "secretKeyRef", id="secret"),
        pytest.param(
            EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="m", key="Z")), "configMapKeyRef", id="key"
        ),
        pytest.param(
            EnvVarSource(field_ref=ObjectFieldSelector(field_path="spec.x")), "fieldRef.fieldPath", id="field"
        ),
        pytest.param(EnvVarSource(file_key_ref=FileKeySelector(key="K")), "fileKeyRef", id="file"),
        pytest.param(
            EnvVarSource(resource_field_ref=ResourceFieldSelector(resource="limits.memory")),
            "resourceFieldRef.resource",
            id="a limit nobody knows",
        ),
        pytest.param(
            EnvVarSource(resource_field_ref=ResourceFieldSelector(resource="limits.cpu", container_name="x")),
            "resourceFieldRef.containerName",
            id="a container that is not there",
        ),
    ],
)
# (spec 13.3.3)
def test_a_missing_reference_is_refused_with_its_path(origin: EnvVarSource, place: str) -> None:
    with pytest.raises(ContainerRefusedError) as refused:
        env(EnvVar(name="X", value_from=origin), sources=MAPS)
    assert refused.value.path == f"$.spec.containers[0].env[0].valueFrom.{place}"


# (spec 13.2.2)
def test_an_optional_reference_that_leads_nowhere_leaves_the_variable_undefined() -> None:
    origins = (EnvFromSource(secret_ref=SecretEnvSource(name="none", optional=True)),)
    origin = EnvVarSource(secret_key_ref=SecretKeySelector(name="none", key="K", optional=True))
    assert env(EnvVar(name="X", value_from=origin), origins=origins) == {}


# (spec 13.2.2)
def test_a_missing_env_from_source_is_refused() -> None:
    with pytest.raises(ContainerRefusedError, match=r'envFrom\[0\].configMapRef: configmap "m" not found'):
        env(origins=(FROM_MAP,))


UNREAD = Sources(failures={("ConfigMap", "m"): "no answer from the API server", ("Secret", "s"): "forbidden"})


@pytest.mark.parametrize(
    ("origin", "sources", "text"),
    [
        pytest.param(
            EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="x", key="K")),
            MAPS,
            'configmap "x" not found',
            id="map",
        ),
        pytest.param(
            EnvVarSource(secret_key_ref=SecretKeySelector(name="x", key="K")), MAPS, 'secret "x" not found', id="secret"
        ),
        pytest.param(
            EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="m", key="Z")),
            MAPS,
            "couldn't find key Z in ConfigMap shop/m",
            id="key of a map",
        ),
        pytest.param(
            EnvVarSource(secret_key_ref=SecretKeySelector(name="s", key="Z")),
            MAPS,
            "couldn't find key Z in Secret shop/s",
            id="key of a secret",
        ),
        pytest.param(
            EnvVarSource(config_map_key_ref=ConfigMapKeySelector(name="m", key="K", optional=True)),
            UNREAD,
            "no answer from the API server",
            id="what could not be read is not absent, even where it is optional",
        ),
    ],
)
def test_a_refusal_says_what_people_look_for(origin: EnvVarSource, sources: Sources, text: str) -> None:
    with pytest.raises(ContainerRefusedError) as refused:
        env(EnvVar(name="X", value_from=origin), sources=sources)
    assert refused.value.reason.startswith(text)


def test_an_optional_origin_that_could_not_be_read_is_refused_too() -> None:
    origin = EnvFromSource(secret_ref=SecretEnvSource(name="s", optional=True))
    with pytest.raises(ContainerRefusedError, match="forbidden"):
        env(origins=(origin,), sources=UNREAD)


def file_key(key: str, optional: bool | None = None) -> EnvVarSource:
    return EnvVarSource(file_key_ref=FileKeySelector(volume_name="v", path="a/env", key=key, optional=optional))


def from_file(key: str, optional: bool | None, file: FileText | None) -> str | None:
    sources = Sources(files=None if file is None else {("v", "a/env"): file})
    return env(EnvVar(name="X", value_from=file_key(key, optional)), sources=sources).get("X")


@pytest.mark.parametrize(
    ("key", "optional", "file", "value"),
    [
        ("A", None, FileText("A='1'"), "1"),
        ("B", True, FileText("A='1'"), None),
        ("A", True, FileText("A=''"), None),
        ("A", True, FileText(), None),
    ],
)
# (spec 13.3.4)
def test_a_variable_comes_from_a_file(key: str, optional: bool | None, file: FileText, value: str | None) -> None:
    assert from_file(key, optional, file) == value


@pytest.mark.parametrize(
    ("key", "optional", "file", "reason"),
    [
        ("B", None, FileText("A='1'"), "couldn't find key B in file a/env of volume v"),
        ("A", None, FileText("A=plain"), "couldn't find key A in file a/env of volume v"),
        ("A", None, FileText(), "file a/env of volume v not found"),
        ("A", True, FileText("A ='1'"), "couldn't parse file a/env of volume v: line 1"),
        ("A", True, FileText(error="it is a link"), "couldn't read file a/env of volume v: it is a link"),
        ("A", True, None, "variables from files are switched off"),
    ],
)
def test_a_key_that_the_env_file_lacks_is_refused(
    key: str, optional: bool | None, file: FileText | None, reason: str
) -> None:
    with pytest.raises(ContainerRefusedError, match=reason):
        from_file(key, optional, file)


def test_each_file_of_a_container_is_named_once() -> None:
    written = EnvVar(name="C", value="own", value_from=file_key("C"))
    variables = (EnvVar(name="A", value_from=file_key("A")), EnvVar(name="B", value_from=file_key("B")), written)
    assert file_references(container("web", env=variables)) == (("v", "a/env"),)
    assert file_references(container("web", env=(written,))) == ()
