"""Diagnostics of model files and of the vocabulary, as data: code, message, and what it means or what to do.

A code never changes its meaning and is never reused. Messages begin in lower case, end without a full stop, and
quote the user's words in backticks.
"""

from enum import Enum, unique


@unique
class DiagnosticCode(Enum):
    """A kind of mistake. A model whose mistakes all have the `severity` `warning` can be used."""

    NOT_YAML = ("HG-M001", "not valid YAML: {problem}", "A model file must be one valid YAML document.")
    EMPTY_FILE = (
        "HG-M002",
        "the file is empty; write the model into the file",
        "The file contains nothing except, perhaps, comments.",
    )
    NOT_READ = (
        "HG-M003",
        "{what} of YAML are not supported; write the plain value instead",
        "An alias repeats a value from another place, and a tag changes the type of a value. A model has neither, so that it means exactly what a reader sees.",
    )
    KEY_TWICE = (
        "HG-M004",
        "key `{key}` occurs twice in the same mapping; merge the two entries",
        "YAML would silently keep only one of the two.",
    )
    KEY_NO_WORD = (
        "HG-M005",
        "a key is a list or a mapping; write a word",
        'Where a key may name several types or actions, write them in one quoted word: `"database, table"`.',
    )

    SHAPE = (
        "HG-M101",
        "expected {expected}, found {found}",
        "The key requires a value of another shape: a word, a list or a mapping.",
    )
    UNKNOWN_KEY = (
        "HG-M102",
        "unknown key `{word}`",
        "The section or rule has no key of this name; `docs/howto/write-a-model.md` lists the keys.",
    )
    MISSING_KEY = (
        "HG-M103",
        "required key `{key}` is missing",
        "The model, or the entry at this place, is incomplete without the key.",
    )
    BAD_NAME = (
        "HG-M104",
        "`{word}` is not a valid name; use at most 100 letters, digits and `_`, beginning with a letter",
        "This applies to names of models, roles, settings, relations and verbs, and to the model's own words for types (`as`). A role may also have a name like that of an action, `table.select`.",
    )
    NOT_LOWER = (
        "HG-M105",
        "`{word}` must be in lower case",
        "Names of models, settings, relations and verbs, and words for types, are in lower case; only roles may have capitals.",
    )
    NO_NUMBER = (
        "HG-M106",
        "expected a whole number of 1 or more, found `{word}`",
        "Versions count 1, 2, 3 and have at most nine digits.",
    )
    NO_FLAG = ("HG-M107", "expected `true` or `false`, found `{word}`", "A flag has no other value.")
    EMPTY_LIST = (
        "HG-M108",
        "`{key}` is empty; add at least one entry",
        "A list may be empty only where that has a meaning, as in `on: []` of a role that is never assigned.",
    )
    WORD_TWICE = (
        "HG-M109",
        "`{word}` is listed twice; remove one of the two",
        "The second one has no effect and may be a slip.",
    )

    UNKNOWN_LANGUAGE = (
        "HG-M110",
        "version `{word}` of the model language is unknown; write a version up to `{newest}`, or upgrade Headgate",
        "`language` names the version of the model language in which the file is written.",
    )
    TOO_MANY_ENTRIES = (
        "HG-M111",
        "`{key}` has `{count}` entries; remove some until there are at most `{most}`",
        "The limit bounds the time in which a file is checked.",
    )

    UNKNOWN_TYPE = (
        "HG-M201",
        "unknown type `{word}`",
        "The keys of `types`, and the types of a bridge's actions, are types of the vocabulary, `actions.yaml`, or have `own: true`. Everywhere else, use types that `types` lists; `under` may also name `deployment`. Use the vocabulary's name of a type, not the model's own word for it (`as`).",
    )
    UNKNOWN_ROLE = ("HG-M202", "unknown role `{word}`", "The section `roles` defines no role of this name.")
    UNKNOWN_ACTION = (
        "HG-M203",
        "unknown action `{word}`",
        "Neither the vocabulary, `actions.yaml`, nor the section `verbs` of the model has such an action on this type; `docs/actions.md` lists the actions of the vocabulary.",
    )
    UNKNOWN_CONDITION = (
        "HG-M204",
        "unknown condition `{word}`",
        "A condition without an operand must be one of the named conditions in `decision/conditions.py`. Every other condition compares an operand, as in `setting.plan is large`.",
    )
    UNKNOWN_SETTING = ("HG-M205", "unknown setting `{word}`", "The section `settings` defines no setting of this name.")
    UNKNOWN_VALUE = ("HG-M206", "unknown value `{word}`", "The `values` of the setting do not include this value.")
    UNKNOWN_KIND = (
        "HG-M207",
        "unknown kind of subject `{word}`",
        "A kind of subject is `user`, `service_principal`, `group`, `team`, `domain` or an own type of the model.",
    )
    UNKNOWN_VERB = (
        "HG-M208",
        "unknown verb `{word}`",
        "The `verbs` of an assign rule are `add`, `remove` and `change`.",
    )
    UNKNOWN_PLACE = (
        "HG-M209",
        "unknown place `{word}`",
        "A role is required on `self`, on `parent`, on the resources that a relation of them names (`self.cluster`, `parent.cluster`), or on the resources that a parameter of the question names (`with.cluster`). With `each` before it (`each with.cluster`) the relation or parameter may name no resource.",
    )
    UNKNOWN_ATTRIBUTE = (
        "HG-M210",
        "`{word}` is not an attribute of {owners}",
        "`self.ATTRIBUTE` and `parent.ATTRIBUTE` compare an attribute of the resource or of its parent. `docs/names.md` lists the attributes of each type. For one of your own, write `attributes: [NAME]` in the entry of the type in `types`.",
    )
    UNKNOWN_RELATION = (
        "HG-M211",
        "`{word}` is not a relation of {owners}",
        "A rule follows a relation from a resource to others. `docs/names.md` lists the relations of each type. For one of your own, write `relations: [NAME]` in the entry of the type in `types`.",
    )
    UNKNOWN_PARAMETER = (
        "HG-M212",
        "`{word}` is not a {sort} parameter of {owners}",
        "`with.PARAMETER` is a value of the question: a condition compares words, and a role is required on resources. `docs/names.md` lists what Headgate's commands pass with each action. A parameter that your own policy enforcement point passes belongs into the section `parameters`; Headgate's commands never pass it.",
    )
    ABOVE_PARENT = (
        "HG-M213",
        "`{word}` is not a place",
        "A rule sees the resource (`self`), its parent (`parent`), and what a relation of these two names. To require a role further up, let `spread` bring it down to the resource or its parent, under another name if needed (`as`), and require it there. A value further up is a setting: it counts on everything below.",
    )

    UNKNOWN_LIST = (
        "HG-M214",
        "unknown list `{word}`",
        "`all NAME` means the words of a list that the section `lists` defines.",
    )
    OWN_TYPE_EXISTS = (
        "HG-M215",
        "`{type}` is a type of Headgate; remove `own: true`",
        "A type of Headgate has the verbs of the vocabulary, and commands of its own. With `own: true` it is the same type.",
        "warning",
    )
    OWN_VERB_EXISTS = (
        "HG-M216",
        "`{action}` is an action of Headgate; remove `{verb}` from `verbs`",
        "The section `verbs` adds verbs to those that a type has: those of the vocabulary, `create_TYPE` for each type that may be below it, `set_SETTING` for each setting on it and, for an own type, `describe`, `edit` and `delete`.",
        "warning",
    )

    RESERVED = (
        "HG-M217",
        "`{word}` cannot be the name of an own type; choose another name",
        "`user` is a kind of subject, `assignment` the beginning of actions, and the other words begin places and operands.",
    )

    UNKNOWN_OPERATION = (
        "HG-M218",
        "unknown operation `{word}`",
        "The keys of `operations` are the operations of Headgate whose needs a model can restate; `docs/operations.md` lists them.",
    )
    UNKNOWN_OPERATION_PLACE = (
        "HG-M219",
        "`{word}` is not a resource of the operation",
        "`on` is a resource in the words of the operation, as in its row in `docs/operations.md`.",
    )
    UNKNOWN_OPERATION_VERB = (
        "HG-M220",
        "no type has the verb `{word}`",
        "`verb` is a verb of the type of the resource, or a list of verbs, of which the first counts that the model has.",
    )
    UNKNOWN_TEXT = (
        "HG-M221",
        "the operation does not have `{word}` on this resource",
        "A whole action, such as `assignment.add`, and a verb with a text in braces, such as `create_{{type}}`, can be written only where the operation's row in `docs/operations.md` has it.",
    )

    NO_TERM = (
        "HG-M301",
        "cannot parse `{word}` as a condition",
        "A condition is `name`, `not name`, `OPERAND is V`, `OPERAND is not V`, `OPERAND in V W` or `OPERAND not in V W`. Put a value that contains spaces in single quotes.",
    )
    UNKNOWN_OPERAND = (
        "HG-M302",
        "unknown operand `{word}`",
        "An operand is `setting.NAME`, `self.ATTRIBUTE`, `parent.ATTRIBUTE` or `with.PARAMETER`.",
    )

    NO_ALTERNATIVE = (
        "HG-M303",
        "`{action}` has no alternative, so no caller may ever perform it; add an alternative, or remove `{action}` from `needs`",
        "A caller must satisfy one of the alternatives of an action. If the action needs none, remove its entry from `needs`.",
    )
    NEEDS_NOTHING = (
        "HG-M304",
        "an alternative of `{action}` has neither `when`, `roles` nor `each`, so it always holds; add one of them",
        "An alternative states conditions (`when`), roles (`roles`), or a parameter whose words are verbs (`each`).",
    )
    NO_HOLDER = (
        "HG-M305",
        "the rule does not state which role may assign; add `holder` or `on_subject`",
        "`holder` is the role that the assigning caller must hold on the resource, `on_subject` the role that the caller must hold on the subject. A rule has one of them or both.",
    )
    DERIVED_TWICE = (
        "HG-M306",
        "`{type}` is already in an earlier rule of `derived`; list it in one rule only",
        "One rule states what the roles on a type are derived from.",
    )
    WITHIN_WHAT = (
        "HG-M307",
        "`{key}` is set without `up`; add `up` or remove `{key}`",
        "With `within`, a role also acts on everything below the resource that it reaches by `up`. Without `up`, a role acts on everything below anyway.",
    )
    UP_ALONG = (
        "HG-M308",
        "`up` and `along` are both set; remove one of them",
        "A role spreads either up to the nearest resource of a type, or down along a relation.",
    )
    JOINED = (
        "HG-M309",
        "a condition has no `{word}`",
        "All conditions of a `when` must hold, and each is one entry of its list. Alternatives are separate entries: of an action in `needs`, or separate rules of `spread` and `assign`. Put a value `or` in single quotes.",
    )
    FUTURE_ACTING = (
        "HG-M310",
        "`acting` and `future` are both set; remove one of them",
        "With `future` a rule assigns its role to subjects that have another role above, with `acting` to the team in which the creator acts.",
    )

    NEEDS_NO_PLACE = (
        "HG-M311",
        "`{operation}` needs nothing on {places}; add an action there",
        "A model chooses the actions that an operation needs, but every resource of the operation needs at least one.",
    )
    NEEDS_KEPT = (
        "HG-M312",
        "`{operation}` lacks a need that every model has; add `{row}`",
        "What is created, assigned, set or switched is always asked by its own action, with the rules that the model has for it. A model may add needs beside it.",
    )

    NO_ROOT = (
        "HG-M401",
        "`{type}` is in a cycle of parents that leads to no root; add a parent outside the cycle to `under`",
        "One type of the cycle needs another parent as well, in `under`, on the way to the organization.",
    )
    IMPLICIT_ROOT = (
        "HG-M402",
        "implicit type `{type}` has no parent in the model; add one to `under` or remove `implicit`",
        "An implicit type has one resource under each parent, created together with the parent.",
    )
    ENDLESS = (
        "HG-M403",
        "implicit type `{type}` would be created below itself without end; remove `implicit`, or change `under`",
        "A resource of an implicit type is created together with its parent. So between the type and itself there must be a type that is not implicit.",
    )
    SAME_WORD = (
        "HG-M404",
        "types `{type}` and `{other}` are both named `{word}`; change `as` of one of them",
        "Users name a type by this word, so it must identify one type.",
    )
    ONE_VALUE = (
        "HG-M411",
        "setting `{setting}` has only one value; list at least two",
        "A setting with one value can change nothing.",
    )
    UNUSED_SETTING = (
        "HG-M412",
        "no condition uses setting `{setting}`; remove the setting, unless another part of Headgate reads it",
        "The setting changes no decision. Another part of Headgate may still read it.",
        "warning",
    )
    NEVER_HOLDS = (
        "HG-M413",
        "{what} can never hold together; remove one of these conditions, or put them into separate rules",
        "All conditions of a `when` must hold. To require one of two conditions, write two rules or two alternatives.",
    )
    ALWAYS_HOLDS = (
        "HG-M414",
        "the conditions on `setting.{setting}` always hold; remove them",
        "The conditions exclude no value of the setting, so they have no effect.",
    )
    SETTING_ELSEWHERE = (
        "HG-M415",
        "setting `{setting}` is set on `{on}`, which is not above {types}; put the setting on a type above, or remove the condition",
        "The value that counts is the one on the resource itself or on its nearest ancestor that has one. For these types it would always be the default.",
    )

    INCLUDES_ITSELF = (
        "HG-M501",
        "role `{role}` includes itself; remove one `includes` of the cycle",
        "The role includes itself directly or through other roles; remove one `includes` of the cycle.",
    )
    UNREACHABLE = (
        "HG-M502",
        "no subject can ever hold role `{role}`; let a rule assign or spread the role, or remove the role",
        "A role is held by an assignment (`on`), by a `spread` rule that gives it, by a relation that names the principal (`named_in`), or as a part of another role (`includes`).",
    )
    GIVEN_IN_VAIN = (
        "HG-M503",
        "role `{role}` can never be held on `{type}`, so its actions there have no effect; remove these actions, or let a rule assign or spread the role there",
        "The role cannot be assigned on the type, and no rule spreads it there.",
    )
    LOSES = (
        "HG-M504",
        "role `{role}` includes `{other}`, but {what}",
        "A subject whose weaker role is replaced by the stronger one would lose access.",
    )
    NOBODY_ASSIGNS = (
        "HG-M505",
        "no rule lets a caller assign {what} on {types}; add an `assign` rule that does",
        "No `assign` rule adds it there, and Headgate does not assign it automatically (`creators`, `newcomer`, `scopes`).",
    )

    ROLE_NOT_THERE = (
        "HG-M601",
        "role `{role}` cannot be assigned on {types}; remove the role from the rule, or add a type of the rule to the role's `on`",
        "The rule is about assignments of the role, but the role's `on` has none of the rule's types.",
    )
    TYPE_WITHOUT_ROLE = (
        "HG-M602",
        "no {what} can be assigned on `{type}`; remove the type from the rule, or name a role that can",
        "The rule is about assignments on the type, but the roles that the rule names are assigned elsewhere.",
    )
    ROLE_NOT_TO = (
        "HG-M603",
        "role `{role}` cannot be assigned to a subject of kind {kinds}; remove the role from the rule, or add the kind to the role's `to`",
        "The role's `to` has none of the kinds of subject that the rule is about.",
    )
    KIND_WITHOUT_ROLE = (
        "HG-M604",
        "no role of the rule can be assigned to a subject of kind `{kind}`; remove the kind from the rule, or name a role that can",
        "The rule's `to` has this kind of subject, but the roles that the rule names are for other kinds.",
    )
    HOLDER_NEVER = (
        "HG-M605",
        "role `{role}` can never be held on {places}, so the rule never applies to its holders; name a role that can be held there",
        "A holder of this role could never use the rule.",
    )
    TYPE_WITHOUT_HOLDER = (
        "HG-M606",
        "no `holder` of the rule can be held on `{type}`; remove the type from the rule, or name a `holder` that can",
        "The rule could never be used on this type.",
    )
    NO_CUSTOM = (
        "HG-M607",
        "`custom` is set, but no custom role can be assigned on the types of the rule; remove `custom`, or add a type of the rule to `custom_roles`",
        "`custom_roles` states whether organizations may define roles of their own, and on which types these are assigned.",
    )
    KIND_WITHOUT_TYPE = (
        "HG-M608",
        "no `{kind}` can exist, because `types` has no type `{kind}`; add the type, or remove the kind",
        "A user is a subject without a type. Any other kind of subject is a resource of the type with that name.",
    )
    UP_NOT_ABOVE = (
        "HG-M611",
        "`{up}` is not above {origins}; name a type above in `up`",
        "By `up`, a role spreads to the nearest resource of a type: the resource itself or one of its ancestors.",
    )
    NOTHING_BELOW = (
        "HG-M612",
        "no type is below {origins}, so the rule has no effect; remove the rule",
        "The rule spreads roles to the resources below, and by `types` there can be none.",
    )
    NOT_BELOW = (
        "HG-M613",
        "the rule does not reach `{type}` from {origins}; remove the type from `to`",
        "`to` restricts a rule to some of the types that it reaches, and this type is not one of them.",
    )
    DERIVED_ASSIGNED = (
        "HG-M614",
        "role `{role}` can be assigned on `{type}`, although the roles on `{type}` are derived; remove the type from the role's `on`",
        "An assignment would give more access than the weakest of the resources that the derived resource touches.",
    )
    PLACE_WITHOUT_ROLE = (
        "HG-M615",
        "role `{role}` can never be held on {places}, so the requirement is never met; require a role that can be held there",
        "The alternative or the rule requires the role at a place where it cannot be held.",
    )
    ANYBODY = (
        "HG-M616",
        "every caller who names no resource may perform `{action}`; remove `each` from a place of the requirement",
        "No role gives the action, and every place of the alternative may be empty (`each`). So a question that names no resource needs no role at all.",
    )
    RULE_TWICE = (
        "HG-M617",
        "the rule is the same as an earlier one; remove one of them",
        "The second one has no effect and may be a slip.",
    )
    SAME_NEVER = (
        "HG-M618",
        "nothing of {types} can be in a `{type}`; choose another type, or remove `same`",
        "With `same: TYPE`, the resource of the assignment and the subject must be below the same resource of that type, or be it. Users are below none.",
    )
    SINGLE_FOR_MANY = (
        "HG-M619",
        "role `{role}` has a single holder, but this rule assigns it to several subjects; choose another role",
        "With `single: true`, a role has one holder on a resource, and a further assignment takes it from that holder.",
    )
    OPERATION_NEVER = (
        "HG-M620",
        "no role gives {actions}, so no caller may ever do `{operation}`; name an action that a role gives",
        "The model restates what the operation needs by an action that neither a role gives nor `needs` has.",
    )

    NO_ROW = (
        "HG-M701",
        "no caller can ever perform {actions}; let a role give each action that callers need",
        "The vocabulary has a name for the action under this model, but no role gives it and `needs` has no entry for it. That is correct only for an action that has a name and is always refused.",
        "warning",
    )
    NOT_DISCOVERED = (
        "HG-M702",
        "no caller can ever perform `{type}.{verb}`, so every `{type}` would be hidden; let a role give the action",
        "`discover` names the verb that decides, for every type, whether a caller may know that a resource exists.",
    )
    STRONGER_AWAY = (
        "HG-M703",
        "role `{role}` spreads as `{other}`, which includes `{role}`; correct `as`, unless the stronger role is intended",
        "A subject with the weaker role on one resource gets the stronger role on another one.",
        "warning",
    )
    RAISES_ITSELF = (
        "HG-M704",
        "a holder of `{holder}` may assign {roles}, which is stronger; remove the stronger role from the rule, unless this escalation is intended",
        "Privilege escalation: the rule has no ceiling, so a holder of the weaker role can assign the stronger one to themselves.",
        "warning",
    )
    MEMBER_CHAIN = (
        "HG-M705",
        "role `{role}` makes a `{kind}` a member, but the members of that `{kind}` do not become members; name the roles in `members: {{TYPE: [ROLE]}}`, or assign the role to users and groups",
        "`members: [TYPE]` counts one level: a subject with a role on a team is a member of it. If that subject is itself a team, its members get nothing. `members: {TYPE: [ROLE]}` names the roles that count, at any depth.",
        "warning",
    )

    EMPTY_CELL = (
        "HG-M901",
        "a cell of `{action}` is empty",
        "Each action states its name in each model, and its Spark operations; `-` states that there is none.",
    )

    def __init__(self, code: str, message: str, meaning: str, severity: str = "error") -> None:
        self.code = code
        self.message = message
        self.meaning = meaning
        self.severity = severity
