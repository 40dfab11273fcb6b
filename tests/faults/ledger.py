"""Faults of the ledger, of sources and notebooks, and of the interview questions."""

import json
from collections.abc import Callable

from faults import Fault

CLAIMS = "companion/claims.py"
LEDGER = "book/claims.yml"
SOURCE = "book/attention.md"
NOTEBOOK = "book/attention.ipynb"
EXTENSION = "book/extensions/ledger.py"
QUESTIONS = "book/extensions/questions.py"
SCRIPT = "scripts/make_notebooks.py"


def unit(*tests: str) -> tuple[str, ...]:
    return tuple(f"tests/unit/test_claims.py::test_{test}" for test in tests)


def notebooks(file: str, *tests: str) -> tuple[str, ...]:
    return tuple(f"tests/notebooks/test_{file}.py::test_{test}" for test in tests)


def cell(start: str, change: Callable[[dict], object]) -> Callable[[str], str]:
    """Change the first code cell of a notebook whose source holds a text."""

    def edit(text: str) -> str:
        notebook = json.loads(text)
        found = [item for item in notebook["cells"] if item["cell_type"] == "code" and start in "".join(item["source"])]
        change(found[0])
        return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"

    return edit


def printed_otherwise(item: dict) -> None:
    output = next(output for output in item["outputs"] if output["output_type"] == "stream")
    output["text"] = [line.replace("Measured   True", "Measured   true") for line in output["text"]]


