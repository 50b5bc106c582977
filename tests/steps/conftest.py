"""S3 on the loopback interface, with a proxy before it that makes requests fail."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Callable, Iterator
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest

from cear.core.context import HERE
from cear.steps import Address, Patience, Store

PROXY = Path(__file__).parents[2] / "benchmarks" / "faults" / "__init__.py"
PATIENCE = Patience(tries=5, seconds=1.0, pause=0.01, lease=0.9)


def _module(path: Path) -> ModuleType:
    name = f"benchmarks_{path.parent.name}"
    spec = util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


proxying = _module(PROXY)


@pytest.fixture(scope="session")
def _proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    urllib.request.urlopen(urllib.request.Request(f"http://{host}:{port}/bucket", method="PUT"))
    nothing = tmp_path_factory.mktemp("aws") / "nothing"
    values = {"AWS_ACCESS_KEY_ID": "fake", "AWS_SECRET_ACCESS_KEY": "fake", "AWS_DEFAULT_REGION": "us-east-1"}
    values |= {"AWS_CONFIG_FILE": str(nothing), "AWS_SHARED_CREDENTIALS_FILE": str(nothing)}
    with pytest.MonkeyPatch.context() as patch, proxying.proxied(f"http://{host}:{port}") as proxy:
        for name, value in {**values, "AWS_ENDPOINT_URL": proxy.address}.items():
            patch.setenv(name, value)
        yield proxy
    server.stop()


@pytest.fixture
def proxy(_proxy: Any) -> Iterator[Any]:
    """What stands before S3: `faults` says what goes wrong, and `counts` what went."""
    _proxy.faults, _proxy.counts = proxying.Faults(), type(_proxy.counts)()
    yield _proxy
    _proxy.faults = proxying.Faults()


@pytest.fixture
def faults() -> Any:
    """Makes shares of faults."""
    return proxying.Faults


@pytest.fixture
def s3(proxy: Any) -> Address:
    """An address on S3 that nobody else uses."""
    del proxy
    return Address(f"s3://bucket/{uuid4().hex}", PATIENCE)


@pytest.fixture
def on_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Store]:
    """Opens a store as a machine with a cache of its own does."""

    def opened(name: str, home: Address | Path | str, **others: Any) -> Store:
        monkeypatch.setenv("CEAR_CACHE", str(tmp_path / name))
        return Store(home, context=HERE, **others)

    return opened
