"""The programs of `--image-credential-provider-config` (spec 6.3).

They are read before the start; the node runs them.
"""

from __future__ import annotations

import os

from config.credentials.image_providers import GATE
from config.documents.codec import DocumentError
from config.start_configuration import ConfigurationRejected, StartConfiguration
from runtime.image_providers.config_files import ProviderConfig, read_provider_config
from runtime.image_providers.programs import LocalImageProviders
from runtime.io.event_loop import LoopThread
from runtime.metrics.kubelet import CREDENTIAL_PROVIDER_CONFIG
from runtime.metrics.meters import Meters


def provider_config(start: StartConfiguration) -> ProviderConfig | None:
    """The credential programs; None: the flags name none. Raises ConfigurationRejected with every fault."""
    node = start.node
    if not node.image_credential_provider_config:
        return None
    directory = os.path.abspath(node.image_credential_provider_bin_dir)
    try:
        return read_provider_config(node.image_credential_provider_config, directory, tokens=start.gates.enabled(GATE))
    except DocumentError as error:
        raise ConfigurationRejected(error.faults) from None


def image_providers(
    config: ProviderConfig | None, start: StartConfiguration, loop: LoopThread, meters: Meters
) -> LocalImageProviders | None:
    if config is None:
        return None
    meters.put(CREDENTIAL_PROVIDER_CONFIG, 1, config.digest)
    directory = os.path.abspath(start.node.image_credential_provider_bin_dir)
    return LocalImageProviders(config.providers, directory, loop, meters)
