"""Numbers that cells print are filled into the text, and a name without a number, or without a place, is refused."""

import nbformat
import pytest

from companion.book import numbers

new = nbformat.v4


def notebook(text, printed, source='glue_number("kv-7b", 2, "{} GiB")'):
    stream = new.new_output("stream", name="stdout", text=printed)
    return new.new_notebook(cells=[new.new_markdown_cell(text), new.new_code_cell(source, outputs=[stream])])


def test_a_printed_number_takes_the_place_of_its_name(maker):
    book = notebook("It takes {{kv-7b}}, in all {{ kv-7b }}.", "kv-7b = 2 GiB\n")
    assert maker.fill_numbers(book, book, "x").cells[0].source == "It takes 2 GiB, in all 2 GiB."


def test_only_cells_that_print_numbers_of_answers_are_read():
    book = notebook("", "kv-7b = 2 GiB\nx = 3\nsome text\nlarge-one = 1,024 MiB\n")
    assert numbers.printed_numbers(book.cells) == {"kv-7b": "2 GiB", "large-one": "1,024 MiB"}
    assert numbers.printed_numbers(notebook("", "kv-7b = 2\n", source="print('kv-7b = 2')").cells) == {}


def test_the_braces_of_code_are_left_alone(maker):
    book = notebook("{{kv-7b}}", "kv-7b = 2 GiB\n", source='glue_number("kv-7b", 2)  # {{kv-8b}}')
    assert "{{kv-8b}}" in maker.fill_numbers(book, book, "x").cells[1].source


@pytest.mark.parametrize(
    ("text", "printed", "message"),
    [
        ("{{kv-8b}} {{kv-7b}}", "kv-7b = 2\n", r"^x: the text asks for kv-8b, and no cell prints such a number"),
        ("{{KV}} {{kv-7b}}", "kv-7b = 2\n", "the text asks for KV"),
        ("none", "kv-7b = 2\n", "^x: a cell prints kv-7b, and no text uses it"),
        ("{{kv-7b}}", "kv-7b = 2\nkv-7b = 3\n", "^x: two numbers of the answers have one name: kv-7b"),
    ],
)
def test_a_name_without_a_number_and_a_number_without_a_place_are_refused(maker, text, printed, message):
    book = notebook(text, printed)
    with pytest.raises(maker.ChapterError, match=message):
        maker.fill_numbers(book, book, "x")
