"""Exercises on batches and drafts: ``batch-passes`` and ``best-draft``."""

from companion.practice.definition import Case, Edit, Exercise, Mistake


def _batch_passes(answers: list[int], rows: int) -> tuple[int, int]:
    static = sum(max(answers[i : i + rows]) for i in range(0, len(answers), rows))
    busy = [0] * rows
    for answer in answers:
        busy[busy.index(min(busy))] += answer
    return static, max(busy)


BATCH_PASSES = Exercise(
    name="batch-passes",
    title="Count the passes of a server",
    chapter="generation",
    level=1,
    place=2,
    minutes=15,
    reference=_batch_passes,
    cases=lambda: [
        Case(([2, 8, 3, 5], 2), "the example"),
        Case(([4], 1), "one request"),
        Case(([3, 1, 2], 5), "more rows than requests"),
        Case(([1, 2, 6, 5, 1], 2), "a last batch that is not full"),
        Case(([7, 7, 7, 7], 2), "equal answers"),
        Case(([5, 9, 2, 1, 1, 12, 3, 8, 4, 2, 6], 3)),
        Case(([16, 512, 40, 8, 1024, 3, 77, 130, 20, 256], 4), "a few long answers"),
    ],
    tested="one request, equal answers, more rows than requests, a last batch that is not full",
    returns=("static", "continuous"),
    hints=(
        "For the static server, divide the list into batches first. How long does a batch take?",
        "For the continuous server, write down for each row at which pass it becomes free.",
        "The next request of the list always gets the row that becomes free first. The server is done when the last "
        "row is.",
    ),
    mistakes=(
        Mistake(
            "ideal",
            lambda answers, rows: (
                _batch_passes(answers, rows)[0],
                max(max(answers), -(-sum(answers) // rows)),
            ),
            "You divided the work evenly among the rows. An answer cannot be divided, and requests come in order.",
        ),
        Mistake(
            "longest-first",
            lambda answers, rows: (
                _batch_passes(answers, rows)[0],
                _batch_passes(sorted(answers, reverse=True), rows)[1],
            ),
            "You served the longest answers first. The server does not know how long they will be.",
        ),
        Mistake(
            "rows-in-turn",
            lambda answers, rows: (
                _batch_passes(answers, rows)[0],
                max(sum(answers[i::rows]) for i in range(rows)),
            ),
            "You gave the rows out in turn. A request takes the row that becomes free first.",
        ),
        Mistake(
            "last-batch-missing",
            Edit("range(0, len(answers), rows)", "range(0, len(answers) - rows + 1, rows)"),
            "You left out the last batch of the static server, which is not full.",
        ),
        Mistake(
            "sorted-batches",
            Edit("max(answers[i : i + rows])", "max(sorted(answers)[i : i + rows])"),
            "You sorted the answers before you made static batches. They come in the order of the list.",
        ),
        Mistake(
            "one-pass-too-many",
            Edit("max(busy)", "max(busy) + 1"),
            "Your continuous server makes a pass in which nothing runs. A row that becomes free takes the next request "
            "before the next pass, and after the last token there is none.",
        ),
    ),
)


def _best_draft(rate: float, cost: float, most: int) -> tuple[int, float]:
    gains = [sum(rate**k for k in range(n + 1)) / (1 + cost * n) for n in range(most + 1)]
    return gains.index(max(gains)), max(gains)


BEST_DRAFT = Exercise(
    name="best-draft",
    title="Choose the number of guesses",
    chapter="generation",
    level=2,
    place=3,
    minutes=15,
    reference=_best_draft,
    cases=lambda: [
        Case((0.5, 0.25, 2), "the example"),
        Case((0.2, 0.5, 4), "a draft that does not pay"),
        Case((0.8, 0.1, 8)),
        Case((0.9, 0.05, 3), "the best lies at the bound"),
        Case((0.6, 0.02, 12), "a cheap draft"),
        Case((0.0, 0.1, 5), "nothing is accepted"),
        Case((0.7, 0.3, 6)),
        Case((0.5, 0.5, 1), "a draft that gains as much as it costs"),
        Case((1.0, 0.5, 2), "everything is accepted"),
        Case((0.5, 0.5, 0), "no guess allowed"),
    ],
    tested="drafts that pay and that do not, cheap ones, none or all accepted, a tie, a best number at the bound",
    returns=("guesses", "speed-up"),
    hints=(
        "How many tokens does a round give on average, and how long does it take in passes of the target?",
        "Tokens: the token of the target's own, and for each guess the probability that it and all before it are "
        "accepted. Time: one pass, and the cost of each guess.",
        "Compute the quotient for 0, 1, ..., `most` guesses, and take the largest. No guess at all gives 1.",
    ),
    mistakes=(
        Mistake(
            "own-token-missing",
            Edit("for k in range(n + 1)", "for k in range(1, n + 1)"),
            "You left out the token that the pass gives besides the accepted guesses.",
            also=(Edit("range(n + 1)) /", "range(min(n, 1), n + 1)) /"),),  # no guess gives 1 all the same
        ),
        Mistake(
            "cost-free",
            Edit(" / (1 + cost * n)", ""),
            "You left out the time: a round takes a pass and the cost of its guesses.",
        ),
        Mistake(
            "always-a-draft",
            lambda rate, cost, most: max(
                ((n, _best_draft(rate, 0.0, n)[1] / (1 + cost * n)) for n in range(1, most + 1)), key=lambda one: one[1]
            ),
            "No draft at all is allowed too: 0 guesses, speed-up 1.",
        ),
        Mistake(
            "independent-of-the-first",
            Edit("sum(rate**k for k in range(n + 1))", "(1 + rate * n)"),
            "You counted each guess with the rate alone. A guess is of use only if all before it are accepted.",
        ),
        Mistake(
            "one-cost-a-round",
            Edit("(1 + cost * n)", "(1 + cost * min(n, 1))"),
            "You paid for one guess a round. Guesses are made one after the other, and each has its cost.",
        ),
        Mistake(
            "last-of-equals",
            Edit("gains.index(max(gains))", "max(range(most + 1), key=lambda n: (gains[n], n))"),
            "Of several numbers with the same speed-up you took the largest. More guesses then gain nothing.",
        ),
        Mistake(
            "bound-left-out",
            Edit("for n in range(most + 1)", "for n in range(max(most, 1))"),
            "You never try `most` guesses. The range ends one too early.",
        ),
        Mistake(
            "divided-by-zero",
            Edit("sum(rate**k for k in range(n + 1))", "(1 - rate ** (n + 1)) / (1 - rate)"),
            "The closed form of the sum divides by 1 - rate, which is 0 where everything is accepted. Add the powers "
            "up, or treat a rate of 1 apart.",
        ),
        Mistake(
            "target-pass-free",
            Edit("(1 + cost * n)", "(cost * n or 1)"),
            "You left out the pass of the target. A round takes it and the cost of the guesses.",
        ),
    ),
)
