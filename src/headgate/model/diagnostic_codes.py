"""Every mistake that a model file or the vocabulary can make, as data: code, message, what it means and what to do.

A code never changes its meaning and is never used again. Messages start in lower case, end without a full stop, and
quote what the user wrote in backticks.
"""

from enum import Enum, unique


@unique
class DiagnosticCode(Enum):
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
        (
            "Names of roles, settings, relations and words for types are made of letters, digits and `_`; a role may "
            "also be called like an action, `table.select`."
        ),
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

    NO_ROOT = (
        "HG-M401",
        "there is no way up from `{type}` to a root",
        "Parents in a circle need one of them that may also lie elsewhere, on the way to the organization.",
    )
    IMPLICIT_ROOT = (
        "HG-M402",
        "nothing is above `{type}` that it could be made with",
        "An implicit type has one resource under each parent, made with that; so it needs a parent.",
    )
    ENDLESS = (
        "HG-M403",
        "`{type}` would be made below itself without end",
        "An implicit type cannot lie below itself with only implicit types between.",
    )
    SAME_WORD = (
        "HG-M404",
        "`{type}` and `{other}` are both called `{word}`",
        "People could not say which of the two they mean.",
    )
    ONE_VALUE = ("HG-M411", "`{setting}` has one value only", "A switch has at least two values.")
    UNUSED_SETTING = (
        "HG-M412",
        "`{setting}` switches nothing",
        "No condition asks for the setting, so it changes no decision. Another part of Headgate may still read it.",
        "warning",
    )
    NEVER_HOLDS = (
        "HG-M413",
        "{what} can never hold together",
        "All conditions of a `when` have to hold. For one of two, write two rules or two alternatives.",
    )
    ALWAYS_HOLDS = (
        "HG-M414",
        "what is said of `setting.{setting}` always holds",
        "The condition excludes no value of the setting.",
    )
    SETTING_ELSEWHERE = (
        "HG-M415",
        "`{setting}` is set on `{on}`, which is not above {types}",
        "The value that counts is that of the resource itself or of the nearest one above; here it would always be the default.",
    )

    INCLUDES_ITSELF = ("HG-M501", "role `{role}` includes itself", "Of two roles, one can include the other.")
    UNREACHABLE = (
        "HG-M502",
        "nobody can ever hold role `{role}`",
        (
            "A role is held by an assignment (`on`), by a `spread` that gives it, by a relation that names the principal "
            "(`named_in`), or as a part of another role (`includes`)."
        ),
    )
    GIVEN_IN_VAIN = (
        "HG-M503",
        "role `{role}` is never held on `{type}`, so it gives nothing there",
        "The role is not assignable on the type, and no rule takes it there.",
    )
    LOSES = (
        "HG-M504",
        "role `{role}` includes `{other}`, but {what}",
        "Somebody who is given the stronger role in place of the weaker one would lose something.",
    )
    NOBODY_ASSIGNS = (
        "HG-M505",
        "nobody may assign {what} on {types}",
        "No assign rule lets anybody add it there, and it does not come by itself (`creators`, `newcomer`, `scopes`).",
    )

    ROLE_NOT_THERE = (
        "HG-M601",
        "role `{role}` is not assignable on {types}",
        "The rule is about assignments of the role, and its `on` has none of the rule's types.",
    )
    TYPE_WITHOUT_ROLE = (
        "HG-M602",
        "no role of this rule is assignable on `{type}`",
        "The rule is about assignments on the type, and the roles that it names are assigned elsewhere.",
    )
    ROLE_NOT_TO = (
        "HG-M603",
        "role `{role}` is not assigned to {kinds}",
        "The role's `to` has none of the kinds of subject that the rule is about.",
    )
    KIND_WITHOUT_ROLE = (
        "HG-M604",
        "no role of this rule is assigned to a `{kind}`",
        "The rule is about this kind of subject too, and the roles that it names are for others.",
    )
    HOLDER_NEVER = (
        "HG-M605",
        "role `{role}` is never held on {places}",
        "The rule could never be used by who holds this role.",
    )
    TYPE_WITHOUT_HOLDER = (
        "HG-M606",
        "no holder of this rule is ever held on `{type}`",
        "The rule could never be used on this type.",
    )
    NO_CUSTOM = (
        "HG-M607",
        "no custom role is assignable here",
        "`custom_roles` says whether organizations define roles of their own, and where those are assigned.",
    )
    UP_NOT_ABOVE = (
        "HG-M611",
        "`{up}` is not above {origins}",
        "A role goes up to the nearest resource of a type that is above, or is itself.",
    )
    NOTHING_BELOW = (
        "HG-M612",
        "nothing lies below {origins}",
        "The rule takes roles to what lies below, and `types` puts nothing there.",
    )
    NOT_BELOW = (
        "HG-M613",
        "`{type}` is not reached from {origins}",
        "`to` keeps a rule to some of the types that it reaches; this is none of them.",
    )
    DERIVED_ASSIGNED = (
        "HG-M614",
        "role `{role}` is assignable on `{type}`, whose roles are derived",
        "By an assignment it would be open past the weakest of what it touches.",
    )
    PLACE_WITHOUT_ROLE = (
        "HG-M615",
        "role `{role}` is never held on {places}",
        "The alternative needs the role at a place that cannot carry it, so it never holds.",
    )
    ANYBODY = (
        "HG-M616",
        "whoever names nothing may do `{action}`",
        "No role gives the action, and every place of the alternative may be empty, so that nothing is left to need.",
    )
    RULE_TWICE = ("HG-M617", "the same rule stands twice", "The second one adds nothing; it may be a slip.")

    NO_ROW = (
        "HG-M701",
        "nobody can ever do {actions}",
        (
            "The vocabulary has a name for the action under this model, yet no role gives it and `needs` does not state "
            "it. That is right only for what has a name and is always refused."
        ),
        "warning",
    )
    NOT_DISCOVERED = (
        "HG-M702",
        "nobody can ever do `{type}.{verb}`, so no `{type}` could be known",
        "`discover` names the verb that decides, for every type, whether somebody may know that a resource is there.",
    )
    STRONGER_AWAY = (
        "HG-M703",
        "role `{role}` is spread as `{other}`, which includes it",
        "Somebody who is weaker here becomes stronger there.",
        "warning",
    )
    RAISES_ITSELF = (
        "HG-M704",
        "who holds `{holder}` may assign {roles}, which includes it",
        "The rule has no ceiling: who holds the weaker role can make themselves stronger.",
        "warning",
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
