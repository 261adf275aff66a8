"""Decisions of really recorded games, explained: against the replay itself, and against a network played by hand."""

import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.home import Home
from tcg_core.days.take import take_archive
from tcg_core.encode.collate import collate
from tcg_core.encode.columns import Columns
from tcg_core.encode.encoder import EncodedDecision
from tcg_core.encode.observation import from_dict
from tcg_core.encode.schema import SCHEMA
from tcg_core.encode.tracker import Tracker
from tcg_core.engine.cards import cards_by_id
from tcg_core.engine.errors import EngineMissing
from tcg_core.explain.decision import ExplainError, explain
from tcg_core.explain.options import CONTEXTS
from tcg_core.explain.policy import load_policy
from tcg_core.explain.words import Names
from tcg_core.model.torch_net import as_torch
from tcg_core.replay.record_day import record_day
from tests.submission.random_artifact import random_artifact

DAY = "2026-08-01"
GOLDEN = Path(__file__).parents[1] / "golden"
FEATURES = [stream.name for stream in SCHEMA.of_role("feature")]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with one taken archive of three games and an artifact of random weights."""
    home = Home(tmp_path_factory.mktemp("explain") / "data").prepare()
    record_day(home, DAY, 3)
    assert take_archive(home, DAY).passed
    return home


@pytest.fixture(scope="module")
def artifact(recorded: Home) -> str:
    return random_artifact(recorded)


def replay(home: Home) -> tuple[int, dict]:
    """(episode, replay) of the first member."""
    (path,) = (home.archives / DAY).glob("*.zip")
    with zipfile.ZipFile(path) as archive:
        name = sorted(archive.namelist())[0]
        return int(Path(name).stem), json.loads(archive.read(name))


def asked(steps: list, side: int) -> list[tuple[int, dict, list[int]]]:
    """(t, observation, answer) of a side, by the rule of the replay format alone."""
    return [
        (t, pair[side]["observation"], steps[t + 1][side]["action"])
        for t, pair in enumerate(steps[:-1])
        if pair[side]["status"] == "ACTIVE" and pair[side]["observation"]["select"]
    ]


def test_what_is_shown_is_what_the_replay_says(recorded: Home) -> None:
    episode, found = replay(recorded)
    names = cards_by_id("v1")
    for side in (0, 1):
        for t, obs, answer in asked(found["steps"], side):
            shown = explain(recorded, DAY, episode, side, t)
            text = "\n".join(shown.table)
            own = obs["current"]["players"][side]
            assert [pick.picked for pick in shown.picks][: len(answer)] == answer
            assert len(shown.options) == len(obs["select"]["option"])
            assert f"you: {len(own['prize'])} prizes" in text and f"turn {obs['current']['turn']}" in text
            assert all(names[card["id"]].name in text for card in own["hand"])
            assert all(names[unit["id"]].name in text for unit in (*own["active"], *own["bench"]) if unit)
            for option, words in zip(obs["select"]["option"], shown.options, strict=True):
                if option["type"] == 7:
                    assert words == f"play {names[own['hand'][option['index']]['id']].name}"
            assert all(pick.legal[pick.picked] and pick.opinion is None for pick in shown.picks)


def by_hand(home: Home, artifact: str, found: dict, side: int, until: int, forget: bool = False) -> list[list[float]]:
    """Probabilities of each pick at step ``until``: tracker, encoder and network as play uses them, memory carried here."""
    policy = load_policy(home, artifact)
    memory, tracker = policy.net.initial_memory()[None], Tracker(found["steps"][1][side]["action"])
    for t, raw, answer in asked(found["steps"], side):
        obs = from_dict(raw)
        tracker.observe(obs)
        decision, select = EncodedDecision(tracker, obs), raw["select"]
        stops = select["minCount"] <= len(answer) < select["maxCount"]
        said, written = [], memory
        for number in range(len(answer) + stops):
            row = decision.row(answer[:number])
            batch = collate(Columns.from_rows([{name: row[name] for name in FEATURES}]), "v1", policy.tables)
            with torch.inference_mode():
                output = policy.net(as_torch(batch), policy.net.initial_memory()[None] if forget else memory)
            written = output.memory
            chances = torch.softmax(output.logits[0], 0).tolist()
            said.append([*chances[: len(select["option"])], chances[-1]])
        if t == until:
            return said
        memory = written
        tracker.answered(obs, answer)
    raise AssertionError(f"no decision at {until}")


def test_the_policy_is_asked_with_its_memory_carried_as_in_play(recorded: Home, artifact: str) -> None:
    episode, found = replay(recorded)
    decisions = asked(found["steps"], 0)
    last = decisions[-1][0]
    several = [t for t, obs, _ in decisions if obs["select"]["maxCount"] > 1][-1:]
    # The last decision may be forced, and then memory cannot matter: end with one that has something to decide.
    open_ended = [t for t, obs, _ in decisions if len(obs["select"]["option"]) > obs["select"]["minCount"]][-1]
    for t in (*several, last, open_ended):
        shown = explain(recorded, DAY, episode, 0, t, artifact)
        ours = [list(pick.opinion.probabilities) for pick in shown.picks if pick.opinion]
        expected = by_hand(recorded, artifact, found, 0, t)
        assert len(ours) == len(shown.picks) > 0
        assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(ours, expected, strict=True))
        assert all(sum(chances) == pytest.approx(1, abs=1e-5) for chances in ours)
        for pick in shown.picks:
            assert not any(chance for chance, allowed in zip(pick.opinion.probabilities, pick.legal, strict=True) if not allowed)
        assert set(shown.picks[0].opinion.aux) == {"ko", "prize", "terminal", "value"} and artifact in shown.source
    # without the memory of the earlier decisions the numbers are others: the agreement above is not for nothing
    forgetful = by_hand(recorded, artifact, found, 0, open_ended, forget=True)
    assert not np.allclose(ours[0], forgetful[0], atol=1e-5)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"day": "2026-08-09"}, "never taken"),
        ({"episode": 7}, "no such episode"),
        ({"side": 2}, "expected 0 or 1"),
        ({"step": 99_999}, "nearest"),
        ({"checkpoint": "absent"}, "no training run or artifact absent"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_there_is_named_with_its_place(recorded: Home, change: dict, expected: str) -> None:
    episode, found = replay(recorded)
    where = {"day": DAY, "episode": episode, "side": 0, "step": asked(found["steps"], 0)[0][0]} | change
    with pytest.raises(ExplainError, match=expected) as refused:
        explain(recorded, **where)
    place = f"day {where['day']} episode {where['episode']} side {where['side']} step {where['step']}: "
    assert str(refused.value).startswith(place)


def test_without_the_engine_cards_are_called_by_their_ids(recorded: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(generation: str) -> dict:
        raise EngineMissing("not installed")

    episode, found = replay(recorded)
    t, obs, _ = next(item for item in asked(found["steps"], 0) if len(item[1]["current"]["players"][0]["hand"]) > 0)
    monkeypatch.setattr("tcg_core.explain.words.cards_by_id", missing)
    assert Names.of("v1") == Names(None, None)
    text = "\n".join(explain(recorded, DAY, episode, 0, t).table)
    assert f"card {obs['current']['players'][0]['hand'][0]['id']}" in text


def test_every_context_of_the_engine_has_words() -> None:
    # the last one known is 48, RECOVER_SPECIAL_CONDITION; 41 asks who goes first
    assert len(CONTEXTS) == 49 and CONTEXTS[41] == "go first" and CONTEXTS[8] == "discard"


def test_a_game_that_gives_no_rows_can_be_explained_too(recorded: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcg_core.explain import decision as module

    episode, found = replay(recorded)
    parse = module.parse_episode

    def drawn(data: bytes, name: str):
        whole = parse(data, name)
        return replace(whole, games=tuple(replace(game, outcome=0, excluded="draw") for game in whole.games))

    monkeypatch.setattr(module, "parse_episode", drawn)
    shown = explain(recorded, DAY, episode, 0, asked(found["steps"], 0)[0][0])
    assert "excluded from training: draw" in shown.title and shown.picks


def test_the_command_marks_the_recorded_answer(recorded: Home, artifact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCG_DATA", str(recorded.root))
    episode, found = replay(recorded)
    t, _, answer = next(item for item in asked(found["steps"], 1) if len(item[1]["select"]["option"]) > 2)
    done = CliRunner().invoke(app, ["explain", DAY, str(episode), "1", str(t), "--checkpoint", artifact])
    assert done.exit_code == 0, done.output
    shown = explain(recorded, DAY, episode, 1, t, artifact)
    chance = shown.picks[0].opinion.probabilities[answer[0]]
    assert f" -> {chance:7.1%}  {answer[0]:>3} {shown.options[answer[0]]}" in done.output
    assert f"artifact {artifact}" in done.output and "return" in done.output


@pytest.mark.parametrize("day", ["2026-08-15", "2026-10-25"])
def test_recorded_days_of_both_generations_can_be_explained(home: Home, day: str) -> None:
    shutil.copy(GOLDEN / f"{day}.zip", home.inbox)
    assert take_archive(home, day).passed
    with zipfile.ZipFile(GOLDEN / f"{day}.zip") as archive:
        name = archive.namelist()[-1]
        steps = json.loads(archive.read(name))["steps"]
    for side in (0, 1):
        decisions = asked(steps, side)
        for t, obs, _ in decisions[:: max(1, len(decisions) // 6)]:
            shown = explain(home, day, int(Path(name).stem), side, t)
            assert len(shown.options) == len(obs["select"]["option"]) and len(shown.table) >= 4
            assert not [words for words in shown.options if "option type" in words or "elsewhere" in words]
