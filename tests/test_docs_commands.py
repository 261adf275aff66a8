"""Every command that a page names: it exists with these options, and the cheap ones are really run."""

import ast
import itertools
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from typer._click import exceptions
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict
from tcg_core.ops.maintenance import Maintenance
from tcg_core.ops.retention import Retention
from tcg_core.plan.curriculum import Curriculum

PROJECT = Path(__file__).resolve().parents[1]
PAGES = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), PROJECT / "data" / "README.md"])
#: What a word in capitals stands for where a command is parsed.
PLACEHOLDERS = {
    "ARTIFACT": "0123456789abcdef",
    "ARCHIVE": "submission.tar.gz",
    "DATE": "2026-08-03",
    "DEST": "/mnt/backup/tcg",
    "EPISODE": "1",
    "FILE": "leaderboard.csv",
    "KEY": "mode",
    "NAME": "20260803T130000Z",
    "PATH": "data/checkpoints/0123456789abcdef",
    "REASON": "why",
    "RUN": "0123456789abcdef",
    "SIDE": "0",
    "STEP": "1",
    "SUBMISSION": "0123456789abcdef",
    "TEXT": "why",
    "VALUE": "fresh",
}
#: Other programs that blocks of commands may use; what they do is not looked into.
OTHERS = {"git", "journalctl", "launchctl", "loginctl", "mkdir", "pip", "ssh", "systemctl", "unzip"}
_OURS = ("tcg", "make", "python", "python3", "pytest")
_SHOUTED = re.compile(r"\b[A-Z][A-Z_]+\b")
_ROOT = typer.main.get_command(app)


@dataclass(frozen=True)
class Command:
    """One command of a page. words: without variables, comment and the path of the program. whole: printed in a block, to be
    typed as it stands; else only named in a sentence, where what it needs may be left out."""

    page: str
    text: str
    words: tuple[str, ...]
    whole: bool


