"""Options as pointers into the row: what each acts from and on, and which options mean the same."""

from collections.abc import Sequence
from typing import NamedTuple

from tcg_core.encode.enums import Area, OptionType
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.observation import Card, Option, Pokemon, Select
from tcg_core.encode.schema import NO_CARD, NO_POINTER, UNKNOWN_CARD
from tcg_core.encode.state import Tokens

_HOSTED = (OptionType.TOOL_CARD, OptionType.ENERGY_CARD, OptionType.ENERGY)
# Cards that lie here have no state of their own: two copies of one card are the same choice, whichever is picked first.
_STATELESS = (Area.DECK, Area.HAND, Area.DISCARD, Area.PRIZE, Area.LOOKING)


class Encoded(NamedTuple):
    """One option. source, target: token positions ([card tokens, units]) or NO_POINTER; card, target_card: ids or
    NO_CARD or UNKNOWN_CARD; owner: 1 own, -1 the opponent's, 0 neither."""

    source: int = NO_POINTER
    target: int = NO_POINTER
    card: int = NO_CARD
    target_card: int = NO_CARD
    owner: int = 0


class Place(NamedTuple):
    """A card of the table: its token, its id and the seat that owns it."""

    token: int
    card: int
    owner: int


def encode_option(tokens: Tokens, select: Select, option: Option, position: int) -> Encoded:
    """Resolves one option. Raises :class:`EncodeError` when its area and index name nothing."""
    kind, side = option.type, tokens.side
    if kind == OptionType.CARD:
        place = _place(tokens, select, option.area, option.index, option.player_index, position)
        return Encoded(place.token, NO_POINTER, place.card, NO_CARD, _owner(tokens, place.owner))
    if kind == OptionType.PLAY:
        place = _place(tokens, select, Area.HAND, option.index, side, position)
        return Encoded(place.token, NO_POINTER, place.card, NO_CARD, 1)
    if kind == OptionType.ATTACH or kind == OptionType.EVOLVE:
        place = _place(tokens, select, option.area, option.index, side, position)
        target = _place(tokens, select, option.in_play_area, option.in_play_index, side, position)
        return Encoded(place.token, target.token, place.card, target.card, 1)
    if kind == OptionType.ATTACK:
        active, facing = _active(tokens, side), _active(tokens, 1 - side)
        return Encoded(active.token, facing.token, active.card, facing.card, 1)
    if kind == OptionType.ABILITY or kind == OptionType.DISCARD:
        place = _place(tokens, select, option.area, option.index, side, position)
        return Encoded(place.token, NO_POINTER, place.card, NO_CARD, _owner(tokens, place.owner))
    if kind == OptionType.RETREAT:
        active = _active(tokens, side)
        return Encoded(active.token, NO_POINTER, active.card, NO_CARD, 1)
    if kind == OptionType.END:
        return Encoded()
    if kind in _HOSTED:
        return _hosted(tokens, select, option, position)
    if kind == OptionType.SKILL:
        return _skill(tokens, select, option, position)
    # answers to a question (YES, NO, NUMBER, SPECIAL_CONDITION, and types to come): what asks, and what is asked about
    effect, context = select.effect, select.context_card
    return Encoded(
        NO_POINTER if effect is None else tokens.card_token("effect", effect.id),
        NO_POINTER if context is None else tokens.card_token("context", context.id),
    )


def meanings(encoded: list[Encoded], select: Select) -> list[tuple[object, ...]]:
    """What each option means to this seat: equal for options that are one choice. Copies of a card in a pile or in the
    hand are, and copies of a card attached to one unit. A unit in play and a stadium are themselves only."""
    found: list[tuple[object, ...]] = []
    for position, (option, what) in enumerate(zip(select.option, encoded, strict=True)):
        kind = option.type
        area = Area.HAND if kind == OptionType.PLAY else option.area
        place = option.index if kind in _HOSTED else position if area is not None and area not in _STATELESS else -1
        found.append((
            kind, area, place, what.card, option.player_index, option.in_play_area, option.in_play_index, option.attack_id,
            option.number, option.count, option.special_condition_type, option.card_id, option.serial,
        ))  # fmt: skip
    return found


def option_groups(meant: list[tuple[object, ...]], picked: Sequence[int] = ()) -> list[int]:
    """For each option the first one that can still be picked and means the same, itself if none. Options in ``picked``
    stand for themselves: they are no answer any more."""
    first: dict[tuple[object, ...], int] = {}
    taken = set(picked)
    return [position if position in taken else first.setdefault(meaning, position) for position, meaning in enumerate(meant)]


