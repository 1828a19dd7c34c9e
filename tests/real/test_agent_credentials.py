"""Pulls from a registry that wants to know who asks, on containerd."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from config.api.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.containerd import Containerd
from tests.real.images import Recipe, build
from tests.real.pods import Truth, container, pod
from tests.real.registry import AUTH, PASSWORD, USER, Registry

HOST = "private.test"
IMAGE = f"{HOST}/team/app:1"
PULL_FAILED = {"ErrImagePull", "ImagePullBackOff"}


@pytest.fixture(scope="module")
def private(containerd: Containerd) -> Iterator[Registry]:
    """A registry with a password that containerd knows as `HOST`, and an image in it."""
    serving = Registry(containerd.directory / "private-registry", private=True)
    try:
        containerd.mirror(HOST, serving.address)
        serving.push(build(Recipe(IMAGE)), "team/app", "1")
        yield serving
    finally:
        serving.stop()


def test_the_nodes_docker_configuration_opens_a_private_registry_without_a_restart(
    agent: Agent, private: Registry
) -> None:
    agent.drop("app.json", pod("app", container(image=IMAGE, imagePullPolicy="Always")))
    agent.start()

    def refused() -> bool:
        status = agent.container("app")
        waiting = status.state.waiting if status is not None and status.state is not None else None
        return waiting is not None and waiting.reason in ("ErrImagePull", "ImagePullBackOff")

    agent.await_that(refused, "nobody may pull it, and that is not said")
    wrong = {"auth": "eDp5"}
    auths = {f"https://{HOST}/v2/": {"auth": AUTH}, f"{HOST}/team/app": wrong, "*.test/other": wrong}
    (agent.root / "config.json").write_text(json.dumps({"auths": auths}))
    agent.await_running("app", limit_s=30)


def test_a_pod_of_a_cluster_takes_its_image_and_its_variables_from_what_it_refers_to(
    private: Registry, cluster: Cluster, truth: Truth
) -> None:
    document = json.dumps({"auths": {HOST: {"auth": AUTH}}}).encode()
    data = {".dockerconfigjson": base64.b64encode(document).decode()}
    cluster.create(SECRETS, "pull", type="kubernetes.io/dockerconfigjson", data=data)
    cluster.create(CONFIG_MAPS, "settings", data={"A": "1"})
    main = container(image=IMAGE, imagePullPolicy="Always", envFrom=[{"configMapRef": {"name": "settings"}}])
    cluster.run(pod("app", main, imagePullSecrets=[{"name": "pull"}]))
    cluster.join()
    cluster.await_phase("Running", "app")
    found = truth.run(truth.running("app", "main"), "env").splitlines()
    assert "A=1" in found
    assert any(line.startswith("KUBERNETES_SERVICE_HOST=") for line in found)


PROVIDER = f"""#!{sys.executable}
import json, sys, time
image = json.load(sys.stdin)["image"]
if image.endswith("/hangs"):
    time.sleep(600)
if image.endswith("/fails"):
    sys.exit("no {PASSWORD} for you")
auth = {{"{HOST}": {{"username": "{USER}", "password": "{PASSWORD}"}}}}
print(json.dumps({{"kind": "CredentialProviderResponse", "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
    "cacheKeyType": "Image", "auth": auth}}))
