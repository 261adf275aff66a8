"""Whether the card tables of a plan know the cards of its days. A card that they do not know is no fault: networks read it as
the unknown-card token. But they learn nothing of what it does."""

import json
from collections import Counter
from collections.abc import Sequence

from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.encode.cards import CardTables

OUTSIDE_IDENTITY = "a check judges what was planned"

NAME = "known_cards"
_SHOWN = 5
#: Every card of a game is in one of its two decks.
_DECKS = """SELECT p.day, e.generation, d.cards, count(*) AS seats
FROM participants p JOIN episodes e ON e.day = p.day AND e.episode_id = p.episode_id JOIN decks d ON d.deck_hash = p.deck_hash
WHERE e.status = 'rows' AND p.day IN (SELECT value FROM json_each(?)) GROUP BY p.day, e.generation, p.deck_hash"""


def known_cards(home: Home, days: Sequence[str], tables: CardTables, name: str) -> Check:
    """Warns with the ids of the decks of ``days`` that the tables called ``name`` lack, and in how many seats they are."""
    with catalog(home) as connection:
        decks = connection.execute(_DECKS, (json.dumps(sorted(days)),)).fetchall()
    unknown: Counter[str] = Counter()
    by_day: Counter[str] = Counter()
    for row in decks:
        ids = json.loads(row["cards"])
        # Rows of a generation that a recipe leaves out need no tables.
        found = tables.unknown(row["generation"], ids) if row["generation"] in tables.card_index else []
        unknown.update(dict.fromkeys(found, row["seats"]))
        by_day[row["day"]] += row["seats"] * bool(found)
    seats, touched = sum(row["seats"] for row in decks), by_day.total()
    facts = {
        "seats": seats,
        "unknown_card_seats": touched,
        "unknown_cards": len(unknown),
        "by_day": dict(sorted((+by_day).items())),
    }
    if not unknown:
        return Check(NAME, True, f"the tables have every card of the {seats} decks played", "WARN", facts)
    names = ", ".join(f"{card} (in {count})" for card, count in unknown.most_common(_SHOWN))
    more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
    text = (
        f"{touched} of {seats} decks played hold cards that card tables {name} do not have, the first on {min(+by_day)}: "
        f"{names}{more}; networks read an unknown card there. With a newer engine, `tcg cards build` makes tables that have them"
    )
    return Check(NAME, False, text, "WARN", facts)
