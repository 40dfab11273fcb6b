"""A mock interview for a running notebook: the book's questions, drawn in chains, rated by the reader.

The questions are those of ``book/questions.json``. Page: book/mock-interview.ipynb, which has the same interview
without a kernel. This is a live lab: its buttons call Python, so on the built page its cell shows no output.
"""

import html
import json
import random
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path

import ipywidgets

from companion.topics import topic_title
from companion.widgets.choices import Choices

__all__ = ["RATINGS", "MockInterview", "draw", "interview_questions"]

RATINGS = ("No answer", "A part of it", "Right, with gaps", "Right and complete")
"""What the ratings 0, 1, 2 and 3 mean."""

LEVELS = {1: "basic", 2: "solid", 3: "hard"}
WEAK = 1  # a rating up to this one is to be repeated
_CELL = 'style="text-align: left; padding: 0 1.5em 0 0"'
_PARTS = (
    ("short", "Short answer", "Show the short answer"),
    ("full", "On the whiteboard", "Show the whiteboard answer"),
    ("common_mistake", "Common wrong answer", "Show the common wrong answer"),
)


def interview_questions(path: Path | None = None) -> list[dict]:
    """Read the interview questions of the book.

    Args:
        path: a file of questions; ``None`` means ``book/questions.json`` in a checkout, else the copy in the installed
            package.

    Returns:
        The questions in the order of the book, each with its texts as Markdown.
    """
    if path is None:
        checkout = Path(__file__).parents[2] / "book" / "questions.json"
        path = checkout if checkout.exists() else files("companion") / "questions.json"
    return json.loads(path.read_text("utf8"))["questions"]


def draw(
    questions: Sequence[dict],
    *,
    number: int,
    seed: int,
    topics: Sequence[str] | None = None,
    levels: Sequence[int] | None = None,
    kinds: Sequence[str] | None = None,
) -> list[dict]:
    """Draw questions at random and without repetition; the same seed draws the same ones.

    Args:
        questions: what to draw from.
        number: how many; fewer are drawn where fewer fit.
        seed: of the generator.
        topics: only these topics; ``None`` allows all.
        levels: only these levels; ``None`` allows all.
        kinds: only these kinds; ``None`` allows all.

    Returns:
        The questions as they are asked: by topic, in the order of ``questions``, and in a topic by level.

    Raises:
        ValueError: the number is not positive, a filter names what no question has, or no question fits.
    """
    if number < 1:
        raise ValueError(f"an interview has at least one question: got number={number}. Ask for 1 or more.")
    fit = list(questions)
    for field, allowed in (("topic", topics), ("level", levels), ("kind", kinds)):
        known = list(dict.fromkeys(question[field] for question in questions))
        unknown = [value for value in allowed or () if value not in known]
        if unknown:
            raise ValueError(f"no question has the {field} {unknown[0]!r}: use one of {', '.join(map(str, known))}.")
        if allowed is not None:
            fit = [question for question in fit if question[field] in allowed]
    if not fit:
        raise ValueError("no question fits all filters: got none to draw from. Allow more topics, levels or kinds.")
    topics = list(dict.fromkeys(question["topic"] for question in questions))
    drawn = random.Random(seed).sample(fit, min(number, len(fit)))
    return sorted(drawn, key=lambda question: (topics.index(question["topic"]), question["level"]))