FAULTS = [
    # the package
    Fault(
        "a wrong claim may be measured as true",
        CLAIMS,
        '"wrong": False',
        '"wrong": True',
        unit("a_measurement_must_agree_with_the_verdict"),
    ),
    Fault(
        "the case outside the conditions may hold too",
        CLAIMS,
        'wanted = {"inside": True, "outside": False}',
        'wanted = {"inside": True, "outside": found["outside"]}',
        unit("conditions_need_a_case_inside_that_holds_and_one_outside_that_fails"),
    ),
    Fault(
        "a disagreement is not raised",
        CLAIMS,
        "    if found != wanted:\n",
        "    if found != found:\n",
        unit("a_measurement_must_agree_with_the_verdict"),
    ),
    Fault(
        "a number counts as a truth",
        CLAIMS,
        "isinstance(value, bool | np.bool_)",
        "isinstance(value, bool | int | np.bool_)",
        unit("a_number_or_an_array_is_no_measurement"),
    ),
    Fault(
        "what a cell can measure may be cited",
        CLAIMS,
        'if entry["verdict"] in EXPECTED and entry["kind"] != "history-fact":',
        "if not entry:",
        unit("what_a_cell_can_measure_is_not_cited"),
    ),
    Fault(
        "a dropped claim may be settled",
        CLAIMS,
        'if "dropped" in entries[claim_id]:',
        'if "dropped" in claim_id:',
        unit("a_claim_has_an_entry"),
    ),
    # the ledger and the chapter
    Fault(
        "the verdict on a claim that holds is wrong",
        LEDGER,
        "  verdict: holds\n",
        "  verdict: wrong\n  correct: It is not so.\n",
        notebooks("ledger", "each_wrong_claim_has_its_box"),
        after="- id: softmax-20-23\n",
    ),
    Fault(
        "the chapter measures what its ledger denies",
        LEDGER,
        "  verdict: holds\n",
        "  verdict: wrong\n  correct: It is not so.\n",
        notebooks("pairs", "a_fresh_run_gives_the_same_notebook"),
        reason=r"ChapterError: attention: cell \d+ .*raised ClaimError",
        after="- id: softmax-20-23\n",
    ),
    Fault(
        "a claim is settled twice",
        NOTEBOOK,
        tests=notebooks("ledger", "each_claim_of_a_finished_chapter_is_settled_once"),
        edit=cell("softmax-20-23", lambda item: item.update(source="\n".join(["".join(item["source"])] * 2))),
    ),
    Fault(
        "a claim is not settled",
        NOTEBOOK,
        tests=notebooks("ledger", "each_claim_of_a_finished_chapter_is_settled_once"),
        edit=cell("softmax-20-23", lambda item: item.update(source="high")),
    ),
    Fault(
        "a cell names a claim that is not in the ledger",
        NOTEBOOK,
        "softmax-20-23",
        "softmax-20-32",
        notebooks("ledger", "each_claim_of_a_finished_chapter_is_settled_once"),
        edit=lambda text: text.replace("softmax-20-23", "softmax-20-32"),
    ),
    Fault(
        "a measurement is written down",
        NOTEBOOK,
        tests=notebooks("ledger", "measurements_are_computed"),
        edit=cell(
            "softmax-20-23", lambda item: item.update(source='ok = 1 == 1\ncheck_claim("softmax-20-23", ok, "so")')
        ),
    ),
    Fault(
        "a cited source is not in the bibliography",
        "book/references.bib",
        "{yang2022tensor,",
        "{yang2022tensors,",
        notebooks("ledger", "each_cited_source_is_in_the_bibliography"),
    ),
    Fault(
        "the number of a preprint has not its form",
        "book/references.bib",
        "eprint = {1706.03762}",
        "eprint = {1706.3762}",
        notebooks("ledger", "each_source_can_be_found"),
    ),
    Fault(
        "a box names no claim",
        SOURCE,
        ":name: not-so-qkt-called-weights\n",
        ":name: not-so-qkt\n",
        notebooks("ledger", "each_wrong_claim_has_its_box"),
    ),
    # the pair
    Fault(
        "a stored output is changed",
        NOTEBOOK,
        tests=notebooks("pairs", "a_fresh_run_gives_the_same_notebook"),
        edit=cell("softmax-20-23", printed_otherwise),
    ),
    Fault(
        "a stored output is changed, as nbval sees it",
        NOTEBOOK,
        tests=("--nbval", NOTEBOOK),
        reason="Cell outputs differ",
        edit=cell("softmax-20-23", printed_otherwise),
    ),
    Fault(
        "a cell was not run",
        NOTEBOOK,
        tests=notebooks("pairs", "every_cell_was_run_in_order_and_none_raised"),
        edit=cell("softmax-20-23", lambda item: item.update(execution_count=None, outputs=[])),
    ),
    Fault(
        "a cell is hidden from nbval",
        NOTEBOOK,
        tests=notebooks("pairs", "every_cell_was_run_in_order_and_none_raised"),
        edit=cell("softmax-20-23", lambda item: item["metadata"].update(tags=["nbval-skip"])),
    ),
    Fault(
        "the notebook is older than its source",
        SOURCE,
        '"softmax-20-23",\n',
        '"softmax-20-23",  # a change\n',
        notebooks("pairs", "source_and_notebook_agree"),
    ),
    Fault(
        "the Colab cell is not the one of all notebooks",
        "scripts/colab_cell.py",
        '"google.colab" in sys.modules',
        '"google.collab" in sys.modules',
        notebooks("pairs", "source_and_notebook_agree", "code_cells_have_their_form"),
        after='_EXPLAIN = """',
    ),
    Fault(
        "a solution shows before the reader has tried",
        NOTEBOOK,
        tests=notebooks("chapter_exercises", "each_exercise_has_stub_hints_and_solution"),
        edit=cell("record=False", lambda item: item["metadata"].update(tags=[])),
    ),
    Fault(
        "widgets keep their random ids",
        SCRIPT,
        'text = text.replace(model_id, f"{number:032x}")',
        "text = text.strip()",
        notebooks("pairs", "widgets_are_numbered_in_order_of_appearance_whatever_their_ids"),
    ),
    Fault(
        "a chapter that fails is no failure of the command",
        SCRIPT,
        "return 1 if failed else 0",
        "return 0",
        notebooks("pairs", "a_cell_that_raises_is_named_and_nothing_is_written"),
    ),
    # the site's extensions
    Fault(
        "a cell that settles a claim has no anchor",
        EXTENSION,
        '        box["ids"].append(label)\n',
        "",
        notebooks("extensions", "a_cell_that_settles_a_claim_has_its_anchor_and_its_verdict"),
    ),
    Fault(
        "nobody hears of a claim that is settled twice",
        EXTENSION,
        "elif len(where) > 1:",
        "elif len(where) > 9:",
        notebooks("ledger", "a_claim_that_is_not_settled_or_twice_or_unknown_is_seen"),
    ),
    Fault(
        "the build does not compare ledger and chapters",
        EXTENSION,
        '    app.connect("env-updated", check)\n',
        "",
        notebooks("extensions", "a_book_that_contradicts_its_ledger_is_not_built_without_warnings"),
    ),
    Fault(
        "a count forgets the verdict",
        EXTENSION,
        "matching = [claim for claim in matching if claim.verdict == word]",
        "matching = [claim for claim in matching if claim.verdict]",
        notebooks("ledger", "counts_are_by_chapter_and_verdict"),
    ),
    Fault(
        "a wrong claim needs no right one beside it",
        EXTENSION,
        '("correct", ["wrong", "outdated"])',
        '("correct", ["wrong"])',
        notebooks("ledger", "an_entry_that_is_not_complete_is_refused"),
    ),
    Fault(
        "the ledger page does not follow the ledger",
        EXTENSION,
        "    env.note_dependency(str(path))\n",
        "",
        notebooks("extensions", "a_page_that_is_not_read_again_keeps_its_links_and_a_changed_ledger_its_counts"),
    ),
    Fault(
        "a question may leave out a field",
        QUESTIONS,
        "    if missing or unknown:\n",
        "    if unknown:\n",
        notebooks("questions", "a_question_that_is_not_complete_is_refused"),
        reason=r"^(KeyError|AssertionError|Failed: DID NOT RAISE|TypeError)",
    ),
    Fault(
        "a question may have any level",
        QUESTIONS,
        'if values["level"] not in map(str, LEVELS):',
        'if not values["level"].isalnum():',
        notebooks("questions", "a_question_that_is_not_complete_is_refused"),
    ),
    Fault(
        "a question points to a figure that does not exist",
        SOURCE,
        ":evidence: claim-softmax-rows-sum-one,",
        ":evidence: claim-softmax-rows-sum-two,",
        notebooks("questions", "evidence_exists"),
    ),
    Fault(
        "a question shows its answer unasked",
        "book/extensions/questions_page.py",
        '(question, "details")',
        '(question, "div")',
        notebooks("extensions", "a_question_is_folded_under_its_text"),
    ),
]
