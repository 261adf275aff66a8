"""The rows of the golden replays are exactly what they were."""

import json

from tcg_core.encode.rows import encode_episode
from tests.golden.replays import replay
from tests.golden.update import TARGET, digests


def test_golden_rows_are_unchanged() -> None:
    assert digests() == json.loads(TARGET.read_text()), "an intended change: python -m tests.golden.update, bump ENCODER_VERSION"


def test_the_digest_sees_one_changed_value() -> None:
    columns = encode_episode(replay(85000011).episode(), "2026-08-15")
    before = columns.digest()
    columns["card_id"][100] += 1
    assert columns.digest() != before
