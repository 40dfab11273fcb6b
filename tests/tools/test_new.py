"""What `make new` writes: few files, complete ones, which pass the checks of the house."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from companion.book import new, notebooks, pages, toc
from companion.book.pages import rules

ROOT = Path(__file__).parents[2]
MOST = {"page": 2, "question": 1, "exercise": 3, "explorer": 4, "chapter": 8}  # files that a person edits
NAMES = {"chapter": "sparsity"} | dict.fromkeys(("page", "question", "exercise", "explorer"), "sparsity/row-sums")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "_build", ".venv", ".git", "node_modules", "*.ipynb")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the house with a new chapter, and in it one of each; with the files that were touched, by kind."""
    root = tmp_path_factory.mktemp("new") / "house"
    shutil.copytree(ROOT, root, ignore=LEFT_OUT)
    touched = {"chapter": new.create("chapter", NAMES["chapter"], root)}
    index = root / "book" / "sparsity" / "index.md"
    index.write_text(index.read_text("utf8") + "\n(sec-sparsity)=\n## A section\n\nText.\n", "utf8")
    for what in ("page", "explorer", "exercise", "question"):
        touched[what] = new.create(what, NAMES[what], root)
    return root, touched


def run(root, *command):
    """Run a command in a tree, which is the one that it imports."""
    variables = {**os.environ, "PYTHONPATH": str(root), "BROWSER": "none"}
    return subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True)


@pytest.mark.parametrize("what", MOST)
def test_a_person_edits_few_files(tree, what):
    """The first explorer and the first exercise of a chapter also begin the package of their folder."""
    _, touched = tree
    edited = [path for path in touched[what] if path.name != "__init__.py" or what == "chapter"]
    assert 1 <= len(edited) <= MOST[what], edited


def test_a_new_chapter_stands_behind_the_others_and_its_pages_in_order(tree):
    root, _ = tree
    listed = [toc.page(name) for name in toc.files(root, "Chapters")]
    assert "\n      - file: book/sparsity/index.ipynb\n        sections:\n          - file: book/sparsity/row-sums" in (
        root / "_toc.yml"
    ).read_text("utf8")
    assert listed[-2:] == ["sparsity/index", "sparsity/row-sums"]
    assert listed[:-2] == [toc.page(name) for name in toc.files(ROOT, "Chapters")]


def test_what_is_new_is_found_and_passes_the_style(tree):
    root, touched = tree
    code = (
        "from companion.explorers import RowSums\n"
        "from companion.practice import exercises\n"
        "from companion.book.topics import TOPICS\n"
        "print(RowSums([1.0, 2.0]), [one.name for one in exercises('sparsity')], TOPICS['sparsity'])\n"
    )
    done = run(root, sys.executable, "-c", code)
    assert (done.stdout, done.stderr) == ("RowSums(2 scores) ['row-sums'] Sparsity\n", "")
    python = [str(path) for paths in touched.values() for path in paths if path.suffix == ".py"]
    for command in (["check"], ["format", "--check"]):
        done = run(root, sys.executable, "-m", "ruff", *command, *python)
        assert done.returncode == 0, done.stdout


def test_the_tests_of_the_house_hold_for_what_is_new(tree):
    """Its exercise with its mistakes and right answers, its explorer, its headers, its layers."""
    root, _ = tree
    tests = ["tests/tools/test_practice_mistakes.py", "tests/tools/test_practice_answers.py", "tests/test_api.py"]
    chosen = [sys.executable, "-m", "pytest", "-q", "-k", "row-sums or row_sums or sparsity"]
    done = run(root, *chosen, *tests, "tests/chapters/sparsity", "tests/tools/test_explorers.py")
    assert done.returncode == 0, done.stdout[-3000:]
    assert run(root, sys.executable, "-m", "pytest", "-q", "tests/test_layers.py", "-k", "layers_below").returncode == 0


def test_a_new_page_runs(tree):
    root, _ = tree
    done = run(root, sys.executable, "-m", "companion.book.notebooks", "sparsity/row-sums")
    assert "sparsity/row-sums" in done.stdout, done.stderr
    assert done.returncode == 0
    assert (root / "book" / "sparsity" / "row-sums.ipynb").exists()
    assert rules.breaches(pages.read_page("sparsity/row-sums", root), root) == []


