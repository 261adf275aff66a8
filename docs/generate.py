"""Writes docs/data_contract.md from the schema object: `python docs/generate.py`. A test compares the page with its output."""

from pathlib import Path

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
    return "".join(parts)


def _line(stream: Stream) -> str:
    shape = {"scalar": "one", "fixed": f"{stream.width}", "ragged": f"list by {stream.group}"}[stream.kind]
    if stream.kind == "ragged" and stream.width > 1:
        shape += f" x {stream.width}"
    span = "text" if stream.low is None else f"{stream.low:g} to {stream.high:g}"
    return f"| `{stream.name}` | {stream.dtype} | {shape} | {span} | {stream.meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(render())
