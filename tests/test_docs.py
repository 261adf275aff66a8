import importlib.util
import re
from pathlib import Path

import pytest

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
