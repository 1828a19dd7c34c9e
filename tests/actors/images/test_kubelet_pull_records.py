"""The directory `image_manager` of a kubelet, byte by byte.

The agent continues from it, and leaves one like it.
"""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from actors.images.access_rules import Access, Shown
from actors.images.pull_book import PullBook
from actors.images.pull_rules import AccessPolicy
from actors.model.pull_records import ALL_PODS, Grants, PullAccount, PullSecret, credential_hash
from config.credentials.docker_config import Credential
from runtime.cri.messages import Image
from runtime.state.pull_record_files import LocalPullRecordFiles

TIME = "2026-03-01T08:00:00Z"
PULL = Credential("ann", "p&ss")
HASH = hashlib.sha256(b'{"username":"ann","password":"p\\u0026ss"}').hexdigest()
SECRET = PullSecret("uid-1", "shop", "pull", HASH)
ACCOUNT = PullAccount("uid-2", "shop", "builder")
POLICY = AccessPolicy("NeverVerifyPreloadedImages")

PRIVATE, OPEN, EMPTY, WAITING = "sha256:aa", "sha256:bb", "sha256:cc", "r.io/late:3"


def record(ref: str, mapping: str, version: str = "v1beta1") -> bytes:
    more = f',"credentialMapping":{{{mapping}}}' if mapping else ""
    head = f'"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/{version}","lastUpdatedTime":"{TIME}"'
    return f'{{{head},"imageRef":"{ref}"{more}}}\n'.encode()


def intent(image: str, version: str = "v1beta1") -> bytes:
    return f'{{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/{version}","image":"{image}"}}\n'.encode()


def file_of(key: str) -> str:
    return f"sha256-{hashlib.sha256(key.encode()).hexdigest()}"


SECRETS = f'"kubernetesSecrets":[{{"uid":"uid-1","namespace":"shop","name":"pull","credentialHash":"{HASH}"}}]'
ACCOUNTS = '"kubernetesServiceAccounts":[{"uid":"uid-2","namespace":"shop","name":"builder"}]'


