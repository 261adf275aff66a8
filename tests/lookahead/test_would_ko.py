"""Would-KO: consistent guesses, an oracle for its answers, crashes that cost one decision, settings that never mix."""

import dataclasses
import json
import random
import zipfile
from collections import Counter

import pyarrow.parquet as parquet
import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.days.backfill import backfill
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import add_archive, take_archive
from tcg_core.encode.rows import deck_hash
from tcg_core.encode.tracker import Tracker
from tcg_core.lookahead.compute import compute_would_ko
from tcg_core.lookahead.guess import candidates, guess
from tcg_core.lookahead.kept import kept_settings
from tcg_core.lookahead.settings import WouldKo
from tcg_core.plan.errors import PlanError
from tcg_core.plan.source import select
from tcg_core.recipe import Recipe, Selection
from tcg_core.replay.archive import open_archive
from tcg_core.replay.episode import parse_episode
from tcg_core.rows.reader import DayReader
from tcg_core.rows.sql import query
from tests.days.conftest import GOLDEN, V1, V2
from tests.days.replays import changed, members, put, renamed
from tests.golden.replays import replays
from tests.lookahead.looked import SETTINGS, looked_home

SMALL = WouldKo(text_samples=3)


def decks_of(archive):
    episodes = [parse_episode(archive.read(member), member.name) for member in archive.members]
    return {deck_hash(deck): tuple(sorted(deck)) for episode in episodes for deck in episode.decks}


def computed(path, directory, settings=SMALL, workers=1, cache="cache"):
    directory.mkdir(exist_ok=True)
    with open_archive(path) as archive:
        facts = compute_would_ko(archive, decks_of(archive), settings, directory, directory / cache, workers)
    return facts, parquet.read_table(directory / "would_ko.parquet").to_pylist()


def test_a_guess_fills_every_zone_and_contradicts_nothing_that_was_seen():
    checked = 0
    for item in replays():
        episode = item.episode()
        known = [Counter(deck) for deck in episode.decks]
        for game in episode.games:
            trackers = [Tracker(deck) for deck in episode.decks]
            for decision in game.decisions:
                tracker, state = trackers[decision.side], decision.observation.current
                tracker.observe(decision.observation)
                mine, other = state.players[decision.side], state.players[1 - decision.side]
                zones = guess(tracker, state, candidates(tracker, known), random.Random(decision.step_id))
                assert len(zones.own_deck) == mine.deck_count and len(zones.own_prizes) == len(mine.prize)
                assert len(zones.other_deck) == other.deck_count and len(zones.other_prizes) == len(other.prize)
                assert len(zones.other_hand) == other.hand_count and len(zones.other_active) == other.active.count(None)
                believed = Counter(card for card, _ in tracker.beliefs.values())
                assert not believed - Counter(zones.other_hand), "a card believed in the hand is not there"
                if sum(tracker.unseen.values()) == mine.deck_count + mine.prize.count(None):
                    hidden = Counter(zones.own_deck) + Counter(
                        card for card, shown in zip(zones.own_prizes, mine.prize, strict=True) if shown is None
                    )
                    assert hidden == Counter(tracker.unseen)
                    checked += 1
                tracker.answered(decision.observation, decision.picks)
    assert checked > 1000


def test_a_list_that_holds_all_that_was_seen_goes_before_one_that_does_not():
    tracker = Tracker([1] * 60)
    tracker.revealed = {70: 5, 71: 5, 72: 6}
    full, short = Counter({5: 2, 6: 1, 9: 57}), Counter({5: 1, 9: 59})
    assert candidates(tracker, [short, full]) == [full]
    assert candidates(tracker, [short]) == [short] and candidates(tracker, []) == [Counter({5: 2, 6: 1})]


def test_what_it_says_of_the_attack_that_was_played_is_what_happened(tmp_path, home):
    """The oracle: the aux target of the row whose label is the attack, wherever all samples say the same. What was hidden may
    have been otherwise than all ten guesses of it, so one in fifty may differ."""
    sure = Counter()
    for day in (V1, V2):
        _, found = computed(GOLDEN / f"{day}.zip", tmp_path / day, WouldKo())
        said = {(row["episode_id"], row["game"], row["side"], row["step_id"], row["option"]): row for row in found}
        add_archive(home, GOLDEN / f"{day}.zip")
        take_archive(home, day)
        with DayReader(build_day(home, day).path) as reader:
            columns = reader.read(("episode_id", "game", "side", "step_id", "y", "aux_ko", "aux_valid"))
        for n in range(columns.rows):
            row = said.get(tuple(int(columns[name][n]) for name in ("episode_id", "game", "side", "step_id", "y")))
            if row and columns["aux_valid"][n] and row["ko"] in (0.0, 1.0):
                happened = int(columns["aux_ko"][n])
                sure["right" if row["ko"] == happened else "wrong", happened] += 1
    assert sure["right", 0] > 80 and sure["right", 1] > 30
    assert sure["wrong", 0] + sure["wrong", 1] <= sure.total() / 50


