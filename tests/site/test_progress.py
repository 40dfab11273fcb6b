"""What a reader has done, on every page that shows it: rated under a question, counted, exported, imported, erased."""

import gzip
import json
import re
from pathlib import Path

import pytest

from companion.book.site.question_sheet import read_plan
from tests.site.accessibility import axe_faults
from tests.site.browser import tab_to

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
PLACE = "book/interview/progress.html"
SHEET = "book/interview/forty-questions.html"
SHARED = ("vocabulary.js", "util.js", "dom.js", "store.js", "practice.js")
SCRIPTS = (*SHARED, "progress-file.js", "progress.js")
AT = "2026-01-01T00:00:00.000Z"
LATER = "2026-02-01T00:00:00.000Z"


@pytest.fixture
def clean(page, server):
    """A tab with nothing kept: ``clean(path)`` opens a page of the book in it."""

    def go(path, ready=".progress-desk[data-ready]"):
        page.goto(f"{server}/book/{path}")
        page.wait_for_selector(ready)
        return page

    go("interview/progress.html").evaluate("() => store.erase()")
    yield go
    page.evaluate("() => store.erase()")


def keep(page, **sections):
    page.evaluate("s => Object.entries(s).forEach(([name, data]) => store.write(name, data))", sections)


def kept(page, section):
    return page.evaluate("name => store.read(name)", section)


def counts(page, topic):
    """The three cells of a topic, as words."""
    row = page.locator(f".progress-table tr[data-topic={topic}] td")
    return [" ".join(text.split()) for text in row.all_inner_texts()]


def missing(page, topic):
    """What the list of a topic shows, by kind: names."""
    rows = page.locator(f"#missing-{topic} .progress-piece:not([hidden])")
    return rows.evaluate_all("rows => rows.map((row) => row.dataset.name)")


def give(page, data, name="mine.json"):
    """Import a file, and return what the page says of it."""
    said = page.locator(".progress-said")
    said.evaluate("said => { said.textContent = ''; }")
    text = data if isinstance(data, str) else json.dumps(data)
    page.locator("#progress-import").set_input_files(
        {"name": name, "mimeType": "application/json", "buffer": text.encode()}
    )
    page.wait_for_function("said => said.textContent", arg=said.element_handle())
    return said.inner_text()


# ---- As it is built


def test_only_pages_that_need_them_load_the_scripts_and_the_page_is_light(site, pages):
    texts = {name: (site / name).read_text("utf8") for name in pages}
    loads = {name: re.findall(r'<script defer="defer" src="[^"]*js/([\w-]+\.js)', text) for name, text in texts.items()}
    asking = {name for name, text in texts.items() if 'class="interview-question"' in text}
    assert {name for name, scripts in loads.items() if "question-rating.js" in scripts} == {*asking, SHEET}
    assert len(asking) >= 12
    assert {name for name, scripts in loads.items() if "progress.js" in scripts} == {PLACE}
    for used, places in (((*SHARED, "question-rating.js"), asking | {SHEET}), (SCRIPTS, {PLACE})):
        for page in places:
            found = [name for name in loads[page] if name in used]
            assert sorted(found) == sorted(used), f"{page}: each once"
            assert found[-1] == used[-1], f"{page}: behind what it builds on"
    files = [site / PLACE, *(site / "_static" / "js" / name for name in SCRIPTS)]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < 240_000


