"""The English-Chinese grammar: sentences read by hand, and rules of Chinese that every sentence keeps.

The tables of words here were written for the tests; they are not those of the package.
"""

from itertools import pairwise

import pytest

from companion import tasks
from companion.tasks.grammar import Phrase, rule

TRAIN, TEST = tasks.english_chinese(3000, 400)
PAIRS = TRAIN + TEST
LINKS = [links for part in tasks.english_chinese_links(3000, 400) for links in part]
LINKS_OF = {tuple(english): links for (english, _), links in zip(PAIRS, LINKS, strict=True)}

READ_BY_HAND = {
    "this student will not sell his sister 's old bicycle in the shop tonight .": (
        "这 个 学生 今晚 不 会 在 商店 卖 他 姐姐 的 旧 自行车 。"
    ),
    "his friend drew two dogs in the park last night .": "他 朋友 昨晚 在 公园 画 了 两 只 狗 。",
    "his teacher did not draw the cute dog that we brought .": "他 老师 没 画 我们 带来 的 那 只 可爱 的 狗 。",
    "does his teacher like this blue sweater ?": "他 老师 喜欢 这 件 蓝 毛衣 吗 ？",
    "this student needs an interesting magazine .": "这 个 学生 需要 一 本 有趣 的 杂志 。",
    "did her teacher sell the magazine that you lost ?": "她 老师 卖 了 你 丢 的 那 本 杂志 吗 ？",
    "did your classmate sell a beautiful umbrella this morning ?": "你 同学 今天 早上 卖 了 一 把 漂亮 的 雨伞 吗 ？",
    "my teacher wants the coat that I lost .": "我 老师 想要 我 丢 的 那 件 大衣 。",
    "does my classmate like your sister ?": "我 同学 喜欢 你 姐姐 吗 ？",
    "his teacher saw this doctor at school last night .": "他 老师 昨晚 在 学校 看见 了 这 位 医生 。",
    "your classmate did not see her sister last night .": "你 同学 昨晚 没 看见 她 姐姐 。",
    "will my friend buy these skirts in the shop tomorrow morning ?": "我 朋友 明天 早上 会 在 商店 买 这些 裙子 吗 ？",
    "they bought her sister 's chair at the market .": "他们 在 市场 买 了 她 姐姐 的 椅子 。",
    "he did not find her old computer at the station last week .": "他 上 个 星期 没 在 车站 找到 她 的 旧 电脑 。",
    "that student likes that doctor .": "那 个 学生 喜欢 那 位 医生 。",
}
CLASSIFIERS = {
    "本": "书 杂志 小说",
    "件": "衬衫 毛衣 大衣",
    "条": "裙子 领带",
    "顶": "帽子",
    "把": "雨伞 椅子",
    "张": "桌子 地图",
    "辆": "自行车",
    "台": "电脑",
    "支": "笔",
    "个": "包 学生 星期",
    "位": "医生",
    "只": "猫 狗 鸟",
    "匹": "马",
    "头": "牛",
}
COUNTING = ("一", "两", "三", "这", "那", "上", "下")  # what stands before a classifier
LONG_ADJECTIVES = ("有趣", "漂亮", "便宜", "可爱")
SHORT_ADJECTIVES = ("新", "旧", "红", "黑", "白", "蓝")
PARTICLES = {"的", "了", "吗"}
VERBS = {"买", "卖", "找到", "看见", "画", "喜欢", "需要", "想要"}
TIMES = {"昨天", "昨晚", "今天", "今晚", "明天", "星期", "早上"}
UNTRANSLATED = {"the", "'s", "that", "did", "do", "does"}
DICTIONARY = {
    "我": "I my", "你": "you your", "他": "he his", "她": "she her", "我们": "we", "他们": "they",
    "朋友": "friend", "老师": "teacher", "同学": "classmate", "学生": "student", "医生": "doctor",
    "姐姐": "sister", "哥哥": "brother", "邻居": "neighbour",
    "这": "this", "那": "that the", "这些": "these", "那些": "those", "一": "a an", "两": "two", "三": "three",
    "新": "new", "旧": "old", "红": "red", "黑": "black", "白": "white", "蓝": "blue",
    "有趣": "interesting", "漂亮": "beautiful", "便宜": "cheap", "可爱": "cute",
    "书": "book", "杂志": "magazine", "小说": "novel", "衬衫": "shirt", "毛衣": "sweater", "大衣": "coat",
    "裙子": "skirt", "领带": "tie", "帽子": "hat", "雨伞": "umbrella", "椅子": "chair", "桌子": "table",
    "地图": "map", "自行车": "bicycle", "电脑": "computer", "笔": "pen", "包": "bag",
    "猫": "cat", "狗": "dog", "鸟": "bird", "马": "horse", "牛": "cow",
    "买": "buy bought", "卖": "sell sold", "找到": "find found", "看见": "see saw", "画": "draw drew",
    "喜欢": "like", "需要": "need", "想要": "want", "选": "chose", "带来": "brought", "丢": "lost",
    "会": "will", "不": "not", "没": "did+not", "在": "in at",
    "商店": "shop", "超市": "supermarket", "市场": "market", "公园": "park", "车站": "station", "学校": "school",
    "家": "home", "昨天": "yesterday", "昨晚": "last+night", "今天": "this", "早上": "morning", "上": "last",
    "下": "next", "星期": "week", "今晚": "tonight", "明天": "tomorrow", "。": ".", "？": "?",
}  # fmt: skip


