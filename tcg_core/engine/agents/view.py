"""An observation with names for what the rules ask: whose, where, which card."""

from collections.abc import Sequence
from typing import Any

from tcg_core.engine.cards import Attack, CardData, attacks_by_id, cards_by_id

Pokemon = dict[str, Any]
DECK, HAND, DISCARD, ACTIVE, BENCH, PRIZE, STADIUM, LOOKING = 1, 2, 3, 4, 5, 6, 7, 12


class View:
    """One decision as the deciding seat sees it. ``deck`` is the seat's own 60 card ids."""

    def __init__(self, generation: str, deck: Sequence[int], obs: dict[str, Any]) -> None:
        self.generation = generation
        self.deck = deck
        self.cards = cards_by_id(generation)
        self.attacks = attacks_by_id(generation)
        self.select: dict[str, Any] = obs["select"]
        self.state: dict[str, Any] = obs["current"]
        self.seat: int = self.state["yourIndex"]
        self.mine: dict[str, Any] = self.state["players"][self.seat]
        self.theirs: dict[str, Any] = self.state["players"][1 - self.seat]
        self.hand: list[int] = [card["id"] for card in self.mine["hand"] or []]

    @property
    def active(self) -> Pokemon | None:
        """Our Active Pokémon, None while there is none or it lies face down."""
        return self.mine["active"][0] if self.mine["active"] else None

    @property
    def target(self) -> Pokemon | None:
        """Their Active Pokémon."""
        return self.theirs["active"][0] if self.theirs["active"] else None

    @property
    def in_play(self) -> list[Pokemon]:
        """Our Pokémon in play, the Active one first."""
        return [pokemon for pokemon in (*self.mine["active"], *self.mine["bench"]) if pokemon]

    def card(self, card_id: int) -> CardData | None:
        """The card of an id, None where the table does not know it."""
        return self.cards.get(card_id)

    def own_attacks(self, pokemon: Pokemon) -> list[Attack]:
        """Attacks printed on a Pokémon in play."""
        card = self.cards.get(pokemon["id"])
        return [self.attacks[index] for index in card.attacks] if card else []

    def at(self, area: int, index: int, player: int) -> dict[str, Any] | None:
        """The card or Pokémon at a place, None where it is hidden or gone. Keys: id, serial, ... ."""
        side = self.state["players"][player]
        places: dict[int, Any] = {
            DECK: self.select["deck"],
            HAND: side["hand"],
            DISCARD: side["discard"],
            ACTIVE: side["active"],
            BENCH: side["bench"],
            PRIZE: side["prize"],
            STADIUM: self.state["stadium"],
            LOOKING: self.state["looking"],
        }
        place = places.get(area) or []
        found: dict[str, Any] | None = place[index] if 0 <= index < len(place) else None
        return found

    def option_place(self, option: dict[str, Any]) -> dict[str, Any] | None:
        """The card or Pokémon that an option with an area names; its player is ours where the option does not say."""
        if "area" not in option:
            return None
        return self.at(option["area"], option["index"], option.get("playerIndex", self.seat))
