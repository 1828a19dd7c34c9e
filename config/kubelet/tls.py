"""Rules of the serving certificate and its handshake (spec 17.2)."""

from collections.abc import Iterator

from config.documents.codec import DocumentError
from config.kubelet.configuration import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates

SECURE_CIPHERS = frozenset(
    {
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
        "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    }
)
INSECURE_CIPHERS = frozenset(
    {
        "TLS_RSA_WITH_RC4_128_SHA",
        "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA",
        "TLS_RSA_WITH_AES_256_CBC_SHA",
        "TLS_RSA_WITH_AES_128_CBC_SHA256",
        "TLS_RSA_WITH_AES_128_GCM_SHA256",
        "TLS_RSA_WITH_AES_256_GCM_SHA384",
        "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
        "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
        "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    }
)
TLS_13_CIPHERS = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})

# IANA numbers of the groups Go offers: P-256, P-384, P-521, X25519, and the three hybrids with ML-KEM.
CURVES = frozenset({23, 24, 25, 29, 4587, 4588, 4589})


CHOSEN_CURVES = {23: "prime256v1", 24: "secp384r1", 25: "secp521r1"}
"""Curves that a server can choose, by their names in OpenSSL.

Python's ssl takes one of them, and no list.
"""


def chosen_curve(preferences: tuple[int, ...]) -> str:
    """OpenSSL's name of the curve for handshakes: the first one in the configuration that Python can set.

    Empty when the configuration names none: OpenSSL's own choice applies.
    """
    return next((CHOSEN_CURVES[each] for each in preferences if each in CHOSEN_CURVES), "")


def tls_faults(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    """Faults: unknown ciphers and curves, half a key pair, and bootstrap without its gate."""
    for index, name in enumerate(configuration.tls_cipher_suites):
        where = f"$.tlsCipherSuites[{index}]"
        if name in TLS_13_CIPHERS:
            yield DocumentError(where, f"{name} is of TLS 1.3, whose ciphers cannot be chosen", "remove it")
        elif name not in SECURE_CIPHERS | INSECURE_CIPHERS:
            yield DocumentError(where, f"unknown cipher {name!r}", f"use for example {min(SECURE_CIPHERS)}")
    for index, number in enumerate(configuration.tls_curve_preferences):
        if number not in CURVES:
            known = ", ".join(map(str, sorted(CURVES)))
            yield DocumentError(f"$.tlsCurvePreferences[{index}]", f"unknown curve {number}", f"use one of {known}")
    preferences = configuration.tls_curve_preferences
    if preferences and CURVES.issuperset(preferences) and not chosen_curve(preferences):
        reason = "none of them can be chosen here: Python's ssl takes P-256 (23), P-384 (24) or P-521 (25)"
        yield DocumentError("$.tlsCurvePreferences", reason, "add one of those, or remove the field")
    if bool(configuration.tls_cert_file) != bool(configuration.tls_private_key_file):
        missing = "tlsCertFile" if configuration.tls_private_key_file else "tlsPrivateKeyFile"
        yield DocumentError(f"$.{missing}", "is missing beside its other half", "give both, or neither")
    if configuration.server_tls_bootstrap and not gates.enabled("RotateKubeletServerCertificate"):
        hint = "set featureGates.RotateKubeletServerCertificate: true"
        yield DocumentError("$.serverTLSBootstrap", "needs the feature gate RotateKubeletServerCertificate", hint)


def tls_warnings(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    preferences = configuration.tls_curve_preferences
    if len(preferences) > 1 and (chosen := chosen_curve(preferences)):
        reason = f"handshakes use one curve only, {chosen}: Python's ssl takes no list"
        yield DocumentError("$.tlsCurvePreferences", reason, "write that one alone")
    for index, name in enumerate(configuration.tls_cipher_suites):
        if name in INSECURE_CIPHERS:
            yield DocumentError(f"$.tlsCipherSuites[{index}]", f"{name} is weak", "remove it")