def breaking(rule_kept, pairs=PAIRS):
    """Return the sentences that break a rule of the grammar."""
    return [f"{' '.join(en)} | {' '.join(zh)}" for en, zh in pairs if not rule_kept(en, zh)]


def test_sentences_read_by_hand_are_right():
    drawn = {" ".join(english): " ".join(chinese) for english, chinese in PAIRS}
    assert {english: drawn.get(english) for english in READ_BY_HAND} == READ_BY_HAND


def test_each_noun_has_its_own_classifier():
    own = {noun: classifier for classifier, nouns in CLASSIFIERS.items() for noun in nouns.split()}

    def kept(english, chinese):
        for i, word in enumerate(chinese):
            if word in CLASSIFIERS:
                noun = next(w for w in chinese[i + 1 :] if w in own)
                if own[noun] != word or chinese[i - 1] not in COUNTING:
                    return False
            elif word in COUNTING and chinese[i + 1] not in CLASSIFIERS:
                return False
        return True

    assert breaking(kept) == []
    assert {word for _, chinese in PAIRS for word in chinese} >= set(CLASSIFIERS)


def test_subject_time_negation_place_and_verb_stand_in_this_order():
    def kept(english, chinese):
        verb = next(i for i, word in enumerate(chinese) if word in VERBS)
        before = [
            "time" if word in TIMES else {"没": "not", "不": "not", "会": "will", "在": "place"}.get(word)
            for word in chinese[:verb]
        ]
        order = [part for part in before if part]
        wanted = sorted(order, key=["time", "not", "will", "place"].index)
        own = [word for word in chinese[verb:] if word in TIMES | {"在", "没", "不", "会"}]
        return order == wanted and before[0] is None and not own

    assert breaking(kept) == []


def test_a_question_is_a_statement_with_ma():
    assert (
        breaking(
            lambda en, zh: (en[-1] == "?") == (zh[-2:] == ["吗", "？"]) == (en[0] in ("did", "will", "do", "does"))
        )
        == []
    )
    assert breaking(lambda en, zh: (en[-1] == ".") == (zh[-1] == "。") == ("吗" not in zh)) == []


def test_the_past_has_le_after_the_verb_and_mei_for_not():
    past = {"bought", "sold", "found", "saw", "drew"}

    def kept(english, chinese):
        verb = next(i for i, word in enumerate(chinese) if word in VERBS)
        negated = "not" in english
        happened = (bool(past & set(english)) or english[0] == "did") and not negated
        return (
            (chinese[verb + 1] == "了") == happened == ("了" in chinese)
            and ("没" in chinese) == (negated and "did" in english)
            and ("不" in chinese) == (negated and "did" not in english)
            and ("会" in chinese) == ("will" in english)
        )

    assert breaking(kept) == []


def test_a_negation_has_no_counted_object():
    assert breaking(lambda en, zh: "not" not in en or not {"一", "两", "三"} & set(zh)) == []


def test_no_one_likes_just_any_object():
    assert breaking(lambda en, zh: "喜欢" not in zh or not {"一", "两", "三"} & set(zh)) == []


def test_an_adjective_of_two_syllables_has_de_and_one_of_one_syllable_has_not():
    def kept(english, chinese):
        following = list(pairwise(chinese))
        return all(
            (other == "的") == (word in LONG_ADJECTIVES)
            for word, other in following
            if word in LONG_ADJECTIVES + SHORT_ADJECTIVES
        )

    assert breaking(kept) == []


def test_close_people_have_no_de_and_things_have():
    people = {"朋友", "老师", "同学", "姐姐", "哥哥", "邻居"}
    owners = {"my", "your", "his", "her"}

    def kept(english, chinese):
        links = LINKS_OF[tuple(english)]
        for i, places in enumerate(links):
            if places and english[places[0]] in owners and (chinese[i + 1] in people) == (chinese[i + 1] == "的"):
                return False
        return ("'s" in english) == any(one in people and other == "的" for one, other in pairwise(chinese))

    assert breaking(kept) == []


