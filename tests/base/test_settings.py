import pytest

from tcg_core.base.errors import ConfigError
from tcg_core.base.settings import from_dict, identity, to_dict
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
