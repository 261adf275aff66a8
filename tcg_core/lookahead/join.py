"""Looks joined to rows by (episode, game, side, step, option): vectorised, and refused where the two do not fit.

An option keeps its number through all picks of a decision, and options that mean the same stay options of their own, so a look
belongs to that number in every row of its decision.
"""

from collections.abc import Mapping

import numpy as np

from tcg_core.base.errors import IntegrityError
from tcg_core.encode import would_ko
from tcg_core.encode.columns import Array, Columns
from tcg_core.encode.enums import OptionType, SelectType

DECISION = ("episode_id", "game", "side", "step_id")
#: What of a row the join reads.
NEEDED = (*DECISION, "select_type", "option_type", "option_attack")


def join(columns: Columns, looks: Mapping[str, Array], where: str) -> Columns:
    """``columns`` (with :data:`NEEDED`) and the streams of :mod:`tcg_core.encode.would_ko`.

    looks: columns of ``would_ko.parquet`` by name, sorted by decision and option, ``ko``, ``prizes`` and ``win`` NaN where
    nothing was found out; those of other episodes are passed over. An option without a finding gets no item.

    Raises :class:`IntegrityError` naming ``where`` and the lane: an attack without its look or with that of another attack, a
    look of an option that is no attack, looks twice or out of order, values that cannot be.
    """
    _check(looks, where)
    row, option, attack = _attacks(columns)
    radices = _radices(columns, looks)
    keys = _keys(looks, looks["option"], radices, where)
    if (np.diff(keys) <= 0).any():
        at = int(np.argmax(np.diff(keys) <= 0)) + 1
        raise IntegrityError(f"{where}: {_name(looks, at)} option {looks['option'][at]} is there twice or out of order")
    of_row = {name: columns[name][row] for name in DECISION}
    wanted = _keys(of_row, option, radices, where)
    found = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    fits = keys[found] == wanted if len(keys) else np.zeros(len(wanted), bool)
    if not fits.all():
        at = int(np.argmin(fits))
        raise IntegrityError(f"{where}: {_name(of_row, at)} option {option[at]} is an attack without a look")
    other = looks["attack"][found] != attack
    if other.any():
        at = int(np.argmax(other))
        told = looks["attack"][found[at]]
        raise IntegrityError(f"{where}: {_name(of_row, at)} option {option[at]} is attack {attack[at]}, its look is of {told}")
    _refuse_idle(columns, looks, keys, wanted, radices, where)
    known = ~np.isnan(looks["ko"][found])
    counts = np.bincount(row[known], minlength=columns.rows)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    values = np.stack([looks[entry.name][found[known]] for entry in would_ko.VALUE_ENTRIES], axis=1)
    streams: dict[str, Array] = {would_ko.OPTION: option[known].astype(np.int16), would_ko.VALUES: values.astype(np.float32)}
    return Columns(columns.rows, {**columns.values, **streams}, {**columns.offsets, would_ko.GROUP: ends})


def _attacks(columns: Columns) -> tuple[Array, Array, Array]:
    """Row, option number and attack id of every option that had to be looked at: attacks of MAIN selects."""
    lengths, starts = columns.lengths("option"), columns.offsets["option"][:-1]
    row = np.repeat(np.arange(columns.rows), lengths)
    items = np.flatnonzero((columns["option_type"] == OptionType.ATTACK) & (columns["select_type"][row] == SelectType.MAIN))
    return row[items], items - starts[row[items]], columns["option_attack"][items]


def _radices(columns: Columns, looks: Mapping[str, Array]) -> tuple[Array, list[int]]:
    """Episodes of the looks, and one more than the largest value of each further part of a key, on either side."""
    parts = [max(int(side[name].max(initial=0)) for side in (columns.values, looks)) + 1 for name in DECISION[1:]]
    options = max(int(columns.lengths("option").max(initial=0)), int(looks["option"].max(initial=0)) + 1, 1)
    return np.unique(looks["episode_id"]), [*parts, options]


def _keys(decision: Mapping[str, Array], option: Array, radices: tuple[Array, list[int]], where: str) -> Array:
    """One number an option, int64, in the order of (decision, option); -1 for an episode that has no looks."""
    episodes, sizes = radices
    total = len(episodes) + 1
    for size in sizes:
        total *= size
    if total >= 2**63:
        raise IntegrityError(f"{where}: steps and options are beyond what can be joined ({total} keys)")
    place = np.searchsorted(episodes, decision["episode_id"])
    known = np.isin(decision["episode_id"], episodes)
    key = place.astype(np.int64)
    for name, size in zip(DECISION[1:], sizes[:-1], strict=True):
        key = key * size + decision[name]
    return np.where(known, key * sizes[-1] + option, -1)


def _refuse_idle(
    columns: Columns, looks: Mapping[str, Array], keys: Array, wanted: Array, radices: tuple[Array, list[int]], where: str
) -> None:
    """A look that no row asked for although its decision is among them."""
    present = np.unique(_keys(columns.values, np.zeros(columns.rows, np.int64), radices, where))
    of_decision = keys - looks["option"]
    idle = np.isin(of_decision, present) & ~np.isin(keys, wanted)
    if idle.any():
        at = int(np.argmax(idle))
        raise IntegrityError(f"{where}: {_name(looks, at)} has a look of option {looks['option'][at]}, which is no attack")


def _check(looks: Mapping[str, Array], where: str) -> None:
    blank = np.isnan(looks["ko"])
    for entry in would_ko.VALUE_ENTRIES:
        values = looks[entry.name]
        bad = (np.isnan(values) != blank) | (values < 0) | (values > entry.scale)
        if bad.any():
            at = int(np.argmax(bad))
            raise IntegrityError(
                f"{where}: {_name(looks, at)} option {looks['option'][at]}: {entry.name} is {values[at]}, "
                f"expected 0 to {entry.scale:g}, or none of the values"
            )


def _name(decision: Mapping[str, Array], at: int) -> str:
    return " ".join(
        f"{name} {int(decision[key][at])}" for name, key in zip(("episode", "game", "side", "step"), DECISION, strict=True)
    )
