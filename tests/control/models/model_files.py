"""A small access model of a company's own, in several versions."""

HARBOUR = """\
model: harbour
version: 1

types:
  organization: {under: [deployment]}
  group: {under: [organization]}
  service_principal: {under: [organization]}
  token: {under: [service_principal]}
  project: {under: [organization], implicit: true}
  lake: {under: [project], implicit: true}
  database: {as: quay, under: [lake]}
  table: {as: cargo, under: [database]}

roles:
  master:
    on: [organization]
    to: [user]
    includes: [docker]
    actions:
      organization: [add_user, manage_users, create_group, create_service_principal, read_audit, ask]
      lake: [create_database]
  docker:
    on: [organization, lake, database, table]
    to: [user, group]
    actions:
      database: [describe, create_table]
      table: [describe, select]

spread:
  - {roles: [master, docker], from: [organization, lake, database]}

assign:
  - {holder: master, roles: [master, docker], on: [organization, lake, database, table]}

creators:
  - {types: [organization], role: master}
"""


def harbour(version: int, *actions: str) -> str:
    """Return the source of a version, in which a docker may also do these actions on a table."""
    changed = HARBOUR.replace("version: 1", f"version: {version}")
    return changed.replace("table: [describe, select]", f"table: [{', '.join(('describe', 'select', *actions))}]")
