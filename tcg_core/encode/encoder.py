"""One decision as rows: the only encoder, used for training data and for play."""

import itertools
from collections.abc import Sequence
from typing import Any

from tcg_core.encode.enums import OptionType, SelectType
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.observation import Observation
from tcg_core.encode.options import encode_option, meanings, option_groups
from tcg_core.encode.state import Tokens, global_values
from tcg_core.encode.tracker import Tracker


def encode_decision(tracker: Tracker, obs: Observation, picked: Sequence[int] = ()) -> dict[str, Any]:
    """The row of the next pick, after ``picked`` (option indexes, in order) were made.

    Holds every feature stream of the schema, and ``opt_group``, ``is_attack``, ``forced``. ``tracker.observe(obs)`` must
    have been called. Raises :class:`EncodeError` for an option that does not resolve or a pick that is not there.
    """
    return EncodedDecision(tracker, obs).row(picked)


def legal(obs: Observation, picked: Sequence[int] = ()) -> list[bool]:
    """Which answers are legal after ``picked``: one entry an option, and the last one for STOP. An option is legal while
    it is not picked and fewer than ``maxCount`` are; STOP when minCount <= picks < maxCount."""
    select = obs.select
    if select is None:
        raise EncodeError("an observation without select asks for nothing")
    room = len(picked) < select.max_count
    taken = set(picked)
    mask = [room and position not in taken for position in range(len(select.option))]
    mask.append(select.min_count <= len(picked) < select.max_count)
    return mask


class EncodedDecision:
    """The tokens of one decision, made once; :meth:`row` gives the row of each of its picks."""

    def __init__(self, tracker: Tracker, obs: Observation) -> None:
        self.tokens = tokens = Tokens(tracker, obs)
        select = obs.select
        assert select is not None  # Tokens refuses it
        self.obs, self.select = obs, select
        options = [encode_option(tokens, select, option, position) for position, option in enumerate(select.option)]
        self._numbers = [
            (
                option.number or 0,
                option.count or 0,
                0 if option.special_condition_type is None else 1 + option.special_condition_type,
            )
            for option in select.option
        ]
        self._owners = [what.owner for what in options]
        self._meanings = meanings(options, select)
        self._groups = option_groups(self._meanings)
        self._shared: dict[str, Any] = {
            "select_type": select.type,
            "select_context": select.context,
            "card_zone": tokens.card_zone,
            "card_id": tokens.card_id,
            "card_count": tokens.card_count,
            "card_flag": tokens.card_flag,
            "unit_zone": tokens.unit_zone,
            "unit_id": tokens.unit_id,
            "unit_attributes": tokens.unit_attributes,
            "attached_unit": tokens.attached_unit,
            "attached_kind": tokens.attached_kind,
            "attached_id": tokens.attached_id,
            "option_type": [option.type for option in select.option],
            "option_source": [what.source for what in options],
            "option_target": [what.target for what in options],
            "option_card": [what.card for what in options],
            "option_target_card": [what.target_card for what in options],
            "option_attack": [option.attack_id or 0 for option in select.option],
            "is_attack": select.type == SelectType.MAIN and any(o.type == OptionType.ATTACK for o in select.option),
        }

    @property
    def ids(self) -> tuple[list[int], list[int]]:
        """All card ids and all attack ids of the decision's rows, repeated as they stand there."""
        names = ("card_id", "unit_id", "attached_id", "option_card", "option_target_card")
        return list(itertools.chain.from_iterable(self._shared[name] for name in names)), self._shared["option_attack"]

    def row(self, picked: Sequence[int] = ()) -> dict[str, Any]:
        """The row of the pick that follows ``picked``; rows of one decision share their lists."""
        select, count = self.select, len(self.select.option)
        if len(set(picked)) != len(picked) or any(not 0 <= pick < count for pick in picked):
            raise EncodeError(f"picks {list(picked)} are not distinct indexes of {count} options")
        taken = set(picked)
        row = dict(self._shared)
        row["opt_group"] = option_groups(self._meanings, picked) if picked else self._groups
        row["globals"] = global_values(self.tokens.state, select, self.tokens.side, len(picked))
        row["option_attributes"] = [
            (int(position in taken), *numbers, owner, position)
            for position, (numbers, owner) in enumerate(zip(self._numbers, self._owners, strict=True))
        ]
        row["forced"] = sum(legal(self.obs, picked)) == 1
        return row