def test_a_relative_clause_stands_before_its_noun():
    """English: the N that he chose. Chinese: he chose 的 that N."""

    def kept(english, chinese):
        clause = [i for i, word in enumerate(chinese) if word in ("选", "带来", "丢")]
        if "chose" not in english and "brought" not in english and "lost" not in english:
            return not clause
        (verb,) = clause
        return chinese[verb + 1 : verb + 3] == ["的", "那"] and not TIMES & set(chinese) and "在" not in chinese

    assert breaking(kept) == []


def test_an_english_verb_of_the_present_agrees_with_its_subject():
    third = {"he", "she", "friend", "teacher", "classmate", "student"}

    def kept(english, chinese):
        if not {"喜欢", "需要", "想要"} & set(chinese):
            return True
        subject = english[1 if english[0] in ("do", "does") else 0 :]
        subject = subject[0] if subject[0] in ("I", "you", "he", "she", "we", "they") else subject[1]
        single = bool({"does", "likes", "needs", "wants"} & set(english))
        plural = "do" in english or (bool({"like", "need", "want"} & set(english)) and "does" not in english)
        return (subject in third) == single == (not plural)

    assert breaking(kept) == []


def test_an_english_noun_and_article_agree_with_what_stands_around_them():
    nouns = {DICTIONARY[noun] for own in CLASSIFIERS.values() for noun in own.split()}
    several = {"two", "three", "these", "those"}

    def kept(english, chinese):
        many = 0
        for i, word in enumerate(english):
            following = english[i + 1 :]
            if word in ("a", "an") and (word == "an") != (following[0][0] in "aeiou"):
                return False
            if word in several:
                many += 1
                noun = next(w for w in following if w.rstrip("s") in nouns)
                if not noun.endswith("s"):
                    return False
        return many == sum(word.rstrip("s") in nouns and word.endswith("s") for word in english)

    assert breaking(kept) == []


def test_each_chinese_word_is_linked_to_the_words_that_it_translates():
    for (english, chinese), links in zip(PAIRS, LINKS, strict=True):
        assert len(links) == len(chinese)
        for word, places in zip(chinese, links, strict=True):
            found = "+".join(english[i] for i in places)
            if not places:
                assert word in PARTICLES | set(CLASSIFIERS), word
            else:
                assert found in DICTIONARY[word].split() or found.rstrip("s") in DICTIONARY[word].split(), (word, found)


def test_each_english_word_is_translated_once_or_is_one_that_chinese_leaves_out():
    for (english, _), links in zip(PAIRS, LINKS, strict=True):
        places = [i for own in links for i in own]
        assert len(places) == len(set(places))
        assert {english[i] for i in set(range(len(english))) - set(places)} <= UNTRANSLATED


def test_links_are_those_of_a_sentence_read_by_hand():
    english = ["his", "teacher", "did", "not", "draw", "the", "cute", "dog", "that", "we", "brought", "."]
    links = LINKS_OF[tuple(english)]
    assert links == [(0,), (1,), (2, 3), (4,), (9,), (10,), (), (5,), (), (6,), (), (7,), (11,)]


def test_the_translation_reorders_most_sentences():
    crossing = [
        any(a > b for a, b in pairwise(flat)) for flat in ([i for own in links for i in own] for links in LINKS)
    ]
    assert sum(crossing) / len(crossing) > 0.6


def test_every_word_and_kind_of_sentence_is_met_in_training():
    """Otherwise a test sentence could hold a word that a model has never seen."""
    words = [{word for pair in part for word in pair[0] + pair[1]} for part in (TRAIN, PAIRS)]
    assert words[0] == words[1]
    assert max(len(sentence) for pair in PAIRS for sentence in pair) <= 18


def test_a_rule_places_and_links_the_words_of_both_sides():
    noun = rule("old N", "旧=old N", N=rule("cat", "猫=cat"))
    built = rule("X and N", "N 和=and 了 X", X=rule("last night", "昨晚=last+night"), N=noun)
    assert built == Phrase(
        ("last", "night", "and", "old", "cat"),
        (("旧", (3,)), ("猫", (4,)), ("和", (2,)), ("了", ()), ("昨晚", (0, 1))),
    )


@pytest.mark.parametrize("seed", [0, 5])
def test_sentences_and_links_of_one_call_belong_together(seed):
    pairs = [pair for part in tasks.english_chinese(40, 20, seed) for pair in part]
    links = [own for part in tasks.english_chinese_links(40, 20, seed) for own in part]
    assert [len(own) for own in links] == [len(chinese) for _, chinese in pairs]
    assert all(english[max(own[-1])] in ".?" for (english, _), own in zip(pairs, links, strict=True))
