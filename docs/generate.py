"""Writes docs/data_contract.md from the schema object: `python docs/generate.py`. A test compares the page with its output."""

from pathlib import Path

from tcg_core.encode.meanings import FLAGS, ZONES
from tcg_core.encode.schema import (
    ATTACHED_KINDS,
    CARD_FLAGS,
    CARD_ZONES,
    ENCODER_VERSION,
    SCHEMA,
    SCHEMA_VERSION,
    UNIT_ZONES,
    Stream,
)

PAGE = Path(__file__).resolve().parent / "data_contract.md"

HEAD = """# The data contract of a Parquet row

Generated from `tcg_core/encode/schema.py` by `python docs/generate.py`. Do not edit it by hand.

| what | value |
|---|---|
| schema version | {schema} |
| encoder version | {encoder} |
| digest of the schema | `{digest}` |

Every Parquet file, checkpoint and artifact holds this digest. A file with a different digest is refused, and the
error names the file.

- A *row* is one pick of one seat.
- A *decision* is one question (`select`) in the observation of a seat whose status is `ACTIVE`. The choice of a deck
  is not a decision.
- A *lane* is all rows with the same `episode_id`, `game` and `side`.
- Rows are ordered by (`episode_id`, `game`, `side`, `step_id`, `substep`).
- STOP is the pick that ends a decision early. In its row, the label `y` is the number of options.
- A decision has a STOP row if its number of picks is at least `min_count` and below `max_count`.
- Card and attack ids are those of the row's engine generation. 0 means none; -1 means a card that lies face down to the
  seat. A new card keeps its id, even if no card table holds it yet: a network then reads its unknown-card token, which
  is not the token of a face-down card.
- Two options mean the same if they agree in option type, area, player, card, target, attack, number, count, special
  condition and serial. An option that picks a unit in play or a stadium means only itself. Two options that pick cards
  attached to units mean the same only if the unit is the same. In a decision with several picks, copies are the same
  choice too: `opt_group` is computed for each row from the options that are still to be picked.
- Own prizes are deduced when a search shows the whole own deck: they are the own cards that are then nowhere else. They
  stay known until one of them moves face down. A card that a question names is not taken off twice: while it still lies
  in the deck, it counts as a card of the deck.
- A *stream* is one column of a row. Some streams hold lists ("list by GROUP"). In one row, all lists of a group
  have the same length.
- A *unit* is a Pokémon in play. A *token* is one item that an option can point to: a kind of card in a zone, or a unit.
- The *window* of an auxiliary target is the rest of the turn in which the decision is made. It is not the window of an update.

"list by card" means a list with one value for each card token of the row. "x 20" means 20 elements per item of the list.
When a batch is built, each element is divided by the number in the column "divided by".
"""


