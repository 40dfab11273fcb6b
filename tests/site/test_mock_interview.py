"""The mock interview in a real browser: drawn, asked, rated and reported, by keyboard alone, and what it keeps."""

import gzip
import json
import re
from dataclasses import asdict

import pytest

from companion.book.questions import read_book
from companion.book.topics import TOPICS
from tests.site.accessibility import axe_faults
from tests.site.browser import fill, unfold

pytestmark = pytest.mark.browser
PLACE = "book/interview/mock-interview.html"
KEY = "transformers-tested"
WORDS = ["No answer", "A part of it", "Right, with gaps", "Right and complete"]
FOLDER = "_static/mock"
MOST_BYTES, MOST_BYTES_OF_A_QUESTION = 60_000, 7_000


@pytest.fixture(scope="module")
def stored():
    """The questions of the book by name."""
    return {question.name: asdict(question) for question in read_book()}


@pytest.fixture
def mock(page, server):
    """The page, with nothing kept from before."""
    page.goto(f"{server}/404.html")  # a light page of the same origin
    page.evaluate("() => localStorage.clear()")
    page.goto(f"{server}/{PLACE}")
    page.wait_for_selector(".mock-form")
    yield page
    page.evaluate("() => store.erase()")


def only(page, **groups):
    """Leave only the given values of each group checked."""
    unfold(page)
    for group, values in groups.items():
        for box in page.query_selector_all(f".mock-form [name={group}]"):
            box.set_checked(box.get_attribute("value") in values)


def by_number(page, number):
    """Ask for so many questions in place of a time."""
    page.select_option("[name=minutes]", "")
    fill(page.locator("[name=number]"), str(number))


def start(page, number, **groups):
    only(page, **groups)
    by_number(page, number)
    page.click("text=Start the interview")


def press(page, words):
    page.click(f".mock-stage button:has-text('{words}')")


def title(page):
    return page.inner_text(".mock-title")


def asked(page):
    """The name of the question that is asked, found by its words among all."""
    page.wait_for_selector(".mock-asking")
    return page.evaluate(
        """async () => {
          await mock.open(mock.questions);
          const plain = (e) => {
            const copy = e.cloneNode(true);
            for (const formula of copy.querySelectorAll(".math")) formula.remove();
            return copy.textContent.replace(/\\s+/g, " ").trim();
          };
          const words = plain(document.querySelector(".mock-asking"));
          return mock.questions.filter((question) => plain(question.asked) === words).map(({ name }) => name);
        }"""
    )


def finish(page, rate):
    """Go through an interview; `rate` gives the rating of the n-th answer, or None to skip it. Lists what was asked."""
    told = []
    for index in range(200):
        if title(page) == "Report":
            return told
        told.append((title(page), asked(page)))
        rating = rate(index)
        if rating is None:
            press(page, "Skip")
            continue
        page.click(".mock-actions button:has-text('Show')")
        page.check(f".mock-rating input[value='{rating}']")
        page.click(".mock-actions button:is(:text-matches('^Next'), :text('See the report'))")
    raise AssertionError("the interview does not end")


def kept(page):
    return page.evaluate("() => store.read('mock')")


def test_the_page_and_its_script_hold_every_question_and_every_follow_up_of_the_book(mock, stored):
    drawn = mock.evaluate(
        "() => mock.questions.map(({name, topic, kind, level, followUps}) => "
        "[name, {topic, kind, level: Number(level), number: followUps.length}])"
    )
    assert dict(drawn) == {
        name: {key: q[key] for key in ("topic", "kind", "level")} | {"number": len(q["follow_ups"])}
        for name, q in stored.items()
    }
    assert len(drawn) == len(stored)
    mock.evaluate("() => mock.open(mock.questions)")
    parts = mock.evaluate(
        """() => mock.questions.map(({ part, followUps }) => [
          ...["short", "full", "mistake", "evidence"].map(part),
          ...followUps.flatMap(({ asked, answer }) => [asked, answer]),
        ].map((element) => element.textContent.trim().length))"""
    )
    assert [len(lengths) for lengths in parts] == [4 + 2 * of["number"] for _, of in drawn]
    assert min(map(min, parts)) > 3


