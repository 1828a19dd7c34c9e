"""Cases of private images, as data.

They say which pods ask for which image, with what, and in which life of the node.

`private_images` plays them. A life is one run of an agent, with its own policy of verification. All agents of a play
share one root directory, one containerd and one registry; so an agent goes on from what the one before it has written.
No two cases share an image, unless they say so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

IF_NOT_PRESENT, NEVER, ALWAYS = "IfNotPresent", "Never", "Always"
RIGHT, WRONG = "right", "wrong"

ROLE = "example.com/role"
PRIVATE = "private.cases.test"
"""Nothing on the node opens this host."""
NODE_OPENS, NODE_ERRS = "node.cases.test", "node-errs.cases.test"
"""The docker configuration of the node has a right and a wrong password for these."""
SLOW = "slow.cases.test"
"""In the first life its pulls do not end."""

LIVES: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {"imagePullCredentialsVerificationPolicy": "NeverVerify"},
    {"imagePullCredentialsVerificationPolicy": "AlwaysVerify"},
    {
        "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages",
        "preloadedImagesVerificationAllowlist": [f"{PRIVATE}/listed", f"{PRIVATE}/below/*"],
    },
)
"""Fields of the configuration in each life. The first of the other agent is the second."""


@dataclass(frozen=True)
class Try:
    """A pod, which asks for an image. `tells`: what a secret has from then on."""

    pod: str
    image: str
    policy: str = IF_NOT_PRESENT
    secrets: tuple[str, ...] = ()
    account: str = "default"
    tells: Mapping[str, str] = field(default_factory=dict)
    waits: bool = True
    """Whether its outcome is waited for."""


@dataclass(frozen=True)
class Case:
    """`lives`: its pods by life, one after the other. `loads`: images that are loaded before a life."""

    name: str
    lives: Mapping[int, tuple[Try, ...]]
    loads: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    slow: bool = False
    """It takes more than a minute."""


def _everybody(image: str, *secrets: str, life: str = "") -> tuple[Try, ...]:
    """One pod with, and three without what opens the image."""
    strangers = (Try(f"none-{each.lower()}{life}", image, each) for each in (IF_NOT_PRESENT, NEVER, ALWAYS))
    return (Try(f"with{life}", image, secrets=secrets), *strangers)


def _next(image: str, *secrets: str) -> tuple[Try, ...]:
    """The same in a later life."""
    friend = (Try("friend-later", image, NEVER, secrets),) if secrets else ()
    return (*friend, Try("none-later", image), Try("none-later-never", image, NEVER))


def _own(name: str) -> str:
    return f"{PRIVATE}/{name}:1"


PROVIDERS: tuple[Mapping[str, Any], ...] = (
    {"name": "image", "does": "Image"},
    {"name": "registry", "does": "Registry"},
    {"name": "global", "does": "Global", "matchImages": ["global.cases.test", "*.global.cases.test"]},
    {"name": "exits", "does": "exit"},
    {"name": "garbage", "does": "garbage"},
    {"name": "empty", "does": "empty"},
    {"name": "version", "does": "version"},
    {"name": "hangs", "does": "hang"},
    {
        "name": "account",
        "does": "Registry",
        "tokenAttributes": {
            "serviceAccountTokenAudience": "registry",
            "cacheType": "ServiceAccount",
            "requireServiceAccount": True,
            "requiredServiceAccountAnnotationKeys": [ROLE],
            "optionalServiceAccountAnnotationKeys": ["example.com/zone"],
        },
    },
    {
        "name": "token",
        "does": "Image",
        "tokenAttributes": {
            "serviceAccountTokenAudience": "registry",
            "cacheType": "Token",
            "requireServiceAccount": True,
        },
    },
)
"""Programs of the node, each for the host of its name if it does not say otherwise.