RULES = """
## How tokens are made

The seat keeps notes from the first decision of a game to the last. It reads each observation once, in order: first its logs,
then the table. An observation is what the replay shows the seat at that step.

| tokens | order |
|---|---|
| card | by zone as in `CARD_ZONES`, by flag as the zone's words list them, by card id; equal ones are one token |
| unit | own active, own bench, opponent's active, opponent's bench; a bench from index 0 up |
| attached | by unit; for each unit its earlier stages, then tools, then energy cards, as the observation lists them |
| option | as the observation lists them |

A face-down unit has id -1, and all its attributes are 0. The own active that the seat put down in set-up has its id, although
the observation hides it.

- **Own list.** It is the deck of the seat. A card counts as seen if it lies in a hand, discard pile or stadium, is an open
  prize, is looked at, or belongs to a unit. So does the own active that was put down in set-up. The cards of `effect` and
  `contextCard` count as seen too, unless they lie hidden. Each serial is taken off once; a card that is not on the list takes
  nothing off.
- **A named card lies hidden** if `select.deck` shows its serial. It also does if the cards not seen are no more than
  `deckCount` plus the face-down prizes. `effect` is decided first.
- **Deduced prizes.** If `select.deck` has `deckCount` cards and none is hidden, the prizes are the cards not seen minus those
  of `select.deck`. A prize that lies open is not among them. Later, a log of an own card with a name moves it out of the
  prizes or into them. They are unknown again if their number is not that of the face-down prizes, or if a card without a name
  moves from or to the prizes.
- **Opponent's cards seen.** A card of the opponent is noted by its serial if a log names it or the table shows it. Serials 3
  to 62 are seat 0's, 63 to 122 seat 1's.
- **Opponent's hand.** A log that moves a named card into the hand makes it a certain belief. A log that plays, attaches,
  evolves with or moves the named card out of the hand ends the belief. So does seeing it on the table. If a card leaves the
  hand without a name, all beliefs become uncertain. The size of the hand is followed through the logs from the last decision;
  if no card is left, all beliefs end. Beliefs beyond the hand's size end, uncertain ones first, then the oldest.
- **Ability used.** An answer that picks an ABILITY option (10) of an own unit marks the unit until the turn changes.
- **Prizes left.** It is the size of the pile. An empty pile counts as 6 in turn 0, and later as the number of cards in
  `looking`.
- **Whose turn.** Odd turns are those of `firstPlayer`, even ones those of the other seat.

## How options are resolved

| option type | source | target | `option_card` | owner |
|---|---|---|---|---|
| 3 CARD | the card or unit of area, index and player | none | that card | its owner |
| 4 TOOL_CARD, 5 ENERGY_CARD, 6 ENERGY | the unit of area, index and player | none | the attached card | the unit's owner |
| 7 PLAY | the card of the own hand | none | that card | 1 |
| 8 ATTACH, 9 EVOLVE | the own card of area and index | the own unit of inPlayArea and inPlayIndex | the source card | 1 |
| 10 ABILITY, 11 DISCARD | the own card or unit of area and index | none | that card | its owner |
| 12 RETREAT | the own active | none | its top card | 1 |
| 13 ATTACK | the own active | the opponent's active | the own active's top card | 1 |
| 14 END | none | none | none | 0 |
| 15 SKILL | the unit or stadium of that serial, else the token of `effect` | none | cardId | the owner, 0 for `effect` |
| others | the token of `effect` | the token of `contextCard` | none | 0 |

Areas are 1 deck (zone `select_deck`), 2 hand, 3 discard pile, 4 active, 5 bench, 6 prizes, 7 stadium and 12 looking. In a
card zone the pointer names the first token with that card id. The owner of a stadium is the seat that played it.
"""


def render() -> str:
    """The whole page."""
    parts = [HEAD.format(schema=SCHEMA_VERSION, encoder=ENCODER_VERSION, digest=SCHEMA.digest)]
    for role, title in (
        ("identity", "Identity"),
        ("metadata", "Metadata"),
        ("label", "Labels"),
        ("aux", "Auxiliary targets"),
        ("feature", "Features"),
    ):
        parts.append(f"\n## {title}\n\n| stream | type | shape | range | meaning |\n|---|---|---|---|---|\n")
        parts += [_line(stream) for stream in SCHEMA.streams if stream.role == role]
    for stream in SCHEMA.streams:
        if stream.entries:
            parts.append(f"\n### Elements of `{stream.name}`\n\n| element | divided by | meaning |\n|---|---|---|\n")
            parts += [f"| `{entry.name}` | {entry.scale:g} | {entry.meaning} |\n" for entry in stream.entries]
    parts.append("\n### Enumerations\n\n| list | values, in order |\n|---|---|\n")
    for name, values in (
        ("CARD_ZONES", CARD_ZONES),
        ("CARD_FLAGS", CARD_FLAGS),
        ("UNIT_ZONES", UNIT_ZONES),
        ("ATTACHED_KINDS", ATTACHED_KINDS),
    ):
        parts.append(f"| `{name}` | {', '.join(f'`{value}`' for value in values)} |\n")
    for title, values, words in (("Zones of card tokens", CARD_ZONES, ZONES), ("Flags of card tokens", CARD_FLAGS, FLAGS)):
        parts.append(f"\n### {title}\n\n| value | name | meaning |\n|---|---|---|\n")
        parts += [f"| {number} | `{name}` | {words[name]} |\n" for number, name in enumerate(values)]
    return "".join(parts) + RULES


def _line(stream: Stream) -> str:
    shape = {"scalar": "one", "fixed": f"{stream.width}", "ragged": f"list by {stream.group}"}[stream.kind]
    if stream.kind == "ragged" and stream.width > 1:
        shape += f" x {stream.width}"
    span = "text" if stream.low is None else f"{stream.low:g} to {stream.high:g}"
    return f"| `{stream.name}` | {stream.dtype} | {shape} | {span} | {stream.meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(render())
