"""How texts are spelled in the API, in the words of a kube-apiserver.

A form is a function that gives all faults of a text; none for a good one. The forms are those of
`apimachinery/pkg/util/validation`. `config.values.name_rules` has such rules in the words of the agent. Pure.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence

from config.caches import KIB, kept

Faults = Sequence[str]
Form = Callable[[str], Faults]

NONE: Faults = ()
LONGEST_LABEL, LONGEST_SUBDOMAIN = 63, 253
WORDS_BYTES = 256 * KIB
"""For names that were judged: the objects of a cluster use the same few."""
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORED = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_OF_KEYS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def explained(message: str, pattern: str, *examples: str) -> str:
    """A message with the pattern that a text must match."""
    shown = " or ".join(f"'{one}', " for one in examples)
    return f"{message} ({f'e.g. {shown}' if examples else ''}regex used for validation is '{pattern}')"


def _matching(message: str, pattern: str, *examples: str, longest: int = 0, before: str = "") -> Form:
    compiled, words = re.compile(pattern, re.ASCII), before + explained(message, pattern, *examples)

    def form(text: str) -> Faults:
        found = too_long(text, longest) if longest else NONE
        return found if compiled.fullmatch(text) else [*found, words]

    return form


def too_long(text: str, longest: int) -> Faults:
    return [f"must be no more than {longest} characters"] if len(text.encode()) > longest else NONE


subdomain = kept(WORDS_BYTES)(
    _matching(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character",
        _SUBDOMAIN,
        "example.com",
        longest=LONGEST_SUBDOMAIN,
    )
)
subdomain_with_underscores = _matching(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character",
    rf"{_UNDERSCORED}(\.{_UNDERSCORED})*",
    "example.com",
    longest=LONGEST_SUBDOMAIN,
)
label_1035 = _matching(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "my-name",
    "abc-123",
    longest=LONGEST_LABEL,
)
wildcard_subdomain = _matching(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    rf"\*\.{_SUBDOMAIN}",
    "*.example.com",
    longest=LONGEST_SUBDOMAIN,
)
identifier = _matching(
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'",
    "[A-Za-z_][A-Za-z0-9_]*",
    "my_name",
    "MY_NAME",
    "MyName",
)
_OF_CEL = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)


def cel_identifier(text: str) -> list[str]:
    """The name of a variable in CEL, which is none of its words."""
    return ["must be a valid CEL identifier"] if identifier(text) or text in _OF_CEL else []


header_name = _matching(
    "a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", "X-Header-Name"
)
percent = _matching("a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%")
_one_label = _matching(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_key_name = _matching(_OF_KEYS, _KEY, "MyName", "my.name", "123-abc", before="name part ")
_key_of_data = _matching(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "[-._a-zA-Z0-9]+",
    "key.name",
    "KEY_NAME",
    "key-name",
    longest=LONGEST_SUBDOMAIN,
)
label_value = kept(WORDS_BYTES)(
    _matching(
        f"a valid label must be an empty string or consist of{_OF_KEYS.removeprefix('must consist of')}",
        f"({_KEY})?",
        "MyValue",
        "my_value",
        "12345",
        longest=LONGEST_LABEL,
    )
)


def label(text: str) -> Faults:
    """RFC 1123 label."""
    found = too_long(text, LONGEST_LABEL)
    wrong = _one_label(text)
    if wrong and re.fullmatch(_SUBDOMAIN, text):
        wrong = ["must not contain dots"]
    return [*found, *wrong]


@kept(WORDS_BYTES)
def label_key(text: str) -> Faults:
    """A name, with or without a DNS name and a slash before it."""
    before, slash, name = text.partition("/")
    if "/" in name:
        words = explained(_OF_KEYS, _KEY, "MyName", "my.name", "123-abc")
        return [f"a valid label key {words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    found: list[str] = []
    if slash:
        found += (
            ["prefix part must be non-empty"] if not before else [f"prefix part {one}" for one in subdomain(before)]
        )
    else:
        name = before
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > LONGEST_LABEL:
        found.append(f"name part must be no more than {LONGEST_LABEL} characters")
    return [*found, *_key_name(name)]


def path_segment(text: str) -> Faults:
    """What stands between two slashes of a path."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{one}'" for one in ("/", "%") if one in text]


def key_of_data(text: str) -> Faults:
    """A key of a ConfigMap or a Secret."""
    return [*_key_of_data(text), *_no_way_up(text)]


def variable_name(text: str) -> Faults:
    """The name of an environment variable."""
    found = [] if text else ["environment variable name must be non-empty"]
    if not all(" " <= one <= "~" and one != "=" for one in text):
        found.append("a valid environment variable name must consist only of printable ASCII characters other than '='")
    return found


def _no_way_up(text: str) -> Faults:
    if text in (".", ".."):
        return [f"must not be '{text}'"]
    return ["must not start with '..'"] if text.startswith("..") else NONE


