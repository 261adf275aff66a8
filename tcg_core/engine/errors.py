"""What can go wrong with the engine, as exceptions instead of a dead process."""

from tcg_core.base.errors import TcgError


class EngineMissing(TcgError):
    """The engine's wheel, or the library of this platform in it, is not installed."""


class EngineBroken(TcgError):
    """The library is there but cannot be used in this process."""


class DeckError(TcgError):
    """A deck that the rules or its file do not allow."""


class DeckRejected(DeckError):
    """The engine refused a deck at the start of a battle.

    ``player`` is the seat (0 or 1) of the first deck refused, ``code`` the engine's number: 1 unknown id, 2 more than
    four of one name, 3 no Basic Pokémon, 4 more than one ACE SPEC; 0 is our own check of the length.
    """

    def __init__(self, player: int, code: int, meaning: str) -> None:
        super().__init__(player, code, meaning)  # args as given: the exception crosses process borders by pickle
        self.player = player
        self.code = code
        self.meaning = meaning

    def __str__(self) -> str:
        return f"deck of seat {self.player} refused: {self.meaning}"


class IllegalAnswer(TcgError):
    """An answer that the pending decision does not allow; the battle is unchanged and takes another.

    ``code`` is the engine's number (4 count, 5 index, 6 duplicate), or 0 where our own check refused the type.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message


class BattleEnded(TcgError):
    """An answer to a battle that has a result already."""


class BattleClosed(TcgError):
    """Use of a battle whose memory was given back."""
