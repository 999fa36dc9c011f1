"""Every mistake that a model file or the vocabulary can make, as data: code, message, what it means and what to do.

A code never changes its meaning and is never used again. Messages start in lower case, end without a full stop, and
quote what the user wrote in backticks.
"""

from enum import Enum, unique


@unique
class Mistake(Enum):
    """A kind of mistake. One whose `severity` is `warning` does not keep the model from being used."""

    NOT_YAML = ("HG-M001", "not valid YAML: {problem}", "The file has to be one YAML document.")
    EMPTY_FILE = ("HG-M002", "the file is empty", "There is nothing in the file but perhaps comments.")
    NOT_READ = (
        "HG-M003",
        "write it out: {what} are not read",
        "Aliases and tags are YAML's ways to say what does not stand there. A model is what one can read.",
    )
    KEY_TWICE = (
        "HG-M004",
        "`{key}` stands twice in the same mapping",
        "YAML would silently keep one of the two. Put both into one entry.",
    )
    KEY_NO_WORD = ("HG-M005", "a key has to be a word", "A list or a mapping cannot be a key.")

    SHAPE = ("HG-M101", "expected {expected}, not {found}", "Something else has to stand here.")
    UNKNOWN_KEY = ("HG-M102", "unknown key `{word}`", "No such key can stand here.")
    MISSING_KEY = ("HG-M103", "`{key}` is missing here", "The entry is not complete without this key.")
    BAD_NAME = (
        "HG-M104",
        "`{word}` cannot be a name: letters, digits and `_`, with a letter first",
        "Names of roles, settings, relations and words for types are made of letters, digits and `_`.",
    )
    NOT_LOWER = (
        "HG-M105",
        "`{word}` has to be in lower case",
        "The names of models, types, settings and relations are in lower case; only roles may have capitals.",
    )
    NO_NUMBER = ("HG-M106", "expected a whole number, not `{word}`", "Versions count 1, 2, 3.")
    NO_FLAG = ("HG-M107", "expected `true` or `false`, not `{word}`", "A flag has no other value.")
    EMPTY_LIST = (
        "HG-M108",
        "`{key}` names nothing",
        "The rule needs at least one. Where an empty list means something, it can stand, as in `on: []`.",
    )
    WORD_TWICE = ("HG-M109", "`{word}` stands twice in the same list", "Once is enough; the other may be a slip.")

    UNKNOWN_TYPE = (
        "HG-M201",
        "unknown type `{word}`",
        (
            "`types` may name the types of the vocabulary, everything else the types that `types` states. A rule uses the "
            "type's name in the tree, not the model's own word for it."
        ),
    )
    UNKNOWN_ROLE = ("HG-M202", "unknown role `{word}`", "`roles` has no role of this name.")
    UNKNOWN_ACTION = (
        "HG-M203",
        "unknown action `{word}`",
        "The vocabulary, `actions.yaml`, has no such action on this type.",
    )
    UNKNOWN_CONDITION = (
        "HG-M204",
        "unknown condition `{word}`",
        "A condition with a name is one of those that Headgate has; others are written with an operand.",
    )
    UNKNOWN_SETTING = ("HG-M205", "unknown setting `{word}`", "`settings` has no setting of this name.")
    UNKNOWN_VALUE = ("HG-M206", "unknown value `{word}`", "The setting has no such value.")
    UNKNOWN_KIND = (
        "HG-M207",
        "unknown kind of subject `{word}`",
        "Assignments are made to users, service principals, groups, teams and domains.",
    )
    UNKNOWN_VERB = ("HG-M208", "unknown verb `{word}`", "Assignments are added, removed and changed.")
    UNKNOWN_PLACE = (
        "HG-M209",
        "unknown place `{word}`",
        (
            "A role is needed on `self`, `parent`, on what a relation of them names (`self.cluster`, `parent.cluster`), or "
            "on what the question names (`with.cluster`); a `?` behind it lets nothing be named there."
        ),
    )

    NO_TERM = (
        "HG-M301",
        "cannot read `{word}` as a condition",
        (
            "A condition is `name`, `not name`, `OPERAND is V`, `OPERAND is not V`, `OPERAND in V W` or `OPERAND not in V W`. "
            "A value with blanks stands in single quotes."
        ),
    )
    UNKNOWN_OPERAND = (
        "HG-M302",
        "unknown operand `{word}`",
        "An operand is `setting.NAME`, `self.ATTRIBUTE`, `parent.ATTRIBUTE` or `with.PARAMETER`.",
    )

    NO_ALTERNATIVE = (
        "HG-M303",
        "`{action}` has no alternative, so nobody may ever do it",
        "An action needs one of the alternatives that are stated for it. If it needs nothing, it has no entry.",
    )
    NEEDS_NOTHING = (
        "HG-M304",
        "an alternative of `{action}` that needs nothing always holds",
        "An alternative states conditions (`when`), roles (`roles`), or both.",
    )
    NO_HOLDER = (
        "HG-M305",
        "nobody is named who may assign",
        "A rule says which role its holder has on the resource (`holder`), on the subject (`on_subject`), or on both.",
    )
    DERIVED_TWICE = (
        "HG-M306",
        "the roles on `{type}` are derived by an earlier rule already",
        "One rule says for each type what its roles are derived from.",
    )
    WITHIN_WHAT = (
        "HG-M307",
        "`within` needs `up`: it says that the role acts below that one too",
        "Without `up` a role comes down anyway.",
    )
    UP_ALONG = (
        "HG-M308",
        "`up` and `along` cannot both say where the role goes",
        "A role goes up to the nearest resource of a type, or comes down along a relation.",
    )

    EMPTY_CELL = (
        "HG-M901",
        "a cell of `{action}` is empty",
        "Each action says for each model, and for Spark, what it is called there, or `-`.",
    )

    def __init__(self, code: str, message: str, meaning: str, severity: str = "error") -> None:
        self.code = code
        self.message = message
        self.meaning = meaning
        self.severity = severity