def test_each_question_links_to_its_place_in_a_chapter_and_to_its_evidence(site, stored):
    for name in stored:
        script = (site / FOLDER / f"{name}.js").read_text("utf8")
        box = json.loads(script.partition(" = ")[2].removesuffix(";\n"))
        assert f'data-name="{name}"' in box
        evidence = box.split('data-part="evidence"')[1].split("</ul>")[0]
        links = re.findall(r'href="([\w./-]*)#([\w-]+)"', evidence)
        here = (site / PLACE).parent
        assert (here / links[0][0]).resolve() == (site / "book" / f"{stored[name]['page']}.html").resolve()
        assert links[0][1] == name
        assert len(links) == 1 + len(stored[name]["evidence"])
        for page, anchor in links:
            assert f'id="{anchor}"' in (here / page).read_text("utf8"), (name, anchor)


def test_the_questions_are_loaded_when_an_interview_begins(page, server, site):
    loaded = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(f"{server}/{PLACE}")
    page.wait_for_selector(".mock-form")
    assert not [url for url in loaded if f"/{FOLDER}/" in url]
    assert len(gzip.compress((site / PLACE).read_bytes())) < MOST_BYTES
    assert max(len(gzip.compress(path.read_bytes())) for path in (site / FOLDER).iterdir()) < MOST_BYTES_OF_A_QUESTION
    start(page, 3)
    page.wait_for_selector(".mock-asking")
    assert len([url for url in loaded if f"/{FOLDER}/" in url]) == 3
    page.evaluate("() => store.erase()")


TOLD = "words => document.querySelector('.mock-told').textContent.includes(words)"


@pytest.mark.parametrize("button", ["Start the interview", "Go on with it"])
def test_questions_that_do_not_load_are_reported_and_can_be_asked_for_again(mock, watch, button):
    if button == "Go on with it":
        start(mock, 1)
        mock.wait_for_selector(".mock-asking")
        mock.reload()
    waiting = []
    mock.route("**/_static/mock/*.js*", lambda route: waiting.append(route))
    if button == "Go on with it":
        press(mock, button)
    else:
        start(mock, 1)
    mock.wait_for_function(TOLD, arg="are being loaded")
    while not waiting:
        mock.wait_for_timeout(20)
    waiting.pop().abort()
    mock.wait_for_function(TOLD, arg="did not load")
    watch.clear()
    mock.unroute("**/_static/mock/*.js*")
    press(mock, button)
    mock.wait_for_selector(".mock-asking")


def test_an_interview_asks_each_drawn_question_and_then_its_follow_ups_in_order(mock, stored):
    start(mock, 3, topic=["attention"], kind=["derive", "debug"])
    told = finish(mock, lambda index: None)
    expected, names = [], []
    place = 0
    for number in range(1, 4):
        (name,) = told[place][1]
        names.append(name)
        count = len(stored[name]["follow_ups"])
        expected.append(f"Question {number} of 3")
        expected += [f"Question {number} of 3, follow-up {at} of {count}" for at in range(1, count + 1)]
        place += 1 + count
    assert [words for words, _ in told] == expected
    assert len(set(names)) == 3
    assert all(stored[name]["topic"] == "attention" and stored[name]["kind"] in ("derive", "debug") for name in names)


def test_a_follow_up_is_asked_below_its_question_and_the_follow_up_before_it(mock, stored):
    name = with_follow_ups(stored, 3)[0]
    go_on(mock, name)
    assert mock.locator(".mock-before").count() == 0
    before = []
    for place in range(3):
        words = mock.inner_text(".mock-asking")
        before = [f"After: {words}"] if place == 0 else [before[0], f"And: {words}"]
        press(mock, "Skip")
        assert title(mock) == f"Question 1 of 1, follow-up {place + 1} of 3"
        assert mock.locator(".mock-before").all_inner_texts() == before


