"""A data home with a golden day that was built with its attacks looked ahead, made once a test process and copied by those that
write."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from tcg_core.base.home import Home
from tcg_core.cards.features import card_features
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import add_archive, take_archive
from tcg_core.engine.cards import load_attacks, load_cards
from tcg_core.lookahead.settings import WouldKo
from tcg_core.model.config import ModelConfig
from tcg_core.recipe import Recipe, Selection, Split, Work

DAY = "2026-08-15"
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / f"{DAY}.zip"
SETTINGS = WouldKo(text_samples=3)
PLAIN = ModelConfig(d_model=16, heads=2, layers=1, ff=32, registers=2)
LOOKING = ModelConfig(d_model=16, heads=2, layers=1, ff=32, registers=2, would_ko=True)


def recipe(model: ModelConfig = LOOKING, zero_wouldko: bool = False) -> Recipe:
    """One epoch over the day, a third of its episodes for validation."""
    work = Work(batch_size=128, val_batch_size=128, tbptt_chunk=8)
    return Recipe(
        Selection(all_days=True), split=Split(val_frac=0.3), work=work, model=model, epochs=1, zero_wouldko=zero_wouldko
    )


@cache
def _original() -> Path:
    root = Path(tempfile.mkdtemp(prefix="tcg-looked-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    home = Home(root / "home").prepare()
    incoming = root / GOLDEN.name
    shutil.copy(GOLDEN, incoming)
    add_archive(home, incoming)
    assert take_archive(home, DAY).passed
    assert build_day(home, DAY, would_ko=SETTINGS).passed and promote_day(home, DAY).passed
    assert card_features(home, HomeRegistrar(home), {"v1": load_cards("v1")}, {"v1": load_attacks("v1")}).passed
    return home.root


def looked_home(directory: Path) -> Home:
    """A copy at ``directory``."""
    shutil.copytree(_original(), directory)
    return Home(directory)


def shared_home() -> Home:
    """The one original: only to be read."""
    return Home(_original())
