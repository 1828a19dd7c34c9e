"""Plays `private_image_cases` on a node, and tells what came of them.

That is: states of pods, events, state files, calls of programs, and metrics.

What differs by chance in each play (times, UIDs, addresses, directories) has a name in its place, so that plays of two
agents can be compared. Which agent lives which life is the caller's choice.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socket
import sys
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from config.api.resources import EVENTS, PODS, SECRETS, SERVICE_ACCOUNTS
from config.objects import Pod
from runtime.api import ApiError, list_objects
from tests.ports import free_port
from tests.real.agent import NODE, PATIENCE_S, Agent
from tests.real.cluster import Cluster
from tests.real.containerd import Containerd
from tests.real.images import Recipe, build
from tests.real.pods import container, pod
from tests.real.private_image_cases import (
    ACCOUNTS,
    LIVES,
    NODE_ERRS,
    NODE_OPENS,
    PRIVATE,
    PROVIDERS,
    RIGHT,
    SLOW,
    Case,
    Try,
)
from tests.real.registry import AUTH, PASSWORD, USER, Registry
from tests.real.waiting import pass_by, until

RECORDED = Path(__file__).with_name("kubelet-1.36-images.json")
"""What came of the cases under a kubelet."""
WRONG_AUTH = base64.b64encode(f"{USER}:unlike-it".encode()).decode()
API = "credentialprovider.kubelet.k8s.io/v1"
AT_ONCE = 6
SETTLES_S = 2.0
"""The caches of an agent have a changed secret after this time."""
_OVER = {"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"}

PROGRAM = f"""#!{sys.executable}
import json, os, sys, time
asked = json.load(sys.stdin)
does = os.environ["DOES"]
asked["serviceAccountToken"] = str(asked.get("serviceAccountToken", "").count("."))
with open(os.environ["TOLD"], "a") as told:
    told.write(json.dumps(asked, sort_keys=True) + "\\n")
if does == "hang":
    time.sleep(600)
if does == "exit":
    sys.stderr.write("no {PASSWORD} for you\\n")
    sys.exit(3)
if does == "garbage":
    print("what is this")
    sys.exit(0)
if does == "empty":
    sys.exit(0)
host = asked["image"].split("/")[0]
pattern = {{"Global": "*.global.cases.test", "Registry": host}}.get(does, asked["image"])
auth = {{pattern: {{"username": "{USER}", "password": "{PASSWORD}"}}}}
if does == "Global":
    auth["global.cases.test"] = auth[pattern]
print(json.dumps({{"kind": "CredentialProviderResponse", "apiVersion": "{API}" if does != "version" else "{API}beta1",
    "cacheKeyType": does if does != "version" else "Image", "auth": auth}}))
