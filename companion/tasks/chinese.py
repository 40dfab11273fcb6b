"""English to Chinese: a grammar made for this book in which the translator has to look around and to re-order.

* A noun asks for its own classifier behind a number: 两 *本* 书, 两 *把* 椅子.
* Time comes before place, and both before the verb: 我 *昨天 在 商店* 买 了 两 本 书.
* A relative clause and an owner stand before the noun, with 的: *他 选 的* 那 本 书, *我 姐姐 的* 书.
* A question is a statement with 吗. "Not" is 没 in the past and 不 otherwise.

The words are in `companion.tasks.lexicon`, the rules are of the kind in `companion.tasks.grammar`.

Made for this book. Chapter: book/architecture.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from companion.tasks import lexicon
from companion.tasks.grammar import Phrase, rule
from companion.tasks.split import Pair, Row, draw

Links = list[tuple[int, ...]]
NOTHING = Phrase()

# S subject, V verb (VED its past, VS its present, DO its do or does), O object, P place, T time
PAST = {
    "S VED O P T .": "S T P VED 了 O 。=.",
    "S did not V O P T .": "S T 没=did+not P V O 。=.",
    "did S V O P T ?": "S T P V 了 O 吗 ？=?",
}
FUTURE = {
    "S will V O P T .": "S T 会=will P V O 。=.",
    "S will not V O P T .": "S T 不=not 会=will P V O 。=.",
    "will S V O P T ?": "S T 会=will P V O 吗 ？=?",
}
PRESENT = {
    "S VS O .": "S VS O 。=.",
    "S DO not V O .": "S 不=not V O 。=.",
    "DO S V O ?": "S V O 吗 ？=?",
}


def english_chinese(train: int, test: int, seed: int = 0) -> tuple[list[Pair], list[Pair]]:
    """Draw sentences such as *she bought two new chairs in the shop yesterday .*, with their translations.

    That one is *她 昨天 在 商店 买 了 两 把 新 椅子 。* There are millions of sentences: statements, negations and
    questions of the past, the future and the present. Each kind of sentence comes equally often.

    >>> train, _ = english_chinese(train=1, test=1)
    >>> [" ".join(words) for words in train[0]]
    ['we will see those blue coats tomorrow morning .', '我们 明天 早上 会 看见 那些 蓝 大衣 。']

    Args:
        train: number of training pairs.
        test: number of test pairs, none of them among the training pairs.
        seed: of the draw.

    Returns:
        The training and the test pairs, each pair an English and a Chinese list of words.

    Raises:
        ValueError: a number is below 1, or there are not that many sentences.
    """
    drawn = _draw(train, test, seed)
    train_pairs, test_pairs = ([(list(p.english), [word for word, _ in p.chinese]) for p in part] for part in drawn)
    return train_pairs, test_pairs


def english_chinese_links(train: int, test: int, seed: int = 0) -> tuple[list[Links], list[Links]]:
    """Name the English words that each Chinese word translates, for the pairs of the same call of `english_chinese`.

    A classifier (本) and a particle (的, 了, 吗) translate no word. Articles of places, "'s", the "that" of a relative
    clause and the "did", "do" or "does" of a question have no translation.

    Args:
        train: number of training pairs.
        test: number of test pairs.
        seed: of the draw.

    Returns:
        For each training and each test pair: for each Chinese word, the places of the English words, or ``()``.

    Raises:
        ValueError: a number is below 1, or there are not that many sentences.
    """
    train_links, test_links = ([[links for _, links in p.chinese] for p in part] for part in _draw(train, test, seed))
    return train_links, test_links


class _Objects(NamedTuple):
    counted: list[Phrase]  # a book, two new books: not after "not", where Chinese would drop the number
    definite: list[Phrase]
    people: list[Phrase]
    relative: list[Phrase]  # the book that he chose: without place and time, which would seem to belong to the clause


class _Family(NamedTuple):
    english: str
    chinese: str
    slots: dict[str, Sequence[Phrase]]  # what may stand in each place


def _draw(train: int, test: int, seed: int) -> tuple[list[Phrase], list[Phrase]]:
    families = _families()
    radices = [[len(choices) for choices in family.slots.values()] for family in families]
    train_part, test_part = draw(radices, train, test, seed, "sentences")
    return [_sentence(families[i], row) for i, row in train_part], [_sentence(families[i], row) for i, row in test_part]


def _sentence(family: _Family, row: Row) -> Phrase:
    parts = {slot: choices[i] for (slot, choices), i in zip(family.slots.items(), row, strict=True)}
    third = parts["S"].third
    (verb,) = parts["V"].english
    parts["VS"] = Phrase((verb + "s" if third else verb,), parts["V"].chinese)
    parts["DO"] = Phrase(("does" if third else "do",))
    return rule(family.english, family.chinese, **parts)


def _families() -> list[_Family]:
    kinds = {"things": _objects(lexicon.THINGS), "animals": _objects(lexicon.ANIMALS), "people": _people()}
    families = []
    for verb, (past, chinese, what, where) in lexicon.EVENTS.items():
        objects = _joined(kinds[kind] for kind in what.split())
        slots = {"V": [rule(verb, f"{chinese}={verb}")], "VED": [rule(past, f"{chinese}={past}")]}
        places = [NOTHING, *(rule(place, lexicon.PLACES[place]) for place in where)]
        for frames, times in ((PAST, lexicon.PAST_TIMES), (FUTURE, lexicon.FUTURE_TIMES)):
            around = slots | {"P": places, "T": [NOTHING, *(rule(*time) for time in times.items())]}
            families += _with_objects(frames, around, objects._replace(relative=[]))
        alone = slots | {"P": [NOTHING], "T": [NOTHING]}
        families += _with_objects(PAST, alone, _Objects([], [], [], objects.relative))
    for verb, (chinese, what) in lexicon.STATES.items():
        objects = _joined(kinds[kind] for kind in what.split())
        if verb == "like":
            objects = objects._replace(counted=[])  # 喜欢 一 本 书 is not said
        families += _with_objects(PRESENT, {"V": [rule(verb, f"{chinese}={verb}")]}, objects)
    return families


def _with_objects(frames: Mapping[str, str], slots: Mapping[str, Sequence[Phrase]], objects: _Objects) -> list[_Family]:
    families = []
    for english, chinese in frames.items():
        subjects = _subjects()[1:] if english.endswith("?") else _subjects()  # few people ask "did I ...?"
        lists = objects[1:] if " not " in english else objects  # objects[0] are counted
        families += [_Family(english, chinese, {"S": subjects, **slots, "O": chosen}) for chosen in lists if chosen]
    return families


def _joined(kinds: Iterable[_Objects]) -> _Objects:
    return _Objects(*(list(chain(*lists)) for lists in zip(*kinds, strict=True)))


def _subjects() -> list[Phrase]:
    pronouns = [rule(en, f"{zh}={en}", third=en in ("he", "she")) for en, zh in lexicon.PRONOUNS.items()]
    return pronouns + _relations(lexicon.SUBJECTS) + _pointed("student", "个", "学生")


def _people() -> _Objects:
    return _Objects([], [], _relations(lexicon.OBJECTS) + _pointed("doctor", "位", "医生"), [])


def _relations(people: Mapping[str, str]) -> list[Phrase]:
    """List my sister 我 姐姐, your sister, ...: between people who are close there is no 的."""
    return [
        rule(f"{owner} {person}", f"{zh}={owner} {translated}={person}", third=True)
        for owner, zh in lexicon.OWNERS.items()
        for person, translated in people.items()
    ]


def _pointed(noun: str, classifier: str, chinese: str) -> list[Phrase]:
    return [
        rule(f"{pointer} {noun}", f"{zh}={pointer} {classifier} {chinese}={noun}", third=True)
        for pointer, zh in lexicon.POINTERS.items()
    ]


def _objects(nouns: Mapping[str, tuple[str, str, Mapping[str, str]]]) -> _Objects:
    owners = [rule(owner, f"{zh}={owner} 的") for owner, zh in lexicon.OWNERS.items()]
    owners += [rule("R 's", "R 的", R=relation) for relation in _relations(lexicon.OBJECTS)]
    clauses = [
        rule(f"that {subject} {verb}", f"{zh}={subject} {translated}={verb} 的")
        for subject, zh in lexicon.PRONOUNS.items()
        for verb, translated in lexicon.CLAUSE_VERBS.items()
    ]
    objects = _Objects([], [], [], [])
    for noun, (classifier, chinese, adjectives) in nouns.items():
        for adjective, quality in [("", ""), *adjectives.items()]:
            one, many = (_nominal(adjective, quality, form, chinese) for form in (noun, noun + "s"))
            article = "an" if one.english[0][0] in "aeiou" else "a"
            objects.counted.append(rule(f"{article} N", f"一={article} {classifier} N", N=one))
            objects.counted.extend(
                rule(f"{number} N", f"{zh}={number} {classifier} N", N=many) for number, zh in lexicon.NUMBERS.items()
            )
            for pointer, zh in lexicon.POINTERS.items():
                objects.definite.append(rule(f"{pointer} N", f"{zh}={pointer} {classifier} N", N=one))
            for pointer, zh in lexicon.PLURAL_POINTERS.items():
                objects.definite.append(rule(f"{pointer} N", f"{zh}={pointer} N", N=many))
            if len(quality) < 2:  # one 的 is enough: not 我 的 漂亮 的 毛衣
                objects.definite.extend(rule("W N", "W N", W=owner, N=one) for owner in owners)
            objects.relative.extend(rule("the N C", f"C 那=the {classifier} N", N=one, C=clause) for clause in clauses)
    return objects


def _nominal(adjective: str, quality: str, noun: str, chinese: str) -> Phrase:
    if not adjective:
        return rule(noun, f"{chinese}={noun}")
    particle = "的" if len(quality) > 1 else ""  # an adjective of one syllable stands at the noun, a longer one has 的
    return rule(f"{adjective} {noun}", f"{quality}={adjective} {particle} {chinese}={noun}")
