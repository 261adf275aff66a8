"""Auxiliary heads: which exist, and the leaf each reads from. A head whose loss weight is 0 is not built."""

from collections.abc import Mapping

from tcg_core.model.config import ModelError

#: Head -> leaf prefix, in the order of every listing. ``value`` is the return head: it is the policy's value output.
HEAD_LEAF = {"ko": "ko_head_aux", "prize": "prize_head_aux", "terminal": "terminal_head_aux", "value": "return_head_aux"}
HEADS = tuple(HEAD_LEAF)


def built_heads(weights: Mapping[str, float]) -> tuple[str, ...]:
    """Heads with a positive loss weight, in the order of :data:`HEADS`.

    ``weights`` holds exactly one number a head (as ``dataclasses.asdict(recipe.aux)``); raises :class:`ModelError`
    naming an unknown, missing or negative one.
    """
    for name in sorted(set(weights) ^ set(HEADS)):
        raise ModelError(f"aux head {name!r} is {'unknown' if name in weights else 'missing'}; expected {', '.join(HEADS)}")
    for name, weight in weights.items():
        if not weight >= 0:
            raise ModelError(f"aux weight of {name!r} is {weight}, expected 0 or more")
    return tuple(name for name in HEADS if weights[name] > 0)