@pytest.mark.parametrize("name", ["index", "deeper-sums", "questions", "questions-sums", "exercises", "claims"])
def test_a_new_page_has_the_form_of_its_kind(tmp_path, name):
    """It was not run, so it has no picture yet."""
    for path in ("_toc.yml", "book/glossary.md"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / "book" / "sparsity").mkdir()
    source, _ = new.create("page", f"sparsity/{name}", tmp_path)
    stored = notebooks.stable(notebooks.read_source(source), f"sparsity/{name}")
    source.with_suffix(".ipynb").write_text(notebooks.to_text(stored), "utf8")
    page = pages.read_page(f"sparsity/{name}", tmp_path)
    assert page.kind == name.removesuffix("-sums")
    assert ("sums" in page.text.splitlines()[0].lower()) == name.endswith("-sums")
    assert rules.breaches(page, tmp_path) == (["it has no picture"] if name == "index" else [])


def test_pages_are_listed_below_their_index_by_kind():
    lines = ["parts:", "- chapters:", "      - file: book/a/index.ipynb", "      - file: book/interview/index.ipynb"]
    for name in ("claims", "two", "deeper-x", "three", "questions", "questions-x"):
        lines = new.listed(lines, "a", name)
    lines = new.listed(new.listed(lines, "b", "index"), "interview", "quiz")
    assert [line.strip() for line in lines[2:]] == [
        "- file: book/a/index.ipynb",
        "sections:",
        *(
            f"- file: book/a/{name}.ipynb"
            for name in ("two", "three", "deeper-x", "questions", "questions-x", "claims")
        ),
        "- file: book/b/index.ipynb",
        "- file: book/interview/index.ipynb",
        "- file: book/interview/quiz.ipynb",
    ]


def test_what_is_left_to_a_person_is_said(tree):
    root, touched = tree
    run, listed = "Then: make notebooks NAME=sparsity", "Then: make notebooks NAME=interview/exercises"
    page = "Then: move what is new at the end of book/sparsity/index.md to its place"
    own = "Then: make notebooks NAME=sparsity/index"
    wanted = {"chapter": [run], "page": [run], "explorer": [page, own], "exercise": [page, own, listed]}
    assert {what: new.then(what, NAMES[what], touched[what], root) for what in wanted} == wanted
    assert new.then("question", NAMES["question"], touched["question"], root) == [page, own]
    with pytest.raises(
        ValueError, match=r"a new question has a new name: q-[a-z-]+ is in book/sparsity/index\.md already"
    ):
        new.create("question", NAMES["question"], root)


def test_a_question_has_a_name_that_is_on_no_other_page_of_questions_of_its_chapter(tmp_path):
    folder = tmp_path / "book" / "sparsity"
    folder.mkdir(parents=True)
    (folder / "questions.md").write_text("(sec-x)=\n# Questions\n", "utf8")
    new.create("question", "sparsity/row-sums", tmp_path)
    (folder / "questions.md").rename(folder / "questions-sums.md")
    (folder / "questions.md").write_text("(sec-y)=\n# Questions\n", "utf8")
    with pytest.raises(ValueError, match=r"q-row-sums is in book/sparsity/questions-sums\.md already"):
        new.create("question", "sparsity/row-sums", tmp_path)


@pytest.mark.parametrize(
    ("what", "name", "message"),
    [
        ("figure", "attention/x", "WHAT is one of chapter, page, explorer, exercise, question: got 'figure'"),
        ("page", "attention", "NAME is chapter/name, in lower-case words joined by hyphens: got 'attention'"),
        ("chapter", "a/b", "NAME is chapter, in lower-case words joined by hyphens: got 'a/b'"),
        ("page", "attention/Big_Name", "got 'attention/Big_Name'"),
        ("page", "nowhere/x", "there is no chapter nowhere: run make new WHAT=chapter NAME=nowhere first"),
        ("page", "attention/index", r"book/attention/index\.md is there already"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_changes(what, name, message):
    before = (ROOT / "_toc.yml").read_text("utf8")
    with pytest.raises(ValueError, match=message):
        new.create(what, name)
    assert (ROOT / "_toc.yml").read_text("utf8") == before
