"""A CredentialProviderConfig: what is read of it, and which faults it has where."""

from __future__ import annotations

import pytest

from config.credentials.docker_config import full_name
from config.credentials.image_providers import ImageProvider, TokenAttributes, decode_image_providers
from config.documents.codec import DocumentError

HEAD = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n"
ONE = f"""{HEAD}providers:
- name: ecr
  matchImages: ["*.dkr.ecr.*.amazonaws.com", registry.io:8080/path]
  defaultCacheDuration: 12h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [get-credentials, -v]
  env: [{{name: AWS_PROFILE, value: s3cr3t}}]
  tokenAttributes:
    serviceAccountTokenAudience: sts
    requireServiceAccount: true
    cacheType: Token
    requiredServiceAccountAnnotationKeys: [example.com/role]
    optionalServiceAccountAnnotationKeys: [zone]
"""
HOUR_NS = 3600 * 10**9


def read(*texts: str, tokens: bool = True) -> tuple[ImageProvider, ...]:
    files = [(f"/c/{number}.yaml", text.encode()) for number, text in enumerate(texts)]
    return decode_image_providers(files, tokens=tokens)


def faults(*texts: str, tokens: bool = True) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read(*texts, tokens=tokens)
    return [str(fault) for fault in caught.value.faults]


def provider(**changes: str) -> str:
    """A configuration of one provider; a change replaces a field, "" takes it away."""
    fields = {
        "name": "p",
        "matchImages": "[r.io]",
        "defaultCacheDuration": "0s",
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
    } | changes
    lines = [f"  {name}: {value}" for name, value in fields.items() if value]
    return f"{HEAD}providers:\n-\n" + "\n".join(lines) + "\n"


def token(**changes: str) -> str:
    fields = {"serviceAccountTokenAudience": "a", "requireServiceAccount": "true", "cacheType": "ServiceAccount"}
    text = ", ".join(f"{name}: {value}" for name, value in (fields | changes).items() if value)
    return provider(tokenAttributes="{" + text + "}")


# (spec 6.3.6)
def test_every_field_is_read() -> None:
    assert read(ONE) == (
        ImageProvider(
            name="ecr",
            match_images=("*.dkr.ecr.*.amazonaws.com", "registry.io:8080/path"),
            default_cache_ns=12 * HOUR_NS,
            args=("get-credentials", "-v"),
            env=(("AWS_PROFILE", "s3cr3t"),),
            token=TokenAttributes("sts", True, True, ("example.com/role",), ("zone",)),
        ),
    )


def test_a_variable_of_a_program_is_not_shown() -> None:
    assert "s3cr3t" not in repr(read(ONE))


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
# (spec 6.3.6)
def test_older_versions_of_the_document_are_read_too(version: str) -> None:
    (found,) = read(provider().replace("io/v1\nkind", f"io/{version}\nkind"))
    assert found.name == "p"


def test_the_providers_of_several_files_follow_each_other() -> None:
    assert [each.name for each in read(provider(name="b"), provider(name="a"))] == ["b", "a"]


