"""casbin in Python: its default enforcer, and the fast one, which reads fewer policies."""

from typing import Any, ClassVar

import casbin
from casbin.model import FastModel
from casbin.util.log import disabled_logging

from .engine import ChangingEngine, Check, List
from .oracle import Question
from .organization import LEVELS, Grant, Organization

_DEFINITIONS = """
[request_definition]
r = sub, obj, level

[policy_definition]
p = sub, obj, level

[role_definition]
g = _, _
g2 = _, _

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = {matcher}
"""


_Rules = tuple[list[list[Any]], list[list[str]], list[list[str]]]


class CasbinEngine(ChangingEngine):
    """A policy (subject, place, level) for each grant; `g` has the groups, `g2` the tree."""

    name: ClassVar[str] = "casbin"
    _matcher: ClassVar[str] = "g(r.sub, p.sub) && g2(r.obj, p.obj) && r.level <= p.level"

    @classmethod
    def prepare(cls, organization: Organization) -> _Rules:
        """Return casbin's rules: `p`, `g` and `g2`."""
        policies = [rule for grant in organization.grants for rule in cls._rules(grant)]
        members = [[user, group] for group, members in organization.groups.items() for user in members]
        return policies, members, [[table, layer] for table, layer in organization.layer_of.items()]

    def load(self, prepared: _Rules) -> None:
        """Add the rules in three batches; if added one by one, casbin compares each with all earlier ones."""
        disabled_logging()
        policies, members, tree = prepared
        self._enforcer = self._empty()
        self._enforcer.add_policies(policies)
        self._enforcer.add_named_grouping_policies("g", members)
        self._enforcer.add_named_grouping_policies("g2", tree)
        self._lying: Any = self._enforcer.get_named_role_manager("g2")

    def _empty(self) -> casbin.Enforcer:
        return casbin.Enforcer(casbin.Enforcer.new_model(text=_DEFINITIONS.format(matcher=self._matcher)))

    @classmethod
    def _rules(cls, grant: Grant) -> list[list[Any]]:
        return [[grant.subject, grant.place, LEVELS.index(grant.level)]]

    def table(self, question: Question) -> Check:
        """Enforce once."""
        user, table, level = question.user, question.resource, LEVELS.index(question.level)
        return lambda: self._enforce(user, table, level)

    def pipeline(self, question: Question) -> Check:
        """Enforce for each table until one is refused; casbin has no "all of"."""
        user, level = question.user, LEVELS.index(question.level)
        tables = self.organization.touched(question.resource)
        return lambda: all(self._enforce(user, table, level) for table in tables)

    def _enforce(self, user: str, table: str, level: int) -> bool:
        return self._enforcer.enforce(user, table, level)

    def readable(self, user: str) -> List:
        """Return the user's implicit permissions, each of which includes reading; the users of a layer in `g2` are its tables."""
        return lambda: {
            table
            for _, place, _ in self._enforcer.get_implicit_permissions_for_user(user)
            for table in self._tables(place)
        }

    def _tables(self, place: str) -> list[str]:
        return self._lying.get_users(place) if place in self.organization.layers else [place]

    def readers(self, table: str) -> List:
        """Return the implicit users of the table and of its layer."""
        return lambda: {
            user
            for place in self._places(table)
            for user, _, _ in self._enforcer.get_implicit_users_for_resource(place)
        }

    def _places(self, table: str) -> list[str]:
        return [table, *self._lying.get_roles(table)]

    def revoke(self, grant: Grant) -> Check:
        """Remove the policies of the grant."""
        rules = self._rules(grant)

        def call() -> bool:
            self._enforcer.remove_policies(rules)
            return self._enforce(grant.subject, grant.place, 0)

        return call

    def restore(self, grant: Grant) -> None:
        """Add the policies of the grant again."""
        self._enforcer.add_policies(self._rules(grant))


class FastCasbinEngine(CasbinEngine):
    """The fast enforcer, which reads only policies with exactly the place and level of the question.

    So a grant is a policy for each level that it includes, and the adapter asks for each ancestor in the tree.
    """

    name: ClassVar[str] = "casbin-fast"
    _matcher: ClassVar[str] = "r.obj == p.obj && r.level == p.level && g(r.sub, p.sub)"

    def _empty(self) -> casbin.Enforcer:
        model = FastModel([1, 2])
        model.load_model_from_text(_DEFINITIONS.format(matcher=self._matcher))
        model.add_def("g", "g2", "_, _")  # a FastModel reads only the first definition of a section
        return casbin.FastEnforcer(model, cache_key_order=[1, 2])

    @classmethod
    def _rules(cls, grant: Grant) -> list[list[Any]]:
        return [[grant.subject, grant.place, level] for level in range(LEVELS.index(grant.level) + 1)]

    def _enforce(self, user: str, table: str, level: int) -> bool:
        return any(self._enforcer.enforce(user, place, level) for place in self._places(table))
