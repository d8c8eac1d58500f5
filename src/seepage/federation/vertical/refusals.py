"""Bad input in the words of scikit-learn, whose tools and users expect a ``ValueError``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import NotFittedError

from seepage._core import InputError


class BadValue(InputError, ValueError):
    """The input of an estimator is wrong: an ``InputError``, and the ``ValueError`` that scikit-learn expects."""


@contextmanager
def value_errors() -> Iterator[None]:
    """Input errors inside become :class:`BadValue`; other kinds of them (a full disk) stay what they are."""
    try:
        yield
    except InputError as error:
        if type(error) is not InputError:
            raise
        raise BadValue(str(error)) from error.__cause__


@contextmanager
def checked_by_scikit_learn() -> Iterator[None]:
    """What scikit-learn's own checks find inside becomes :class:`BadValue`, in their words."""
    try:
        yield
    except (NotFittedError, InputError):
        raise
    except (TypeError, ValueError) as error:
        raise BadValue(str(error)) from None
