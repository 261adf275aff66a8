"""The official `kaggle` client, held at arm's length: imported only here, silenced, its errors reduced to a class and a status.

The client itself resumes: beside an unfinished file it keeps a marker with the remote object's ETag and size, and continues
only the same object.
"""

import contextlib
import io
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tcg_core.fetch.errors import ClientMissing, FetchError, NoCredentials

T = TypeVar("T")
_REMEDY = "set KAGGLE_USERNAME and KAGGLE_KEY, or KAGGLE_API_TOKEN, or put kaggle.json into ~/.kaggle"
_BY_STATUS = {
    401: f"the credentials are not accepted; {_REMEDY}",
    403: "access is refused: accept the competition's rules with this account, or check the credentials",
    404: "there is no such dataset or file",
    429: "too many requests; try again later",
}


class Remote(Protocol):
    """Where datasets come from."""

    def file(self, dataset: str, name: str, folder: Path) -> Path:
        """Downloads one file of a dataset into ``folder``."""

    def archive(self, dataset: str, folder: Path) -> Path:
        """Downloads a dataset whole, as the zip ``<name>.zip`` in ``folder``; an unfinished one is continued."""


class KaggleRemote:
    """:class:`Remote` over the official client. Raises :class:`ClientMissing`, :class:`NoCredentials`, :class:`FetchError`."""

    def __init__(self) -> None:
        self._api = _authenticated()

    def file(self, dataset: str, name: str, folder: Path) -> Path:
        target = folder / name
        _call(
            f"{dataset}/{name}", lambda: self._api.dataset_download_file(dataset, name, path=str(folder), force=True, unzip=True)
        )
        if not target.is_file():
            raise FetchError(f"{dataset}/{name}: the client left no {name}")
        return target

    def archive(self, dataset: str, folder: Path) -> Path:
        target = folder / f"{dataset.rpartition('/')[2]}.zip"
        _call(dataset, lambda: self._api.dataset_download_files(dataset, path=str(folder), quiet=True))
        if not target.is_file():
            raise FetchError(f"{dataset}: the client left no {target.name}")
        return target


def _authenticated() -> Any:
    # Importing the client's package already authenticates, and prints advice where it cannot.
    with _quiet():
        try:
            from kaggle.api.kaggle_api_extended import KaggleApi
        except ImportError:
            raise ClientMissing("the kaggle client is not installed: pip install 'tcg-assets[kaggle]'") from None
        api = KaggleApi()
        try:
            api.authenticate()
        except SystemExit:
            raise NoCredentials(f"there are no Kaggle credentials: {_REMEDY}") from None
        except Exception as error:  # the client raises bare Exceptions too
            raise FetchError(f"Kaggle credentials: {_told(error)}") from None
    return api


def _call(what: str, request: Callable[[], T]) -> T:
    try:
        with _quiet():
            return request()
    except (Exception, SystemExit) as error:  # the client raises bare Exceptions, and ends the process where it sees no way
        raise FetchError(f"{what}: {_told(error)}") from None


def _told(error: BaseException) -> str:
    """Class and HTTP status only: the text of such an error quotes signed addresses, and may echo what was sent."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"HTTP {status}: {_BY_STATUS.get(status, 'the server refused')}; what was downloaded is kept"
    return f"{type(error).__name__}; what was downloaded is kept, the same command continues"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The client prints addresses, and the HTTP library logs them with their signatures."""
    loggers = [logging.getLogger(name) for name in ("urllib3", "requests", "kaggle", "kagglesdk")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), Path(os.devnull).open("w") as null, contextlib.redirect_stderr(null):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
