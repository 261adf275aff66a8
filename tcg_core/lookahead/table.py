"""``would_ko.parquet``: one row an attack option, in the order of the day's rows; and what is counted of it."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from tcg_core.lookahead.episode import Looked
from tcg_core.rows.would_ko import ROW_GROUP, SCHEMA, WOULD_KO


def write_table(directory: Path, found: Sequence[Looked]) -> dict[str, Any]:
    """Writes the table and returns its counts.

    eligible: attack options; computed: those with at least one sample; failed: the others; samples and refused: looks that ended
    and that did not; decisions: by why they gave nothing ("" for those that did).
    """
    rows = [
        (k.episode_id, k.game, k.side, k.step_id, v.option, v.attack, v.ko, v.prizes, v.win, v.samples, v.failed)
        for k, v in sorted(
            ((looked.key, verdict) for looked in found for verdict in looked.verdicts), key=lambda item: (item[0], item[1].option)
        )
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    parquet.write_table(
        pa.Table.from_arrays(arrays, schema=SCHEMA), directory / WOULD_KO, compression="zstd", row_group_size=ROW_GROUP
    )
    verdicts = [verdict for looked in found for verdict in looked.verdicts]
    computed = sum(verdict.samples > 0 for verdict in verdicts)
    return {
        "eligible": len(verdicts),
        "computed": computed,
        "failed": len(verdicts) - computed,
        "samples": sum(verdict.samples for verdict in verdicts),
        "refused": sum(verdict.failed for verdict in verdicts),
        "decisions": dict(sorted(Counter(looked.why or "looked_at" for looked in found).items())),
    }
