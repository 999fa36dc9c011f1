"""Parser of the roles and rules of a model, which refer to its types and settings."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from headgate.model.diagnostic_codes import DiagnosticCode
from headgate.model.known_actions import find_action
from headgate.model.model import (
    AssignRule,
    BridgeGrant,
    CreatorRole,
    CustomRoles,
    MembershipRequirement,
    Model,
    PropagationRule,
    RelationRole,
    RequiredRole,
    Requirement,
    Role,
    Setting,
    Type,
    WeakestOfRule,
    When,
)
from headgate.model.parse_conditions import is_above_parent, read_when, report_above_parent
from headgate.model.parse_operations import read_operations
from headgate.model.reader import Reader, Value
from headgate.model.suggestions import for_type
from headgate.model.vocabulary import ASSIGNMENT, Vocabulary
from headgate.model.yaml_parser import ListNode, MapNode, Node, ScalarNode

SUBJECT_KINDS = ("user", "service_principal", "group", "team", "domain")
"""Kinds of subject that a role can be assigned to, besides the own types of a model."""

VERBS = ("add", "remove", "change")
"""The operations on an assignment."""


_PLACES = "write `self`, `parent`, `self.RELATION`, `parent.RELATION` or `with.PARAMETER`"
_PARAMETER = re.compile(r"with\.(\w+)")
_WRITE_PARAMETER = "write `with.PARAMETER`"
_PLACE = re.compile(r"(each )?(?:(self|parent)(?:\.(\w+))?|(with)\.(\w+))")


@dataclass(frozen=True, slots=True)
class RuleParser:
    """Parses the sections that refer to the model's types, settings and roles."""

    read: Reader
    parts: Mapping[str, Node]
    vocabulary: Vocabulary
    conditions: Collection[str]
    types: Mapping[str, Type]
    settings: Mapping[str, Setting]
    verbs: Mapping[str, tuple[str, ...]]
    roles: Collection[str]

    def parse(self, hash: str) -> Model:
        """Return the model; `hash` is the SHA-256 hash of its document."""
        read, parts = self.read, self.parts
        roles = self._closed(dict(self._role(key, body) for key, body in read.entries(parts["roles"])))
        return Model(
            name=read.name(parts.get("model")),
            version=read.number(parts.get("version")),
            hash=hash,
            types=self.types,
            settings=self.settings,
            roles=roles,
            spread=tuple(self._spread(each) for each in self._rows("spread")),
            derived=dict(self._derived()),
            needs=dict(self._needs()),
            assign=tuple(self._assign(each) for each in self._rows("assign")),
            standing=tuple(self._standing(each) for each in self._rows("standing")),
            named_in=tuple(self._parse_relation_role(each) for each in self._rows("named_in")),
            lineage=self._relations(parts, "lineage"),
            creators=tuple(self._creator(each) for each in self._rows("creators")),
            custom_roles=self._custom_roles(parts.get("custom_roles")),
            newcomer=self._role_name(parts.get("newcomer")) or None,
            discover=read.name(parts.get("discover")) or None,
            bridges=tuple(self._bridge(each) for each in self._rows("bridges")),
            members=self._members(parts.get("members"), roles),
            scopes=dict(self._scopes()),
            parameters=dict(self._parameters()),
            verbs=self.verbs,
            acting=self._acting(),
            operations=read_operations(read, parts.get("operations"), self.vocabulary),
        )

    def _rows(self, section: str) -> tuple[Node, ...]:
        return self.read.items(self.parts.get(section))

    def _role(self, key: ScalarNode, body: Node) -> tuple[str, Role]:
        fields = self.read.fields(body, ("on",), ("to", "when", "includes", "actions", "single"))
        on = self._known_types(self.read.words(fields.get("on")))
        includes = frozenset(self._roles(fields, "includes"))
        own = self._actions(fields.get("actions"))
        name = self.read.name(key, role=True)
        single = self.read.flag(fields.get("single"))
        return name, Role(name, on, self._kinds(fields), includes, own, own, self._when(fields), single)

    @staticmethod
    def _closed(roles: Mapping[str, Role]) -> Mapping[str, Role]:
        """Return the roles with everything they include, also indirectly, and all its actions; so far each has its own only."""
        closures = {name: _closure(name, roles) for name in roles}
        return {
            name: replace(
                role,
                closure=closures[name],
                actions=frozenset[str]().union(*(roles[each].own for each in closures[name])),
            )
            for name, role in roles.items()
        }

    def _custom_roles(self, value: Value) -> CustomRoles | None:
        if value is None:
            return None
        fields = self.read.fields(value, ("of", "on"), ("to", "when", "replaces"))
        return CustomRoles(
            of=frozenset(self._roles(fields, "of")),
            on=self._types(fields, "on"),
            to=self._kinds(fields),
            when=self._when(fields),
            replaces=frozenset(self._roles(fields, "replaces")),
        )

    def _spread(self, value: Node) -> PropagationRule:
        fields = self.read.fields(
            value, ("roles", "from"), ("up", "every", "within", "along", "to", "as", "when", "when_from")
        )
        for key in ("within", "every"):
            if key in fields and "up" not in fields:
                self.read.report.add(DiagnosticCode.WITHIN_WHAT, fields[key], key=key)
        if "along" in fields and "up" in fields:
            self.read.report.add(DiagnosticCode.UP_ALONG, fields["along"])
        return PropagationRule(
            roles=frozenset(self._roles(fields, "roles")),
            origin=self._types(fields, "from"),
            up=self._type(fields.get("up")) or None,
            within=self.read.flag(fields.get("within")),
            along=self.read.name(fields.get("along")) or None,
            to=self._types(fields, "to") if "to" in fields else None,
            role=self._role_name(fields.get("as")) or None,
            when=self._when(fields),
            every=self.read.flag(fields.get("every")),
            when_from=self._when(fields, "when_from"),
        )

    def _parse_relation_role(self, value: Node) -> RelationRole:
        fields = self.read.fields(value, ("relation", "to", "role"))
        relation = self.read.name(fields.get("relation"))
        return RelationRole(relation, self._types(fields, "to"), self._role_name(fields.get("role")))

    def _derived(self) -> Iterator[tuple[str, WeakestOfRule]]:
        seen: set[str] = set()
        for row in self._rows("derived"):
            fields = self.read.fields(row, ("types", "weakest_over", "when_empty"))
            when_empty = tuple(self.read.name(word) for word in self.read.words(fields.get("when_empty")))
            rule = WeakestOfRule(self._relations(fields, "weakest_over"), when_empty)
            for word in self.read.non_empty_list(fields, "types"):
                if word.value in seen:
                    self.read.report.add(DiagnosticCode.DERIVED_TWICE, word, type=word.value)
                seen.add(word.value)
                yield self._type(word), rule

    def _needs(self) -> Iterator[tuple[str, tuple[Requirement, ...]]]:
        seen: set[str] = set()
        for key, body in self.read.entries(self.parts.get("needs"), "table.select: [{when: ..., roles: ...}]"):
            for name in self.read.name_list(key):
                if name.value in seen:
                    self.read.report.add(DiagnosticCode.KEY_TWICE, name, key=name.value)
                seen.add(name.value)
                if isinstance(body, ListNode) and not body.values:
                    self.read.report.add(DiagnosticCode.NO_ALTERNATIVE, body, action=name.value)
                action = self._needed_action(name)
                yield action, tuple(self._alternative(action, each) for each in self.read.items(body))

    def _needed_action(self, name: ScalarNode) -> str:
        type = name.value.partition(".")[0]
        if self._known_types([name.part(0, len(type))]):
            return self._known_action(name, type, name.value.partition(".")[2])
        return ""

    def _known_action(self, at: ScalarNode, type: str, verb: str) -> str:
        return find_action(self.read, self.vocabulary, at, type, verb)

    def _alternative(self, action: str, value: Node) -> Requirement:
        fields = self.read.fields(value, (), ("when", "roles", "each"))
        roles = self._places(fields.get("roles"))
        when = self._when(fields)
        each = self._parameter(fields.get("each"))
        if isinstance(value, MapNode) and not (roles or when or each) and not self.read.report.has_errors:
            self.read.report.add(DiagnosticCode.NEEDS_NOTHING, value, action=action)
        return Requirement(when, roles, each or None)

    def _parameter(self, value: Value) -> str:
        """Return the name of a parameter, written `with.NAME`; empty if there is none."""
        for word in self.read.word(value):
            found = _PARAMETER.fullmatch(word.value)
            if found:
                return found[1]
            self.read.report.unknown(DiagnosticCode.UNKNOWN_PLACE, word, word.value, (), otherwise=_WRITE_PARAMETER)
        return ""

    def _places(self, value: Value) -> tuple[RequiredRole, ...]:
        """Return the roles required at places; at each place a role, or a list of roles that are all required."""
        return tuple(
            needed for key, roles in self.read.entries(value, "self: ROLE") for needed in self._roles_at(key, roles)
        )

    def _roles_at(self, key: ScalarNode, roles: Node) -> Iterator[RequiredRole]:
        found = _PLACE.fullmatch(key.value)
        names = self._role_or_roles({key.value: roles}, key.value)
        if is_above_parent(key.value.removeprefix("each ")):
            report_above_parent(self.read, key)
        elif not found:
            self.read.report.unknown(
                DiagnosticCode.UNKNOWN_PLACE, key, key.value, ("self", "parent"), otherwise=_PLACES
            )
        if not found or is_above_parent(key.value.removeprefix("each ")):
            return
        each, start, relation, given, parameter = found.groups()
        for name in names:
            yield RequiredRole(start or given, relation or parameter, name, bool(each))

    def _assign(self, value: Node) -> AssignRule:
        optional = ("holder", "on_subject", "needs", "to", "verbs", "when", "custom", "same")
        fields = self.read.fields(value, ("roles", "on"), optional)
        custom = self.read.flag(fields.get("custom"))
        if len(fields) == len(self.read.entries(value)) and not fields.keys() & {"holder", "on_subject"}:
            self.read.report.add(DiagnosticCode.NO_HOLDER, value)
        return AssignRule(
            holder=self._role_or_roles(fields, "holder"),
            on_subject=self._role_or_roles(fields, "on_subject"),
            roles=frozenset(self._roles(fields, "roles", empty=custom)),
            custom=custom,
            on=self._types(fields, "on"),
            to=self._kinds(fields) if "to" in fields else frozenset(self._known_kinds()),
            verbs=self._verbs(fields),
            when=self._when(fields),
            needs=self._places(fields.get("needs")),
            same=self._type(fields.get("same")) or None,
        )

    def _role_or_roles(self, fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
        """Return the role, or the list of roles, under a key."""
        single = isinstance(fields.get(key), ScalarNode)
        words = self.read.word(fields[key]) if single else self.read.non_empty_list(fields, key)
        return self.read.known_names(words, self.roles, DiagnosticCode.UNKNOWN_ROLE)

    def _verbs(self, fields: Mapping[str, Node]) -> frozenset[str]:
        if "verbs" not in fields:
            return frozenset(("add", "remove"))
        return frozenset(
            self.read.known_names(self.read.non_empty_list(fields, "verbs"), VERBS, DiagnosticCode.UNKNOWN_VERB)
        )

    def _standing(self, value: Node) -> MembershipRequirement:
        fields = self.read.fields(value, ("on", "roles", "kinds"), ("exempt",))
        return MembershipRequirement(
            on=self._type(fields.get("on")),
            roles=frozenset(self._roles(fields, "roles")),
            kinds=self._kinds(fields, "kinds"),
            exempt=frozenset(self._roles(fields, "exempt")),
        )

    def _creator(self, value: Node) -> CreatorRole:
        fields = self.read.fields(value, ("types", "role"), ("future", "acting"))
        future, acting = self._role_name(fields.get("future")) or None, self.read.flag(fields.get("acting"))
        if future and acting:
            self.read.report.add(DiagnosticCode.FUTURE_ACTING, fields["acting"])
        return CreatorRole(self._types(fields, "types"), self._role_name(fields.get("role")), future, acting)

    def _bridge(self, value: Node) -> BridgeGrant:
        fields = self.read.fields(value, ("role", "relation", "actions"))
        actions = self._actions(fields.get("actions"), anywhere=True)
        return BridgeGrant(self._role_name(fields.get("role")), self.read.name(fields.get("relation")), actions)

    def _scopes(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        for key, body in self.read.entries(self.parts.get("scopes"), "whole: {organization: ROLE}"):
            entries = self.read.entries(body, "organization: ROLE")
            yield (
                self.read.name(key),
                {self._type(type): self._role_name(role) for type, role in entries},
            )

    def _role_name(self, value: Value) -> str:
        return self.read.known_name(value, self.roles, DiagnosticCode.UNKNOWN_ROLE)

    def _roles(self, fields: Mapping[str, Node], key: str, *, empty: bool = False) -> tuple[str, ...]:
        words = self.read.words(fields.get(key)) if empty else self.read.non_empty_list(fields, key)
        return self.read.known_names(words, self.roles, DiagnosticCode.UNKNOWN_ROLE)

    def _types(self, fields: Mapping[str, Node], key: str) -> frozenset[str]:
        return self._known_types(self.read.non_empty_list(fields, key))

    def _type(self, value: Value) -> str:
        return "".join(self._known_types(self.read.word(value)))

    def _known_types(self, words: Collection[ScalarNode]) -> frozenset[str]:
        """Return the words that are types of the model; for the model's own word for a type, suggest the type's name."""
        own_words = {type.word: type.name for type in self.types.values()}
        otherwise = for_type(self.vocabulary, self.types)
        return frozenset(self.read.known_names(words, self.types, DiagnosticCode.UNKNOWN_TYPE, own_words, otherwise))

    def _kinds(self, fields: Mapping[str, Node], key: str = "to") -> frozenset[str]:
        if key not in fields:
            return frozenset(SUBJECT_KINDS)
        words = self.read.non_empty_list(fields, key)
        return frozenset(self.read.known_names(words, self._known_kinds(), DiagnosticCode.UNKNOWN_KIND))

    def _known_kinds(self) -> tuple[str, ...]:
        """Return all kinds of subject; an own type is one only where a role names it."""
        return (*SUBJECT_KINDS, *(name for name, type in self.types.items() if type.is_own))

    def _relations(self, fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
        return tuple(self.read.name(word) for word in self.read.non_empty_list(fields, key))

    def _when(self, fields: Mapping[str, Node], key: str = "when") -> When:
        return read_when(self.read, fields[key], self.settings, self.conditions) if key in fields else ()

    def _members(self, value: Value, roles: Mapping[str, Role]) -> Mapping[str, frozenset[str] | None]:
        """Return the roles that make members, with all that include them, by type; None for a type in a list of types."""
        if not isinstance(value, MapNode):
            listed = self._types(self.parts, "members")
            return {type: None for type in self.types if type in listed}
        bodies = {key.value: body for key, body in value.entries}
        named = {type: self._roles(bodies, type) for key, _ in value.entries for type in self._known_types((key,))}
        return {
            type: frozenset(name for name in roles if roles[name].closure & set(names)) for type, names in named.items()
        }

    def _parameters(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for key, words in self.read.entries(self.parts.get("parameters"), "table.select: [purpose]"):
            names = tuple(self.read.name(word) for word in self.read.words(words))
            for name in self.read.name_list(key):
                type, _, verb = name.value.partition(".")
                yield (self._known_action(name, type, verb) if type == ASSIGNMENT else self._needed_action(name)), names

    def _acting(self) -> frozenset[str]:
        """Return the actions of the section `acting`; those of `assignment` are written like those of a type."""
        section = self.parts.get("acting")
        entries = self.read.entries(section, "database: [create_table]")
        words = [word for key, verbs in entries if key.value == ASSIGNMENT for word in self.read.words(verbs)]
        assigning = {self._known_action(word, ASSIGNMENT, word.value) for word in words} - {""}
        others = tuple((key, verbs) for key, verbs in entries if key.value != ASSIGNMENT)
        return self._actions(replace(section, entries=others) if isinstance(section, MapNode) else None) | assigning

    def _actions(self, value: Value, *, anywhere: bool = False) -> frozenset[str]:
        found: set[str] = set()
        known = self.vocabulary.types
        for key, verbs in self.read.entries(value, "table: [select]"):
            names, words = self.read.name_list(key), self.read.words(verbs)
            everywhere = (
                self.read.known_names(names, known, DiagnosticCode.UNKNOWN_TYPE, {}, for_type(self.vocabulary, known))
                if anywhere
                else ()
            )
            for type in everywhere if anywhere else sorted(self._known_types(names)):
                for word in words:
                    found.update(self._action(type, word, found))
        return frozenset(found)

    def _action(self, type: str, verb: ScalarNode, found: Collection[str]) -> tuple[str, ...]:
        name = f"{type}.{verb.value}"
        if name in found:
            self.read.report.add(DiagnosticCode.WORD_TWICE, verb, word=name)
        known = self._known_action(verb, type, verb.value)
        return (known,) if known else ()


def _closure(name: str, roles: Mapping[str, Role]) -> frozenset[str]:
    seen: set[str] = set()
    todo = [name]
    while todo:
        current = todo.pop()
        if current not in seen:
            seen.add(current)
            todo.extend(roles[current].closure)
    return frozenset(seen)
