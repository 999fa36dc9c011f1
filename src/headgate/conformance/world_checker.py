"""Checks of a world's file: every name in it must exist, so that no entry is silently without effect."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from headgate.conformance.language import Language
from headgate.conformance.world import ROOTS
from headgate.conformance.world_document import (
    SECTIONS,
    TREE,
    WorldEntry,
    WorldMistakes,
    read_document,
    read_entries,
    read_entry,
)
from headgate.control.questions.parsing import ROLE_WORDS
from headgate.model.declared_names import CREATOR
from headgate.model.diagnostics import most_similar
from headgate.model.model import Role
from headgate.model.parse_rules import SUBJECT_KINDS
from headgate.model.suggestions import quoted
from headgate.model.yaml_parser import ListNode, ScalarNode

_USER, _GROUP, _SOURCE = "user", "group", "source"
_USER_KEYS = ("id", "email", "org_role", "org_roles", "external", "domain")
_GRANT_KEYS = ("to", "on", *ROLE_WORDS)
_PLACE_KEYS = ("id", "type", "parent", CREATOR, "by")
_STREAM_KEYS = ("name", "output", "enabled")


def check_world(text: str, file: str, language: Language) -> None:
    """Raise `ScenarioError` with every mistake of a world's file, each with its line and column.

    Raises `ModelError` if the file is not plain YAML.
    """
    mistakes = WorldMistakes(file)
    document = read_document(text, file, mistakes)
    for key in document.keys.values():
        if key.value not in SECTIONS:
            mistakes.unknown(key, f"a world has no section `{key.value}`", SECTIONS)
    _WorldChecker(document, language, mistakes).check()
    mistakes.raise_if_any()


@dataclass
class _WorldChecker:
    """Checks the sections of one world. `entries` are the entries of the tree by id, `types` the types of all ids."""

    document: WorldEntry
    language: Language
    mistakes: WorldMistakes
    entries: dict[str, WorldEntry] = field(default_factory=dict[str, WorldEntry])
    types: dict[str, str] = field(default_factory=dict[str, str])

    def check(self) -> None:
        for user in read_entries(self.document, "users", self.mistakes):
            self._declare(user, _USER)
        tree = [each for section in TREE for each in read_entries(self.document, section, self.mistakes)]
        for each in tree:
            self._declare(each, self._type(each))
        for user in read_entries(self.document, "users", self.mistakes):
            self._check_user(user)
        for each in tree:
            self._check_place(each)
        for each in read_entries(self.document, "grants", self.mistakes):
            self._check_grant(each)
        self._check_settings()

    def _declare(self, entry: WorldEntry, type: str) -> None:
        id = entry.word("id")
        if id is None:
            self.mistakes.add(entry.node, "the entry has no `id`; add one")
        elif id.value in self.types:
            self.mistakes.add(id, f"the id `{id.value}` is used twice; give each entry its own id")
        else:
            self.types[id.value] = type
            if type != _USER:
                self.entries[id.value] = entry

    def _type(self, entry: WorldEntry) -> str:
        word, words = entry.word("type"), {each.word: each.name for each in self.language.model.types.values()}
        if word is None:
            self.mistakes.add(entry.node, "the entry has no `type`; add one")
        elif word.value not in words:
            what = f"the model `{self.language.model.name}` has no type `{word.value}`"
            self.mistakes.unknown(word, what, words)
        return words.get(word.value, "") if word else ""

    def _check_user(self, user: WorldEntry) -> None:
        self._check_keys(user, _USER_KEYS, "a user")
        roles = read_entry(user.values["org_roles"], self.mistakes) if "org_roles" in user.values else user
        for key in roles.keys if roles is not user else ("org_role",):
            role = roles.word(key)
            if roles is not user:
                self._known(roles.keys[key], "the world declares no organization")
            if role is not None:
                self._check_role(role, "organization", _USER)

    def _check_place(self, entry: WorldEntry) -> None:
        type = self._own_type(entry)
        if not type:
            return
        if self._check_place_keys(entry, type) or "parent" in entry.values:
            self._check_parent(entry, type)
        for key in (CREATOR, "by"):
            if word := entry.word(key):
                self._known(word, "the world declares no user")
        for relation in self.language.names.relations.get(type, ()):
            for word in entry.words(relation):
                self._known(word, f"the relation `{relation}` names an unknown id:")
        for member in entry.words("members"):
            self._check_member(member)
        self._check_flag(entry, "built_in")
        self._check_streams(entry)

    def _own_type(self, entry: WorldEntry) -> str:
        id = entry.text("id")
        return self.types.get(id, "") if self.entries.get(id) is entry else ""

    def _check_place_keys(self, entry: WorldEntry, type: str) -> bool:
        own = (*self.language.names.attributes.get(type, ()), *self.language.names.relations.get(type, ()))
        more = {_GROUP: ("members",), _SOURCE: ("streams",)}.get(type, ())
        word = self.language.model.local_name(type)
        declare = f"declare it in the model: `{type}: {{..., attributes: [NAME]}}` or `relations: [NAME]`"
        return self._check_keys(entry, (*_PLACE_KEYS, *own, *more), f"an entry of type `{word}`", declare)

    def _check_keys(self, entry: WorldEntry, known: tuple[str, ...], what: str, otherwise: str = "") -> bool:
        """Return whether an entry has known keys only; report each other key."""
        strange = [key for key in entry.keys.values() if key.value not in known]
        listed = "; ".join(each for each in (f"its keys are {quoted(known)}", otherwise) if each)
        for key in strange:
            near = most_similar(key.value, known)
            hint = f"did you mean `{near}`?" if near else listed
            self.mistakes.add(key, f"{what} has no key `{key.value}`; {hint}")
        return not strange

    def _check_parent(self, entry: WorldEntry, type: str) -> None:
        parent, model = entry.word("parent"), self.language.model
        if parent is None:
            if type not in ROOTS:
                self.mistakes.add(entry.node, f"`{entry.text('id')}` has no parent; add `parent`")
        elif self._known(parent, "the world declares no parent") and not self._is_circle(entry):
            above = self.types[parent.value]
            if above and not model.lineage and not self.language.accepts(above, type):
                words = quoted(model.local_name(each) for each in model.types[type].parents)
                what = f"the type `{model.local_name(type)}` cannot be below `{model.local_name(above)}`"
                self.mistakes.add(parent, f"{what}; it can be below {words}")

    def _is_circle(self, entry: WorldEntry) -> bool:
        seen, id = [entry.text("id")], entry.text("parent")
        while id in self.entries and id not in seen:
            seen.append(id)
            id = self.entries[id].text("parent")
        circle = id == seen[0]
        if circle and id == min(seen):
            parents = " -> ".join((*seen, id))
            self.mistakes.add(entry.keys["parent"], f"the parents are a circle, {parents}; correct one of them")
        return circle or id in seen

    def _check_member(self, member: ScalarNode) -> None:
        if self._known(member, "the world declares no user") and self.types[member.value] == _GROUP:
            self.mistakes.add(member, f"`{member.value}` is a group, and a group cannot be in a group; list its users")

    def _check_streams(self, entry: WorldEntry) -> None:
        streams = entry.values.get("streams")
        for each in streams.values if isinstance(streams, ListNode) else ():
            stream = read_entry(each, self.mistakes)
            self._check_keys(stream, _STREAM_KEYS, "a stream")
            self._check_flag(stream, "enabled")
            if word := stream.word("output"):
                self._known(word, "the stream writes an unknown table")

    def _check_flag(self, entry: WorldEntry, key: str) -> None:
        word = entry.word(key)
        if word is not None and word.value not in ("true", "false"):
            self.mistakes.add(word, f"`{key}` is `{word.value}`; write `true` or `false`")

    def _check_grant(self, grant: WorldEntry) -> None:
        subject, place = grant.word("to"), grant.word("on")
        role = next((word for key in ROLE_WORDS if (word := grant.word(key))), None)
        if self._check_keys(grant, _GRANT_KEYS, "a grant"):
            stated = {"to": subject, "on": place, "role": role}
            for key in (key for key, word in stated.items() if word is None):
                self.mistakes.add(grant.node, f"the grant has no `{key}`; add it")
        kind = self._subject_kind(subject) if subject else ""
        known = place is not None and self._known(place, "the world declares no resource")
        if role is not None:
            self._check_role(role, self.types[place.value] if place and known else "", kind)

    def _subject_kind(self, subject: ScalarNode) -> str:
        if not self._known(subject, "the world declares no subject"):
            return ""
        kind, model = self.types[subject.value], self.language.model
        kinds = (*SUBJECT_KINDS, *(type.name for type in model.types.values() if type.is_own))
        if kind and kind not in kinds:
            word = model.local_name(kind)
            self.mistakes.add(
                subject, f"no role can be assigned to `{subject.value}`, which is of type `{word}`; name {_SUBJECTS}"
            )
        return kind if kind in kinds else ""

    def _check_role(self, word: ScalarNode, type: str, kind: str) -> None:
        """Check that a role exists, and can be assigned on a type to a kind of subject; empty if these are unknown."""
        model = self.language.model
        role = model.roles.get(word.value)
        if role is None:
            self.mistakes.unknown(word, f"the model `{model.name}` has no role `{word.value}`", model.roles)
            return
        if type and type not in role.on:
            self.mistakes.add(
                word, f"the role `{role.name}` cannot be assigned on `{model.local_name(type)}`; {self._places(role)}"
            )
        elif kind and kind not in role.to:
            kinds = quoted(sorted(role.to))
            self.mistakes.add(
                word, f"the role `{role.name}` cannot be assigned to a `{kind}`; it can be assigned to {kinds}"
            )

    def _places(self, role: Role) -> str:
        words = quoted(self.language.model.local_name(type) for type in sorted(role.on))
        return f"it can be assigned on {words}" if words else "it is never assigned"

    def _check_settings(self) -> None:
        settings, model = self.document.values.get("settings"), self.language.model
        if settings is None:
            return
        for key, values in _pairs(read_entry(settings, self.mistakes), self.mistakes):
            known = self._known(key, "the world declares no resource")
            for name in values.keys.values():
                setting = model.settings.get(name.value)
                if setting is None:
                    self.mistakes.unknown(
                        name, f"the model `{model.name}` has no setting `{name.value}`", model.settings
                    )
                    continue
                if known and self.types[key.value] not in ("", *setting.on):
                    place = "` or `".join(map(model.local_name, setting.on))
                    self.mistakes.add(
                        name, f"the setting `{setting.name}` is set on `{place}`, and `{key.value}` is of another type"
                    )
                value = values.word(name.value)
                if value is None or value.value not in setting.values:
                    written = value.value if value else ""
                    text = (
                        f"the setting `{setting.name}` has no value `{written}`; choose from {quoted(setting.values)}"
                    )
                    self.mistakes.add(value or name, text)

    def _known(self, word: ScalarNode, what: str) -> bool:
        """Return whether an id is declared; report one that is not."""
        if word.value not in self.types:
            self.mistakes.unknown(word, f"{what} `{word.value}`", self.types, "declare it, or correct the id")
        return word.value in self.types


_SUBJECTS = "a user, a group, a service principal or a team"


def _pairs(entry: WorldEntry, mistakes: WorldMistakes) -> Iterator[tuple[ScalarNode, WorldEntry]]:
    for key, word in entry.keys.items():
        if key in entry.values:
            yield word, read_entry(entry.values[key], mistakes)
