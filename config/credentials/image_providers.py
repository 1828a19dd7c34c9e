"""CredentialProviderConfig: the programs that know registry credentials (spec 6.3).

It is decoded and checked here. Pure.

Owns the format (v1, v1beta1, v1alpha1), read as strictly as a kubelet reads it: an unknown field is a fault, not a
warning. Every fault has the file and its place. Refuses to know files, and what the programs are told and answer
(`config.credentials.provider_answers`). Nothing here shows a variable of a program in its repr or in a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from config.credentials.docker_config import matches
from config.credentials.kubeconfig_fields import Fields
from config.documents.codec import DocumentError, Faults
from config.documents.places import DocumentPlace
from config.documents.text import read_document
from config.values.durations import DurationError, parse_duration_ns
from config.values.name_rules import qualified_name

KIND = "CredentialProviderConfig"
GROUP = "kubelet.config.k8s.io"
CONFIG_V1 = f"{GROUP}/v1"
CONFIG_VERSIONS = (CONFIG_V1, f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1")
EXEC_V1 = "credentialprovider.kubelet.k8s.io/v1"
EXEC_VERSIONS = (EXEC_V1, "credentialprovider.kubelet.k8s.io/v1beta1", "credentialprovider.kubelet.k8s.io/v1alpha1")
GATE = "KubeletServiceAccountTokenForCredentialProviders"
BY_ACCOUNT, BY_TOKEN = "ServiceAccount", "Token"

_PATTERN = re.compile(r"[^\s:/\x00-\x1f\x7f]+(:[0-9]*)?(/[^\s\x00-\x1f\x7f]*)?")


class TokenAttributes(msgspec.Struct, frozen=True):
    """Which token of the pod's service account the program is given, and which annotations of the account.

    `by_token`: what it answers is good for this token alone, otherwise for all pods of the account.
    """

    audience: str
    requires_account: bool
    by_token: bool = False
    required_keys: tuple[str, ...] = ()
    optional_keys: tuple[str, ...] = ()


class ImageProvider(msgspec.Struct, frozen=True):
    """One program. Answers without a lifetime are valid for `default_cache_ns`."""

    name: str
    match_images: tuple[str, ...]
    default_cache_ns: int
    api_version: str = EXEC_V1
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    token: TokenAttributes | None = None

    def __repr__(self) -> str:
        """Its arguments and variables may be secret."""
        return f"ImageProvider({self.name!r}, ...)"

    def is_for(self, name: str) -> bool:
        """Whether it may be asked about the image; `name` as `docker_config.full_name` gives it."""
        return any(matches(pattern, name) for pattern in self.match_images)


def decode_image_providers(files: Sequence[tuple[str, bytes]], *, tokens: bool = True) -> tuple[ImageProvider, ...]:
    """The programs of all files (name, content) in order. Raises DocumentError with every fault.

    `tokens`: whether the feature gate lets programs have tokens of service accounts.
    """
    providers: list[ImageProvider] = []
    faults = Faults()
    for file, content in files:
        root = DocumentPlace()
        providers += _providers(content, root, tokens=tokens, names={each.name for each in providers})
        faults += (DocumentError(f"{file}: {each.path}", each.reason, each.hint) for each in root.faults)
    if faults:
        first, *others = faults
        raise DocumentError(first.path, first.reason, first.hint, tuple(others))
    return tuple(providers)


def _providers(content: bytes, root: DocumentPlace, *, tokens: bool, names: set[str]) -> list[ImageProvider]:
    value, faults = read_document(content)
    root.faults.extend(faults)
    if not faults and value is None:
        root.fault("the document is empty", f"write a {KIND}")
    if root.faults:
        return []
    document = Fields(root, value)
    if root.faults:
        return []
    version, kind = document.text("apiVersion"), document.text("kind")
    if kind != KIND:
        (root / "kind").fault(f"must be {KIND}")
    if version not in CONFIG_VERSIONS:
        (root / "apiVersion").fault("is not supported", f"write {CONFIG_V1}")
    entries = document.parts("providers")
    if not entries:
        (root / "providers").fault("must have at least one provider")
    found = [_provider(entry, names, has_tokens=version == CONFIG_V1, tokens=tokens) for entry in entries]
    document.rest()
    root.faults.extend(_unknown(document.warnings))
    return found


def _unknown(warnings: Iterable[DocumentError]) -> Iterable[DocumentError]:
    return (DocumentError(each.path, "this field is unknown", each.hint) for each in warnings)


def _provider(entry: Fields, names: set[str], *, has_tokens: bool, tokens: bool) -> ImageProvider:
    name, place = entry.text("name"), entry.place
    _check_name(place / "name", name, names)
    names.add(name)
    version = entry.text("apiVersion")
    if (place / "apiVersion").required(version, f"write {EXEC_V1}"):
        (place / "apiVersion").one_of(version, EXEC_VERSIONS)
    images = entry.texts("matchImages")
    (place / "matchImages").required(images, "write the registries whose images it is asked about")
    for at, pattern in place.items("matchImages", images):
        if not _PATTERN.fullmatch(pattern.removeprefix("https://").removeprefix("http://")):
            at.fault("is not an image pattern", "write HOST[:PORT][/PATH]; each part of the host may have *")
    provider = ImageProvider(
        name=name,
        match_images=images,
        default_cache_ns=_duration(entry),
        api_version=version,
        args=entry.texts("args"),
        env=_environment(entry),
        token=_token(entry, version, tokens=tokens) if has_tokens else None,
    )
    entry.rest()
    return provider


def _check_name(place: DocumentPlace, name: str, names: set[str]) -> None:
    if not place.required(name, "write the file name of the program"):
        return
    if "/" in name or " " in name or "\0" in name or name in (".", ".."):
        place.fault(f"{name!r} is not the file name of a program", "it has no slash and no space")
    if name in names:
        place.fault(f"{name!r} is given twice", "keep one of them")


def _duration(entry: Fields) -> int:
    place, text = entry.place / "defaultCacheDuration", entry.text("defaultCacheDuration")
    if not place.required(text, "write 0s where answers are not to be kept"):
        return 0
    try:
        duration_ns = parse_duration_ns(text)
    except DurationError as error:
        place.fault(f"is not a duration: {error.reason}")
        return 0
    if duration_ns < 0:
        place.fault("must not be negative")
    return duration_ns


def _environment(entry: Fields) -> tuple[tuple[str, str], ...]:
    found = []
    for variable in entry.parts("env"):
        name, value = variable.text("name"), variable.text("value")
        variable.rest()
        if isinstance(variable.value, dict) and (variable.place / "name").required(name):
            if "=" in name or "\0" in name + value:
                (variable.place / "name").fault("cannot be a variable of a program")
            found.append((name, value))
    return tuple(found)


def _token(entry: Fields, version: str, *, tokens: bool) -> TokenAttributes | None:
    fields = entry.part("tokenAttributes")
    if fields is None:
        return None
    place = fields.place
    if not tokens:
        place.fault(f"needs the feature gate {GATE}", f"remove it, or set featureGates.{GATE}: true")
    if version != EXEC_V1:
        place.fault(f"needs a program of {EXEC_V1}")
    audience, cache = fields.text("serviceAccountTokenAudience"), fields.text("cacheType")
    (place / "serviceAccountTokenAudience").required(audience)
    if (place / "cacheType").required(cache, f"write {BY_ACCOUNT} or {BY_TOKEN}"):
        (place / "cacheType").one_of(cache, (BY_ACCOUNT, BY_TOKEN))
    has_requires = isinstance(fields.value, dict) and fields.value.get("requireServiceAccount") is not None
    requires = fields.flag("requireServiceAccount")
    if not has_requires:
        (place / "requireServiceAccount").fault("is required", "write true or false")
    required = _keys(fields, "requiredServiceAccountAnnotationKeys")
    optional = _keys(fields, "optionalServiceAccountAnnotationKeys")
    if required and has_requires and not requires:
        (place / "requiredServiceAccountAnnotationKeys").fault("needs requireServiceAccount: true")
    if both := sorted(set(required) & set(optional)):
        place.fault(f"annotation {both[0]!r} cannot be both required and optional", "keep one of them")
    fields.rest()
    return TokenAttributes(audience, requires, cache == BY_TOKEN, required, optional)


def _keys(fields: Fields, name: str) -> tuple[str, ...]:
    keys = fields.texts(name)
    seen: set[str] = set()
    for place, key in fields.place.items(name, keys):
        if refusal := qualified_name(key.lower()):
            place.fault(*refusal)
        if key in seen:
            place.fault(f"{key!r} is given twice", "keep one of them")
        seen.add(key)
    return keys