def test_the_number_of_fitting_questions_is_told_and_no_interview_starts_without_one(mock, stored):
    told = mock.locator(".mock-form .mock-told")
    assert told.inner_text() == f"{len(stored)} questions to draw from."
    only(mock, level=["3"], kind=["derive"])
    fit = [question for question in stored.values() if question["level"] == 3 and question["kind"] == "derive"]
    assert told.inner_text() == f"{len(fit)} question{'s' * (len(fit) != 1)} to draw from."
    only(mock, kind=[])
    mock.click("text=Start the interview")
    assert "No question fits" in told.inner_text()
    assert mock.query_selector(".mock-form") is not None


def test_an_emptied_number_is_refused_with_a_sentence(mock, stored):
    told = mock.locator(".mock-form .mock-told")
    assert told.get_attribute("role") == "status"
    mock.select_option("[name=minutes]", "")
    for words in ("", "0", str(len(stored) + 1), "2.5"):
        fill(mock.locator("[name=number]"), words)
        mock.keyboard.press("Enter")
        assert told.inner_text() == f"Type how many questions you want: a whole number from 1 to {len(stored)}."
        assert mock.evaluate("() => document.activeElement.name") == "number"
        assert mock.get_attribute("[name=number]", "aria-invalid") == "true"
    fill(mock.locator("[name=number]"), "2")
    mock.keyboard.press("Enter")
    assert title(mock) == "Question 1 of 2"


def test_all_topics_or_none_are_chosen_by_keyboard(mock, stored):
    told = mock.locator(".mock-form .mock-told")
    mock.focus(".mock-form .mock-choice > summary")
    mock.keyboard.press("Enter")
    mock.locator(".mock-form [aria-label='None of the topics']").wait_for(state="visible")
    mock.focus(".mock-form [aria-label='None of the topics']")
    mock.keyboard.press("Enter")
    assert told.inner_text() == "0 questions to draw from."
    assert mock.locator("[name=topic]:checked").count() == 0
    mock.focus(".mock-form [aria-label='All topics']")
    mock.keyboard.press("Space")
    assert told.inner_text() == f"{len(stored)} questions to draw from."
    assert mock.locator("[name=topic]:not(:checked)").count() == 0


@pytest.mark.parametrize("choice", ["Go on with it", "Discard it"])
def test_an_interview_survives_a_reload_and_can_be_discarded(mock, choice):
    start(mock, 3)
    press(mock, "Show the short answer")
    mock.check(".mock-rating input[value='2']")
    press(mock, "Next")
    place, question = title(mock), asked(mock)
    mock.reload()
    mock.wait_for_selector(".mock-form")
    assert "in progress, at question" in mock.inner_text(".mock-unfinished")
    assert axe_faults(mock, ".mock-stage") == []
    mock.focus(f".mock-unfinished button:text-is('{choice}')")
    mock.keyboard.press("Enter")
    if choice == "Discard it":
        assert mock.query_selector(".mock-unfinished") is None
        assert mock.evaluate("() => document.activeElement.closest('.mock-form') !== null")
    else:
        assert (title(mock), asked(mock)) == (place, question)
        finish(mock, lambda index: None)
        assert "You rated 1 answer: 2.0 of 3" in mock.inner_text(".mock-sum")
    assert kept(mock)["session"] is None


def go_on(page, *names):
    """Go on with an interview on these questions that was cut off at its beginning."""
    page.evaluate("names => store.write('mock', { session: { names, index: 0, done: [] } })", names)
    page.reload()
    press(page, "Go on with it")
    page.wait_for_selector(".mock-asking")


def with_follow_ups(stored, number):
    return [name for name, question in stored.items() if len(question["follow_ups"]) == number]


def rate(page, rating):
    page.click(".mock-actions button:has-text('Show')")
    page.check(f".mock-rating input[value='{rating}']")