def _owner(tokens: Tokens, player: int) -> int:
    return 1 if player == tokens.side else -1


def _active(tokens: Tokens, player: int) -> Place:
    token = tokens.unit_token(player, Area.ACTIVE, 0)
    if token == NO_POINTER:
        return Place(NO_POINTER, NO_CARD, player)
    return Place(token, tokens.unit_id[token - len(tokens.card_zone)], player)


def _unresolved(position: int, area: int | None, index: int | None, player: int | None) -> EncodeError:
    return EncodeError(f"option {position}: area {area} index {index} of player {player} names no card of the observation")


def _place(tokens: Tokens, select: Select, area: int | None, index: int | None, player: int | None, position: int) -> Place:
    if index is None or index < 0 or player not in (0, 1):
        raise _unresolved(position, area, index, player)
    own = player == tokens.side
    table = tokens.state.players[player]
    if area == Area.ACTIVE or area == Area.BENCH:
        token = tokens.unit_token(player, area, index)
        if token == NO_POINTER:
            raise _unresolved(position, area, index, player)
        return Place(token, tokens.unit_id[token - len(tokens.card_zone)], player)
    if area == Area.HAND and table.hand is None:
        if index >= table.hand_count:
            raise _unresolved(position, area, index, player)
        return Place(tokens.card_token("opponent_hand", UNKNOWN_CARD), UNKNOWN_CARD, player)
    row: Sequence[Card | None] | None
    if area == Area.HAND:
        zone, row = "self_hand" if own else "opponent_hand", table.hand
    elif area == Area.DECK:
        zone, row = "select_deck", select.deck
    elif area == Area.DISCARD:
        zone, row = "self_discard" if own else "opponent_discard", table.discard
    elif area == Area.PRIZE:
        zone, row = "self_prize" if own else "opponent_prize", table.prize
    elif area == Area.STADIUM:
        zone, row = "stadium", tokens.state.stadium
    elif area == Area.LOOKING:
        zone, row = "looking", tokens.state.looking
    else:
        zone, row = "", None
    if row is None or index >= len(row):
        raise _unresolved(position, area, index, player)
    card = row[index]
    identity = UNKNOWN_CARD if card is None else card.id
    owner = card.player_index if card is not None and area == Area.STADIUM else player
    return Place(tokens.card_token(zone, identity), identity, owner)


def _hosted(tokens: Tokens, select: Select, option: Option, position: int) -> Encoded:
    """A card attached to a unit: the unit is the source, the card is the option's card."""
    host = _place(tokens, select, option.area, option.index, option.player_index, position)
    player = tokens.state.players[host.owner]
    row = {Area.ACTIVE: player.active, Area.BENCH: player.bench}.get(option.area or 0)
    unit: Pokemon | None = row[option.index] if row is not None and option.index is not None else None
    if unit is None:
        raise _unresolved(position, option.area, option.index, option.player_index)
    tool = option.type == OptionType.TOOL_CARD
    cards, index = (unit.tools, option.tool_index) if tool else (unit.energy_cards, option.energy_index)
    if index is None or not 0 <= index < len(cards):
        raise EncodeError(f"option {position}: {'tool' if tool else 'energy'} {index} is not among the {len(cards)} of its unit")
    return Encoded(host.token, NO_POINTER, cards[index].id, NO_CARD, _owner(tokens, host.owner))


def _skill(tokens: Tokens, select: Select, option: Option, position: int) -> Encoded:
    """A triggered skill, named by card and serial; card 0 is a special condition."""
    if option.card_id is None:
        raise EncodeError(f"option {position}: a skill without cardId")
    for (player, area, index), unit_position in tokens.unit_at.items():
        row = tokens.state.players[player].active if area == Area.ACTIVE else tokens.state.players[player].bench
        unit = row[index]
        if unit is None:
            continue
        serials = [unit.serial, *(card.serial for card in (*unit.tools, *unit.energy_cards))]
        if option.serial in serials:
            return Encoded(len(tokens.card_zone) + unit_position, NO_POINTER, option.card_id, NO_CARD, _owner(tokens, player))
    for card in tokens.state.stadium:
        if card.serial == option.serial:
            return Encoded(
                tokens.card_token("stadium", card.id), NO_POINTER, option.card_id, NO_CARD, _owner(tokens, card.player_index)
            )
    effect = select.effect
    return Encoded(NO_POINTER if effect is None else tokens.card_token("effect", effect.id), NO_POINTER, option.card_id)
