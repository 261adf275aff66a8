"""Writes ``rows.json``, the exact digests of the golden rows: run after an intended change of encoder or schema.

    python -m tests.golden.update

The digest is over logical rows (streams, dtypes, values), not over file bytes.
"""

import json
from typing import Any

from tcg_core.encode.rows import encode_episode
from tcg_core.encode.schema import ENCODER_VERSION, SCHEMA
from tests.golden.replays import HERE, replays

TARGET = HERE / "rows.json"


def digests() -> dict[str, Any]:
    """What the present code makes of every golden replay."""
    episodes = {}
    for item in replays():
        episode = item.episode()
        columns = encode_episode(episode, item.day)
        episodes[item.name] = {"content": episode.content_hash, "rows": columns.rows, "digest": columns.digest()}
    return {"encoder_version": ENCODER_VERSION, "schema_digest": SCHEMA.digest, "episodes": episodes}


if __name__ == "__main__":
    TARGET.write_text(json.dumps(digests(), indent=2) + "\n")
