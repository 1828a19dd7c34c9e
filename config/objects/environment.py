"""Where the environment of a container comes from."""

from __future__ import annotations

from config.objects.base import ApiStruct, Quantity, written


class ConfigMapKeySelector(ApiStruct, frozen=True):
    """core/v1 ConfigMapKeySelector."""

    key: str = written("")
    name: str | None = None
    optional: bool | None = None


class SecretKeySelector(ApiStruct, frozen=True):
    """core/v1 SecretKeySelector."""

    key: str = written("")
    name: str | None = None
    optional: bool | None = None


class ObjectFieldSelector(ApiStruct, frozen=True):
    """core/v1 ObjectFieldSelector."""

    api_version: str | None = None
    field_path: str = written("")


class ResourceFieldSelector(ApiStruct, frozen=True):
    """core/v1 ResourceFieldSelector."""

    container_name: str | None = None
    divisor: Quantity | None = None
    resource: str = written("")


class FileKeySelector(ApiStruct, frozen=True):
    """core/v1 FileKeySelector."""

    key: str = written("")
    optional: bool | None = None
    path: str = written("")
    volume_name: str = written("")


class EnvVarSource(ApiStruct, frozen=True):
    """core/v1 EnvVarSource."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None


class EnvVar(ApiStruct, frozen=True):
    """core/v1 EnvVar."""

    name: str = written("")
    value: str = ""
    value_from: EnvVarSource | None = None


class ConfigMapEnvSource(ApiStruct, frozen=True):
    """core/v1 ConfigMapEnvSource."""

    name: str | None = None
    optional: bool | None = None


class SecretEnvSource(ApiStruct, frozen=True):
    """core/v1 SecretEnvSource."""

    name: str | None = None
    optional: bool | None = None


class EnvFromSource(ApiStruct, frozen=True):
    """core/v1 EnvFromSource."""

    config_map_ref: ConfigMapEnvSource | None = None
    prefix: str | None = None
    secret_ref: SecretEnvSource | None = None
