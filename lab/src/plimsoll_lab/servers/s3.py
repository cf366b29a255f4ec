"""
Run a throwaway S3 (S3Proxy) over a folder, from the jar of the server store.

Rule 1: its port is on loopback, and requests are signed with a random key.
Rule 2: the rules of `server.py` apply.
"""

import base64
import hashlib
import hmac
import secrets
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.request import Request

from plimsoll_lab.servers.java import HEAP_MB
from plimsoll_lab.servers.package import S3
from plimsoll_lab.servers.server import answers, free_ports
from plimsoll_lab.servers.store import ServerStore
from plimsoll_lab.servers.stored import JavaServer

# S3Proxy takes any; clients must name one.
REGION = "us-east-1"


class S3Store(JavaServer):
    """Run an S3 store of our own while the `with` block lasts; objects are files of a folder."""

    kind = "s3"
    title = S3.title
    package = S3

    def __init__(
        self,
        *,
        data_directory: Path | None = None,
        store: ServerStore | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """Find Java and the jar, as `StoredServer` does; buckets are folders of the data."""
        super().__init__(data_directory=data_directory, store=store, also_remove=also_remove)
        self.key, self.secret = secrets.token_hex(10), secrets.token_urlsafe(30)

    @property
    def environment(self) -> dict[str, str]:
        """Return variables with which AWS clients use it."""
        return {
            "AWS_ENDPOINT_URL_S3": self.address,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_DEFAULT_REGION": REGION,
        }

    def _job(self) -> dict[str, Any]:
        (self.port,) = free_ports(1)
        temporary = self._own_folder(None, "temporary")
        data = self._own_folder(self._given_data, "data")
        settings = {
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.endpoint": self.address,
            "s3proxy.identity": self.key,
            "s3proxy.credential": self.secret,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(data),
        }
        properties = self._write("s3proxy.conf", "".join(f"{name}={value}\n" for name, value in settings.items()))
        jar = next((self._home / "lib").glob("*.jar"))
        return self._ended_by_signals(
            [
                *(str(self._java / "bin/java"), f"-Xmx{HEAP_MB}m", f"-Djava.io.tmpdir={temporary}"),
                *("-jar", str(jar), "--properties", str(properties)),
            ]
        )

    def _takes_connections(self) -> bool:
        """Return whether it answers a signed request for the list of buckets."""
        date = formatdate(usegmt=True)
        # Signature version 2, which is one line (Amazon S3, "Signing and authenticating REST requests").
        text = f"GET\n\n\n{date}\n/"
        signed = hmac.new(self.secret.encode(), text.encode(), hashlib.sha1).digest()
        key = f"AWS {self.key}:{base64.b64encode(signed).decode()}"
        return answers(
            Request(f"{self.address}/", headers={"Date": date, "Authorization": key})  # noqa: S310
        )
