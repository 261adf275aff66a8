"""What is refused depends on an episode's bytes alone."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tcg_core.replay.episode import Episode, Quarantine, parse_episode
from tcg_core.replay.reading import MAX_NESTING, nesting, without_lone_surrogates
from tcg_core.replay.recount import recount, recount_plain
from tests.golden.replays import dumps, replay

ITEM = replay(85000011)


def reason(data: bytes) -> str:
    with pytest.raises(Quarantine) as caught:
        parse_episode(data, ITEM.name)
    assert caught.value.text.startswith(ITEM.name) and "\n" not in caught.value.text
    return caught.value.reason


def beside(value: bytes) -> bytes:
    """The replay with one more key, which the parser skips."""
    return b'{"more": ' + value + b", " + ITEM.data.lstrip()[1:]


@pytest.mark.parametrize("bad", [b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"', b'{"\xff": 1}', b'"\xc3"', b'"\xf5\x80\x80\x80"'])
def test_bytes_that_are_no_utf_8_are_refused_wherever_they_stand(bad: bytes) -> None:
    assert reason(beside(bad)) == "broken_json"


def test_utf_8_beyond_ascii_is_text() -> None:
    document = ITEM.document()
    document["info"]["TeamNames"] = ["Pokémon", "日本"]
    data = json.dumps(document, ensure_ascii=False).encode()
    assert parse_episode(data, ITEM.name).team_names == ("Pokémon", "日本")


def test_a_byte_order_mark_is_skipped_by_both_readers() -> None:
    data = b"\xef\xbb\xbf" + ITEM.data
    assert parse_episode(data, ITEM.name) == ITEM.episode()
    assert recount_plain(data) == recount(ITEM.episode())


@pytest.mark.parametrize(
    ("escaped", "name", "count"),
    [
        (r"\ud800", "\ufffd", 1),
        (r"a\uDC00b", "a\ufffdb", 1),
        (r"\ud83d\ude00", "\U0001f600", 0),
        (r"\ude00\ud83d", "\ufffd\ufffd", 2),
        (r"\ud83d\ud83d\ude00", "\ufffd\U0001f600", 1),
        (r"\\ud800", r"\ud800", 0),
        (r"\\\ud800", "\\\ufffd", 1),
        (r"\ud800\n", "\ufffd\n", 1),
    ],
)
def test_a_lone_surrogate_in_a_name_is_replaced_and_counted(escaped: str, name: str, count: int) -> None:
    document = ITEM.document()
    document["info"]["TeamNames"] = ["NAME", "other"]
    data = dumps(document).replace(b'"NAME"', f'"{escaped}"'.encode())
    episode = parse_episode(data, ITEM.name)
    assert episode.team_names == (name, "other")
    assert episode.caveats == ({"lone_surrogate": count} if count else {})
    assert episode.content_hash == ITEM.episode().content_hash
    assert recount_plain(data) == recount(episode)


def test_a_lone_surrogate_in_a_skipped_string_is_counted_too() -> None:
    assert parse_episode(beside(rb'"\udfff"'), ITEM.name).caveats == {"lone_surrogate": 1}
    assert parse_episode(b'{"replay": ' + beside(rb'"\udfff"') + b"}", ITEM.name).caveats == {"lone_surrogate": 1}


@pytest.mark.parametrize("bad", [rb'"\u12G4"', rb'"\ud800\q"', rb'"\ud8"', b'"\x01"', b"NaN", b"01", b"[1,]", b"'x'"])
def test_what_is_no_json_stays_refused(bad: bytes) -> None:
    assert reason(beside(bad)) == "broken_json"


def test_surrogates_are_told_from_their_escapes() -> None:
    assert without_lone_surrogates(rb'"\\ud800 \ud800 \ud83d\ude00 \u0041"') == (rb'"\\ud800 \ufffd \ud83d\ude00 \u0041"', 1)


def deeper(levels: int, call: Callable[[], Any]) -> Any:
    return call() if levels == 0 else deeper(levels - 1, call)


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("stack", [0, 60, 400])
def test_the_cap_on_nesting_does_not_depend_on_the_callers_stack(stack: int) -> None:
    def parsed() -> Episode:
        return parse_episode(beside(nested(MAX_NESTING // 2)), ITEM.name)

    assert deeper(stack, parsed).content_hash == ITEM.episode().content_hash
    for levels in (2 * MAX_NESTING, 500, 991, 992, 993, 994, 100_000):
        assert deeper(stack, lambda levels=levels: reason(beside(nested(levels)))) == "broken_json"


def test_brackets_are_counted_outside_strings() -> None:
    assert nesting(ITEM.data) == 14
    assert nesting(rb'{"[[[\"[[": [[{"]": 1}], "]]]]"]}') == 4
    wide = b"[" + b"{}," * 300 + b"1]"
    assert parse_episode(beside(wide), ITEM.name) == ITEM.episode()


def test_a_name_of_many_brackets_is_no_nesting() -> None:
    assert parse_episode(beside(b'"' + b"[" * 5000 + b'"'), ITEM.name) == ITEM.episode()


def test_a_long_number_that_nobody_reads_is_skipped_by_both_readers() -> None:
    data = beside(b"9" * 5000)
    assert recount_plain(data) == recount(parse_episode(data, ITEM.name))


def test_a_round_that_is_null_is_the_first_for_both_readers() -> None:
    document = ITEM.document()
    for step in document["steps"]:
        for entry in step:
            if entry["observation"].get("current"):
                entry["observation"]["current"]["round"] = None
    assert recount_plain(dumps(document)) == recount(parse_episode(dumps(document), ITEM.name))


@pytest.mark.parametrize("round", [0, -1, 3])
def test_a_first_round_that_is_not_1_is_refused(round: int) -> None:
    document = replay(93000011).document()
    for step in document["steps"]:
        for entry in step:
            if entry["observation"].get("current"):
                entry["observation"]["current"]["round"] = round
    with pytest.raises(Quarantine) as caught:
        parse_episode(dumps(document), "93000011.json")
    assert caught.value.reason == "games"
