"""The drawn pictures of recurrence: a state carried along, a memory, and what 2017 dropped."""

from collections.abc import Sequence
from itertools import pairwise
from math import tanh

from companion.pictures import BOLD, LABEL, SMALL, TITLE, Canvas, Number, picture

KEPT, INPUTS = 0.5, (4, 2, 0)  # the network of one number: its factor and what it reads
MEMORY, FORGET, INPUT, CANDIDATE, OUTPUT = 3.0, 0.9, 0.5, 1.0, 0.5  # one entry of an LSTM


@picture
def from_rnn_to_transformer(wide: bool) -> Canvas:
    """Draw the four networks of the chapter, and what each made possible."""
    labels = {
        "title": "From recurrence to attention",
        "desc": (
            "Four boxes in a row, each leading to the next. In 1990 the recurrent network reads any length. In "
            "1997 and 2000 the LSTM gets gates, and keeps what it has read for longer. In 2014 attention lets a "
            "translator look back at every word. In 2017 the Transformer drops the recurrence, and in training no word "
            "waits for another."
        ),
        "steps": (
            ("1990", "recurrent network", "reads any length"),
            ("1997, 2000", "LSTM with gates", "keeps it for longer"),
            ("2014", "RNN + attention", "looks back at all words"),
            ("2017", "Transformer", "all words at once"),
        ),
    }
    c = Canvas("from-rnn-to-transformer", wide, 128 if wide else 352, labels["title"], labels["desc"])
    w, h = (152, 48) if wide else (160, 48)
    for index, (year, name, gain) in enumerate(labels["steps"]):
        x, y = (8 + 184 * index, 40) if wide else (64, 32 + 88 * index)
        last = index == len(labels["steps"]) - 1
        if wide:
            c.text(x + w / 2, y - 20, year, TITLE, strong=True)
            c.text(x + w / 2, y + h + 20, gain, SMALL, tone="muted")
        else:
            c.text(x - 8, y + h / 2, year.replace(", ", "\n"), LABEL, "end", strong=True)
            c.text(x + w + 8, y + h / 2, gain, SMALL, "start", "muted", wrap=13)
        box = c.box(x, y, w, h, name, tone="attention" if last else "ink", bold=last)
        if not last:
            c.arrow(*(((box.right), (x + 182, y + h / 2)) if wide else ((box.bottom), (x + w / 2, y + 86))))
    return c


@picture
def unrolled_rnn(wide: bool, kept: float = KEPT, inputs: Sequence[Number] = INPUTS) -> Canvas:
    """Draw a recurrent network of one number, with its loop and unrolled.

    Args:
        kept: the factor of the old state.
        inputs: three.

    Returns:
        The picture.
    """
    states, h = [], 0.0
    for x in inputs:
        h = max(0.0, kept * h + x)
        states.append(h)
    said = [f"{state:g}" for state in states]
    labels = {
        "title": "A recurrent network, unrolled",
        "desc": (
            f"On the left an input goes into a state, and an arrow leads from the state back to it, times {kept:g}. "
            f"On the right the same network three times in a row. It reads {', '.join(map(str, inputs))}; its states "
            f"are {', '.join(said)}. From each state an arrow leads to the next, times {kept:g}."
        ),
        "built": "As it is built",
        "unrolled": "Unrolled in time",
        "state": "state",
        "input": "input",
        "factor": f"× {kept:g}",
        "times": "time",
    }
    c = Canvas("unrolled-rnn", wide, 224 if wide else 440, labels["title"], labels["desc"])
    x = 40 if wide else 96
    c.text(x, 16, labels["built"], TITLE, "start", strong=True)
    state = c.box(x, 88, 88, 40, labels["state"])
    c.box(x, 176, 88, 32, labels["input"])
    c.arrow((x + 44, 176), (x + 44, 130))
    c.arrow(state.right, (x + 128, 108), (x + 128, 56), (x + 44, 56), (x + 44, 86), tone="attention", width=BOLD)
    c.text(x + 136, 82, labels["factor"], SMALL, "start", "attention")
    x, y = (272, 0) if wide else (24, 224)
    step = 152 if wide else 112
    c.text(x, y + 16, labels["unrolled"], TITLE, "start", strong=True)
    for index, (value, written) in enumerate(zip(inputs, said, strict=True)):
        here = x + step * index
        c.text(here + 36, y + 68, f"$h_{index + 1}$", LABEL)
        box = c.box(here, y + 88, 72, 40, written)
        c.box(here, y + 176, 72, 32, str(value))
        c.arrow((here + 36, y + 176), (here + 36, y + 130))
        c.text(here + 44, y + 154, "+", LABEL, "start")
        if index < len(inputs) - 1:
            c.arrow(box.right, (here + step - 2, y + 108), tone="attention", width=BOLD)
            c.text((here + 72 + here + step) / 2, y + 76, labels["factor"], SMALL, tone="attention")
    return c


