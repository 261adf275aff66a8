import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tcg_assets.cli.demo import RECIPE
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict
from tcg_core.recipe import Recipe, Selection

PROJECT = Path(__file__).resolve().parents[1]
PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])


def test_the_data_contract_page_is_what_the_schema_says() -> None:
    spec = importlib.util.spec_from_file_location("generate", PROJECT / "docs" / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (PROJECT / "docs" / "data_contract.md").read_text() == module.render(), "run: python docs/generate.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_every_named_file_exists(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for target in re.findall(r"`((?:tcg_core|tcg_assets|tests|bench|docs)/[\w/.-]+\.\w+)`", text):
        assert (PROJECT / target).exists(), f"{page.name} names {target}"


def test_the_page_of_the_data_home_lists_every_place_in_it() -> None:
    text, home = (PROJECT / "data" / "README.md").read_text(), Home(Path("data").resolve())
    places = [getattr(home, name) for name, value in vars(Home).items() if isinstance(value, property)]
    assert len(places) > 20
    for place in places:
        assert re.search(rf"`{re.escape(str(place.relative_to(home.root)))}[`/]", text), f"data/README.md lacks {place}"


def test_the_first_recipe_is_that_of_the_demo() -> None:
    values = json.loads((PROJECT / "docs" / "first_recipe.json").read_text())
    assert from_dict(Recipe, values) == replace(RECIPE, selection=Selection(all_days=True))


#: Texts of the operating system and of SQLite, as a person sees them.
FOREIGN = {"No space left on device", "database is locked"}


def test_every_message_that_the_page_of_troubles_explains_is_one_that_the_code_can_print() -> None:
    sources = "\n".join(path.read_text() for room in ("tcg_core", "tcg_assets") for path in PROJECT.glob(f"{room}/**/*.py"))
    lines = (PROJECT / "docs" / "operations" / "trouble.md").read_text().splitlines()
    seen = [text for line in lines if line.startswith("| ") for text in re.findall(r"`([^`]+)`", line.split("|")[1])]
    assert len(seen) > 10
    for text in seen:
        words = re.sub(r"\d+", ".*", re.escape(text))
        assert text in FOREIGN or text.startswith("tcg ") or re.search(words, sources), f"no message says {text!r}"


def test_the_page_of_nights_lists_everything_that_starts_by_itself_and_whether_it_is_on() -> None:
    from tcg_assets.definitions import defs

    lines = (PROJECT / "docs" / "operations" / "nights.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    listed = {name: row[2] for row in rows if len(row) == 4 for name in re.findall(r"`(\w+)`", row[0])}
    for each in (*(defs.sensors or ()), *(defs.schedules or ())):
        on = "yes" if each.default_status.value == "RUNNING" else "no"
        assert listed.get(each.name) == on, f"nights.md says of {each.name}: {listed.get(each.name)}"
