"""The package as users install it: a wheel, built from the checkout and installed into a separate environment."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
WITHIN: Final = 300.0


def build(folder: Path, target: str = "wheel") -> Path:
    """Build the wheel or the source archive (`sdist`) of this checkout into a folder."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder))
    (built,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


def install_wheel(wheel: Path, folder: Path) -> Path:
    """Install a wheel and the locked packages, without the checkout, into a new environment; return its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(wheel))
    # Python does not read a path file inside a folder that another path file names. The checkout is installed by a path
    # file, so it is not importable there.
    packages = _run(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    Path(packages, "locked.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    return python


def imported_from(python: Path) -> Path:
    """Return the file from which a Python that is started in the checkout imports the package."""
    return Path(_run(str(python), "-c", "import headgate; print(headgate.__file__)").strip())


def _run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=WITHIN).stdout