def port_name(text: str) -> Faults:
    """IANA service name."""
    rules = (
        (len(text.encode()) > 15, "must be no more than 15 characters"),
        (
            not re.fullmatch("[-a-z0-9]+", text),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (not re.search("[a-z]", text), "must contain at least one letter (a-z)"),
        ("--" in text, "must not contain consecutive hyphens"),
        (text.startswith("-") or text.endswith("-"), "must not begin or end with a hyphen"),
    )
    return [words for broken, words in rules if broken]


def address(text: str) -> Faults:
    """An IP address. One that Go's older parser took, with leading zeros, is refused, too."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return NONE


def network(text: str) -> Faults:
    """A network in CIDR notation."""
    try:
        good = "/" in text and ipaddress.ip_interface(text) is not None
    except ValueError:
        good = False
    return NONE if good else ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]


def _masked(form: Form) -> Form:
    """The form of a prefix to which more is added: `-` may stand at its end."""

    def of_prefix(text: str) -> Faults:
        return form(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return of_prefix


def no_backsteps(text: str) -> Faults:
    """A path that does not leave its folder."""
    return ["must not contain '..'"] if ".." in text.split("/") else NONE


def relative_path(text: str) -> Faults:
    """A path below a folder."""
    return [*(["must be a relative path"] if text.startswith("/") else ()), *no_backsteps(text)]


def path_inside(text: str) -> Faults:
    """A relative path whose first name is not kept for the agent."""
    kept_name = text.startswith("..") and not text.startswith("../")
    return [*relative_path(text), *(["must not start with '..'"] if kept_name else ())]


def absolute_path(text: str) -> Faults:
    return NONE if text.startswith("/") else ["must be an absolute path"]


def trimmed(text: str) -> Faults:
    return NONE if text == text.strip() else ["must not have leading or trailing whitespace"]


def no_slash(text: str) -> Faults:
    return ["must not contain '/'"] if "/" in text else NONE


_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")


def sysctl(text: str) -> Faults:
    """The name of a parameter of the kernel, with dots or slashes."""
    good = len(text) <= LONGEST_SUBDOMAIN and _SYSCTL.fullmatch(text)
    return NONE if good else [f"must have at most 253 characters and match regex ^{_SYSCTL.pattern}$"]


_IQN = re.compile(r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+", re.ASCII)
_EUI = re.compile("eui.[A-Za-z0-9]{16}")
_NAA = re.compile("naa.[A-Za-z0-9]{32}")
_ISCSI_NAMES = {"iqn": _IQN.fullmatch, "eui": _EUI.fullmatch, "naa": _NAA.fullmatch}


def iscsi_name(text: str) -> Faults:
    """The name of a target or an initiator (RFC 3721)."""
    form = _ISCSI_NAMES.get(text[:3])
    if form is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return NONE if form(text) else ["must be valid format"]


def windows_user(text: str) -> Faults:
    """A user with or without a domain. The domain itself is not looked at."""
    if not text:
        return ["runAsUserName cannot be an empty string"]
    if any(ord(one) < 32 or ord(one) == 127 for one in text):
        return ["runAsUserName cannot contain control characters"]
    if text.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    user = text.rpartition("\\")[2]
    rules = (
        (not user, "runAsUserName's User cannot be empty"),
        (len(user) > 104, "runAsUserName's User length must not be longer than 104 characters"),
        (bool(user) and not user.strip(". "), "runAsUserName's User cannot contain only periods or spaces"),
        (
            bool(set(user) & set('"/\\:;|=,+*?<>@[]')),
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        ),
    )
    return [words for broken, words in rules if broken]


def signer_name(text: str) -> Faults:
    """A name that may have the name of a signer before it, as in `example.com:ca:live`."""
    return subdomain(text.replace(":", "."))


FORMS: Mapping[str, Form] = {
    "subdomain": subdomain,
    "label": label,
    "label-1035": label_1035,
    "wildcard-subdomain": wildcard_subdomain,
    "label-key": label_key,
    "lowered-label-key": lambda text: label_key(text.lower()),
    "label-value": label_value,
    "path-segment": path_segment,
    "signer-name": signer_name,
    "key-of-data": key_of_data,
    "variable-name": variable_name,
    "identifier": identifier,
    "cel-identifier": cel_identifier,
    "port-name": port_name,
    "header-name": header_name,
    "caseless-subdomain": lambda text: subdomain(text.lower()),
    "no-backsteps": no_backsteps,
    "relative-path": relative_path,
    "path-inside": path_inside,
    "absolute-path": absolute_path,
    "trimmed": trimmed,
    "no-slash": no_slash,
    "iscsi-name": iscsi_name,
    "windows-user": windows_user,
    "percent": percent,
    "address": address,
    "network": network,
}
"""The forms by the names that rules use."""
OF_PREFIXES: Mapping[str, Form] = {
    name: form if name == "path-segment" else _masked(form) for name, form in FORMS.items()
}
"""The same forms for the beginning of a name, which is completed later."""
