"""Where an archive lies: a folder that the driver and all workers share, or an object store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

_S3: Final = ("s3", "s3a")
SCHEMES: Final = (*_S3, "abfs", "abfss", "gs")
ATTEMPTS: Final = 8
"How often a request to S3 is made before it fails."


@dataclass(frozen=True, slots=True)
class DataFolder:
    """A folder, by its absolute path or by the URI of an object store."""

    uri: str

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> DataFolder:
        return DataFolder(f"{self.uri.rstrip('/')}/{name}")

    @property
    def is_local(self) -> bool:
        """It is a folder of this computer, or one that is mounted here."""
        return "://" not in self.uri

    @property
    def path(self) -> Path:
        """The path of a folder."""
        assert self.is_local, self.uri
        return Path(self.uri)

    @property
    def full(self) -> str:
        """As Iceberg names places: nothing in it is escaped."""
        return f"file://{self.uri}" if self.is_local else self.uri

    def filesystem(self) -> tuple[FileSystem, str]:
        """What reads and writes there, and the path that it has for this folder.

        Credentials come from where the tools of the object store have them: the environment, a
        profile, the identity of the machine.
        """
        from pyarrow import fs

        if self.is_local:
            return fs.LocalFileSystem(), self.uri
        scheme, _, rest = self.uri.partition("://")
        if scheme not in _S3:
            found: tuple[FileSystem, str] = fs.FileSystem.from_uri(self.uri)
            return found
        retry = fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS)
        given = {"endpoint_override": endpoint(), "region": region()}
        options = {name: value for name, value in given.items() if value}
        return fs.S3FileSystem(retry_strategy=retry, **options), rest


def endpoint() -> str:
    """The address of an S3 API that is not Amazon's."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def region() -> str:
    """The region of the buckets, if the environment names it."""
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION", "")
