"""Checks that the texts of the repository are plain technical English, as CONTRIBUTING.md asks.

Searches strings, docstrings and comments of Python and Scala, and documents, for the phrases of `tools/english.toml`.
Prints each place with what to write instead and exits with 1, or prints one line of figures. With paths as arguments it
searches only those.
"""

import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PHRASES = ROOT / "tools" / "english.toml"

SCALA_TEXT = re.compile(r'"""(.*?)"""|"((?:[^"\\\n]|\\.)*)"|/\*(.*?)\*/|//([^\n]*)', re.DOTALL)
CODE = re.compile(r"``?[^`\n]*``?|\{[^{}]*\}|https?://\S+")
WITHOUT_WORDS = re.compile(r"\S*")
PYTHON_COMMAND = re.compile(r"#!.*\bpython")
SUFFIXES = (".py", ".scala", ".md", ".txt", "")


@dataclass(frozen=True)
class Text:
    """A text of a file: the line where it begins, and whether it is a docstring."""

    line: int
    words: str
    is_docstring: bool = False


@dataclass(frozen=True)
class Phrase:
    """A phrase to avoid, and what to write instead; with `begins` it counts only at the begin of a docstring.

    A space of the pattern also matches the end of a line.
    """

    pattern: str
    instead: str
    begins: bool = False

    def occurrences(self, text: Text) -> Iterator[tuple[int, str]]:
        """Yield the line and the words of each place in the text."""
        pattern = self.pattern.replace(" ", r"\s+")
        if self.begins:
            found = re.match(pattern, text.words, re.IGNORECASE) if text.is_docstring else None
            yield from [(text.line, found[0])] if found else []
            return
        for found in re.finditer(pattern, text.words, re.IGNORECASE):
            yield text.line + text.words.count("\n", 0, found.start()), found[0]


def texts_of(name: str, content: str) -> Iterator[Text]:
    """Yield the texts of a program, by its suffix or its first line; for another file, the whole content."""
    if name.endswith(".py") or PYTHON_COMMAND.match(content):
        yield from _python(content)
    elif name.endswith(".scala"):
        yield from _scala(content)
    else:
        yield Text(1, CODE.sub(_blank, content))


def complaints(
    files: Mapping[str, str], phrases: Iterable[Phrase], exceptions: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Return a line for each phrase found in the files (name -> content) and for each exception that is not needed."""
    phrases, unused = list(phrases), {(name, words) for name, known in exceptions.items() for words in known}
    found = []
    for name, content in sorted(files.items()):
        for text in texts_of(name, content):
            for phrase in phrases:
                for line, words in phrase.occurrences(text):
                    key = (name, " ".join(words.split()).strip(".:;, "))
                    if key in unused or key[1] in exceptions.get(name, ()):
                        unused.discard(key)
                    else:
                        found.append(f"{name}:{line}: `{key[1]}`; write: {phrase.instead}")
    return found + [f"{name}: the exception `{words}` is not needed" for name, words in sorted(unused) if name in files]


def _python(content: str) -> Iterator[Text]:
    """Yield strings with a space in them, and comments; consecutive comments are one text."""
    before = tokenize.NEWLINE
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string.lstrip("# ")))
            continue
        if token.type == tokenize.NL:
            continue
        if comments:
            yield Text(comments[0][0], CODE.sub(_blank, "\n".join(words for _, words in comments)))
            comments = []
        if token.type == tokenize.STRING:
            words = token.string.lstrip("rRbBfFuU").strip("\"'")
            if not WITHOUT_WORDS.fullmatch(words):
                is_docstring = '"""' in token.string and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
                yield Text(token.start[0], CODE.sub(_blank, words), is_docstring)
        before = token.type


def _scala(content: str) -> Iterator[Text]:
    for found in SCALA_TEXT.finditer(content):
        words = next(each for each in found.groups() if each is not None)
        if not WITHOUT_WORDS.fullmatch(words):
            is_docstring = found[0].startswith("/**")
            line = content.count("\n", 0, found.start()) + 1
            yield Text(line, CODE.sub(_blank, re.sub(r"(?m)^[ *]+", "", words)), is_docstring)


def _blank(code: re.Match[str]) -> str:
    """Return a placeholder for code in a text, with the same number of lines: code is not English."""
    return "_" + "\n" * code[0].count("\n")


def files_of(folders: Iterable[Path], left_out: Iterable[Path] = ()) -> Iterator[Path]:
    """Yield the files in the folders that may have texts, except for those in the paths `left_out`."""
    left_out = tuple(left_out)
    for folder in folders:
        for path in [folder] if folder.is_file() else folder.rglob("*"):
            is_left_out = any(path.is_relative_to(each) for each in left_out)
            if path.is_file() and path.suffix in SUFFIXES and not is_left_out:
                yield path


def main(arguments: list[str]) -> int:
    """Search the folders of the table, or the paths in `arguments`; return the exit status."""
    table = tomllib.loads(PHRASES.read_text("utf-8"))
    paths = [Path(each).resolve() for each in arguments] or [ROOT / each for each in table["folders"]]
    found_files = files_of(paths, [ROOT / each for each in table["except"]])
    files = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in found_files}
    found = complaints(files, [Phrase(**each) for each in table["phrases"]], table["exceptions"])
    print("\n".join(found) or f"{len(files)} files without {len(table['phrases'])} kinds of phrases")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
