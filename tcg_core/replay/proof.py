"""What a replay itself says about the order of its steps and about its answers. It can only refuse an episode: a step that is
lost, doubled, swapped or out of date often leaves answers that are legal by chance, and labels that are wrong.

Each rule holds on every decision of every replay that was measured, of both generations, Kaggle's and ours.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from tcg_core.replay.decisions import Decision
from tcg_core.replay.errors import Quarantine
from tcg_core.replay.layout import Frame, SeatStep

Steps = Sequence[tuple[SeatStep, SeatStep]]


class _Numbered(msgspec.Struct, gc=False):
    step: Any = None


_decode_number = msgspec.json.Decoder(_Numbered).decode
# Kaggle writes the number second, and then nothing else of the observation is read.
_NUMBER = re.compile(rb'\{\s*"remainingOverageTime":\s*[-+.0-9eE]+,\s*"step":\s*(0|[1-9][0-9]{0,9})\s*,')


def check_numbers(steps: Steps, name: str) -> None:
    """Seat 0's ``observation.step`` is t in every steps[t]. Only while it waits may the number be missing: what a waiting seat
    holds is stale, and nothing else of it is read. Raises :class:`Quarantine` (``step_order``)."""
    for t, (entry, _) in enumerate(steps):
        raw = memoryview(entry.observation)
        found = _NUMBER.match(raw)
        number = int(found[1]) if found else _decode_number(raw).step
        if number is None and entry.status != "ACTIVE":
            continue
        if number != t or type(number) is not int:
            raise Quarantine("step_order", f"{name}: steps[{t}][0].observation.step is {number!r:.40}, expected {t}")


def check_order(steps: Steps, games: Sequence[Sequence[Decision]], name: str) -> None:
    """(turn, turnActionCount) grows from decision to decision of a game, and a seat that was not asked gives no answer.
    Raises :class:`Quarantine` (``step_order``)."""
    for decisions in games:
        before = (-1, -1)
        for decision in decisions:
            now, where = _moment(decision), f"{name}: steps[{decision.step_id}][{decision.side}]"
            if now <= before:
                raise Quarantine("step_order", f"{where} is at turn {_told(now)}, expected later than {_told(before)}")
            before = now
            action = steps[decision.step_id + 1][1 - decision.side].action
            if action:
                place = f"steps[{decision.step_id + 1}][{1 - decision.side}]"
                raise Quarantine(
                    "step_order", f"{name}: {place}.action is {action!r:.40}, expected none: seat {decision.side} was asked"
                )


def check_frames(frames: Sequence[Frame], games: Sequence[Sequence[Decision]], name: str, caveats: Counter[str]) -> None:
    """Each decision has its frame, at the same turn and of the same seat, and the next frame has its answer as ``selected``.

    A game has one frame more than decisions. Without frames, or with the last of each game only, nothing proves the answers:
    the decisions are counted as the caveat ``unproven_labels``. Raises :class:`Quarantine` (``label_proof``).
    """
    count = sum(len(decisions) for decisions in games)
    if len(frames) in (0, len(games)):
        caveats["unproven_labels"] += count
        return
    place = 0
    for decisions in games:
        for decision in decisions:
            where = f"{name}: steps[{decision.step_id}][{decision.side}]"
            if place + 1 >= len(frames):
                raise Quarantine("label_proof", f"{where}: expected visualize[{place + 1}], found {len(frames)} frames")
            shown, seen = _shown(frames[place]), (decision.side, *_moment(decision))
            if shown != seen:
                text = f"visualize[{place}] shows {_seat(shown)}, steps[{decision.step_id}] asks {_seat(seen)}"
                raise Quarantine("label_proof", f"{where}: {text}")
            place += 1
            selected = frames[place].selected
            if selected != list(decision.picks):
                text = f"its answer is {list(decision.picks)!r:.60}, visualize[{place}].selected is {selected!r:.60}"
                raise Quarantine("label_proof", f"{where}: {text}")
        place += 1
    if place != len(frames):
        raise Quarantine("label_proof", f"{name}: {len(frames)} frames of {count} decisions, expected {place}")


def _moment(decision: Decision) -> tuple[int, int]:
    state = decision.observation.current
    assert state is not None
    return state.turn, state.turn_action_count


def _shown(frame: Frame) -> tuple[int, int, int] | None:
    if isinstance(frame.current, msgspec.UnsetType):
        return None
    return frame.current.your_index, frame.current.turn, frame.current.turn_action_count


def _told(moment: tuple[int, int]) -> str:
    return f"{moment[0]}, action {moment[1]}"


def _seat(shown: tuple[int, int, int] | None) -> str:
    return "no state" if shown is None else f"seat {shown[0]} at turn {_told(shown[1:])}"