def test_both_generations_any_number_of_workers_and_the_cache_give_the_same_table(tmp_path):
    facts, found = computed(GOLDEN / f"{V2}.zip", tmp_path / "one")
    assert facts["eligible"] == len(found) == facts["computed"] > 100 and facts["failed"] == facts["from_cache"] == 0
    assert all(0 <= row["ko"] <= 1 and row["win"] <= 1 for row in found)
    assert {row["samples"] for row in found} == {1, 3}
    two, again = computed(GOLDEN / f"{V2}.zip", tmp_path / "two", workers=2)
    assert (two, again) == (facts, found)
    cached, same = computed(GOLDEN / f"{V2}.zip", tmp_path / "two", workers=2)
    assert same == found and cached["from_cache"] == len({row["episode_id"] for row in found})
    other, _ = computed(GOLDEN / f"{V2}.zip", tmp_path / "two", dataclasses.replace(SMALL, seed=14))
    assert other["from_cache"] == 0, "other settings are another result"


def test_a_blob_that_kills_the_engine_costs_its_decision_and_is_counted(tmp_path):
    """A blob of the other generation is a segmentation fault, by measurement."""
    name, data = next(iter(members(V1).items()))
    blob = next(iter(members(V2).values()))
    foreign = next(
        entry["observation"]["search_begin_input"]
        for step in json.loads(blob)["steps"][8:]
        for entry in step
        if entry["status"] == "ACTIVE"
    )
    struck = []

    def poison(replay):
        for t, step in enumerate(replay["steps"]):
            for seat, entry in enumerate(step):
                select = entry["observation"].get("select")
                if entry["status"] == "ACTIVE" and select and select["type"] == 0:
                    if any(option["type"] == 13 for option in select["option"]) and len(struck) < 2:
                        entry["observation"]["search_begin_input"] = foreign
                        struck.append((t, seat))
                    elif len(struck) == 2:
                        entry["observation"]["search_begin_input"] = None
                        struck.append((t, seat))

    path = tmp_path / "2026-08-15.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, changed(data, poison))
        archive.writestr("5.json", renamed(data, 5))
    facts, found = computed(path, tmp_path / "out")
    whole, _ = computed(GOLDEN / f"{V1}.zip", tmp_path / "whole")
    bad = {(row["step_id"], row["side"]) for row in found if row["samples"] == 0}
    assert set(struck[:2]) <= bad, "a foreign blob was believed"
    assert facts["decisions"].get("crashed", 0) == 2 and whole["failed"] == 0
    assert all(row["ko"] is None for row in found if row["samples"] == 0), "nothing known is not the same as no knock-out"
    assert facts["eligible"] == facts["computed"] + facts["failed"]
    assert {row["samples"] > 0 for row in found if row["episode_id"] == 5} == {True}, "another episode suffered"


def test_it_is_off_by_default_lies_beside_the_rows_and_changes_none(staged):
    plain = build_day(staged, V1)
    assert not (plain.path / "would_ko.parquet").exists() and "would_ko" not in plain.facts
    built = build_day(staged, V1, would_ko=SMALL)
    assert built.passed and built.id != plain.id and built.facts["would_ko"]["computed"] > 50
    assert (built.path / "rows.parquet").read_bytes() == (plain.path / "rows.parquet").read_bytes()
    assert build_day(staged, V1, would_ko=SMALL).reused
    promote_day(staged, V1)
    [row] = query(staged, "SELECT count(*) AS n, sum((ko > 0)::int) AS ko FROM would_ko").to_pylist()
    assert row["n"] == built.facts["would_ko"]["eligible"] and row["ko"] > 0
    assert query(staged, "SELECT count(*) AS n FROM would_ko w JOIN rows r USING (episode_id, game, side, step_id)").to_pylist()


def test_a_plan_refuses_days_that_mix_settings(staged):
    other = "2026-08-16"
    put(staged, other, {f"{int(name[:-5]) + 100}.json": renamed(data, int(name[:-5]) + 100) for name, data in members().items()})
    take_archive(staged, other)
    for settings, refused in ((None, False), (SMALL, True), (dataclasses.replace(SMALL, seed=14), True)):
        for day, chosen in ((V1, SMALL if refused else None), (other, None if settings is SMALL else settings)):
            build_day(staged, day, would_ko=chosen)
            promote_day(staged, day)
        if refused:
            with pytest.raises(PlanError, match=r"the days mix would-KO settings: 2026-08-15: \{.*; 2026-08-16: "):
                select(staged, Recipe(Selection(all_days=True)))
        else:
            assert len(select(staged, Recipe(Selection(all_days=True))).days) == 2


def test_a_day_that_has_looks_keeps_them_when_the_backfill_builds_it_again(tmp_path, monkeypatch):
    home = looked_home(tmp_path / "looked")
    assert kept_settings(home, V1) == SETTINGS
    monkeypatch.setattr("tcg_core.base.stage.code_version", lambda asset: "f" * 16)
    monkeypatch.setattr("tcg_core.days.code.build_code", lambda: "f" * 16)
    [result] = backfill(home, V1, V1)
    assert result.state == "built", result.line
    with catalog(home) as connection:
        [row] = datasets_of(connection, V1, "validated")
    assert row.code == "f" * 16 and (home.root / row.path / "would_ko.parquet").is_file()
    assert kept_settings(home, V1) == SETTINGS
    build_day(home, V1)
    promote_day(home, V1)
    assert kept_settings(home, V1) is None and kept_settings(home, "2026-08-16") is None


def test_settings_that_cannot_be_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"would_ko\.text_samples 0"):
        WouldKo(text_samples=0)