@picture
def lstm_cell(
    wide: bool,
    memory: float = MEMORY,
    forget: float = FORGET,
    input_gate: float = INPUT,
    candidate: float = CANDIDATE,
    output: float = OUTPUT,
) -> Canvas:
    """Draw one step of an LSTM for one entry of its memory.

    Args:
        memory: the entry before the step.
        forget: the forget gate.
        input_gate: the input gate.
        candidate: what may be added.
        output: the output gate.

    Returns:
        The picture.
    """
    added = input_gate * candidate
    new = forget * memory + added
    state = output * tanh(new)
    labels = {
        "title": "One step of an LSTM",
        "desc": (
            f"A line leads from the old memory {memory:g} to the new memory {new:g}. On it the memory is multiplied by "
            f"the forget gate {forget:g}, and the product of the input gate {input_gate:g} and the candidate "
            f"{candidate:g} is added. Through tanh the new memory is multiplied by the output gate {output:g}: "
            f"the new state is {state:.2f}. Gates and candidate come from the token and the old state."
        ),
        "memory": "memory",
        "line": "the memory line",
        "gates": (("forget", f"$f$ {forget:g}"), ("input", f"$i$ {input_gate:g}")),
        "more": (("candidate", f"$g$ {candidate:g}"), ("output", f"$o$ {output:g}")),
        "tanh": "tanh",
        "state": "state",
        "from": "token and old state",
    }
    c = Canvas("lstm-cell", wide, 336, labels["title"], labels["desc"])
    if wide:
        columns, w, mw, ends, times, plus = (176, 288, 408, 640), 96, 88, (16, 596), 176, 348
    else:
        columns, w, mw, ends, times, plus = (44, 126, 210, 298), 76, 68, (8, 264), 108, 168
    right = ends[1] + mw / 2
    c.text((ends[0] + mw + ends[1]) / 2, 24, labels["line"], SMALL, tone="attention")
    for x, value in zip(ends, (memory, new), strict=True):
        c.box(x, 44, mw, 40, labels["memory"], f"{value:g}", size=LABEL if wide else SMALL)
    stops = ((ends[0] + mw, times - 14), (times + 12, plus - 14), (plus + 12, ends[1] - 2))
    for start, stop in stops:
        c.arrow((start, 64), (stop, 64), tone="attention", width=BOLD)
    c.node(times, 64, "×")
    c.node(plus, 64, "+")
    f, i, g, o = columns
    if f == times:
        c.arrow((f, 224), (f, 78))
    else:
        c.arrow((f, 224), (f, 128), (times, 128), (times, 78))
    c.arrow((i, 224), (i, 164), (plus - 14, 164))
    c.arrow((g, 224), (g, 164), (plus + 14, 164))
    c.node(plus, 164, "×")
    c.arrow((plus, 152), (plus, 78))
    c.arrow((right, 84), (right, 100))
    c.box(right - 28, 102, 56, 28, labels["tanh"], size=SMALL)
    c.arrow((right, 130), (right, 150))
    c.node(right, 164, "×")
    c.arrow((o, 224), (o, 200), (right, 200), (right, 178)) if o != right else c.arrow((o, 224), (o, 178))
    left = right - (136 if wide else 76)
    c.box(left, 144, 88 if wide else 46, 40, labels["state"], f"{state:.2f}", size=LABEL if wide else SMALL)
    c.arrow((right - 12, 164), (left + (90 if wide else 48), 164))
    for column, (name, value) in zip(columns, (*labels["gates"], *labels["more"]), strict=True):
        c.box(column - w / 2, 224, w, 44, name, value, size=LABEL if wide else SMALL)
        c.arrow((column, 296), (column, 270))
    c.box(columns[0] - w / 2, 296, columns[3] - columns[0] + w, 32, labels["from"], tone="soft")
    return c


@picture
def recurrence_dropped(wide: bool) -> Canvas:
    """Draw a translator of 2014 beside one of 2017: with chains of states, and without."""
    labels = {
        "title": "With chains and without",
        "desc": (
            "Two panels, each with the words the cat sat below and die Katze above. In 2014 the words of each row are "
            "connected by a chain of arrows, and Katze gets an arrow from every word of the lower row. In 2017 the "
            "chains are gone. Katze still gets its arrows from below, and one from die; sat gets arrows from the and "
            "cat."
        ),
        "panels": (("2014", "recurrence and attention"), ("2017", "only attention")),
        "source": "the cat sat",
        "target": "die Katze",
    }
    c = Canvas("recurrence-dropped", wide, 296 if wide else 592, labels["title"], labels["desc"])
    source, target = labels["source"].split(), labels["target"].split()
    for panel, (year, name) in enumerate(labels["panels"]):
        x, y = (40 + 352 * panel, 0) if wide else (28, 296 * panel)
        w, step, top, bottom = 72, 108, y + 96, y + 208
        c.text(x, y + 16, year, TITLE, "start", strong=True)
        c.text(x, y + 38, name, SMALL, "start", "muted")
        sources = [x + w / 2 + step * i for i in range(3)]
        targets = [x + w / 2 + step * (i + 0.5) for i in range(2)]
        asks = targets[-1]
        for i, here in enumerate(sources):
            c.arrow((here, bottom), (asks + 16 * (i - 1), top + 34), tone="attention", width=BOLD)
        for row, level in ((sources, bottom), (targets, top)):
            if panel == 0:
                for here, there in pairwise(row):
                    c.arrow((here + w / 2, level + 16), (there - w / 2 - 2, level + 16))
        if panel == 1:
            for i, here in enumerate(sources[:-1]):
                low, end = bottom + 64 - 16 * i, sources[-1] + 12 - 24 * i
                c.arrow((here, bottom + 32), (here, low), (end, low), (end, bottom + 34), tone="attention", width=BOLD)
            here, end = targets
            c.arrow((here, top), (here, top - 28), (end, top - 28), (end, top - 2), tone="attention", width=BOLD)
        for words, row, level in ((source, sources, bottom), (target, targets, top)):
            for word, here in zip(words, row, strict=True):
                c.box(here - w / 2, level, w, 32, word)
    return c
