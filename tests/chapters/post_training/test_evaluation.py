"""Parts that do not meet, runs of words, answers with their confidence, exact chances, and a judge of its own style."""

import math

import pytest
import torch
from torch.testing import assert_close

from companion.chapters.post_training import evaluation, experiments_evaluation, fine_tuning, sums
from companion.transformer import DecoderOnly


def test_no_question_stands_in_two_parts():
    parts = evaluation.split()
    asked = [{question for question, _ in part} for part in parts]
    assert [len(part) for part in asked] == [3335, 200, 500, 1500]
    assert len(set().union(*asked)) == sum(map(len, asked))
    assert parts.benchmark == fine_tuning.pairs()[1]


def test_runs_of_words_leave_out_case_and_punctuation():
    found = evaluation.ngrams("But soft, WHAT light!", 3)
    assert found == {("but", "soft", "what"), ("soft", "what", "light")}
    assert evaluation.ngrams("But soft", 3) == set()
    assert evaluation.words("'Tis his-own") == ["'tis", "his", "own"]


def test_answers_are_those_of_one_question_at_a_time():
    """Property: tokens, truth and confidence, computed for all questions at once, equal those of each alone."""
    model = fine_tuning.tune(fine_tuning.base(), 6, size=4)
    some = fine_tuning.pairs()[1][:6]
    found = evaluation.reply_all(model, some)
    for row, (question, answer) in enumerate(some):
        said = fine_tuning.reply(model, question)
        assert found.tokens[row][found.counted[row]].tolist() == said
        assert found.right[row].item() == (said == [*evaluation.small_gpt.encode(answer).tolist(), fine_tuning.END])
        prompt = fine_tuning.chat([("user", question)], prompt=True)[0]
        logs = model(torch.tensor([[*prompt, *said]]))[0, len(prompt) - 1 : -1].log_softmax(-1)
        alone = logs.gather(1, torch.tensor(said)[:, None]).sum().exp().item()
        assert math.isclose(found.confidence()[row].item(), alone, rel_tol=1e-4)


def test_a_right_word_that_ends_is_right(monkeypatch):
    """Closed form: a model that says SO and ends, or goes on."""
    so = evaluation.small_gpt.encode("SO")
    said = iter([torch.cat([so, torch.tensor([fine_tuning.END])])[None], torch.cat([so, so])[None]])
    monkeypatch.setattr(evaluation, "greedy", lambda *_, **__: next(said))
    model = fine_tuning.base()
    found = evaluation.reply_all(model, [("Be so", "SO")])
    assert found.right.tolist() == [True]
    assert found.counted.sum().item() == 3
    assert evaluation.reply_all(model, [("Be so", "SO")]).right.tolist() == [False]


def test_text_is_read_piece_by_piece():
    model = fine_tuning.base()
    logits, came = evaluation.on_text(model, 256, 256)
    _, text = evaluation.small_gpt.splits()
    assert_close(came, text[257:513], rtol=0, atol=0)
    assert_close(logits[128:], model(text[None, 384:512])[0], rtol=1e-4, atol=1e-4)


def test_targets_are_the_tokens_of_answers():
    model = fine_tuning.base()
    _, wanted = evaluation.targets(model, [("Be so", "SO")])
    assert fine_tuning.show(wanted.tolist()) == "SO<end>"


def test_right_sums_are_all_of_them():
    """Closed form: 2^(n-1) ways to write n as a sum in order, less those with a number above 9."""
    for target, ways in ((4, 8), (9, 256), (11, 1024 - 3), (12, 2048 - 8)):
        found = evaluation.right_sums(target)
        assert len(found.tokens.unique(dim=0)) == len(found.tokens) == ways
        assert sums.is_right(found).all()


def test_the_chance_of_a_right_sum_is_the_share_of_right_samples():
    model = DecoderOnly(sums.config(), seed=0)
    with torch.no_grad():
        model.output.weight[10:] -= 5
    answers = sums.write(model, torch.full((6000, 1), 14), torch.Generator().manual_seed(1))
    share = sums.is_right(answers).double().mean().item()
    assert math.isclose(evaluation.chance_of_right(model, 4), share, abs_tol=4 * math.sqrt(share / 6000))


def test_a_judge_of_its_own_style_prefers_itself():
    """Property: of two writers of right sums, one of long ones and one of short ones, each prefers its own."""

    def writer(seed, digit):
        generator = torch.Generator().manual_seed(seed)
        model = DecoderOnly(sums.config(), seed=seed)
        adam = torch.optim.Adam(model.parameters(), lr=3e-3)
        for _ in range(60):
            prompt = sums.prompts(64, generator)
            rows = torch.zeros(64, sums.LONGEST, dtype=torch.long)
            left = prompt[:, 0] - 10
            for place in range(sums.LONGEST):
                rows[:, place] = left.clamp(max=digit)
                left = left - rows[:, place]
            answers = sums.as_answers(prompt, rows)
            loss = -evaluation.log_probabilities(model, answers).sum() / answers.written.sum()
            adam.zero_grad()
            loss.backward()
            adam.step()
        return model.eval()

    long, short = writer(0, 2), writer(1, 9)
    assert evaluation.own_preferred(long, short, torch.Generator().manual_seed(2), 400) > 0.9
    assert evaluation.own_preferred(short, long, torch.Generator().manual_seed(2), 400) > 0.9


@pytest.mark.parametrize(("rule", "points", "share"), [("always", -50.0, 100.0), ("confident", 25.0, 25.0)])
def test_an_answer_is_given_above_the_threshold_and_a_wrong_one_costs(rule, points, share, monkeypatch):
    """Closed form: four answers, one right; at 0.5 a wrong one costs as much as a right one gains."""
    logits = torch.zeros(4, 1, 2)
    logits[0, 0, 0] = 5.0
    replies = evaluation.Replies(
        logits, torch.zeros(4, 1, dtype=torch.long), torch.ones(4, 1).bool(), torch.tensor([True, False, False, False])
    )
    monkeypatch.setattr(experiments_evaluation, "examined", lambda *_: None)
    monkeypatch.setattr(experiments_evaluation, "reply_all", lambda *_: replies)
    experiments_evaluation.abstained.cache_clear()
    found = experiments_evaluation.abstained(7, 0.5, rule)
    experiments_evaluation.abstained.cache_clear()
    assert found == (points, share)
