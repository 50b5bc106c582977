"""The page: plain files, sent as they are."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, HTTPException
from fastapi.responses import FileResponse

PAGE = Path(__file__).parents[1] / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

router = APIRouter(include_in_schema=False)


@router.get("/")
def index() -> FileResponse:
    """The page."""
    return _file(PAGE / "index.html")


@router.get("/static/{name}")
def static(name: str) -> FileResponse:
    """A file that the page is made of."""
    found = next((path for path in PAGE.iterdir() if path.name == name and path.suffix in TYPES), None)
    if found is None:
        raise HTTPException(404, "There is no such file.")
    return _file(found)


def _file(path: Path) -> FileResponse:
    # Browsers keep it, and ask whether it is still the same.
    return FileResponse(path, media_type=TYPES[path.suffix], headers={"Cache-Control": "no-cache"})