class MockInterview(ipywidgets.VBox):
    """Ask questions and their follow-ups in turn, show each answer step by step, and report what to repeat.

    The buttons call ``start``, ``show_more``, ``rate``, ``skip`` and ``finish``; Python may call them too.

    Args:
        questions: what to draw from; ``None`` means all questions of the book.
        number: how many questions to ask.
        seed: of the draw; the same seed draws the same questions.
    """

    def __init__(self, questions: Sequence[dict] | None = None, *, number: int = 3, seed: int = 0) -> None:
        self.questions = list(interview_questions() if questions is None else questions)
        self.steps: list[tuple[dict, int]] = []  # (question, -1 for itself or the number of a follow-up)
        self.ratings: list[tuple[dict, int, int]] = []  # (question, as above, rating)
        self.position, self.shown = 0, 0
        self._make_form(number, seed)
        self._make_room()
        self.message = ipywidgets.HTML()
        self.results = ipywidgets.HTMLMath()
        super().__init__([self.form, self.room, self.message, self.results])
        self.room.layout.display = "none"

    def __repr__(self) -> str:
        """Name and seed, without a memory address: the notebook compares it."""
        return f"MockInterview(number={self.number.value}, seed={self.seed.value})"

    def _make_form(self, number: int, seed: int) -> None:
        def choice(field: str, title: str) -> Choices:
            values = list(dict.fromkeys(question[field] for question in self.questions))
            if field == "level":
                return Choices(title, [(level, f"{level}: {LEVELS[level]}") for level in sorted(values)])
            spoken = topic_title if field == "topic" else str
            return Choices(title, [(value, spoken(value)) for value in values])

        self.topics, self.levels = choice("topic", "Topics"), choice("level", "Levels")
        self.kinds = choice("kind", "Kinds")
        self.number = ipywidgets.BoundedIntText(number, min=1, max=len(self.questions), description="Questions")
        self.seed = ipywidgets.IntText(seed, description="Seed")
        self.start_button = _button("Start the interview", self.start, "primary")
        choices = ipywidgets.HBox([self.topics, self.levels, self.kinds])
        self.form = ipywidgets.VBox([choices, self.number, self.seed, self.start_button])

    def _make_room(self) -> None:
        self.title = ipywidgets.HTML()
        self.asked, self.answers = ipywidgets.Output(), ipywidgets.Output()
        options = [(f"{value}: {word}", value) for value, word in enumerate(RATINGS)]
        self.rating = ipywidgets.ToggleButtons(  # JupyterLab takes the arrow keys away from radio buttons
            options=options, value=None, description="Rating", style={"button_width": "auto"}
        )
        self.more_button = _button("", self.show_more)
        self.rate_button = _button("Next", self._rate_chosen, "primary")
        self.skip_button = _button("Skip", self.skip)
        self.finish_button = _button("End the interview", self.finish)
        buttons = ipywidgets.HBox([self.more_button, self.rate_button, self.skip_button, self.finish_button])
        self.room = ipywidgets.VBox([self.title, self.asked, self.answers, self.rating, buttons])

    @property
    def asking(self) -> bool:
        """Whether an interview is going on."""
        return self.position < len(self.steps)

    def start(self) -> None:
        """Draw questions by what the form says, and ask the first; say so where none fits."""
        try:
            drawn = draw(
                self.questions,
                number=self.number.value,
                seed=self.seed.value,
                topics=self.topics.value,
                levels=self.levels.value,
                kinds=self.kinds.value,
            )
        except ValueError as error:
            self.message.value = html.escape(str(error))
            return
        self.steps = [(question, at) for question in drawn for at in range(-1, len(question["follow_ups"]))]
        self.ratings, self.position = [], 0
        self.form.layout.display, self.room.layout.display = "none", None
        self.results.value = ""
        self._ask()

    def _ask(self) -> None:
        if not self.asking:
            self.finish()
            return
        question, at = self.steps[self.position]
        self.shown, self.rating.value, self.message.value = 0, None, ""
        number = list(dict.fromkeys(one["name"] for one, _ in self.steps)).index(question["name"]) + 1
        total = len({one["name"] for one, _ in self.steps})
        follow = f", follow-up {at + 1} of {len(question['follow_ups'])}" if at >= 0 else ""
        about = f"{topic_title(question['topic'])}, {question['kind']}, level {question['level']}"
        self.title.value = f"<b>Question {number} of {total}{follow}</b> ({html.escape(about)})"
        _write(self.asked, question["question"] if at < 0 else question["follow_ups"][at][0])
        self.answers.outputs = ()
        self._offer()
        self.more_button.focus()  # the button that was pressed may be gone, and the focus with it

    def _parts(self) -> list[tuple[str, str, str]]:
        """List what the present step can show: text, heading, words of the button."""
        question, at = self.steps[self.position]
        if at >= 0:
            return [(question["follow_ups"][at][1], "Answer", "Show the answer")]
        return [(question[field], title, words) for field, title, words in _PARTS]

    def _offer(self) -> None:
        rest = self._parts()[self.shown :]
        self.more_button.layout.display = None if rest else "none"
        self.more_button.description = rest[0][2] if rest else ""
        for control in (self.rating, self.rate_button):
            control.layout.display = None if self.shown else "none"

    def show_more(self) -> None:
        """Show the next part of the answer: short, whiteboard, common wrong answer."""
        parts = self._parts() if self.asking else []
        if self.shown < len(parts):
            text, title, _ = parts[self.shown]
            _write(self.answers, f"**{title}**\n\n{text}", after=self.answers.outputs)
            self.shown += 1
            self._offer()
            (self.more_button if self.shown < len(parts) else self.rate_button).focus()

    def rate(self, rating: int) -> None:
        """Rate the answer to the present question, and go on to the next.

        Args:
            rating: from 0 to 3; ``RATINGS`` says what they mean.

        Raises:
            ValueError: the rating is another number, or no question is being asked.
        """
        if rating not in range(len(RATINGS)):
            raise ValueError(f"a rating is a whole number from 0 to {len(RATINGS) - 1}: got {rating!r}.")
        if not self.asking:
            raise ValueError("only an answer can be rated: got no question being asked. Call start() first.")
        self.ratings.append((*self.steps[self.position], int(rating)))
        self.skip()

    def _rate_chosen(self) -> None:
        if self.rating.value is None:
            self.message.value = "Say how you answered, or skip this one."
        else:
            self.rate(self.rating.value)

    def skip(self) -> None:
        """Go on without a rating."""
        if self.asking:
            self.position += 1
            self._ask()

    def finish(self) -> None:
        """End the interview, show the report as tables, and offer the form again."""
        self.steps, self.position = [], 0
        self.form.layout.display, self.room.layout.display = None, "none"
        self.results.value = self._tables()
        self.start_button.focus()

    def report(self) -> list[dict]:
        """Sum up the ratings so far.

        Returns:
            One row for each topic, then one for each kind: ``by``, ``value``, ``answers``, ``average`` and ``repeat``,
            the names of the questions with an answer rated 0 or 1.
        """
        rows = []
        for field in ("topic", "kind"):
            for value in dict.fromkeys(question[field] for question, _, _ in self.ratings):
                found = [(question["name"], rating) for question, _, rating in self.ratings if question[field] == value]
                average = sum(rating for _, rating in found) / len(found)
                weak = list(dict.fromkeys(name for name, rating in found if rating <= WEAK))
                row = {"by": field, "value": value, "answers": len(found), "average": round(average, 2), "repeat": weak}
                rows.append(row)
        return rows

    def _tables(self) -> str:
        rows = self.report()
        if not rows:
            return "<p>You rated no answer, so there is nothing to report.</p>"
        tables = []
        for field in ("topic", "kind"):
            head = "".join(f"<th {_CELL}>{name}</th>" for name in (field, "answers", "average, 0 to 3", "to repeat"))
            spoken = topic_title if field == "topic" else str
            found = [r for r in rows if r["by"] == field]
            cells = [(spoken(r["value"]), r["answers"], r["average"], len(r["repeat"])) for r in found]
            lines = ["".join(f"<td {_CELL}>{html.escape(str(cell))}</td>" for cell in row) for row in cells]
            body = "".join(f"<tr>{line}</tr>" for line in lines)
            tables.append(f'<table><caption style="text-align: left">By {field}</caption><tr>{head}</tr>{body}</table>')
        return "<b>Report</b>" + "".join(tables) + self._to_repeat()

    def _to_repeat(self) -> str:
        """List the questions with a weak answer, and the page on which each stands."""
        weak = {question["name"]: question for question, _, rating in self.ratings if rating <= WEAK}
        lines = [html.escape(f"{q['question']} (book/{q['chapter']}.ipynb, {q['name']})") for q in weak.values()]
        items = "".join(f"<li>{line}</li>" for line in lines)
        return f"<b>What to repeat</b><ul>{items}</ul>" if weak else "<p>Nothing to repeat: all ratings are 2 or 3.</p>"


def _button(words: str, action: Callable[[], None], style: str = "") -> ipywidgets.Button:
    button = ipywidgets.Button(description=words, button_style=style, layout={"width": "auto"})
    button.on_click(lambda _: action())
    return button


def _write(place: ipywidgets.Output, text: str, after: tuple = ()) -> None:
    """Show Markdown with its formulas, which Jupyter renders, below what is shown already."""
    data = {"text/markdown": text, "text/plain": text}
    place.outputs = (*after, {"output_type": "display_data", "data": data, "metadata": {}})