"""


class Play:
    """A node, its registry, and the cases on it. `begin(life)` starts the agent of a life and returns it."""

    def __init__(
        self, containerd: Containerd, registry: Registry, cluster: Cluster, agents: Callable[[int], Agent]
    ) -> None:
        self.containerd = containerd
        self.registry = registry
        self.cluster = cluster
        self.agents = agents
        self.names: dict[str, str] = {}
        """What stands for a text that is another in each play."""
        self.seen: dict[str, dict[str, str]] = {}
        self.pods: dict[str, Pod] = {}
        self._images: set[str] = set()
        self._mute = socket.create_server(("127.0.0.1", 0))  # nobody accepts

    def close(self) -> None:
        """The pods are gone: remove the images too."""
        self._mute.close()
        self.containerd.ctr("images", "rm", *sorted(self._images))

    # --- before -----------------------------------------------------------------------------------------------------

    def prepare(self, cases: Iterable[Case], directory: Path, root: Path) -> tuple[str, ...]:
        """Push, load and create what the cases need; the flags of the agents."""
        cases = tuple(cases)
        loaded = {image for case in cases for images in case.loads.values() for image in images}
        tried = {each.image for case in cases for tries in case.lives.values() for each in tries}
        self._images = {_full(image) for image in tried | loaded}
        for image in sorted(tried | loaded):
            host, _, path = image.partition("/")
            name, _, tag = path.partition(":")
            made = _made(image)
            self.registry.push(made, name, tag or "latest")
            self.names[json.loads(made.manifest)["config"]["digest"]] = f"image:{name}"
            slow = host == SLOW
            self.containerd.mirror(host, f"127.0.0.1:{self._mute.getsockname()[1]}" if slow else self.registry.address)
        auths = {NODE_OPENS: {"auth": AUTH}, NODE_ERRS: {"auth": WRONG_AUTH}}
        (root / "config.json").write_text(json.dumps({"auths": auths}))
        self.names |= {str(directory): "{directory}", self.registry.address: "{registry}"}
        for name, notes in ACCOUNTS.items():
            meta = {"name": name, "namespace": "default", "annotations": dict(notes)}
            with contextlib.suppress(ApiError):  # "default" may be there
                self.cluster.create(SERVICE_ACCOUNTS, name, metadata=meta)
            self._name(SERVICE_ACCOUNTS, name, f"account:{name}")
        return self._providers(directory)

    def _providers(self, directory: Path) -> tuple[str, ...]:
        programs, told = directory / "providers", directory / "told"
        programs.mkdir()
        told.mkdir()
        config = []
        for each in PROVIDERS:
            name = each["name"]
            (programs / name).write_text(PROGRAM)
            (programs / name).chmod(0o755)
            env = [{"name": "DOES", "value": each["does"]}, {"name": "TOLD", "value": str(told / name)}]
            given = {key: value for key, value in each.items() if key != "does"}
            config.append(
                {
                    "matchImages": [f"{name}.cases.test"],
                    "defaultCacheDuration": "1h",
                    "apiVersion": API,
                    "env": env,
                    **given,
                }
            )
        file = directory / "providers.json"
        document = {"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig", "providers": config}
        file.write_text(json.dumps(document))
        return f"--image-credential-provider-config={file}", f"--image-credential-provider-bin-dir={programs}"

    def _name(self, resource: Any, name: str, called: str) -> None:
        self.names[self.cluster.get(resource, name).metadata.uid] = called

    # --- lives -----------------------------------------------------------------------------------------------------

    def all_lives(self, cases: Iterable[Case], place: Agent) -> dict[int, dict[str, Any]]:
        """Play them; what came of each life. `place`: where the agents have their files."""
        flags = self.prepare(cases, place.directory, place.root)
        return {life: self.live(life, cases, flags) for life in range(len(LIVES))}

    def live(self, life: int, cases: Iterable[Case], flags: tuple[str, ...]) -> dict[str, Any]:
        """One life of the node; what came of it."""
        now = [case for case in cases if life in case.lives or life in case.loads]
        loads = [_made(image, named=_full(image)) for case in now for image in case.loads.get(life, ())]
        if loads:
            self.containerd.load(loads)
        if life == 1:
            self.containerd.mirror(SLOW, self.registry.address)
        agent = self.agents(life)
        port = free_port()
        agent.configure(**SETTINGS, **LIVES[life], readOnlyPort=port, port=free_port())
        agent.begin("--kubeconfig", self.cluster.node_kubeconfig, *flags)
        self.seen = {}
        with ThreadPoolExecutor(AT_ONCE) as crew:
            ended = [crew.submit(self._case, agent, life, case) for case in now]
            while not all(each.done() for each in ended):
                assert agent.alive, agent.said()[-3000:]
                self._look()
                pass_by(0.1)
            for each in ended:
                each.result()
        tries = {self._pod(case, each): each for case in now for each in case.lives.get(life, ()) if each.waits}
        until(
            lambda: not self._untold(tries),
            PATIENCE_S,
            lambda: f"no events of {self._untold(tries)}: {agent.said()[-3000:]}",
        )
        events = self._events()
        hanging = {each.image for case in now for each in case.lives.get(life, ()) if not each.waits}
        came: dict[str, Any] = {
            "pods": {name: {"states": self.seen[name], "events": events[name]} for name in sorted(tries)},
            "files": self._files_between_pulls(agent, hanging),
            "calls": self._calls(agent),
            "metrics": _metrics(port),
        }
        waiting = [name for name in self.pods if name not in tries]
        for name in tries:
            self.cluster.delete(name)
        self.cluster.await_gone(*tries)
        agent.kill()
        for name in waiting:
            self.cluster.delete(name, grace_seconds=0)
        return came

    def _case(self, agent: Agent, life: int, case: Case) -> None:
        for each in case.lives.get(life, ()):
            self._tell(case, each)
            name = self._pod(case, each)
            main = container(image=each.image, imagePullPolicy=each.policy)
            secrets = [{"name": f"{case.name}-{secret}"} for secret in each.secrets]
            spec: dict[str, Any] = {"serviceAccountName": each.account, "automountServiceAccountToken": False}
            self.cluster.run(pod(name, main, imagePullSecrets=secrets, **spec))
            settled = partial(self._over, name, case.slow) if each.waits else partial(self._intended, agent, each)
            until(settled, PATIENCE_S, partial(self._complaint, agent, name))

    def _complaint(self, agent: Agent, name: str) -> str:
        return f"{name}: {self.seen.get(name)} {agent.said()[-3000:]}"

    def _tell(self, case: Case, each: Try) -> None:
        for secret, what in each.tells.items():
            name = f"{case.name}-{secret}"
            auth = AUTH if what == RIGHT else WRONG_AUTH
            hosts = {host: {"auth": auth} for host in (PRIVATE, SLOW, NODE_OPENS, NODE_ERRS, "image.cases.test")}
            text = base64.b64encode(json.dumps({"auths": hosts}).encode()).decode()
            data = {".dockerconfigjson": text}
            try:
                self.cluster.create(SECRETS, name, type="kubernetes.io/dockerconfigjson", data=data)
                self._name(SECRETS, name, f"secret:{name}")
            except ApiError:
                self.cluster.change(SECRETS, name, data=data)
                pass_by(SETTLES_S)

    @staticmethod
    def _pod(case: Case, each: Try) -> str:
        return f"{case.name}.{each.pod}"

    # --- what is seen -----------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Note the states of all containers, so that none is missed that comes before the last."""
        listed = self.cluster.lines.main.call(list_objects(PODS, namespace="default")).result(60)
        self.pods = {each.metadata.name.removesuffix(f"-{NODE}"): each for each in listed.items}
        for name, each in self.pods.items():
            self.names.setdefault(each.metadata.uid, f"pod:{name}")
            for status in each.status.container_statuses if each.status else ():
                state = status.state
                if state is None:
                    continue
                if state.running is not None:
                    self.seen.setdefault(name, {})["Running"] = ""
                elif state.waiting is not None and state.waiting.reason != "ContainerCreating":
                    text = self._plain(state.waiting.message or "")
                    self.seen.setdefault(name, {})[state.waiting.reason or ""] = text
                    if state.waiting.reason in _OVER:
                        self.seen[name].pop("ErrImagePull", None)

    def _over(self, name: str, slow: bool) -> bool:
        """Whether no more will happen. A kubelet whose program hangs never reaches a back-off."""
        return bool({"Running", *_OVER, *(("ErrImagePull",) if slow else ())} & self.seen.get(name, {}).keys())

    def _untold(self, names: Iterable[str]) -> list[str]:
        """Pods whose last events are still missing."""
        events = self._events()
        return [name for name in names if not self._told(name, events.get(name, []))]

    def _told(self, name: str, events: list[str]) -> bool:
        if "Running" in self.seen[name]:
            return {"Pulled", "Started"} <= {text.split(":", 1)[0] for text in events}
        return any(f"Failed: Error: {state}" in events for state in self.seen[name])

    def _events(self) -> dict[str, list[str]]:
        """By pod."""
        listed = self.cluster.lines.main.call(list_objects(EVENTS, namespace="default")).result(60)
        found: dict[str, set[str]] = {}
        for each in listed.items:
            text = f"{each.reason}: {self._plain(each.message or '')}"
            found.setdefault((each.involved_object.name or "").removesuffix(f"-{NODE}"), set()).add(text)
        return {name: sorted(texts) for name, texts in found.items()}

    @staticmethod
    def _intended(agent: Agent, each: Try) -> bool:
        texts = []
        for file in (agent.root / "image_manager" / "pulling").glob("sha256-*"):
            with contextlib.suppress(FileNotFoundError):  # the pull has ended
                texts.append(file.read_text())
        return any(f'"{each.image}"' in text for text in texts)

    def _files_between_pulls(self, agent: Agent, hanging: Set[str]) -> dict[str, Any]:
        """The state files while no pod pulls but for images that are `hanging`.

        A pod in its back-off pulls again now and then, and the agent keeps a file about each pull under way.
        """
        read: list[dict[str, Any]] = []

        def is_between() -> bool:
            read.append(self._files(agent))
            return {each["image"] for name, each in read[-1].items() if name.startswith("pulling/")} <= hanging

        until(is_between, PATIENCE_S, lambda: f"pulls never rest: {list(read[-1])}")
        return read[-1]

    def _files(self, agent: Agent) -> dict[str, Any]:
        """The state files: by directory and by what they are about."""
        found: dict[str, Any] = {}
        for file in sorted((agent.root / "image_manager").rglob("*")):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # gone by now; a directory
                document = json.loads(self._plain(file.read_text()))
                found[f"{file.parent.name}/{document.get('image') or self._image(document)}"] = document
        return dict(sorted(found.items()))

    @staticmethod
    def _image(record: Mapping[str, Any]) -> str:
        return ",".join(record.get("credentialMapping") or ()) or record["imageRef"]

    def _calls(self, agent: Agent) -> dict[str, list[str]]:
        """What each credential program was asked, in any order."""
        files = sorted((agent.directory / "told").iterdir())
        return {file.name: sorted(file.read_text().splitlines()) for file in files}

    def _plain(self, text: str) -> str:
        for uid, name in list(self.names.items()):
            text = text.replace(uid, name)
        for pattern, name in _BY_CHANCE:
            text = pattern.sub(name, text)
        return text


