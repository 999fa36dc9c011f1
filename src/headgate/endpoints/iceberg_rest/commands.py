"""Commands of catalog writes: a refused command becomes an error of the Iceberg REST specification."""

from collections.abc import Sequence

from headgate.control.kernel.audit_records import Denial
from headgate.control.kernel.command import Command, PermissionDeniedError
from headgate.control.kernel.errors import AlreadyExistsError, InvalidError, NotEmptyError, NotFoundError
from headgate.control.kernel.metadata import CommandMetadata
from headgate.control.kernel.ports import DocumentConflictError
from headgate.control.questions.hidden_names import Verdict
from headgate.endpoints.iceberg_rest.errors import SpecError, UnderWayError, hidden_error, refusal_error
from headgate.endpoints.iceberg_rest.request import CatalogRequest


def execute_command(
    asking: CatalogRequest, command: Command, names: Sequence[str], call: CommandMetadata, missing: SpecError
) -> None:
    """Execute a command on the resource that has, or will have, the full name `names`.

    Raises `SpecError` if the command is refused; then nothing was changed. The error is `missing` if the caller may not
    see the name.
    """
    try:
        asking.organization.control.execute(command, asking.caller, call)
    except PermissionDeniedError as error:
        raise refusal_error(_refusal(asking, names, error), missing) from error
    except AlreadyExistsError as error:
        # The response reveals that a hidden name is taken: the audit shows a caller that searches for such names.
        denial = _taken(asking, command, names) if error.is_hidden else None
        raise SpecError(409, "AlreadyExistsException", str(error), denial) from error
    except NotFoundError as error:
        raise hidden_error(asking.organization.gate.build_missing_verdict(names), missing) from error
    except NotEmptyError as error:
        raise SpecError(409, "NamespaceNotEmptyException", str(error)) from error
    except DocumentConflictError as error:
        raise UnderWayError from error
    except InvalidError as error:
        raise SpecError(403, "ForbiddenException", str(error)) from error


def _refusal(asking: CatalogRequest, names: Sequence[str], error: PermissionDeniedError) -> Verdict:
    facts, question = asking.organization.control.snapshot, error.question
    known = facts.full_name(question.resource) if question.resource in facts.resources else tuple(names)
    return asking.organization.gate.refusal(known, question, error.explanation)


def _taken(asking: CatalogRequest, command: Command, names: Sequence[str]) -> Denial:
    place = asking.organization.control.snapshot.find(names[:-1])
    return Denial("taken", command.name, place.id if place else "")
