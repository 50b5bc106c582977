"""`cear demo`: the whole way on the embedded knowledge base."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cear.cli.console import console, progress_bar