def test_a_rating_is_kept_as_soon_as_it_is_chosen_and_may_change(mock, stored):
    name = with_follow_ups(stored, 2)[0]
    go_on(mock, name)
    rate(mock, 2)
    mock.check(".mock-rating input[value='1']")
    assert kept(mock)["ratings"][name]["row"] == [1]
    assert mock.locator(".mock-actions button", has_text="Skip").is_disabled()
    mock.reload()
    assert "at question 1 of 1, with 1 rating." in mock.inner_text(".mock-unfinished")
    press(mock, "Go on with it")
    assert title(mock) == "Question 1 of 1, follow-up 1 of 2"
    press(mock, "Skip")
    rate(mock, 3)
    mock.reload()
    press(mock, "Go on with it")  # behind the last step there is the report
    assert title(mock) == "Report"
    assert "You rated 2 answers: 2.0 of 3" in mock.inner_text(".mock-sum")
    assert kept(mock)["session"] is None


def test_the_button_that_skips_says_that_nothing_is_rated(mock, stored):
    name = with_follow_ups(stored, 2)[0]
    go_on(mock, name)
    for step in ("Question 1 of 1", "Question 1 of 1, follow-up 1 of 2"):
        assert title(mock) == step
        skip = mock.locator(".mock-actions button", has_text="Skip")
        assert skip.inner_text() == "Skip, no rating"
        press(mock, "Show")
        assert skip.inner_text() == "Skip, no rating", "nor does it change once an answer is there"
        skip.click()
    assert kept(mock).get("ratings", {}) == {}


def test_the_form_says_in_which_order_questions_come_and_they_do(mock, stored):
    assert "asked by topic, the easier ones of a topic first" in mock.inner_text(".mock-form .mock-order")
    start(mock, 40)
    mock.wait_for_selector(".mock-asking")
    names = kept(mock)["session"]["names"]
    topics = list(dict.fromkeys(stored[name]["topic"] for name in names))
    assert topics == [topic for topic in TOPICS if topic in topics]
    assert names == sorted(names, key=lambda name: (topics.index(stored[name]["topic"]), stored[name]["level"]))


def test_one_button_passes_the_follow_ups_of_a_question_which_tells_their_number(mock, stored):
    first, other = with_follow_ups(stored, 3)[:2]
    go_on(mock, first, other)
    further = mock.locator(".mock-actions button:text-is('Next question')")
    assert mock.inner_text(".mock-badges span:last-child") == "3 follow-ups"
    for place in (1, 2, 3):
        assert further.count() == 1
        press(mock, "Skip")
        assert title(mock) == f"Question 1 of 2, follow-up {place} of 3"
    assert further.count() == 0, "behind the last follow-up there is nothing to pass"
    go_on(mock, first, other)
    press(mock, "Skip")
    further.click()
    assert title(mock) == "Question 2 of 2"
    assert further.count() == 0, "no question is behind the last one"


def test_a_question_begins_with_its_buttons_in_view(mock, stored, resize):
    resize(mock, 390, 844)
    go_on(mock, with_follow_ups(stored, 3)[0])
    head, actions = (mock.locator(part).bounding_box() for part in (".mock-title", ".mock-actions"))
    assert head["y"] > 40, "below the bar of the page"
    assert actions["y"] + actions["height"] <= 845


@pytest.mark.parametrize("height", [844, 500])
def test_what_an_answer_uncovers_comes_into_view_or_its_beginning_does(mock, stored, height, resize):
    resize(mock, 390, height)
    go_on(mock, with_follow_ups(stored, 3)[0])
    mock.evaluate("() => document.querySelector('.mock-actions').scrollIntoView({ block: 'end' })")
    for words in ("short", "whiteboard"):
        press(mock, f"Show the {words}")
        head = mock.locator(".mock-part").last.bounding_box()["y"]
        actions = mock.locator(".mock-actions").bounding_box()
        assert 40 < head < height, "below the bar of the page"
        assert actions["y"] + actions["height"] <= height + 1 or head < 150


