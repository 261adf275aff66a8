"""A plan never mixes what different encoders wrote."""

from pathlib import Path

import pytest

from tcg_core.catalog.connection import catalog
from tcg_core.days.code import build_code
from tcg_core.days.errors import DaysOfOtherCode
from tcg_core.plan.build import build_plan
from tests.train.toy import DAYS, RECIPE, toy_home


@pytest.mark.parametrize("older", [DAYS[:1], DAYS])
def test_days_of_another_encoder_are_refused_by_name(tmp_path: Path, older: tuple[str, ...]) -> None:
    home = toy_home(tmp_path / "home")
    with catalog(home) as connection:
        connection.executemany("UPDATE datasets SET code = 'anotherencoder00' WHERE day = ?", [(day,) for day in older])
    with pytest.raises(DaysOfOtherCode) as refused:
        build_plan(home, RECIPE)
    named = ", ".join(f"{day} (anotherencoder00)" for day in older)
    assert str(refused.value) == (
        f"{len(older)} of {len(DAYS)} selected days were built by other code than this ({build_code()}): {named};"
        " `tcg day prove --all` carries over those whose rows are the same, `tcg backfill` builds the others again"
    )
    assert not home.plans.exists() or not list(home.plans.iterdir())
