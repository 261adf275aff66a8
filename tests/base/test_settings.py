from pathlib import Path

import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.base.settings import from_dict, identity, read_config, to_dict, write_config
from tcg_core.recipe import Recipe


def recipe(**values: object) -> Recipe:
    return from_dict(Recipe, {"selection": {"all_days": True}} | values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epoch": 3}, "unknown key epoch"),
        ({"work": {"batchsize": 3}}, "unknown key work.batchsize"),
        ({"epochs": "3"}, "epochs: expected int, found '3'"),
        ({"epochs": True}, "epochs: expected int, found True"),
        ({"model": 3}, "model: expected a table"),
        ({"schedule": {"name": "sine"}}, "schedule.name: expected one of cosine, linear, none"),
        ({"generations": "v1"}, "generations: expected a list"),
        ({"selection": {}}, "exactly one of days, last_n_days, all_days"),
        ({"selection": {"all_days": True, "last_n_days": 2}}, "exactly one of"),
    ],
)
def test_a_wrong_key_or_value_is_refused_by_its_full_name(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        recipe(**values)


def test_plain_values_and_back_are_the_same_recipe() -> None:
    made = recipe(epochs=2, generations=["v1", "v2"], optimizer={"lr": 1})
    assert from_dict(Recipe, to_dict(made)) == made
    assert made.optimizer.lr == 1.0 and isinstance(made.optimizer.lr, float)


def test_identity_follows_values_not_spelling() -> None:
    assert identity(recipe()) == identity(recipe(epochs=Recipe.__dataclass_fields__["epochs"].default))
    assert identity(recipe()) != identity(recipe(seed=14))


def test_a_file_is_read_as_it_was_written_and_an_absent_one_is_the_default(tmp_path: Path) -> None:
    file, made = tmp_path / "recipe.json", recipe(epochs=2)
    assert read_config(file, Recipe, recipe()) == recipe()
    assert write_config(file, made) == file
    assert read_config(file, Recipe, recipe()) == read_config(file, Recipe) == made


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, r"cannot be read: No such file or directory$"),
        ("", "is not JSON: Expecting value"),
        ("{", "is not JSON: "),
        ("[]", "expected a table of keys, found list"),
        ('{"selection": {"all_days": true}, "seed": 1, "seed": 2}', "key seed is given twice, with 1 and 2"),
        ('{"selection": {"all_days": true}, "optimizer": {"lr": NaN}}', "expected a number, found NaN"),
        ('{"selection": {"all_days": true}, "epoch": 3}', "unknown key epoch; known keys: aux, "),
        ('{"selection": {"all_days": true}, "epochs": "3"}', "epochs: expected int, found '3'"),
        ('{"epochs": 3}', "key selection is missing"),
        ('{"selection": {"all_days": true}, "model": {"d_model": 15}}', r"model\.d_model 15"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused_in_one_line_that_begins_with_its_name(
    text: str | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "recipe.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=words) as refused:
        read_config(file, Recipe)
    assert str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)


def test_a_directory_where_a_file_should_be_is_not_the_default(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_config(tmp_path, Recipe, recipe())
