"""Type-check the Python of the README as a user's own file, strictly, against the installed package.

python scripts/check_snippets.py
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def main() -> None:
    """Write the snippets into one file, in their order, and let mypy read it."""
    snippets = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    if not snippets:
        raise SystemExit(f"{README.name} has no Python: nothing was checked.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "snippets.py"
        file.write_text("\n".join(snippets), encoding="utf-8")
        check = ["mypy", "--strict", "--config-file", "", "--follow-imports", "silent", str(file)]
        raise SystemExit(subprocess.run([sys.executable, "-m", *check], check=False).returncode)


if __name__ == "__main__":
    main()
