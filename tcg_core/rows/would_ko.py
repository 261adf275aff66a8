"""The file of look-ahead results beside a day's rows: one row per attack option, in the order of the rows."""

import pyarrow as pa

WOULD_KO = "would_ko.parquet"
#: Looks a row group of the file: a reader of some episodes decodes no more than those around them.
ROW_GROUP = 1 << 15
SCHEMA = pa.schema(
    [
        pa.field("episode_id", pa.int64(), nullable=False),
        pa.field("game", pa.int8(), nullable=False),
        pa.field("side", pa.int8(), nullable=False),
        pa.field("step_id", pa.int32(), nullable=False),
        pa.field("option", pa.int16(), nullable=False),
        pa.field("attack", pa.int32(), nullable=False),
        pa.field("ko", pa.float32()),
        pa.field("prizes", pa.float32()),
        pa.field("win", pa.float32()),
        pa.field("samples", pa.int16(), nullable=False),
        pa.field("failed", pa.int16(), nullable=False),
    ]
)