def commands(page: str, text: str) -> Iterator[Command]:
    """All commands of a page; raises ValueError for a line of a block that is none."""
    prose: list[str] = []
    for block, indented in _blocks(text):
        if not indented:
            prose.append(block)
        elif not block.lstrip().startswith(("{", "server {")):
            yield from (_command(page, line, whole=True) for line in block.splitlines() if line.strip())
    for code in re.findall(r"`([^`\n]+)`", "\n".join(prose)):
        words = _words(code)
        if len(words) > 1 and words[0] in _OURS:
            yield _command(page, code, whole=False)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    text = re.sub(r"^```(?:mermaid)?$.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for indented, lines in _runs(text.splitlines()):
        yield "\n".join(lines), indented


def _runs(lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
    """The lines in groups: indented ones, others, and so on."""
    for indented, group in itertools.groupby(lines, lambda line: line.startswith("    ")):
        yield indented, list(group)


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:
        return []
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    return [words[0].removeprefix(".venv/bin/"), *words[1:]] if words else []


def _command(page: str, text: str, whole: bool) -> Command:
    words = _words(text)
    if not words or words[0] not in (*_OURS, *OTHERS):
        raise ValueError(
            f"{page}: {text.strip()!r} begins with no program that is known here: {', '.join((*_OURS, *sorted(OTHERS)))}"
        )
    return Command(page, text.strip(), tuple(words), whole)


def problem(command: Command) -> str:
    """Why a command would not work, "" if it would."""
    program, *rest = command.words
    if program == "tcg":
        return _problem_of_tcg(rest, command.whole)
    if program == "make":
        targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
        unknown = [word for word in rest if word not in targets]
        return f"make has no target {unknown[0]}" if unknown else ""
    if program in ("python", "python3", "pytest"):
        return _problem_of_python(rest)
    return ""


def _problem_of_tcg(words: list[str], whole: bool) -> str:
    if words == ["--help"]:
        return ""
    command = _ROOT
    path = ["tcg"]
    while words and not words[0].startswith("-") and hasattr(command, "commands"):
        if words[0] not in command.commands:
            return f"{' '.join(path)} has no command {words[0]}"
        command = command.commands[words[0]]
        path.append(words[0])
        words = words[1:]
    unknown = {word for text in words for word in _SHOUTED.findall(re.sub(r"SELECT.*", "", text))} - set(PLACEHOLDERS)
    if unknown:
        return f"no value is known for {', '.join(sorted(unknown))}"
    filled = [_SHOUTED.sub(lambda found: PLACEHOLDERS.get(found[0], found[0]), word) for word in words]
    try:
        command.make_context(" ".join(path), list(filled))
    except exceptions.NoArgsIsHelpError:
        return ""
    except exceptions.MissingParameter as error:
        return f"{' '.join(path)}: {error.format_message()}" if whole else ""
    except exceptions.BadOptionUsage as error:
        named = not whole and filled[-1] == error.option_name
        return "" if named else f"{' '.join(path)}: {error.format_message()}"
    except exceptions.UsageError as error:
        return f"{' '.join(path)}: {error.format_message()}"
    return ""


def _problem_of_python(words: list[str]) -> str:
    """A module or file that is not there, or an option that its text does not know."""
    if words[:1] == ["-m"] and words[1] not in ("slow", "ui"):
        path = PROJECT / (words[1].replace(".", "/") + ".py")
    else:
        named = [word for word in words if "/" in word and not word.startswith("-")]
        path = PROJECT / named[0] if named else PROJECT
    if not path.exists():
        return f"{path.relative_to(PROJECT)} does not exist"
    options = [word.strip("[]") for word in words if word.strip("[").startswith("--")]
    absent = [option for option in options if path.is_file() and f'"{option}"' not in path.read_text()]
    return f"{path.name} knows no option {absent[0]}" if absent else ""


def _tour() -> list[str]:
    """The commands that `tcg --help` names."""
    return re.findall(r"`(tcg [^`]+)`", _ROOT.help or "")


ALL = [
    *(command for page in PAGES for command in commands(page.name, page.read_text(encoding="utf-8"))),
    *(_command("tcg --help", line, whole=True) for line in _tour()),
]


def test_the_pages_name_many_commands() -> None:
    assert len(ALL) > 100 and {command.words[0] for command in ALL} >= {"tcg", "make", "python"}


@pytest.mark.parametrize("command", ALL, ids=lambda command: f"{command.page}: {command.text}"[:90])
def test_a_command_of_a_page_exists_with_its_options(command: Command) -> None:
    assert problem(command) == "", f"{command.page}: {command.text}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tcg dya ls", "tcg has no command dya"),
        ("tcg day lst", "tcg day has no command lst"),
        ("tcg backup DEST --kep 14", "--kep"),
        ("tcg backup --keep 14", "Missing argument"),
        ("tcg day exclude DATE", "--reason"),
        ("tcg day ls extra", "extra"),
        ("tcg service print upstart", "upstart"),
        ("tcg train --epochs many", "many"),
        ("tcg day build THURSDAY", "THURSDAY"),
        ("make demos", "demos"),
        ("python -m bench.days", "bench/days.py does not exist"),
        ("python -m bench.day --episode 300", "--episode"),
        ("python docs/generat.py", "does not exist"),
        ("pytest -m slow tests/seson", "does not exist"),
    ],
)
def test_a_mistyped_command_is_found(line: str, expected: str) -> None:
    found = [problem(command) for command in commands("page.md", f"Text.\n\n    {line}\n\nMore.\n")]
    assert len(found) == 1 and expected in found[0]


def test_a_mistyped_program_is_found() -> None:
    with pytest.raises(ValueError, match="tgc day ls"):
        list(commands("page.md", "Text.\n\n    tgc day ls\n"))


def test_a_command_within_a_sentence_may_leave_out_what_it_needs_but_nothing_is_mistyped_there() -> None:
    good, bad = commands("page.md", "Use `tcg train --budget-hours` or `tcg train --budgt-hours`.")
    assert problem(good) == "" and "--budgt-hours" in problem(bad)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_configuration_that_a_page_prints_is_accepted(page: Path) -> None:
    for block, indented in _blocks(page.read_text(encoding="utf-8")):
        if indented and block.lstrip().startswith("{"):
            refusals = [refused for kind in (Maintenance, Retention, Curriculum) if (refused := _refused(kind, block))]
            assert len(refusals) == 2, f"{page.name}: {block}: {refusals}"


