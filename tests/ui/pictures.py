"""`python -m tests.ui.pictures URL [NAME ...]`: takes the pictures of README and docs into docs/images.

URL serves a home after `make demo`, with the code of this checkout: a page that says "Unsynced" is refused. The pictures of a
check that failed and of a day whose encoder changed come from a copy of the project that is made, broken and edited here.
Paths of the data home are shown as `data/...`.
"""

import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from tests.ui.tree import Tree, copy_project

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST_BYTES = 200_000
_SETTLES_MS = 4000
_GOOD, _BAD = "2026-08-01", "2026-08-02"
#: Homes lie anywhere; what is below them is the same everywhere.
_NEUTRAL = r"""() => {
    const below = "archives|days|staging|plans|checkpoints|artifacts|submissions|tournaments|cards|ratings|drift|catalog";
    const path = new RegExp(`/[^\\s"]*?/((?:${below})[/.])`, "g");
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) walk.currentNode.nodeValue = walk.currentNode.nodeValue.replace(path, "data/$1");
}"""
_BUILD = f"""
import zipfile
from tcg_assets.sync.instance import open_instance
from tcg_assets.automation.launch import run_day
from tcg_core.base.home import Home
from tcg_core.replay.record_day import record_day

home = Home.resolve()
with open_instance(home) as instance:
    for day in ({_GOOD!r}, {_BAD!r}):
        path = record_day(home, day, 4, ("random", "random"))
        if day == {_BAD!r}:
            with zipfile.ZipFile(path) as archive:
                members = {{name: archive.read(name) for name in archive.namelist()}}
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                for name, data in members.items():
                    archive.writestr(name, data[: len(data) // 2])
        assert run_day(instance, home, day).success == (day != {_BAD!r})
"""


class NotFresh(RuntimeError):
    """The served home was made by other code than serves it."""


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


def submission(page: Any, url: str) -> None:
    """What became of the latest submission: results with their intervals, whether it reigns and why."""
    page.goto(f"{url}/assets/submission?view=events")
    page.get_by_text("results_of", exact=True).first.wait_for()


def day(page: Any, url: str) -> None:
    """A promoted day with what was built from it."""
    page.goto(f"{url}/assets/parquet_day?view=partitions&partition={_GOOD}")
    page.get_by_text("built_from_it", exact=True).first.wait_for()


def failed_check(page: Any, url: str) -> None:
    """A check that failed and blocked."""
    page.goto(f"{url}/assets/staged_day?view=checks")
    page.get_by_text("quarantine_fraction").first.click()
    page.get_by_text("Failed").first.wait_for()


def stale(page: Any, url: str) -> None:
    """A day that another encoder built, with the reason."""
    page.goto(f"{url}/assets/parquet_day?view=partitions&partition={_GOOD}")
    page.get_by_text("Unsynced").first.wait_for()
    page.get_by_text("Unsynced").first.hover()


Picture = Callable[[Any, str], None]
#: Of the demo's home, and of the copy before and after its encoder is edited.
PICTURES: dict[str, Picture] = {"graph": graph, "checkpoint": checkpoint, "submission": submission, "day": day}
BROKEN: dict[str, Picture] = {"failed_check": failed_check}
EDITED: dict[str, Picture] = {"stale": stale}


def main() -> None:
    """Takes the named pictures, or all, from the URL that is given."""
    from playwright.sync_api import sync_playwright

    url, wanted = sys.argv[1].rstrip("/"), set(sys.argv[2:] or {**PICTURES, **BROKEN, **EDITED})
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as scratch:
        browser = driver.chromium.launch_persistent_context(
            f"{scratch}/profile",
            executable_path=shutil.which("chromium"),
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            viewport={"width": 1800, "height": 900},
        )
        page = browser.new_page()
        take(page, url, PICTURES, wanted)
        if wanted & ({*BROKEN} | {*EDITED}):
            of_a_copy(page, copy_project(Path(scratch)), wanted)
        browser.close()


def of_a_copy(page: Any, tree: Tree, wanted: set[str]) -> None:
    """The pictures for which something must be broken or edited."""
    tree.run("-c", _BUILD)
    try:
        tree.start()
        take(page, tree.served.url, BROKEN, wanted)
        tree.append("tcg_core/encode/encoder.py", "\n# edited\n")
        tree.reload()
        take(page, tree.served.url, EDITED, wanted, fresh=False)
    finally:
        tree.stop()


def take(page: Any, url: str, pictures: dict[str, Picture], wanted: set[str], fresh: bool = True) -> None:
    """Takes those of ``pictures`` that are wanted; raises :class:`NotFresh` for a page that is unsynced and should not be."""
    for name, picture in pictures.items():
        if name in wanted:
            picture(page, url)
            page.wait_for_timeout(_SETTLES_MS)
            if fresh and page.get_by_text("Unsynced").count():
                raise NotFresh(f"{name}: {page.url} says Unsynced: run `make demo` again with the code that serves it")
            page.evaluate(_NEUTRAL)
            keep(name, page.screenshot())


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
