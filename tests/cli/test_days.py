"""`tcg day verify` on real files."""

from tcg_core.days.promote import promote_day
from tests.cli.test_cli import tcg
from tests.days.conftest import V1


def test_verify_reads_every_validated_day_and_takes_a_damaged_one_out(staged):
    assert "verified days: none" in tcg("day", "verify", data=staged.root).stdout
    promote_day(staged, V1)
    done = tcg("day", "verify", data=staged.root)
    assert done.returncode == 0 and "intact" in done.stdout and "archive_intact" in done.stdout
    rows = next(staged.days.glob(f"{V1}/*/rows.parquet"))
    data = bytearray(rows.read_bytes())
    data[len(data) // 2] ^= 1
    rows.write_bytes(data)
    done = tcg("day", "verify", V1, data=staged.root)
    assert done.returncode == 2 and f"1 of 1 days are damaged and out of selection: {V1}" in done.stderr
    again = tcg("day", "verify", V1, data=staged.root)
    assert again.returncode == 2 and "is damaged" in again.stderr
