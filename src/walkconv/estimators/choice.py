"""What a search chose, in words, in a file, and read back."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from walkconv._checks import check_integer, check_number
from walkconv.estimators.relations import Relations
from walkconv.estimators.settings import CHOSEN

MOST_CHOSEN = {"max_iter": 1000, "n_members": 100}
"""More than a search ever chooses: a file could ask for a fit without end."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search chose.

    Attributes
    ----------
    settings : dict
        A plain value for each setting that was open.
    choices : list of dict
        What was compared, see `choices_` of the estimators.
    relations : Relations or None
        What was found about the columns; not saved.
    member_seconds : float
        Estimated time to train one member of what was chosen; 0 if it is not known.
    """

    settings: dict[str, Any]
    choices: list[dict[str, Any]]
    relations: Relations | None = None
    member_seconds: float = 0.0

    @property
    def in_words(self) -> str:
        """What was chosen and why, on one line."""
        chosen = next(each for each in self.choices if each["chosen"])
        others = [each for each in self.choices if not each["chosen"] and each["score"] is not None]
        words = f"chose {chosen['candidate']}"
        if chosen["score"] is None:
            return f"{words}: nothing was compared (few rows, little time, or no trial ended)"
        seconds = [each["seconds"] for each in self.choices if "seconds" in each]
        time_taken = f" in {sum(seconds):.1f} s" if seconds else ", compared before"
        words = f"{words} (score {chosen['score']:.4g} on held-back rows)"
        if others:
            words += f" before {others[0]['candidate']} ({others[0]['score']:.4g})"
        return f"{words}; {len(self.choices)} candidates{time_taken}"

    def to_plain(self) -> dict[str, Any]:
        """Return the choice for a file, without the times, so that equal fits write equal files."""
        rows = [{k: v for k, v in each.items() if k != "seconds"} for each in self.choices]
        return {"settings": self.settings, "choices": rows}

    @classmethod
    def from_plain(cls, plain: Any) -> "Choice":
        """Return the choice that `to_plain` wrote, or raise an error if it is not whole.

        The values of the settings are checked where they are used.
        """
        settings, choices = plain["settings"], plain["choices"]
        if not isinstance(settings, dict) or not settings.keys() <= CHOSEN.keys():
            raise ValueError("a choice must hold the settings that a search chooses.")
        for name, most in MOST_CHOSEN.items():
            if name in settings:
                check_integer(settings[name], name, minimum=1, maximum=most)
        if not isinstance(choices, list) or sum(each["chosen"] for each in choices) != 1:
            raise ValueError("one of the choices must be the chosen one.")
        for each in choices:
            if not isinstance(each["candidate"], str) or not isinstance(each["chosen"], bool):
                raise TypeError("a candidate must be text, and chosen or not.")
            for name in ("score", "loss", "standard_error"):
                if each[name] is not None:
                    check_number(each[name], name, minimum=-np.inf, is_open=True)
            check_integer(each["epochs"], "epochs", minimum=0)
        return cls(settings, choices)