def test_an_answer_is_shown_step_by_step(mock, stored):
    start(mock, 1)
    assert mock.query_selector(".mock-answer") is None
    assert mock.query_selector(".mock-rating") is None
    for count, words in enumerate(["short", "whiteboard", "common wrong"], 1):
        press(mock, f"Show the {words}")
        assert mock.locator(".mock-answer").count() == count
        assert mock.evaluate("() => document.activeElement.className") == "mock-part"
    heads = mock.eval_on_selector_all(".mock-answer > .mock-part", "all => all.map(e => e.textContent)")
    assert heads == ["Short answer", "On the whiteboard", "Common wrong answer"]
    assert mock.locator(".mock-actions button:has-text('Show')").count() == 0


def test_without_a_rating_the_interview_asks_for_one(mock):
    start(mock, 1)
    press(mock, "Show the short answer")
    press(mock, "Next")
    assert title(mock) == "Question 1 of 1"
    assert "Say how you answered" in mock.inner_text(".mock-rating [role=alert]")
    labels = mock.eval_on_selector_all(".mock-rating label", "all => all.map(e => e.textContent.trim())")
    assert labels == [f"{value}: {words}" for value, words in enumerate(WORDS)]


def test_the_report_counts_and_averages_by_topic_and_kind_and_names_what_to_repeat(mock, stored):
    ratings = [3, 0, 2, 1, 3]
    start(mock, 4)
    told = finish(mock, lambda index: ratings[index % len(ratings)])
    rows, name = [], ""
    for index, (words, found) in enumerate(told):
        name = name if "follow-up" in words else found[0]
        rows.append((name, ratings[index % len(ratings)]))
    for key in ("topic", "kind"):
        table = mock.eval_on_selector_all(
            f"[data-by={key}] tbody tr", "rows => rows.map(r => [...r.children].map(c => c.textContent))"
        )
        values = list(dict.fromkeys(stored[name][key] for name, _ in rows))
        assert len(table) == len(values)
        for line, value in zip(table, values, strict=True):
            own = [rating for name, rating in rows if stored[name][key] == value]
            mean = sum(own) / len(own)
            assert line[1] == str(len(own))
            assert abs(float(line[2]) - mean) <= 0.0501
            assert line[3] == str(sum(rating <= 1 for rating in own))
    weak = {name for name, rating in rows if rating <= 1}
    hrefs = mock.eval_on_selector_all(
        ".mock-repeat > li", "all => all.map(li => [...li.querySelectorAll('a')].map(a => a.getAttribute('href')))"
    )
    assert {links[0].split("#")[1] for links in hrefs} == weak
    assert all(len(links) > 1 for links in hrefs)
    assert kept(mock)["ratings"].keys() == {name for name, _ in rows}
    assert re.search(r" with \d+ seconds? of thinking in all", mock.inner_text(".mock-sum"))


def expected(questions):
    """The minutes of these questions with three follow-ups each, by the times that the page names."""
    minutes = {1: 2, 2: 4, 3: 6}
    return sum(minutes[one["level"]] * (1 + min(3, len(one["follow_ups"])) / 2) for one in questions)


def told_length(page):
    """The questions and the minutes that the form tells."""
    words = page.inner_text(".mock-length")
    return tuple(
        map(int, re.fullmatch(r"(\d+) questions?, about (\d+) min, counting 3 follow-ups each", words).groups())
    )