def _refused(kind: type, block: str) -> str:
    try:
        from_dict(kind, json.loads(block))
    except ConfigError as error:
        return str(error)
    return ""


#: Printed on a page and cheap: run in this order in one home with one validated day.
CHEAP = (
    "tcg --help",
    "tcg doctor",
    "tcg status",
    "tcg day ls",
    "tcg day record --date 2026-09-01 --episodes 4",
    "tcg day build 2026-09-01",
    "tcg play heuristic random",
    "tcg cards build",
    "tcg plan build --all-days",
    "tcg plan show",
    'tcg day exclude 2026-08-03 --reason "two teams played with a broken engine"',
    "tcg day restore 2026-08-03",
    "tcg day verify DATE",
    "tcg upgrade",
    "tcg upgrade --apply",
    "tcg day prove --all",
    "tcg lineage --day 2026-08-03",
    "tcg catalog ratings",
    "tcg catalog ratings import leaderboard.csv --as-of 2026-08-04",
    'tcg sql "SELECT day, module_version, count(*) FROM episodes GROUP BY ALL ORDER BY day"',
    "tcg nightly set KEY VALUE",
    "tcg nightly show",
    "tcg nightly tonight",
    "tcg alert test",
    "tcg alert ls",
    "tcg service print systemd --to ~/.config/systemd/user",
    "tcg service print launchd --to ~/Library/LaunchAgents",
    "tcg gc",
    "tcg backup /mnt/backup/tcg --keep 14",
    "tcg backup /mnt/backup/tcg --check",
    "TCG_DATA=/srv/new tcg restore /mnt/backup/tcg",
    "TCG_DATA=/srv/new tcg catalog verify",
)


def test_the_cheap_commands_work_as_they_are_printed(
    real_day: tuple[Home, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, day = real_day
    monkeypatch.chdir(tmp_path)
    Path("leaderboard.csv").write_text("TeamName,Score\nsomebody,600\n")
    printed = {" ".join(command.text.split("#")[0].split()).removeprefix(".venv/bin/") for command in ALL}
    for line in CHEAP:
        assert line in printed, f"no page prints {line}"
        monkeypatch.setenv("TCG_DATA", str(tmp_path / "new") if line.startswith("TCG_DATA=") else str(home.root))
        words = [_here(word, day, tmp_path) for word in _words(line)[1:]]
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, f"{line}: {done.output}"


def _here(word: str, day: str, folder: Path) -> str:
    """A word of a command with this test's day and directories in the place of those on the page."""
    word = word.replace("2026-08-03", day).replace("/mnt/backup", str(folder)).replace("~", str(folder))
    return {"DATE": day, "KEY": "mode", "VALUE": "fresh"}.get(word, word)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_tour_of_the_help_works_as_it_is_printed(home: Home) -> None:
    tour = [line for line in _tour() if line not in ("tcg demo", "tcg ui")]
    assert len(tour) > 7
    for line in tour:
        command = [sys.executable, "-c", "from tcg_assets.cli.main import main; main()", *_words(line)[1:]]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=1800)
        assert done.returncode == 0, f"{line}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert list(home.tournaments.glob("*/report.html"))


def _texts(path: Path) -> Iterator[str]:
    """All texts of a source file, docstrings too; what is filled in while it runs stands as RUN."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "RUN" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


SOURCES = sorted(path for room in ("tcg_core", "tcg_assets") for path in PROJECT.glob(f"{room}/**/*.py"))


def test_every_command_that_a_message_or_a_docstring_names_exists() -> None:
    named = set()
    for path in SOURCES:
        texts = "\n".join(re.sub(r"\{\w*\}", "DATE", text) for text in _texts(path)).replace("``", "`")
        named |= {(str(path.relative_to(PROJECT)), line) for line in re.findall(r"`(tcg [a-z][^`\n]*)`", texts)}
    assert len(named) > 50
    found = [f"{where}: {line}: {said}" for where, line in sorted(named) if (said := problem(_command(where, line, whole=False)))]
    assert not found, "\n".join(found)
