"""`python -m tests.ui.pictures URL [NAME ...]`: takes the README's pictures of a served demo home into docs/images."""

import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST_BYTES = 200_000
_SETTLES_MS = 4000


def graph(page: Any, url: str) -> None:
    """The whole asset graph, from the archive of a day to the champion."""
    page.goto(f"{url}/assets/champion?view=lineage&lineageScope=upstream&lineageDepth=20")
    page.get_by_text("day_archive", exact=True).first.wait_for()


def checkpoint(page: Any, url: str) -> None:
    """The latest checkpoint with its curves."""
    page.goto(f"{url}/assets/mlx_checkpoint?view=overview")
    page.get_by_text("plot_curves", exact=True).first.wait_for()
    page.get_by_text("plot_curves", exact=True).first.scroll_into_view_if_needed()
    show = page.get_by_text("Show Markdown").last
    if show.is_visible():
        show.click()


def failed_check(page: Any, url: str) -> None:
    """A check that failed and blocked; the home needs a bad day as its newest (see tests/ui/live.py for one)."""
    page.goto(f"{url}/assets/staged_day?view=checks")
    page.get_by_text("quarantine_fraction").first.click()
    page.get_by_text("Failed").first.wait_for()


PICTURES: dict[str, Callable[[Any, str], None]] = {"graph": graph, "checkpoint": checkpoint, "failed_check": failed_check}


def main() -> None:
    """Takes the named pictures, or all, from the URL that is given."""
    from playwright.sync_api import sync_playwright

    url, wanted = sys.argv[1].rstrip("/"), sys.argv[2:] or list(PICTURES)
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as profile:
        browser = driver.chromium.launch_persistent_context(
            profile,
            executable_path=shutil.which("chromium"),
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            viewport={"width": 1800, "height": 900},
        )
        page = browser.new_page()
        for name in wanted:
            PICTURES[name](page, url)
            page.wait_for_timeout(_SETTLES_MS)
            keep(name, page.screenshot())
        browser.close()


def keep(name: str, picture: bytes) -> Path:
    """Writes docs/images/NAME.png in few colours; raises if it is too large for a repository."""
    small = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(128).save(small, "PNG", optimize=True)
    if len(small.getvalue()) > MOST_BYTES:
        raise ValueError(f"{name}.png has {len(small.getvalue())} bytes, the most is {MOST_BYTES}")
    IMAGES.mkdir(parents=True, exist_ok=True)
    path = IMAGES / f"{name}.png"
    path.write_bytes(small.getvalue())
    return path


if __name__ == "__main__":
    main()