@pytest.mark.parametrize("length", ["10", "45", "a number"])
def test_the_form_tells_the_length_of_the_very_interview_that_begins(mock, stored, length):
    assert mock.get_attribute("[name=minutes]", "aria-describedby") == "mock-length"
    assert mock.locator("[name=minutes] option").all_inner_texts() == [
        *("10 minutes", "15 minutes", "20 minutes", "30 minutes", "45 minutes", "By number")
    ]
    assert not mock.locator("[name=number]").is_visible()
    if length == "a number":
        by_number(mock, 7)
    else:
        mock.select_option("[name=minutes]", length)
    told = told_length(mock)
    mock.click("text=Start the interview")
    mock.wait_for_selector(".mock-asking")
    names = kept(mock)["session"]["names"]
    minutes = expected([stored[name] for name in names])
    assert told == (len(names), int(minutes + 0.5))
    assert len(names) == 7 if length == "a number" else int(length) - 4 <= minutes <= int(length)
    mock.reload()
    press(mock, "Go on with it")
    mock.wait_for_selector(".mock-asking")
    assert title(mock) == f"Question 1 of {len(names)}"
    assert kept(mock)["session"]["names"] == names


def test_where_no_question_is_short_enough_one_of_the_shortest_is_drawn_and_its_length_told(mock, stored):
    only(mock, level=["3"], kind=["derive"])
    mock.select_option("[name=minutes]", "10")
    fit = [one for one in stored.values() if one["level"] == 3 and one["kind"] == "derive"]
    least = min(expected([one]) for one in fit)
    assert least > 10
    assert told_length(mock) == (1, least)
    only(mock, level=[])
    assert mock.inner_text(".mock-length") == "", "nothing takes no time"
    by_number(mock, "")
    assert mock.inner_text(".mock-length") == ""


def test_the_last_step_of_the_two_days_fills_its_minutes_from_the_forty(page, server):
    page.goto(f"{server}/book/interview/index.html")
    link = page.locator("a[href*='mock-interview']")
    planned = page.locator(".plan-two-days tr", has=link).locator("td").last.inner_text()
    page.locator(".plan-two-days a[href*='mock-interview']").click()
    page.wait_for_selector(".mock-form")
    assert page.input_value("[name=pool]") == "sheet"
    assert f"{page.input_value('[name=minutes]')} min" == planned == "30 min", "as the plan says"
    assert 26 <= told_length(page)[1] <= 30
    assert page.inner_text(".mock-form .mock-told") == "40 questions to draw from."


def test_ratings_are_kept_and_the_weak_ones_can_be_asked_again(mock, stored):
    start(mock, 2, kind=["concept"])
    told = finish(mock, lambda index: 1 if index == 0 else 3)
    first = told[0][1][0]
    mock.reload()
    assert "You have rated 2 of" in mock.inner_text(".mock-note")
    assert "1 of them to repeat" in mock.inner_text(".mock-note")
    mock.select_option("[name=pool]", "weak")
    assert mock.inner_text(".mock-form .mock-told") == "1 question to draw from."
    mock.click("text=Start the interview")
    assert asked(mock) == [first]
    press(mock, "End the interview")
    press(mock, "New interview")
    mock.select_option("[name=pool]", "new")
    assert mock.inner_text(".mock-form .mock-told") == f"{len(stored) - 2} questions to draw from."
    mock.select_option("[name=pool]", "sheet")
    assert mock.inner_text(".mock-form .mock-told") == "40 questions to draw from."
    press(mock, "Forget my ratings")
    assert len(kept(mock)["ratings"]) == 2
    press(mock, "Press again")
    assert kept(mock)["ratings"] == {}


@pytest.mark.parametrize(
    "spoiled",
    [
        '{"ratings": {"q-derive-sdpa": {"row": [9], "at": "2026-01-01T00:00:00Z"}}}',
        '{"ratings": {"q-derive-sdpa": 3}, "session": {"names": ["gone"], "index": 0, "done": []}}',
        '{"ratings": [1], "session": {"names": ["q-derive-sdpa"], "index": 99, "done": []}}',
        '{"ratings": {"__proto__": {"row": [0]}}, "session": {"names": ["q-derive-sdpa"], "index": 0, "done": [[0, 9, 1]]}}',  # noqa: E501
        "{}",
    ],
)
def test_what_was_kept_is_not_trusted(mock, spoiled):
    mock.evaluate("text => store.write('mock', JSON.parse(text))", spoiled)
    mock.reload()
    assert mock.inner_text(".mock-note").startswith("Ratings stay")
    assert mock.query_selector(".mock-unfinished") is None


