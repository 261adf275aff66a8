"""What each stream, zone and flag of a row means, in words: for the page of the data contract and for the UI."""

OUTSIDE_IDENTITY = "words about streams change no value"

MEANINGS = {
    "episode_id": "Kaggle's EpisodeId",
    "game": "game of the episode, 0-based; always 0 in best of one",
    "side": "the seat that decides, 0 or 1",
    "step_id": (
        "index t of the replay's steps[t] whose observation asks; the answer is the action in steps[t+1]. It "
        "grows from decision to decision of a lane, often by more than 1"
    ),
    "decision_id": "decision of the lane, 0-based",
    "substep": "pick of the decision, 0-based",
    "new_episode": "true on the first row of a lane, where the network's memory starts empty; false on all other rows",
    "day": "the archive's date, YYYY-MM-DD",
    "generation": "engine generation, v1 or v2; ids are of this generation",
    "module_version": "version of the engine's package that played the game, as the replay names it (module_version)",
    "player_name": "team name of the seat",
    "opponent_name": "team name of the other seat",
    "player_deck_hash": "SHA-256 of the seat's 60 card ids, sorted and joined by commas",
    "opponent_deck_hash": "the same of the other seat's deck; never a feature",
    "outcome": "result of this game for the seat: +1 won, -1 lost; drawn games give no rows",
    "is_attack": (
        "true if the decision is of select type MAIN (0) and at least one of its options is an attack (option type 13)"
    ),
    "forced": "true if exactly one answer is legal at this pick, STOP included",
    "y": "index of the picked option; number of options for STOP",
    "opt_group": (
        "for each option the lowest index among the options that mean the same and can still be picked in this "
        "row. Options picked before stand for themselves"
    ),
    "aux_valid": (
        "true if the replay shows how the window ends: by an observation of a later turn, or by the last frame of "
        "the game. If false, the other four are 0 and count nowhere"
    ),
    "aux_ko": "the seat takes at least one prize in the window",
    "aux_prize_delta": "prizes taken minus prizes lost in the window",
    "aux_terminal": "the game ends inside the window",
    "aux_return": (
        "from this decision to the end of the game: (prizes the seat takes - prizes the opponent takes) / 6 + "
        "outcome. Nothing is discounted"
    ),
    "globals": "scalars of the state and the select",
    "select_type": "SelectType of the engine",
    "select_context": "SelectContext of the engine",
    "card_zone": "index into CARD_ZONES",
    "card_id": "card id, -1 for cards that lie face down to the seat",
    "card_count": "how many cards the token stands for: copies of one card with the same zone and flag are one token",
    "card_flag": "index into CARD_FLAGS",
    "unit_zone": "index into UNIT_ZONES",
    "unit_id": "id of the unit's top card, -1 face down",
    "unit_attributes": "state of the unit",
    "attached_unit": "unit of the row that holds the card",
    "attached_kind": "index into ATTACHED_KINDS",
    "attached_id": "id of the attached card",
    "option_type": "OptionType of the engine",
    "option_source": (
        "token the option acts from or picks, counted over the card tokens of the row first, then its units; -1 none"
    ),
    "option_target": (
        "token that the option acts on: the unit that a card is attached to or that evolves, the unit that an "
        "attack faces, the card that a question asks about. Counted as in option_source; -1 none"
    ),
    "option_card": "id of the card that the option acts from or picks; 0 none, -1 face down",
    "option_target_card": "id of the card of the target unit; 0 none, -1 face down",
    "option_attack": "attack id, 0 none",
    "option_attributes": "numbers of the option",
}

ZONES = {
    "self_deck": "the own list minus the own cards that the seat sees elsewhere and minus deduced prizes",
    "self_hand": "the own hand",
    "self_discard": "the own discard pile",
    "self_prize": (
        "open prizes and deduced ones, certain; then the face-down ones, unknown, if they are not deduced or if an option "
        "picks an own prize"
    ),
    "opponent_prize": "open prizes, certain; then the face-down ones, unknown",
    "opponent_hand": (
        "believed cards, certain, then uncertain; then unknown cards up to the hand's size. If all are believed and an option "
        "picks one, the whole hand is unknown too"
    ),
    "opponent_discard": "the opponent's discard pile",
    "opponent_revealed": "every card of the opponent that was seen in this game, wherever it is",
    "stadium": "the stadium in play, own or foreign",
    "looking": "cards that are looked at, own or foreign, unknown if face down",
    "select_deck": "the cards of `select.deck`, which the question shows",
    "effect": "the card whose effect asks, own or foreign",
    "context": "the card that the question is about, own or foreign",
}
FLAGS = {
    "none": "nothing to say",
    "certain": "the card is there for certain",
    "uncertain": "the card was there and may have left",
    "unknown": "a card that lies face down to the seat; its id is -1",
    "own": "a card of the seat",
    "foreign": "a card of the opponent",
}
