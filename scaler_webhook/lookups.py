"""Fresh reads that a verdict rests on: never from a cache, and "absent" only when the API server says so by name."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from scaler_core.admission.verdict import Absent, Found, Lookup, NeedsLookup, Unread
from scaler_core.api.meta import ObjectKey
from scaler_kube import errors
from scaler_kube.resources import Resource
from scaler_kube.transport import Document


class Reader(Protocol):
    """The part of the client that is used here."""

    async def get(self, resource: Resource, key: ObjectKey) -> Document:
        """Read one object."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """Reads of scalers and targets."""

    reader: Reader
    resources: Mapping[str, Resource]
    """Kind to where it is kept."""
    timeout_seconds: float

    async def read(self, need: NeedsLookup) -> Lookup:
        """Read what a verdict needs; a failure is a value, too."""
        try:
            async with asyncio.timeout(self.timeout_seconds):
                document = await self.reader.get(self.resources[need.kind], ObjectKey(need.namespace, need.name))
        except errors.NotFoundError as error:
            if error.is_absent(need.name):
                return Absent()
            return Unread(reason="404 that does not name it")
        except errors.KubeError as error:
            return Unread(reason=str(error.code) if error.code else error.message)
        except TimeoutError:
            return Unread(reason=f"timeout after {self.timeout_seconds:g} s")
        except ValueError:
            return Unread(reason="its name cannot stand in an address")
        return Found(document=document)
