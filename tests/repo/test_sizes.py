"""The check of sizes counts the lines that it claims to count."""

from tools.check_sizes import FUNCTION_LINES, MODULE_LINES, functions, ninth_decile, too_long


def function_of(lines: int) -> str:
    return "def f():\n" + "    x = 1\n" * (lines - 1)


class TestTooLong:
    def test_a_function_at_the_limit_is_accepted(self) -> None:
        assert too_long({"src/a.py": function_of(FUNCTION_LINES)}) == []

    def test_a_function_above_the_limit_is_named(self) -> None:
        [complaint] = too_long({"src/a.py": "\n" + function_of(FUNCTION_LINES + 1)})

        assert complaint.startswith("src/a.py:2 f: 61 lines")

    def test_a_module_above_the_limit_is_named(self) -> None:
        [complaint] = too_long({"src/a.py": "x = 1\n\n" * (MODULE_LINES + 1)})

        assert complaint.startswith("src/a.py: 401 lines")


class TestFunctions:
    def test_the_size_of_a_function_leaves_out_docstrings_and_blank_lines(self) -> None:
        text = 'def f():\n    """Say.\n\n    More.\n    """\n\n    return 1\n'

        [function] = functions("a.py", text)

        assert function.lines == 2

    def test_the_ninth_decile_is_the_length_that_nine_in_ten_do_not_exceed(self) -> None:
        assert ninth_decile([*range(1, 10), 99]) == 9