@pytest.mark.parametrize("width", [1440, 390, 360])
def test_an_interview_works_by_keyboard_alone_and_fits(mock, width, resize):
    resize(mock, width, 800)
    mock.focus("[name=minutes]")
    mock.keyboard.press("End")
    mock.keyboard.press("Tab")
    mock.keyboard.press("Control+A")
    mock.keyboard.type("1")
    mock.keyboard.press("Enter")
    for _ in range(40):
        if title(mock) == "Report":
            break
        assert mock.evaluate("() => document.activeElement.className") == "mock-title"
        words = title(mock)
        tab_to(mock, "Show")
        mock.keyboard.press("Enter")
        assert mock.evaluate("() => document.activeElement.className") == "mock-part"
        tab_to(mock, "radio")
        mock.keyboard.press("Space")
        mock.keyboard.press("ArrowDown")
        overflow = mock.evaluate("() => document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, words
        tab_to(mock, "Next", "See the report")
        mock.keyboard.press("Enter")
    assert title(mock) == "Report"
    assert mock.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert "1.0 of 3" in mock.inner_text(".mock-sum")


def test_what_narrows_the_draw_is_folded_until_it_does(mock):
    fold = mock.locator(".mock-form .mock-choice")
    assert fold.get_attribute("open") is None
    start(mock, 1, level=["1"])
    mock.wait_for_selector(".mock-asking")
    press(mock, "End the interview")
    press(mock, "New interview")
    assert fold.get_attribute("open") is not None
    only(mock, level=[])
    mock.evaluate("() => { document.querySelector('.mock-choice').open = false; }")
    press(mock, "Start the interview")
    assert mock.inner_text(".mock-form .mock-told").startswith("No question fits")
    assert fold.get_attribute("open") is not None


def tab_to(page, *words):
    for _ in range(30):
        page.keyboard.press("Tab")
        now = page.evaluate(
            "() => document.activeElement.type === 'radio' ? 'radio' : document.activeElement.textContent"
        )
        if now.startswith(words):
            return
    raise AssertionError(f"no key reaches {words}")


def test_axe_finds_nothing_in_an_interview_and_its_report(contexts, server, theme):
    context, watch = contexts(theme)
    watch.clear()
    tab = context.new_page()
    for width in (1440, 390):
        for view in ("asking", "report"):
            tab.set_viewport_size({"width": width, "height": 900})
            tab.goto(f"{server}/{PLACE}")
            start(tab, 1, topic=["attention"])
            tab.click(".mock-actions button:has-text('Show')")
            tab.check(".mock-rating input[value='0']")
            if view == "report":
                press(tab, "Next")
                press(tab, "End the interview")
            assert axe_faults(tab, ".mock-stage") == [], (width, view)
    tab.evaluate("() => store.erase()")
    tab.close()
    watch.check(PLACE)


def test_without_javascript_the_page_leads_to_the_questions(browser, site):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto((site / PLACE).as_uri())
    assert "needs JavaScript" in tab.inner_text(".mock-stage")
    tab.click(".mock-stage a")
    tab.wait_for_load_state()
    assert tab.locator(".question-index a[href*='#q-']").count() > 250
    context.close()


def test_an_interview_works_from_a_folder_on_disk_and_where_storage_is_refused(browser, site):
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {configurable: true, get() { throw new DOMException('no'); }});"
    )
    tab = context.new_page()
    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("requestfailed", lambda asked: errors.append(asked.url))
    tab.goto((site / PLACE).as_uri())
    assert "keeps nothing" in tab.inner_text(".mock-note")
    start(tab, 1)
    finish(tab, lambda index: 2)
    assert "2.0 of 3" in tab.inner_text(".mock-sum")
    press(tab, "New interview")
    assert "You have rated 1 of" in tab.inner_text(".mock-note")
    context.close()
    assert errors == []
