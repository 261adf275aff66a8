import pytest

from tcg_core.fetch.errors import FetchError
from tcg_core.fetch.index import Published, dataset_of, parse_index

HEAD = "date,daily_dataset_slug,daily_dataset_url,episode_count,total_bytes,top_avg_score,median_avg_score\n"
SLUG = "pokemon-tcg-ai-battle-episodes-2026-08-0"


def test_the_index_gives_days_by_date_whatever_its_order_and_further_columns():
    text = "\ufeff" + HEAD + f"2026-08-02,{SLUG}2,https://x,5054,21470000000,900.5,600\n2026-08-01,someone/{SLUG}1,,,,,\n"
    assert parse_index(text) == (
        Published("2026-08-01", f"someone/{SLUG}1"),
        Published("2026-08-02", f"kaggle/{SLUG}2", 5054, 21470000000),
    )
    assert parse_index(HEAD) == ()


def test_a_day_outside_the_index_goes_by_the_naming_rule():
    assert dataset_of("2026-08-01") == f"kaggle/{SLUG}1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("day,slug\n", "column daily_dataset_slug, date is absent"),
        (HEAD + f"2026-08-32,{SLUG}2,,,,,\n", "line 2: day '2026-08-32'"),
        (HEAD + "2026-08-02,../../etc/passwd,,,,,\n", "line 2: daily_dataset_slug"),
        (HEAD + f"2026-08-02,{SLUG}2,,many,,,\n", "line 2: episode_count 'many' is no number"),
        (HEAD + f"2026-08-02,{SLUG}2,,,,,\n" * 2, "line 3: day 2026-08-02 twice"),
        (HEAD + "2026-08-02\n", "line 2: daily_dataset_slug '"),
    ],
)
def test_a_broken_index_is_named_by_line(text, message):
    with pytest.raises(FetchError, match=message):
        parse_index(text)