SETTINGS: Mapping[str, Any] = {
    "contentType": "application/json",
    "enableServer": True,
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "serializeImagePulls": False,
    "registryPullQPS": 0,
    "eventRecordQPS": 0,
    "maxPods": 200,
}

_BY_CHANCE = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "{time}"),
    (re.compile(r"(?<=\()\d+(\.\d+)?m?s(?= including)|(?<= in )\d+(\.\d+)?m?s"), "{duration}"),
    (re.compile(r"pod:[\w.-]+"), "{pod}"),
    (re.compile(r"(?<=Image size: )\d+"), "{size}"),
    (re.compile(r"127\.0\.0\.1:\d+"), "{address}"),
)


def comparable(lives: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """What two agents have to have in common, and what each play has anew."""
    found: dict[str, Any] = {"pods": {}, "files": {}, "calls": {}, "metrics": set()}
    for life, came in lives.items():
        for name, each in came["pods"].items():
            states = {state: _without_why(text) for state, text in each["states"].items()}
            if "ImagePullBackOff" in states:
                states.pop("ErrImagePull", None)  # seen or not, by chance
            events = {_without_why(text) for text in each["events"]}
            found["pods"][f"{life} {name}"] = {
                "states": states,
                "events": sorted(text for text in events if not _is_beside_it(name, text)),
            }
        found["files"][str(life)] = _steady(came["files"])
        for program, calls in came["calls"].items():
            found["calls"][program] = sorted({*found["calls"].get(program, ()), *calls})
        found["metrics"] |= {_family(series) for series in came["metrics"]}
    found["metrics"] = sorted(found["metrics"])
    return found


def _without_why(text: str) -> str:
    """Only this agent says why a credential program gave nothing."""
    return text.split("; credential provider ")[0]


def _is_beside_it(name: str, event: str) -> bool:
    """The cache of an agent may not have a new secret yet. Then the pod shows that, and tries again."""
    late = event.startswith("FailedToRetrieveImagePullSecret") and not name.startswith("secret-missing")
    return late or event.startswith("MissingClusterDNS")


def _steady(files: Mapping[str, Any]) -> dict[str, Any]:
    """The record without the digest of a secret that changes: a cache may still have the old one."""
    found: dict[str, Any] = json.loads(json.dumps(files))
    for name, record in found.items():
        for grants in record.get("credentialMapping", {}).values() if "rotated" in name else ():
            for secret in grants.get("kubernetesSecrets", ()):
                secret.pop("credentialHash")
    return found


def _family(series: str) -> str:
    """The name of a metric with those of its labels."""
    name, _, labels = series.partition("{")
    return f"{name}{sorted(re.findall(r'([a-z_]+)=', labels))}"


def _full(image: str) -> str:
    return image if ":" in image.rpartition("/")[2] else f"{image}:latest"


def _made(image: str, named: str = "") -> Any:
    """An image that is like no other, as it is pushed and as it is loaded."""
    return build(Recipe(named or image, {"Cmd": ["sh"], "Env": ["PATH=/bin", f"IMAGE={_full(image)}"]}))


def _metrics(port: int) -> dict[str, float]:
    """Those of pulls and of credentials; of histograms the counts."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
        lines = answer.read().decode().splitlines()
    wanted = re.compile(r"kubelet_(image_?manager|credential_provider|image_pull)[a-z_]*")
    found = {}
    for line in lines:
        name, _, value = line.rpartition(" ")
        if wanted.match(name) and not re.match(r"[a-z_]+(_bucket|_sum)\b", name):
            found[name] = float(value)
    return found
