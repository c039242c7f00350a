"""Numbers and counts as a reader expects them."""

import math
from collections.abc import Sequence

MINUS = "\N{MINUS SIGN}"  # as wide as a plus; a hyphen is not
NO_BREAK = "\N{NO-BREAK SPACE}"
DIGITS = 4
LARGE, SMALL = 1e6, 1e-4


def number(value: float | None) -> str:
    """Return a number with four digits, or "n/a" if it is not finite.

    Examples
    --------
    >>> from walkconv.reports.wording import number
    >>> number(1234567), number(0.98765), number(12.5), number(1.5e7), number(None)
    ('1,234,567', '0.9877', '12.5', '15,000,000', 'n/a')
    """
    if value is None or not math.isfinite(value):
        return "n/a"
    return _digits(value).replace("-", MINUS)


def aligned(values: Sequence[float | None], *, signed: bool = False) -> list[str]:
    """Return numbers with the same decimals, three digits in the largest; "" for None.

    Examples
    --------
    >>> from walkconv.reports.wording import aligned
    >>> aligned([1.374, 0.05, None]), aligned([0.0105, 0.009], signed=True)
    (['1.37', '0.05', ''], ['+0.0105', '+0.0090'])
    """
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    decimals = 2 - math.floor(math.log10(largest)) if largest > 0 else 0
    form = f"{'+' if signed else ''},.{min(max(decimals, 0), 8)}f"
    return ["" if value is None else format(value, form).replace("-", MINUS) for value in values]


def _digits(value: float) -> str:
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}"
    if not SMALL <= abs(value) < LARGE:
        return f"{value:.3g}"
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(abs(value))))
    decimals = min(decimals, DIGITS)
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{value:,.0f}"


def percent(share: float) -> str:
    """Return a share as a percentage with one decimal; no line breaks before its sign.

    Examples
    --------
    >>> from walkconv.reports.wording import NO_BREAK, percent
    >>> [percent(share).replace(NO_BREAK, " ") for share in (0.98765, 0.5, 1)]
    ['98.8 %', '50.0 %', '100 %']
    """
    return f"{'100' if share == 1 else f'{100 * share:.1f}'}{NO_BREAK}%"


def probability(value: float) -> str:
    """Return a probability with three decimals, which never rounds to 0 or 1.

    Examples
    --------
    >>> from walkconv.reports.wording import probability
    >>> probability(0.12345), probability(1e-9), probability(0.99999)
    ('0.123', 'less than 0.001', 'more than 0.999')
    """
    if value < 0.0005:
        return "less than 0.001"
    return "more than 0.999" if value > 0.9995 else f"{value:.3f}"


def count(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number and its noun.

    Examples
    --------
    >>> from walkconv.reports.wording import count
    >>> count(1, "row"), count(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
