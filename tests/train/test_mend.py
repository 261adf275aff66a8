"""A damaged run is set aside when asked to be trained anew; a whole one is refused, and a refusal says what to do."""

import pytest

from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, verify_files
from tcg_core.recipe import Recipe, Selection
from tcg_core.train.errors import TrainError
from tcg_core.train.mend import set_aside_damaged
from tests.train.finished import finished

RUN = "a" * 16


@pytest.mark.parametrize("ended", [True, False], ids=["finished", "unfinished"])
def test_a_damaged_run_is_set_aside_with_all_that_it_holds(home: Home, ended: bool) -> None:
    finished(home, 10.0, Recipe(Selection(all_days=True)), RUN)
    run = home.checkpoints / RUN
    if not ended:
        (run / MANIFEST).unlink()
    with pytest.raises(TrainError, match=f"is as recorded: `tcg train {RUN}`"):
        set_aside_damaged(home, RUN)
    (run / "step_00000001" / "state.json").write_text("{}")
    with pytest.raises(IntegrityError, match=rf"step_00000001.*`tcg train {RUN} --again` trains it anew"):
        verify_files(run if ended else run / "step_00000001")
    held = sorted(path.relative_to(run) for path in run.rglob("*"))
    aside = set_aside_damaged(home, RUN)
    assert aside is not None and sorted(path.relative_to(aside) for path in aside.rglob("*")) == held
    assert not run.exists() and set_aside_damaged(home, RUN) is None


def test_a_run_without_a_checkpoint_is_begun_by_the_plain_command(home: Home) -> None:
    (home.checkpoints / RUN).mkdir(parents=True)
    with pytest.raises(TrainError, match="continues"):
        set_aside_damaged(home, RUN)