def test_without_javascript_everything_is_counted_and_linked(browser, server, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{server}/{PLACE}")
    assert "switched off" in page.inner_text(".progress-desk")
    assert not page.locator("button:visible, input:visible").filter(has_text="Export").count()
    numbers = page.locator(".progress-table .progress-total td").all_inner_texts()
    for kind, number in zip(("question", "item", "drill"), numbers, strict=True):
        links = page.locator(f".progress-piece[data-kind={kind}] a")
        assert links.count() == int(number) > 80, kind
    for link in page.locator(".progress-lists a, .progress-table a").evaluate_all("all => all.map((a) => a.href)"):
        path, anchor = link.removeprefix(f"{server}/").split("#")
        assert f'id="{anchor}"' in (site / path).read_text("utf8"), link
    assert page.locator(".progress-piece a a").count() == 0
    context.close()


# ---- A question is rated where it stands


def test_a_question_is_rated_by_keyboard_and_the_mock_interview_and_the_index_know_it(clean):
    page = clean(
        "generation/questions.html", "details.interview-question .question-mark:not(:empty), .interview-question"
    )
    first = page.locator("details.interview-question").first
    name = first.get_attribute("id")
    assert not page.locator(".question-rate").count()
    keep(page, mock={"ratings": {name: {"row": [3, 1], "at": AT}}, "timer": False, "history": [1]})
    page.reload()
    mark = first.locator(".question-mark")
    assert mark.inner_text() == "↻ rated 3: right and complete, 1 follow-up to repeat"
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    first.locator(".question-rate").wait_for()
    assert first.locator("legend").inner_text() == "How did you answer?"
    assert first.get_by_label("3: Right and complete").is_checked()
    tab_to(page, f"#rating-{name}-3")
    page.keyboard.press("ArrowLeft")
    assert first.locator("[role=status]").inner_text() == "Rated 2 of 3, kept in this browser."
    section = kept(page, "mock")
    assert section["ratings"][name]["row"] == [2, 1], "the follow-ups stay"
    assert section["ratings"][name]["at"] > AT
    assert (section["timer"], section["history"]) == (False, [1]), "and so does the rest"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # take it back
    assert kept(page, "mock")["ratings"][name]["row"] == [None, 1]
    assert page.evaluate("() => document.activeElement.type") == "radio"
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    assert kept(page, "mock")["ratings"][name]["row"] == [1, 1]
    other = page.locator("details.interview-question").nth(1)
    assert other.locator(".question-mark").inner_text() == ""
    assert not axe_faults(page, f"#{name}")
    page.evaluate("() => store.write('mock', {})")
    page.evaluate("() => dispatchEvent(new StorageEvent('storage'))")  # as another tab would cause
    assert mark.inner_text() == ""
    assert not first.locator("input:checked").count()
    first.get_by_label("3: Right and complete").check()
    assert not page.locator(".question-repeat:visible").count(), "nothing is to be repeated"
    second = other.get_attribute("id")
    other.locator("> summary").click()
    other.get_by_label("0: No answer").check()
    link = other.get_by_role("link", name="List the questions to repeat")
    link.scroll_into_view_if_needed()
    place = other.bounding_box()["y"]
    link.evaluate("(link) => link.click()")  # which does not scroll
    page.wait_for_url("**/interview/index.html#to-repeat")
    page.wait_for_selector(".question-filter")
    listed = page.locator(".question-entry:visible a")
    assert listed.evaluate_all("all => all.map((a) => a.hash)") == [f"#{second}"]
    assert page.locator(".question-heading:visible").inner_text().rstrip("# ") == "Generation and serving (1)"
    assert 0 <= page.locator(".question-filter").bounding_box()["y"] < 200, "the list is in view"

    page.go_back()
    page.wait_for_load_state("load")
    opened = page.locator("details.interview-question[open]")
    assert opened.evaluate_all("all => all.map((box) => box.id)") == [name, second], "what was open is open again"
    assert other.bounding_box()["y"] == pytest.approx(place, abs=20), "the page stands where it stood, to a line"

    clean("interview/mock-interview.html", ".mock-form")
    assert "You have rated 2 of" in page.inner_text(".mock-stage")
    page.select_option("[name=pool]", "weak")
    assert page.inner_text(".mock-told") == "1 question to draw from."

    clean("interview/index.html", ".question-filter")
    entry = page.locator(f".question-entry:has(a[href$='#{name}'])")
    assert entry.locator(".question-mark").inner_text() == "✓ rated 3: right and complete"
    total = page.locator(".question-entry").count()
    shown = {}
    for choice in ("new", "weak", "good"):
        page.select_option("#question-filter-rating", choice)
        shown[choice] = page.locator(".question-entry:not([hidden]) a").evaluate_all("all => all.map((a) => a.hash)")
    assert (shown["weak"], shown["good"], len(shown["new"])) == ([f"#{second}"], [f"#{name}"], total - 2)
    page.focus(".question-random")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/generation/questions.html#{name}")


@pytest.mark.parametrize("width", [1440, 390, 360])
def test_what_a_rating_brings_moves_nothing(clean, resize, width):
    page = clean("attention/questions.html", ".interview-question")
    resize(page, width, 844)
    box = page.locator("details.interview-question").first
    box.locator("summary").click()
    height = box.locator(".question-rate").bounding_box()["height"]
    for value in range(4):
        box.locator(".question-rate input").nth(value).check()
        box.locator(".question-repeat").wait_for(state="visible" if value < 2 else "hidden")
        assert box.locator(".question-rate").bounding_box()["height"] == height
    box.get_by_role("button", name="Take it back").click()
    assert box.locator(".question-rate").bounding_box()["height"] == height


def test_a_finger_finds_the_ratings(clean, resize):
    page = clean("attention/questions.html", ".interview-question")
    resize(page, 390, 844)
    page.locator("details.interview-question summary").first.click()
    rows = page.locator(".question-grade label").evaluate_all("all => all.map((e) => e.getBoundingClientRect().height)")
    assert len(rows) == 4
    assert min(rows) >= 40


def test_a_question_at_random_may_be_any_of_those_that_fit(clean):
    page = clean("interview/index.html", ".question-filter")
    page.select_option("#question-filter-topic", "Generation and serving")
    drawn = page.evaluate(
        """() => {
          const found = [];
          addEventListener("click", (event) => {
            if (event.target.matches?.(".question-entry a")) { event.preventDefault(); found.push(event.target.hash); }
          });
          const real = Math.random;
          for (let at = 0; at < 1; at += 0.01) {
            Math.random = () => at;
            document.querySelector(".question-random").click();
          }
          Math.random = real;
          return [...new Set(found)];
        }"""
    )
    links = page.locator(".question-entry:not([hidden]) a").evaluate_all("all => all.map((a) => a.hash)")
    assert drawn == links
    page.select_option("#question-filter-rating", "good")
    page.click(".question-random")
    assert "No question fits" in page.inner_text(".question-said")


# ---- Your progress


def test_the_page_counts_advises_and_lists_what_is_missing(clean):
    page = clean("interview/progress.html")
    topics = page.locator(".progress-topic").evaluate_all("all => all.map((one) => one.dataset.topic)")
    first, second, *_ = topics
    advice = page.locator(".progress-next")
    assert "No question, item or drill is tried in this browser yet" in advice.inner_text()
    assert advice.locator("a").first.get_attribute("href") == f"#missing-{first}"
    everything = {topic: missing(page, topic) for topic in topics}
    questions, items, drills = (
        [name for name in everything[first] if re.match(start, name)] for start in ("q-", "quiz-", "(?!q-|quiz-)")
    )
    keep(
        page,
        mock={
            "ratings": {
                questions[0]: {"row": [3, None, 2], "at": AT},
                questions[1]: {"row": [None], "at": AT},  # no rating
                questions[2]: {"row": [3, 1], "at": AT},  # good, but for a follow-up
                "q-of-another-edition": {"row": [0], "at": AT},
            },
            "history": {
                AT: {"at": AT, "rated": 7, "mean": 2.142, "minutes": 9},
                "never": {"at": "never", "rated": 1, "mean": 1},
            },
            "coding": {LATER: {"at": LATER, "drills": 1, "mean": 2, "minutes": 9, "target": 10}},
        },
        quiz={
            "items": {
                items[0]: {"tries": 1, "right": True, "at": AT},
                items[1]: {"tries": 2, "right": False, "at": AT},
                items[2]: {"tries": "2", "right": True, "at": AT},  # damaged
            }
        },
        drills={"tried": {drills[0]: {"at": LATER}, drills[1]: {"at": AT}}, "solved": {drills[0]: {"at": AT}}},
    )
    page.reload()
    page.wait_for_selector(".progress-desk[data-ready]")
    assert counts(page, first) == [
        f"1 of {len(questions)} good 2 rated, 1 to repeat",
        f"1 of {len(items)} right 2 tried",
        f"1 of {len(drills)} solved 2 tried",
    ]
    assert counts(page, second)[0].endswith("none yet")
    assert page.locator(".progress-total td").first.inner_text().split("\n")[-1] == "2 rated, 1 to repeat"
    links = page.locator(".progress-more a").evaluate_all("all => all.map((a) => [a.textContent, a.href])")
    at = page.url.replace("progress.html", "index.html#to-repeat")
    assert links == [["1 to repeat", f"{at}-{first}"], ["1 to repeat", at]], "of the topic, and of all"
    assert sorted(missing(page, first)) == sorted(
        name for name in everything[first] if name not in (questions[0], items[0], drills[0])
    )
    mark = page.locator(f"[data-name={questions[2]}] .progress-mark")
    assert mark.text_content() == "↻ rated 3: right and complete, 1 follow-up to repeat"
    assert page.locator(f"[data-name={items[1]}] .progress-mark").text_content() == "↻ last time not right, 2 tries"
    assert page.locator(f"[data-name={drills[1]}] .progress-mark").text_content() == "↻ tried, not solved"
    assert page.locator(f"#missing-{first} .progress-left").inner_text() == (
        f"missing: {len(questions) - 1} questions, {len(items) - 1} quiz items, {len(drills) - 1} drills"
    )
    wrong = page.locator(".progress-wrong a")
    assert wrong.evaluate_all("all => all.map((a) => a.hash.slice(1))") == [
        questions[2],
        items[1],
        f"exr-{drills[1]}",
    ]
    assert wrong.first.evaluate("a => !!(a.compareDocumentPosition(document.querySelector('.progress-next a')) & 4)")
    assert missing(page, first)[0] == questions[2], "so does its list"
    advice = page.locator(".progress-next").last
    assert advice.locator("a").first.get_attribute("href") == f"#missing-{second}", "nothing of it is done"
    assert "last mock interview was on January 1, 2026: 7 answers rated, 2.1 of 3" in page.inner_text(".progress-desk")
    assert "last coding round was on February 1, 2026: 1 drill rated, 2.0 of 3" in page.inner_text(".progress-desk")

    rest = {topic: names for topic, names in everything.items() if topic != first}
    rated = {n: {"row": [2], "at": AT} for names in rest.values() for n in names if n.startswith("q-")}
    right = {
        n: {"tries": 1, "right": True, "at": AT} for names in rest.values() for n in names if n.startswith("quiz-")
    }
    solved = {n: {"at": AT} for names in rest.values() for n in names if not re.match("q-|quiz-", n)}
    mock = kept(page, "mock")
    keep(page, mock={**mock, "ratings": mock["ratings"] | rated}, quiz={"items": kept(page, "quiz")["items"] | right})
    keep(page, drills={"tried": {}, "solved": solved})
    page.evaluate("() => dispatchEvent(new StorageEvent('storage'))")
    assert advice.locator("a").first.get_attribute("href") == f"#missing-{first}"
    assert page.locator(f"#missing-{second} .progress-left").inner_text() == "✓ nothing is missing"
    assert page.locator(f"#missing-{second} h3").first.is_hidden()
    page.get_by_label("Show what is done as well").check()
    assert sorted(missing(page, first)) == sorted(everything[first])
    page.focus(f".progress-table a[href='#missing-{second}']")
    page.keyboard.press("Enter")
    page.wait_for_function("id => document.getElementById(id).open", arg=f"missing-{second}")
    assert page.evaluate("() => document.activeElement.tagName") == "SUMMARY"


def test_who_follows_the_two_days_sees_what_its_steps_ask_and_the_next_step(clean):
    page = clean("interview/progress.html")
    steps = read_plan(ROOT)
    own = [name for step in steps for name in step.pieces]
    asked = [name for name in own if name.startswith("q-")]
    topics = page.locator(".progress-topic").evaluate_all("all => all.map((one) => one.dataset.topic)")
    shown = [name for topic in topics for name in missing(page, topic)]
    assert len(shown) > 300
    choice = page.get_by_label(f"Only the two-day plan: {len(asked)} questions, {len(own) - len(asked)} drills")
    assert not choice.is_checked()
    mine = {"plans": {"plan-two-days": {step.key: {"done": True, "at": AT} for step in steps[:2]}}}
    mine |= {"mock": {"ratings": {asked[0]: {"row": [3], "at": AT}, steps[4].pieces[0]: {"row": [2], "at": AT}}}}
    give(page, {"version": 1, "sections": mine})  # what is imported shows at once
    assert choice.is_checked()
    here = sorted(name for topic in topics for name in missing(page, topic))
    assert here == sorted({*own} - {asked[0], steps[4].pieces[0]})
    advice = page.locator(".progress-next")
    done = f"2 of {len(steps)} steps done, 2 of {len(own)} questions and drills. "
    assert advice.inner_text().startswith(f"{done}Next step: Write from memory attention, then")
    assert advice.locator("a").last.get_attribute("href").endswith("#exr-attention"), "the first that it asks"
    ticked = {step.key: {"done": True, "at": AT} for step in steps[:4]}
    keep(page, plans={"plan-two-days": ticked})
    page.evaluate("() => dispatchEvent(new StorageEvent('storage'))")
    assert advice.locator("a").last.get_attribute("href").endswith(f"#{steps[4].pieces[1]}"), "not rated, of that step"
    assert page.locator(".progress-total td").first.inner_text().startswith(f"2 of {len(asked)} good")
    assert page.locator(".progress-total td").last.inner_text().startswith(f"0 of {len(own) - len(asked)} solved")
    choice.uncheck()
    assert len([name for topic in topics for name in missing(page, topic)]) == len(shown) - 2


def test_drills_come_from_the_file_of_the_notebooks_and_stay_solved(clean):
    page = clean("interview/progress.html")
    one, two, three = missing(page, "attention")[-3:]
    said = give(page, {"exercises": {one: "solved", two: "tried", three: "open", "of-another-book": "solved"}})
    assert said == (
        "From mine.json: 1 drill newly solved, 1 newly tried, 0 known before, "
        "and 1 name that this edition does not have."
    )
    assert counts(page, "attention")[2].endswith("solved 2 tried")
    section = kept(page, "drills")
    assert list(section["solved"]) == [one]
    assert list(section["tried"]) == [two]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", section["solved"][one]["at"])
    assert "0 drills newly solved, 0 newly tried, 2 known before." in give(
        page, {"exercises": {one: "tried", two: "tried"}}
    )
    assert kept(page, "drills") == section
    other = {"version": 1, "sections": {"drills": {"tried": {one: {"at": "2100-01-01T00:00:00Z"}}}}}
    assert "1 entry imported" in give(page, other)
    assert counts(page, "attention")[2].startswith("1 of"), "an export from elsewhere does not take it back"
    for bad in ({"exercises": {one: "done"}}, {"exercises": [one]}, {"exercises": None}):
        assert "This file is damaged" in give(page, bad)
    assert list(kept(page, "drills")["solved"]) == [one]


def test_a_file_that_is_not_ours_changes_nothing(clean):
    page = clean("interview/progress.html")
    keep(page, quiz={"items": {}, "exam": None, "mark": 1})
    assert "does not hold progress" in give(page, '{"cells": []}')
    assert page.evaluate("() => [store.read('quiz').mark, store.read('cards')]") == [1, {}]


def test_progress_goes_out_to_a_file_and_comes_back(clean, tmp_path):
    page = clean("interview/progress.html")
    topic = "attention"
    item = next(name for name in missing(page, topic) if name.startswith("quiz-"))
    keep(page, quiz={"items": {item: {"tries": 1, "right": True, "at": AT}}, "exam": None})
    page.reload()
    tab_to(page, ".progress-button")
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.suggested_filename == "transformers-tested-progress.json"
    path = tmp_path / "progress.json"
    waiting.value.save_as(path)
    data = json.loads(path.read_text("utf8"))
    assert data["version"] == 1
    assert data["sections"]["quiz"]["items"][item] == {"tries": 1, "right": True, "at": AT}
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # erase
    words = page.inner_text(".progress-sure p")
    for word in ("ratings", "mock interviews", "coding rounds", "answers and exams", "drills", "study plans"):
        assert word in words
    assert "card" not in words  # they live in Anki, and no page keeps any
    assert page.evaluate("() => document.activeElement.textContent") == "Keep it"
    page.keyboard.press("Enter")
    assert page.evaluate("() => localStorage.getItem('transformers-tested')")
    page.get_by_role("button", name="Erase it…").click()
    page.get_by_role("button", name="Yes, erase everything").click()
    left = page.evaluate("() => JSON.parse(localStorage.getItem('transformers-tested') ?? '{}').sections ?? {}")
    assert set(left) <= {"reading"}, "what was scrolled since is a place of reading, and nothing else is kept"
    assert set(left.get("reading", {})) <= {PLACE.removesuffix(".html")}
    assert page.inner_text(".progress-said") == "Your progress is erased."
    assert counts(page, topic)[1].startswith("0 of")
    data["sections"].pop("reading", None)  # how far this page was scrolled depends on the pace of the machine
    assert "1 entry imported and 0 entries of your own kept" in give(page, data)
    assert counts(page, topic)[1].startswith("1 of")


# ---- The plans


def test_steps_of_a_plan_are_ticked_and_what_is_left_is_counted(clean):
    page = clean("interview/index.html", ".plan-told:not(:empty)")
    tables = page.locator("table.study-plan")
    assert tables.count() == 3
    told = page.locator(".plan-told")
    rows = tables.first.locator("tbody tr")
    times = rows.locator("td:last-child").all_inner_texts()
    minutes = [sum(map(int, re.findall(r"(\d+) min", text))) for text in times]
    assert len(times) > 5
    assert all(minutes)
    assert told.first.inner_text() == (
        f"0 of {len(minutes)} steps done, about {sum(minutes)} min left by the estimates of the table."
    )
    box = rows.nth(1).get_by_role("checkbox")
    assert box.get_attribute("aria-label").startswith("Done: Day 1, Attention ")
    box.focus()
    page.keyboard.press("Space")
    steps = read_plan(ROOT)
    assert list(kept(page, "plans")["plan-two-days"]) == [steps[1].key], "as the page of progress knows it"
    left = sum(minutes) - minutes[1]
    assert told.first.inner_text().startswith(f"1 of {len(minutes)} steps done, about {left} min left")
    page.reload()
    page.wait_for_selector(".plan-told:not(:empty)")
    assert [one.is_checked() for one in tables.first.get_by_role("checkbox").all()] == [
        number == 1 for number in range(len(minutes))
    ]
    assert told.nth(1).inner_text().startswith("0 of 8 steps done")
    for box in tables.first.get_by_role("checkbox").all():
        box.check()
    assert {*kept(page, "plans")["plan-two-days"]} == {step.key for step in steps}
    week = tables.nth(1).locator("tbody tr").nth(1).locator("td").all_inner_texts()
    assert len([cell for cell in week if " min" in cell]) == 3, "reading, questions and drills"


def test_after_coming_back_controls_and_content_agree(clean):
    page = clean("interview/quiz.html", ".quiz-desk[data-ready]")
    page.select_option("#quiz-topic", "training")
    page.select_option("#quiz-level", "3")
    hard = page.inner_text(".quiz-filters .quiz-said")
    page = clean("interview/index.html", ".plan-told:not(:empty)")
    page.select_option("#question-filter-level", "hard")
    said = page.inner_text(".question-said")
    page.locator(".study-plan").first.get_by_role("checkbox").first.check()
    page = clean("interview/mock-interview.html", ".coding-form")
    for fold in page.locator(".mock-choice > summary").all():
        fold.click()
    page.get_by_role("button", name="None of the topics", exact=True).click()
    page.get_by_role("button", name="None of the topics of drills").click()
    page = clean("interview/progress.html")
    page.evaluate("() => store.erase()")
    page.go_back(wait_until="load")
    page.wait_for_selector(".coding-form")
    for form, word in (("mock", "question"), ("coding", "drill")):
        chosen = page.locator(f".{form}-form :is([name=topic], [name=drill-topic]):checked").count()
        told = page.locator(f".{form}-form .mock-told").inner_text()
        assert (told == f"0 {word}s to draw from.") == (chosen == 0), form
        narrowed = page.locator(f".{form}-form .mock-choice [type=checkbox]:not(:checked)")
        assert (page.locator(f".{form}-form .mock-choice[open]").count() == 1) == (narrowed.count() > 0), form
    page.go_back(wait_until="load")
    page.wait_for_selector(".plan-told:not(:empty)")
    assert page.input_value("#question-filter-level") == "hard"
    assert page.inner_text(".question-said") == said
    assert page.is_enabled(".question-reset")
    steps = page.locator("table.study-plan").first.locator("tbody tr").count()
    assert page.locator(".plan-told").first.inner_text().startswith(f"0 of {steps} steps done")
    assert not page.locator(".study-plan input:checked").count(), "the ticks were erased"
    page.go_back(wait_until="load")
    page.wait_for_selector(".quiz-desk[data-ready]")
    assert page.input_value("#quiz-level") == "3"
    assert page.inner_text(".quiz-filters .quiz-said") == hard


# ---- How it looks, and where nothing is kept


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing_and_nothing_sticks_out(contexts, server, settle, theme, width):
    context, watch = contexts(theme)
    watch.clear()
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    outside = """() => [...document.querySelectorAll(".bd-article :is(p, li, label, button, input, select, table)")]
      .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1
        && !e.closest(".pst-scrollable-table-container, mjx-container, pre")).map((e) => e.outerHTML.slice(0, 120))"""
    page.goto(f"{server}/{PLACE}")
    settle(page)
    at = "() => new Date().toISOString()"
    names = {
        kind: page.locator(f"[data-kind={kind}][data-name]").first.get_attribute("data-name")
        for kind in ("question", "item")
    }
    keep(page, mock={"ratings": {names["question"]: {"row": [1], "at": page.evaluate(at)}}})
    page.reload()
    page.wait_for_selector(".progress-desk[data-ready]")
    page.locator(".progress-topic > summary").first.click()
    page.get_by_role("button", name="Erase it…").click()
    assert not page.evaluate(outside)
    assert not axe_faults(page, ".bd-article")
    page.goto(f"{server}/book/interview/index.html")
    page.wait_for_selector(".plan-told:not(:empty)")
    settle(page)
    assert not page.evaluate(outside)
    assert not axe_faults(page, ".study-plan, .question-filter, .question-index")
    page.evaluate("() => store.erase()")
    page.close()
    watch.check(PLACE)


def test_it_works_from_a_folder_and_where_storage_is_refused(browser, site):
    context = browser.new_context()
    page = context.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / "book" / "generation/questions.html").as_uri())
    first = page.locator("details.interview-question").first
    first.locator("summary").click()
    first.get_by_label("0: No answer").check()
    page.goto((site / PLACE).as_uri())
    page.wait_for_selector(".progress-desk[data-ready]")
    assert page.locator(".progress-total td").first.inner_text().endswith("1 rated, 1 to repeat")
    assert not errors
    refusing = context.new_page()
    refusing.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('full'); };")
    refusing.goto((site / "book" / "generation/questions.html").as_uri())
    first = refusing.locator("details.interview-question").first
    first.locator("summary").click()
    first.get_by_label("2: Right, with gaps").check()
    assert "kept until you leave the page" in first.locator("[role=status]").inner_text()
    assert first.locator(".question-mark").inner_text() == "✓ rated 2: right, with gaps"
    context.close()
