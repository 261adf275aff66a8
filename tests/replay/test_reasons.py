"""The page that people read names every reason of a quarantine, every caveat and every rule of exclusion."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/operations/days.md").read_text(encoding="utf-8")
SOURCES = [path for room in ("replay", "days") for path in sorted((ROOT / "tcg_core" / room).rglob("*.py"))]


def section(title: str) -> set[str]:
    """The first column of the section's tables."""
    text = PAGE.split(f"### {title}\n", 1)[1].split("\n##", 1)[0]
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))


def found(pattern: str) -> set[str]:
    return {name for path in SOURCES for name in re.findall(pattern, path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    ("title", "pattern", "beside"),
    [
        ("Why an episode is quarantined", r'(?:Quarantine\(|_quarantined\(member, )\s*"(\w+)"', {"internal: ERROR"}),
        ("Caveats", r'caveats\["(\w+)"\]', set()),
    ],
)
def test_the_page_names_all_of_them_and_no_others(title: str, pattern: str, beside: set[str]) -> None:
    names = found(pattern)
    assert len(names) >= 5
    assert section(title) == names | beside


def test_the_page_names_the_rules_of_exclusion() -> None:
    assert section("Why a game is excluded") == {"draw", "unfinished", "aborted", "illegal_deck"}
    sources = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert all(f'"{rule}"' in sources for rule in section("Why a game is excluded"))
