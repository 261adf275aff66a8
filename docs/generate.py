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
| digest | `{digest}` |

Every Parquet file, checkpoint and artifact holds this digest. A file with a different digest is refused by name.

- A *row* is one pick of one seat.
- A *decision* is one observation of an ACTIVE seat with a select; the deck choice is not one.
- A *lane* is (`episode_id`, `game`, `side`).
- Rows are ordered by (`episode_id`, `game`, `side`, `step_id`, `substep`).
- STOP ends the picks of a decision. Its label `y` is the number of options.
- A decision has a STOP row if min_count <= picked < max_count.
- Card and attack ids are those of the row's engine generation. 0 means none; -1 means a card that the seat cannot see.
- Ragged streams of one group have the same length in a row.

"list by card" means one value for each card token of the row, and "x 20" means 20 elements per token. When a batch is
built, each element is divided by the number in "divided by".
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
