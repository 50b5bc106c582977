"""Published files fetched and checked. Only called when the user asks for it."""

from __future__ import annotations

import hashlib
import logging
import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from cear.core.errors import DataError
from cear.data.named import Published

log = logging.getLogger("cear.data")

TIMEOUT_SECONDS = 60


def download(files: tuple[Published, ...], folder: Path) -> None:
    """Fetch all files into a new folder; it is there with every file checked, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        whole = partial / folder.name  # an ordinary folder: mkdtemp's own is private to the user
        whole.mkdir()
        for file in files:
            (whole / file.name).write_bytes(_checked(file, _fetched(file)))
        if not folder.is_dir():  # somebody else may have been faster
            whole.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _fetched(file: Published) -> bytes:
    log.info("Fetching %s", file.address)
    try:
        with urllib.request.urlopen(file.address, timeout=TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise DataError(
            f"{file.address} could not be fetched ({error}). Is this machine online? You can also put the "
            f"file into a folder yourself and set CEAR_DATA."
        ) from error
    return content


def _checked(file: Published, content: bytes) -> bytes:
    """The content with bare line feeds, if its sum is the published one."""
    text = content.replace(b"\r\n", b"\n")
    found = hashlib.sha256(text).hexdigest()
    if found != file.sha256:
        raise DataError(
            f"{file.address} is not the file that we know: its SHA-256 is {found}, expected {file.sha256}. "
            f"Nothing was kept. If the publisher has changed it, use a copy of the old file with CEAR_DATA."
        )
    return text