class Node:
    """The root directory of a kubelet, and the records of the agent that has come after it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "image_manager"
        self.files = LocalPullRecordFiles(str(root))
        self.book = PullBook(POLICY)

    def put(self, directory: str, key: str, content: bytes) -> None:
        folder = self.root / directory
        folder.mkdir(0o700, parents=True, exist_ok=True)
        (folder / file_of(key)).write_bytes(content)

    def start(self) -> list[str]:
        return self.book.load(self.files.load(), 0)

    def access(self, image: str, ref: str, *secrets: PullSecret) -> Access:
        access, changes = self.book.access(image, ref, Shown(secrets), 1, TIME)
        self.files.apply(changes)
        return access

    def tree(self) -> dict[str, bytes]:
        files = sorted(each for each in self.root.rglob("*") if each.is_file())
        assert {stat.S_IMODE(each.stat().st_mode) for each in files} <= {0o600}
        assert {stat.S_IMODE(each.stat().st_mode) for each in self.root.iterdir()} <= {0o700}
        return {str(each.relative_to(self.root)): each.read_bytes() for each in files}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_the_agent_grants_images_to_the_pods_that_the_earlier_kubelet_granted(node: Node, version: str) -> None:
    node.put("pulled", PRIVATE, record(PRIVATE, f'"r.io/app":{{{SECRETS},{ACCOUNTS}}}', version))
    node.put("pulled", OPEN, record(OPEN, '"r.io/open":{"nodePodsAccessible":true}', version))
    node.put("pulled", EMPTY, record(EMPTY, "", version))
    node.put("pulling", WAITING, intent(WAITING, version))
    assert node.start() == []
    assert credential_hash(PULL) == HASH
    assert node.access("r.io/app:1", PRIVATE) is Access.MUST_AUTHENTICATE
    assert node.access("r.io/app:1", PRIVATE, SECRET) is Access.BY_RECORD
    assert node.access("r.io/open:1", OPEN) is Access.BY_RECORD
    assert node.access("r.io/app:1", OPEN) is Access.MUST_AUTHENTICATE
    assert node.access("r.io/empty:1", EMPTY) is Access.MUST_AUTHENTICATE
    assert node.access(WAITING, "sha256:dd") is Access.MUST_AUTHENTICATE
    assert node.access("r.io/preloaded:1", "sha256:ee") is Access.BY_POLICY


def test_the_agent_leaves_what_a_kubelet_would_have_written(node: Node) -> None:
    assert node.start() == []
    for image, ref, grants in (
        ("r.io/open:1", OPEN, ALL_PODS),
        ("r.io/zoo:1", PRIVATE, ALL_PODS),
        ("r.io/app:1", PRIVATE, Grants((SECRET,))),
        ("r.io/app:1", PRIVATE, Grants((), (ACCOUNT,))),
    ):
        node.files.apply(node.book.intend(image, image, 1))
        node.files.apply(node.book.pulled(image, ref, grants, 1, TIME))
    node.files.apply(node.book.intend(WAITING, WAITING, 1))
    mapping = f'"r.io/app":{{{SECRETS},{ACCOUNTS}}},"r.io/zoo":{{"nodePodsAccessible":true}}'
    assert node.tree() == {
        f"pulled/{file_of(PRIVATE)}": record(PRIVATE, mapping),
        f"pulled/{file_of(OPEN)}": record(OPEN, '"r.io/open":{"nodePodsAccessible":true}'),
        f"pulling/{file_of(WAITING)}": intent(WAITING),
    }


# (spec 6.4.5)
def test_an_image_that_a_kubelet_was_pulling_gets_the_record_that_its_next_start_would_make(node: Node) -> None:
    node.put("pulling", WAITING, intent(WAITING))
    assert node.start() == []
    node.files.apply(node.book.seen([Image(id="sha256:dd", repo_tags=(WAITING,))], 1, 1, TIME))
    assert node.tree() == {f"pulled/{file_of('sha256:dd')}": record("sha256:dd", "")}


def test_an_intent_of_a_kubelet_for_an_image_without_a_tag_counts_at_once_and_goes_with_its_record(node: Node) -> None:
    node.put("pulling", "r.io/app", intent("r.io/app"))
    assert node.start() == []
    assert node.access("r.io/app:latest", "sha256:dd") is Access.MUST_AUTHENTICATE
    node.files.apply(node.book.seen([Image(id="sha256:dd", repo_tags=("r.io/app:latest",))], 1, 1, TIME))
    assert node.tree() == {f"pulled/{file_of('sha256:dd')}": record("sha256:dd", "")}
    assert node.book.intents == 0


def test_an_intent_has_the_name_that_the_pod_has(node: Node) -> None:
    assert node.start() == []
    node.files.apply(node.book.intend("r.io/app:latest", "r.io/app", 1))
    assert node.tree() == {f"pulling/{file_of('r.io/app')}": intent("r.io/app")}
    assert node.access("r.io/app:latest", "sha256:dd") is Access.MUST_AUTHENTICATE
    node.files.apply(node.book.intend("r.io/app:latest", "r.io/app:latest", 1))
    assert node.book.intents == 2
    for _ in range(2):
        assert node.book.intents == 2
        node.files.apply(node.book.pulled("r.io/app:latest", OPEN, ALL_PODS, 1, TIME))
    assert node.tree() == {f"pulled/{file_of(OPEN)}": record(OPEN, '"r.io/app":{"nodePodsAccessible":true}')}


def test_a_record_under_the_name_of_another_opens_neither_image(node: Node) -> None:
    node.put("pulled", PRIVATE, record(OPEN, '"r.io/app":{"nodePodsAccessible":true}'))
    (problem,) = node.start()
    assert problem.startswith(f"pulled/{file_of(PRIVATE)}: it is about 'sha256:bb'")
    assert node.access("r.io/app:1", PRIVATE) is Access.UNKNOWN
    assert node.access("r.io/app:1", OPEN) is Access.BY_POLICY
