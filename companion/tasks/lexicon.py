"""The words of the book's English-Chinese grammar, `companion.tasks.chinese`, with which other words each may stand.

A translation of several words is written as `companion.tasks.grammar.rule` reads it: 昨晚=last+night.

Made for this book. Chapter: book/architecture.
"""

PRONOUNS = {"I": "我", "you": "你", "he": "他", "she": "她", "we": "我们", "they": "他们"}
OWNERS = {"my": "我", "your": "你", "his": "他", "her": "她"}
SUBJECTS = {"friend": "朋友", "teacher": "老师", "classmate": "同学"}  # never the object, so that no one meets himself
OBJECTS = {"sister": "姐姐", "brother": "哥哥", "neighbour": "邻居"}  # of a verb, or owners of a thing
POINTERS = {"this": "这", "that": "那"}
PLURAL_POINTERS = {"these": "这些", "those": "那些"}  # 些 is their classifier, whatever the noun
NUMBERS = {"two": "两", "three": "三"}
PLAIN = {"new": "新", "old": "旧"}
COLOURS = {"red": "红", "black": "黑", "white": "白", "blue": "蓝"}
TO_READ = PLAIN | {"interesting": "有趣"}
TO_WEAR = PLAIN | COLOURS | {"beautiful": "漂亮"}
TO_USE = PLAIN | {"cheap": "便宜"}
LIVING = {"black": "黑", "white": "白", "cute": "可爱"}
THINGS = {
    "book": ("本", "书", TO_READ),
    "magazine": ("本", "杂志", TO_READ),
    "novel": ("本", "小说", TO_READ),
    "shirt": ("件", "衬衫", TO_WEAR),
    "sweater": ("件", "毛衣", TO_WEAR),
    "coat": ("件", "大衣", TO_WEAR),
    "skirt": ("条", "裙子", TO_WEAR),
    "tie": ("条", "领带", TO_WEAR),
    "hat": ("顶", "帽子", TO_WEAR),
    "umbrella": ("把", "雨伞", TO_WEAR),
    "chair": ("把", "椅子", TO_USE),
    "table": ("张", "桌子", TO_USE),
    "map": ("张", "地图", TO_USE),
    "bicycle": ("辆", "自行车", TO_USE),
    "computer": ("台", "电脑", TO_USE),
    "pen": ("支", "笔", TO_USE),
    "bag": ("个", "包", TO_USE),
}  # classifier, noun, and the adjectives that go with it
ANIMALS = {
    "cat": ("只", "猫", LIVING),
    "dog": ("只", "狗", LIVING),
    "bird": ("只", "鸟", LIVING),
    "horse": ("匹", "马", LIVING),
    "cow": ("头", "牛", LIVING),
}
PLACES = {
    "in the shop": "在=in 商店=shop",
    "in the supermarket": "在=in 超市=supermarket",
    "at the market": "在=at 市场=market",
    "in the park": "在=in 公园=park",
    "at the station": "在=at 车站=station",
    "at school": "在=at 学校=school",
    "at home": "在=at 家=home",
}
PAST_TIMES = {
    "yesterday": "昨天=yesterday",
    "last night": "昨晚=last+night",
    "this morning": "今天=this 早上=morning",
    "last week": "上=last 个 星期=week",
}
FUTURE_TIMES = {
    "tonight": "今晚=tonight",
    "tomorrow": "明天=tomorrow",
    "tomorrow morning": "明天=tomorrow 早上=morning",
    "next week": "下=next 个 星期=week",
}
SHOPS, AROUND = list(PLACES)[:3], list(PLACES)[3:6]
EVENTS = {
    "buy": ("bought", "买", "things", SHOPS),
    "sell": ("sold", "卖", "things", SHOPS),
    "find": ("found", "找到", "things animals", AROUND),
    "see": ("saw", "看见", "things animals people", AROUND),
    "draw": ("drew", "画", "animals", ["in the park", "at school", "at home"]),
}  # past form, translation, and what and where
STATES = {"like": ("喜欢", "things animals people"), "need": ("需要", "things"), "want": ("想要", "things animals")}
CLAUSE_VERBS = {"chose": "选", "brought": "带来", "lost": "丢"}  # in a relative clause only