"""


def provider_flags(agent: Agent, code: str, **fields: Any) -> tuple[str, str]:
    """The flags of an agent that has this credential program; `fields`: more of its configuration."""
    program = agent.directory / "providers" / "teller"
    program.parent.mkdir()
    program.write_text(code)
    program.chmod(0o755)
    provider = {
        "name": "teller",
        "matchImages": [HOST],
        "defaultCacheDuration": "1h",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
        **fields,
    }
    config = {"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig", "providers": [provider]}
    configs = agent.directory / "provider-configs"
    configs.mkdir()
    (configs / "teller.json").write_text(json.dumps(config))
    return f"--image-credential-provider-config={configs}", f"--image-credential-provider-bin-dir={program.parent}"


def test_a_credential_program_opens_a_private_registry_and_holds_up_only_those_who_need_it(
    agent: Agent, private: Registry
) -> None:
    provided = provider_flags(agent, PROVIDER, env=[{"name": "SHARED", "value": PASSWORD}])
    for name in ("hangs", "fails"):
        agent.drop(f"{name}.json", pod(name, container(image=f"{HOST}/team/{name}:1", imagePullPolicy="Always")))
    agent.start(*provided)

    def told() -> str:
        status = agent.container("fails")
        waiting = status.state.waiting if status is not None and status.state is not None else None
        return (waiting.message or "") if waiting is not None else ""

    agent.await_that(lambda: "credential provider teller" in told(), "nobody says which program failed")
    assert "exit status 1" in told()
    agent.drop("app.json", pod("app", container(image=IMAGE, imagePullPolicy="Always")))
    agent.await_running("app", limit_s=30)  # although serializeImagePulls is on, and a program hangs
    assert "it wrote: no *** for you" in agent.said()


def test_an_image_that_one_pod_pulled_with_a_secret_is_not_run_by_another_without(
    private: Registry, cluster: Cluster, agent: Agent
) -> None:
    image = f"{HOST}/team/secret:1"
    private.push(build(Recipe(image)), "team/secret", "1")
    document = json.dumps({"auths": {HOST: {"auth": AUTH}}}).encode()
    data = {".dockerconfigjson": base64.b64encode(document).decode()}
    cluster.create(SECRETS, "opens", type="kubernetes.io/dockerconfigjson", data=data)
    with_secret = [{"name": "opens"}]
    cluster.run(pod("owner", container(image=image, imagePullPolicy="IfNotPresent"), imagePullSecrets=with_secret))
    cluster.join()
    cluster.await_phase("Running", "owner")
    cluster.run(pod("friend", container(image=image, imagePullPolicy="Never"), imagePullSecrets=with_secret))
    cluster.await_phase("Running", "friend")
    reasons = {"Never": {"ErrImageNeverPull"}, **dict.fromkeys(("IfNotPresent", "Always"), PULL_FAILED)}

    def is_refused(name: str, reasons: set[str]) -> bool:
        states = [status.state for status in cluster.status(name).container_statuses]
        return any(
            state is not None and state.waiting is not None and state.waiting.reason in reasons for state in states
        )

    for life in ("", "-again"):
        for policy, expected in reasons.items():
            name = f"stranger-{policy.lower()}{life}"
            cluster.run(pod(name, container(image=image, imagePullPolicy=policy)))
            agent.await_that(partial(is_refused, name, expected), f"{name} is not refused")
        agent.kill()  # the next agent knows as much
        if not life:
            cluster.join()
    agent.configure(imagePullCredentialsVerificationPolicy="NeverVerify")
    cluster.join()
    cluster.run(pod("let-in", container(image=image, imagePullPolicy="IfNotPresent")))
    cluster.await_phase("Running", "let-in")
    kept = agent.root / "image_manager"
    (record,) = (text for file in (kept / "pulled").iterdir() if "team/secret" in (text := file.read_text()))
    assert '"name":"opens"' in record
    assert PASSWORD not in record


FOR_ACCOUNTS = f"""#!{sys.executable}
import json, os, sys
told = json.load(sys.stdin)
with open(os.environ["TOLD"], "a") as log:
    print(json.dumps(told["serviceAccountAnnotations"]), file=log)
assert told["serviceAccountToken"].count(".") == 2
auth = {{"{HOST}": {{"username": "{USER}", "password": "{PASSWORD}"}}}}
print(json.dumps({{"kind": "CredentialProviderResponse", "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
    "cacheKeyType": "Registry", "cacheDuration": "0s", "auth": auth}}))
"""


def test_a_service_account_opens_an_image_through_a_credential_program_and_no_other_account_does(
    private: Registry, cluster: Cluster, agent: Agent
) -> None:
    image, role = f"{HOST}/team/account:1", "example.com/role"
    private.push(build(Recipe(image)), "team/account", "1")
    told = agent.directory / "told"
    attributes = {
        "serviceAccountTokenAudience": "registry",
        "cacheType": "ServiceAccount",
        "requireServiceAccount": True,
        "requiredServiceAccountAnnotationKeys": [role],
        "optionalServiceAccountAnnotationKeys": ["example.com/zone"],
    }
    env = [{"name": "TOLD", "value": str(told)}]
    provided = provider_flags(agent, FOR_ACCOUNTS, tokenAttributes=attributes, env=env)
    for name, notes in (("builder", {role: "puller", "other": "x"}), ("plain", {})):
        meta = {"name": name, "namespace": "default", "annotations": notes}
        cluster.create(SERVICE_ACCOUNTS, name, metadata=meta)

    def run(name: str, account: str, policy: str) -> None:
        cluster.run(pod(name, container(image=image, imagePullPolicy=policy), serviceAccountName=account))

    def reason(name: str) -> str:
        states = [status.state for status in cluster.status(name).container_statuses]
        return next((each.waiting.reason or "" for each in states if each is not None and each.waiting is not None), "")

    run("owner", "builder", "IfNotPresent")
    cluster.join(*provided)
    cluster.await_phase("Running", "owner")
    agent.kill()  # the next agent knows as much
    cluster.join(*provided)
    run("friend", "builder", "Never")
    run("stranger", "plain", "Never")
    run("guest", "plain", "IfNotPresent")
    cluster.await_phase("Running", "friend")
    agent.await_that(lambda: reason("stranger") == "ErrImageNeverPull", "the image is open to another account")
    agent.await_that(lambda: reason("guest") in PULL_FAILED, "the image is open to another account")
    assert set(told.read_text().splitlines()) == {json.dumps({role: "puller"})}
    records = (agent.root / "image_manager" / "pulled").iterdir()
    (record,) = (text for file in records if "team/account" in (text := file.read_text()))
    assert '"kubernetesServiceAccounts":[{' in record
    assert '"name":"builder"}]' in record
    assert PASSWORD not in record
