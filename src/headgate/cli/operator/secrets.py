"""`headgate secret`: the rotation of the key that encrypts the secrets of connections, on the deployment's machine."""

import sys
from typing import Annotated

import typer

from headgate.cli.command_groups import add_command_group
from headgate.cli.local import Data, open_local_deployment
from headgate.cli.output import errors, fail, print_table, say


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    secrets = add_command_group(app, "secret", "Secrets of connections, and the key that encrypts them.")
    secrets.command("rotate-key", epilog="Example: headgate secret rotate-key")(rotate_key)


def rotate_key(
    *,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="create no new key; finish a rotation that was interrupted or that kept former keys"
        ),
    ] = False,
    keep_former: Annotated[
        bool,
        typer.Option(
            "--keep-former", help="keep the former keys in the file, for servers that still have the old file"
        ),
    ] = False,
    data: Data = None,
) -> None:
    """Replace the key, and re-encrypt every secret with it.

    The command creates a new key, re-encrypts every secret with it, and deletes the former keys.

    The command can be interrupted: the former keys stay in the key file and decrypt their secrets until every secret is
    re-encrypted. Servers on this machine reload the key file automatically. For servers on several machines, each with its
    own key file: run the command with `--keep-former` on one machine, copy the key file to the others, run the command with
    `--resume`, and copy the key file again. If a secret cannot be decrypted, the command shows its connection, keeps the
    former keys, and ends with exit code 1.
    """
    from rich.progress import Progress

    from headgate.control.connections.vault import VaultError
    from headgate.control.connections.vault_rotation import VaultRotation

    with open_local_deployment(data) as deployment:
        vault, lost = deployment.vault, list[tuple[str, str, str]]()
        try:
            if not resume:
                vault.add_key()
            elif not vault.former_keys:
                say("there is no unfinished rotation; nothing was changed")
                return
            rotation = VaultRotation(deployment.organizations, vault)
            waiting = list(rotation.find_outdated())
            with Progress(console=errors, transient=True) as progress:
                for each in progress.track(waiting, description="encrypting"):
                    try:
                        rotation.reencrypt(each)
                    except VaultError as error:
                        lost.append((each.organization.id, each.connection, str(error)))
            is_finished = not keep_former and rotation.finish()
        except VaultError as error:
            fail(str(error))
            sys.exit(1)
    say(f"{len(waiting) - len(lost)} secrets re-encrypted")
    if lost:
        print_table(("organization", "connection", "problem"), lost)
        sys.exit(1)
    say(
        "the former keys are deleted"
        if is_finished
        else "the former keys are kept, and still decrypt; delete them with `headgate secret rotate-key --resume`"
    )