# (spec 6.3.5)
def test_a_name_that_another_file_has_is_refused_there() -> None:
    (fault,) = faults(provider(), provider())
    assert fault == "/c/1.yaml: $.providers[0].name: 'p' is given twice; keep one of them"


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "$"),
        ("[", "$"),
        ("- a", "$"),
        ("apiVersion: kubelet.config.k8s.io/v2\nkind: CredentialProviderConfig\nproviders: []", "$.apiVersion"),
        (provider().replace("kind: CredentialProviderConfig", "kind: KubeletConfiguration"), "$.kind"),
        (HEAD, "$.providers"),
        (HEAD + "providers: {}", "$.providers"),
        (provider() + "other: 1\n", "$.other"),
        (provider(matchImage="[r]"), "$.providers[0].matchImage"),
        (provider(name=""), "$.providers[0].name"),
        (provider(name="a/b"), "$.providers[0].name"),
        (provider(name="'a b'"), "$.providers[0].name"),
        (provider(name=".."), "$.providers[0].name"),
        (provider(matchImages="[]"), "$.providers[0].matchImages"),
        (provider(matchImages="[r.io, 'a b']"), "$.providers[0].matchImages[1]"),
        (provider(matchImages="['r.io:http/x']"), "$.providers[0].matchImages[0]"),
        (provider(defaultCacheDuration=""), "$.providers[0].defaultCacheDuration"),
        (provider(defaultCacheDuration="-1s"), "$.providers[0].defaultCacheDuration"),
        (provider(defaultCacheDuration="soon"), "$.providers[0].defaultCacheDuration"),
        (provider(apiVersion=""), "$.providers[0].apiVersion"),
        (provider(apiVersion="credentialprovider.kubelet.k8s.io/v2"), "$.providers[0].apiVersion"),
        (provider(args="[1]"), "$.providers[0].args"),
        (provider(env="[{value: a}]"), "$.providers[0].env[0].name"),
        (provider(env="[{name: a=b, value: c}]"), "$.providers[0].env[0].name"),
        (token(serviceAccountTokenAudience=""), "$.providers[0].tokenAttributes.serviceAccountTokenAudience"),
        (token(requireServiceAccount=""), "$.providers[0].tokenAttributes.requireServiceAccount"),
        (token(cacheType=""), "$.providers[0].tokenAttributes.cacheType"),
        (token(cacheType="Pod"), "$.providers[0].tokenAttributes.cacheType"),
        (
            token(requireServiceAccount="false", requiredServiceAccountAnnotationKeys="[a]"),
            "$.providers[0].tokenAttributes.requiredServiceAccountAnnotationKeys",
        ),
        (
            token(optionalServiceAccountAnnotationKeys="[a, a/b/c]"),
            "$.providers[0].tokenAttributes.optionalServiceAccountAnnotationKeys[1]",
        ),
        (
            token(requiredServiceAccountAnnotationKeys="[a, a]"),
            "$.providers[0].tokenAttributes.requiredServiceAccountAnnotationKeys[1]",
        ),
        (
            token(requiredServiceAccountAnnotationKeys="[a]", optionalServiceAccountAnnotationKeys="[a]"),
            "$.providers[0].tokenAttributes",
        ),
        (
            token().replace("k8s.io/v1\nkind", "k8s.io/v1beta1\nkind"),
            "$.providers[0].tokenAttributes",
        ),
        (
            token().replace("credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1beta1"),
            "$.providers[0].tokenAttributes",
        ),
    ],
)
def test_a_fault_is_told_with_its_file_and_its_place(text: str, where: str) -> None:
    assert [fault for fault in faults(text) if fault.startswith(f"/c/0.yaml: {where}: ")]


# (spec 6.3.6)
def test_tokens_need_their_feature_gate() -> None:
    (fault,) = faults(token(), tokens=False)
    assert "KubeletServiceAccountTokenForCredentialProviders" in fault


@pytest.mark.parametrize(
    ("pattern", "image", "expected"),
    [
        ("*.dkr.ecr.*.amazonaws.com", "1.dkr.ecr.eu.amazonaws.com/app:1", True),
        ("*.dkr.ecr.*.amazonaws.com", "1.dkr.ecr.eu.amazonaws.com.evil.io/app", False),
        ("gcr.io", "gcr.io/a/b@sha256:1", True),
        ("gcr.io", "eu.gcr.io/a/b", False),
        ("gcr.io/a", "gcr.io/b", False),
        ("r.io:5000", "r.io/a", False),
        ("r.io:5000", "r.io:5000/a:1", True),
        ("docker.io", "nginx", True),
    ],
)
def test_which_images_a_program_is_asked_about(pattern: str, image: str, expected: bool) -> None:
    assert ImageProvider("p", ("x.io", pattern), 0).is_for(full_name(image)) is expected
