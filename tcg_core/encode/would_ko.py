"""What the engine's look-ahead said of a row's attack options, as streams beside those of the row schema.

They are no part of :data:`~tcg_core.encode.schema.SCHEMA`: a day holds them in a table of its own, or not at all, and only a
network that asks for them (``model.would_ko``) is given them.
"""

from tcg_core.encode.schema import SCHEMA, Entry, Schema, Stream

#: The ragged group: one item a looked-at option of the row, in the order of the options.
GROUP = "would_ko"
OPTION, VALUES = "would_ko_option", "would_ko_values"
#: Of one look, with the divisor the networks apply.
VALUE_ENTRIES = (
    Entry("ko", 1, "share of looks in which the attack takes a prize or leaves the opponent without an active unit"),
    Entry("prizes", 6, "mean prizes taken by the end of the turn"),
    Entry("win", 1, "share of looks in which the game is won"),
)
#: What a network reads of each option: whether it was looked at, then the values; all 0 for one that was not.
INPUT_ENTRIES = (Entry("looked", 1, "1 if the option was looked at, 0 otherwise"), *VALUE_ENTRIES)
STREAMS = (
    Stream(OPTION, "int16", "ragged", "feature", "option that was looked at", 0, 32767, group=GROUP),
    Stream(VALUES, "float32", "ragged", "feature", "what the looks gave", 0, 6, len(VALUE_ENTRIES), GROUP, VALUE_ENTRIES),
)
NAMES = tuple(stream.name for stream in STREAMS)
#: All that rows in memory may hold. Its digest means nothing: files carry that of ``SCHEMA``.
MEMORY_SCHEMA = Schema(SCHEMA.streams + STREAMS)
