"""What the columns of the home's tables mean, for the pages that show them. Streams of a day's rows say it in
:data:`tcg_core.encode.schema.SCHEMA`."""

import sqlite3
from functools import cache

from tcg_core.catalog.cap_order import declare
from tcg_core.catalog.schema import MIGRATIONS

_DAY, _SEAT = "the archive's date, YYYY-MM-DD", "side 0 or 1 of the replay"
_COUNTS = {"games": "games that count", "wins": "of them won", "losses": "of them lost", "draws": "of them drawn"}
_RATED = {
    "day": _DAY,
    "source": "`replay`: computed from games; `remote`: a leaderboard",
    "elo": "rating at the start of the day",
    **_COUNTS,
}
#: Tables of catalog.sqlite: table -> column -> meaning.
CATALOG: dict[str, dict[str, str]] = {
    "days": {
        "day": _DAY,
        "archive_sha256": "SHA-256 of the day's present archive",
        "archive_path": "where it is, below the data home",
        "archive_bytes": "its size",
        "members": "episodes that its central directory lists",
        "directory_digest": "digest of the central directory: names, sizes and CRCs",
        "taken_at": "when the archive was taken from the inbox (UTC)",
        "cataloged_at": "when the episodes below were recorded (UTC)",
    },
    "episodes": {
        "day": _DAY,
        "member": "file name in the archive",
        "episode_id": "Kaggle's EpisodeId",
        "status": "`rows`: used; `excluded`: by a rule; `quarantined`: could not be used",
        "reason": "the rule or the kind of fault",
        "detail": "what exactly was found",
        "content_hash": "SHA-256 of the episode's content, the same wherever it recurs",
        "generation": "engine generation, v1 or v2",
        "module_version": "engine version that the replay names",
        "best_of": "games of the match at most",
        "decisions": "decisions of all its games",
        "rows": "training rows of its games that are used",
        "caveats": "JSON: what was odd and how often",
    },
    "games": {
        "day": _DAY,
        "episode_id": "Kaggle's EpisodeId",
        "game": "number of the game in its match, from 0",
        "outcome": "of side 0: 1 won, -1 lost, 0 drawn, NULL unknown",
        "reason": "the engine's reason of the end",
        "excluded": "rule by which the game gives no rows, NULL if it does",
        "first_player": "side that went first",
        "prizes0": "prizes that side 0 had left",
        "prizes1": "prizes that side 1 had left",
        "decisions": "decisions of both sides",
        "rows": "training rows",
    },
    "participants": {
        "day": _DAY,
        "episode_id": "Kaggle's EpisodeId",
        "side": _SEAT,
        "agent_id": "the team, see agents",
        "deck_hash": "its deck, see decks",
    },
    "decks": {"deck_hash": "SHA-256 of the sorted card ids", "cards": "JSON: the 60 card ids"},
    "agents": {"agent_id": "number in this catalog", "name": "team name"},
    "agent_elo_daily": {"agent_id": "the team, see agents", **_RATED},
    "rating_days": {
        "day": _DAY,
        "source": _RATED["source"],
        "as_of": "date of the leaderboard, or last day whose games count; NULL before the first",
        "inputs": "digest of what the ratings of the day were computed from",
        "agents": "how many agents are rated",
        "computed_at": "when (UTC)",
    },
    "day_proofs": {
        "day": _DAY,
        "dataset_id": "build of the day that was proven",
        "code": "code identity under which its rows are what they would be if built again",
        "built_by": "code identity that built it",
        "sha256": "SHA-256 of its file of rows, as it was compared",
        "rows_digest": "hash of its logical rows",
        "episodes": "episodes that were encoded again and compared",
        "of_episodes": "episodes of the day",
        "evidence": "file with the sample and its digests, below the data home",
        "evidence_sha256": "SHA-256 of that file",
        "proven_at": "when (UTC)",
    },
    "promotions": {
        "sequence": "number of the decision",
        "challenger": "submission that was judged",
        "incumbent": "champion of that moment",
        "tournament": "tournament by whose games it was judged",
        "verdict": "promoted, rejected or inconclusive",
        "reason": "why, in words",
        "at": "when (UTC)",
    },
}
#: Parquet tables whose files do not describe themselves: file name -> column -> meaning.
PARQUET: dict[str, dict[str, str]] = {
    "chunks.parquet": {
        "lane": "number of the lane (one side of one game) in lanes.parquet",
        "index": "number of the chunk in its lane, from 0",
        "first_row": "its first row, counted over all selected days in order of date",
        "rows": "rows of the chunk",
        "decisions": "whole decisions of the chunk",
        "valid": "rows whose auxiliary targets count",
        "decision_rows": "rows of each decision, in order",
    },
    "ratings.parquet": _RATED
    | {"as_of": "date of the leaderboard, or last day whose games count; null before the first", "agent": "team name"},
    "games.parquet": {
        "index": "number of the match in the schedule",
        "pair": "the two matches of a pair differ in nothing but the seats",
        "generation": "engine generation, v1 or v2",
        "candidate": "the submission that is judged",
        "opponent": "who played against it",
        "candidate_seat": "seat of the candidate, 0 or 1",
        "candidate_deck": "digest of the candidate's deck",
        "opponent_deck": "digest of the opponent's deck",
        "candidate_seed": "seed given to the candidate",
        "opponent_seed": "seed given to the opponent",
        "outcome": "of the candidate: win, loss, draw, none",
        "reason": "the engine's reason of the end, or the fault",
        "offender": "who committed the fault, empty for none",
        "detail": "what exactly happened",
        "clean": "whether the match is evidence: a result without error, timeout or fallback",
        "turns": "turns of all its games",
        "candidate_decisions": "decisions of the candidate",
        "opponent_decisions": "decisions of the opponent",
        "candidate_seconds": "time that the candidate took",
        "opponent_seconds": "time that the opponent took",
        "candidate_slowest": "the candidate's slowest decision, seconds",
        "opponent_slowest": "the opponent's slowest decision, seconds",
        "candidate_fallbacks": "decisions that the candidate's emergency rule made",
        "opponent_fallbacks": "decisions that the opponent's emergency rule made",
        "wall_seconds": "seconds from start to end",
        "rounds": "the match's games in order: outcome, reason, turns, decisions of both",
    },
}


@cache
def catalog_columns(table: str) -> tuple[tuple[str, str, str], ...]:
    """(name, type, meaning) of each column of a catalog table; raises :class:`KeyError` for one without meanings."""
    with sqlite3.connect(":memory:") as connection:
        declare(connection)
        for migration in MIGRATIONS:
            for statement in migration.statements:
                connection.execute(statement)
        found = connection.execute(f"PRAGMA table_info({table})").fetchall()
    return tuple((name, type, CATALOG[table][name]) for _, name, type, *_ in found)