`does`: what it answers.
"""

ACCOUNTS: Mapping[str, Mapping[str, str]] = {"default": {}, "builder": {ROLE: "puller", "other": "x"}, "plain": {}}
"""Service accounts and their annotations."""

CASES: tuple[Case, ...] = (
    Case(
        "secret-right",
        {
            0: (Try("one", _own("secret-right"), secrets=("s",), tells={"s": RIGHT}),),
            1: _next(_own("secret-right"), "s"),
        },
    ),
    Case("secret-wrong", {0: (Try("one", _own("secret-wrong"), secrets=("s",), tells={"s": WRONG}),)}),
    Case("secret-missing", {0: (Try("one", _own("secret-missing"), secrets=("absent",)),)}),
    Case("no-secret", {0: (Try("one", _own("no-secret")), Try("never", _own("no-secret"), NEVER))}),
    Case(
        "first-secret-wrong",
        {0: (Try("one", _own("first-wrong"), secrets=("a", "b"), tells={"a": WRONG, "b": RIGHT}),)},
    ),
    Case(
        "stranger",
        {
            0: (Try("first", _own("stranger"), secrets=("s",), tells={"s": RIGHT}), *_everybody(_own("stranger"), "s")),
            1: _next(_own("stranger"), "s"),
            2: (Try("none-unverified", _own("stranger")), Try("none-unverified-never", _own("stranger"), NEVER)),
            3: _everybody(_own("stranger"), "s", life="-verified"),
            4: (Try("none-unlisted", _own("stranger"), NEVER),),
        },
    ),
    Case(
        "other-secret-of-the-same",
        {
            0: (
                Try("owner", _own("same"), secrets=("a",), tells={"a": RIGHT, "b": RIGHT}),
                Try("friend", _own("same"), NEVER, ("b",)),
            ),
            1: _next(_own("same"), "b"),
        },
    ),
    Case(
        "rotated",
        {
            0: (
                Try("owner", _own("rotated"), secrets=("s",), tells={"s": RIGHT}),
                Try("after", _own("rotated"), NEVER, ("s",), tells={"s": WRONG}),
                Try("wrong-other", _own("rotated"), secrets=("t",), tells={"t": WRONG}),
                Try("healed", _own("rotated"), secrets=("t",), tells={"t": RIGHT}),
            ),
            1: _next(_own("rotated"), "s"),
        },
    ),
    Case(
        "preloaded",
        {
            0: _everybody(_own("preloaded")),
            1: (Try("again", _own("preloaded"), NEVER),),
            2: (Try("unverified", _own("preloaded")),),
            3: (Try("verified", _own("preloaded")), Try("verified-never", _own("preloaded"), NEVER)),
            4: (Try("unlisted", _own("preloaded")),),
        },
        {0: (_own("preloaded"),)},
    ),
    Case(
        "listed",
        {
            4: (
                Try("loaded", _own("listed"), NEVER),
                Try("below", _own("below/deep/listed"), NEVER),
                Try("near", _own("listed-not"), NEVER),
            ),
        },
        {4: (_own("listed"), _own("below/deep/listed"), _own("listed-not"))},
    ),
    Case(
        "provider-image",
        {
            0: (
                Try("one", "image.cases.test/image-app:1"),
                Try("again", "image.cases.test/image-app:1", ALWAYS),
                Try("two", "image.cases.test/image-b:1"),
            ),
            1: _next("image.cases.test/image-app:1"),
        },
    ),
    Case(
        "provider-registry",
        {0: (Try("one", "registry.cases.test/registry-app:1"), Try("two", "registry.cases.test/registry-b:1"))},
    ),
    Case(
        "provider-global",
        {0: (Try("one", "global.cases.test/global-app:1"), Try("two", "eu.global.cases.test/global-b:1"))},
    ),
    Case(
        "provider-account",
        {
            0: (
                Try("one", "account.cases.test/account-app:1", account="builder"),
                Try("friend", "account.cases.test/account-app:1", NEVER, account="builder"),
                Try("plain", "account.cases.test/account-app:1", account="plain"),
            ),
            1: (
                Try("friend-later", "account.cases.test/account-app:1", NEVER, account="builder"),
                Try("plain-later", "account.cases.test/account-app:1", NEVER, account="plain"),
            ),
        },
    ),
    Case(
        "provider-token",
        {
            0: (
                Try("one", "token.cases.test/token-app:1"),
                Try("other", "token.cases.test/token-app:1", account="plain"),
            )
        },
    ),
    Case("provider-exits", {0: (Try("one", "exits.cases.test/exits-app:1"),)}),
    Case(
        "provider-garbage",
        {0: (Try("one", "garbage.cases.test/garbage-app:1"), Try("two", "empty.cases.test/empty-app:1"))},
    ),
    Case("provider-version", {0: (Try("one", "version.cases.test/version-app:1"),)}),
    Case("provider-hangs", {0: (Try("one", "hangs.cases.test/hangs-app:1"),)}, slow=True),
    Case("node-config", {0: (Try("one", f"{NODE_OPENS}/node-app:1"),), 1: _next(f"{NODE_OPENS}/node-app:1")}),
    Case(
        "precedence",
        {
            0: (
                Try("secret-errs", f"{NODE_OPENS}/node-b:1", secrets=("s",), tells={"s": WRONG}),
                Try("node-errs", f"{NODE_ERRS}/errs-app:1", secrets=("t",), tells={"t": RIGHT}),
                Try("only-node-errs", f"{NODE_ERRS}/errs-b:1"),
                Try("program-last", "image.cases.test/image-c:1", secrets=("s",)),
            ),
            1: (*_next(f"{NODE_OPENS}/node-b:1", "s"), *(Try("t-later", f"{NODE_ERRS}/errs-app:1", NEVER, ("t",)),)),
        },
    ),
    Case(
        "no-tag",
        {0: (Try("one", f"{NODE_OPENS}/node-untagged"),), 1: (Try("later", f"{NODE_OPENS}/node-untagged", NEVER),)},
    ),
    Case(
        "interrupted",
        {
            0: (Try("one", f"{SLOW}/slow-app:1", secrets=("s",), tells={"s": RIGHT}, waits=False),),
            1: (Try("none", f"{SLOW}/slow-app:1", NEVER), Try("with", f"{SLOW}/slow-app:1", secrets=("s",))),
        },
        {1: (f"{SLOW}/slow-app:1",)},
    ),
    Case(
        "interrupted-without-tag",
        {
            0: (Try("one", f"{SLOW}/slow-untagged", secrets=("s",), tells={"s": RIGHT}, waits=False),),
            1: (Try("none", f"{SLOW}/slow-untagged", NEVER), Try("with", f"{SLOW}/slow-untagged", secrets=("s",))),
        },
        {1: (f"{SLOW}/slow-untagged",)},
    ),
)
