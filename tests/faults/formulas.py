"""Faults of the formula sheet: a line that says something else, a check that checks nothing, a page that cuts."""

from faults import Fault

SHEET = "book/formulas.yml"
PAGE = "book/formulas.md"
LATEX = "companion/formulas/latex.py"
CHECK = "companion/formulas/sheet.py"
EXTENSION = "book/extensions/formulas.py"
STYLE = "_build/html/_static/css/formulas.css*"


def value(name: str, old: str, new: str) -> Fault:
    """A line of the sheet that is wrong: the run of the page's cells must find it."""
    test = "tests/notebooks/test_formulas.py::test_every_formula_has_the_value_of_its_second_way"
    return Fault(name, SHEET, old, new, (test,))


def page(test: str) -> tuple[str, ...]:
    return (f"tests/notebooks/test_formulas.py::test_{test}",)


def unit(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_formulas.py::test_{test}",)


SITE = ("tests/site/test_formulas.py::test_the_sheet_on_a_phone_and_on_paper",)
FAULTS = [
    value(
        "the scores of the sheet are divided by d_k",
        r"\operatorname{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}",
        r"\operatorname{softmax}\left(\frac{Q K^\top}{d_k}",
    ),
    value("the gradient of the values lacks its transpose", r"dV = A^\top dO", "dV = A dO"),
    value("the Jacobian of the softmax has a plus", r"{diag}(p) - p^\top p", r"{diag}(p) + p^\top p"),
    value("the backward pass of time runs forward", r"J_{T-k}", r"J_{2+k}"),
    value("the derivative of tanh is that of its square", r"(1 - h_t^2) W_h", r"(1 - h_t) W_h"),
    value("the bound on the gradient is one power too weak", r"(W_h)^{T-1}", r"(W_h)^{T}"),
    value("the mean enters the variance of a score once", r"(1 + 2 \mu^2)", r"(1 + \mu^2)"),
    value("the cache holds keys only", "= 2 L B t", "= L B t"),
    value("shared heads share their queries too", r"2 d_{\text{model}}^2 + 2 d", r"d_{\text{model}}^2 + 2 d"),
    value("the rotation turns the other way", r"\sin p\theta \\ -\sin p\theta", r"-\sin p\theta \\ \sin p\theta"),
    value("the slope of ALiBi rises", r"m_h = 2^{-8 h / n}", r"m_h = 2^{8 h / n}"),
    value("LayerNorm divides without its epsilon", r"\sqrt{\sigma^2 + \epsilon}}", r"\sqrt{\sigma^2}}"),
    value("the backward pass of LayerNorm keeps the mean", r"\operatorname{mean}(\delta) - c", "0 - c"),
    value("pre-norm is post-norm", r"x + F(\operatorname{norm}(x))", r"\operatorname{norm}(x + F(x))"),
    value("the norms of a layer are counted once", r"d_{\text{ff}} + d + 4 d", r"d_{\text{ff}} + d + 2 d"),
    value("the loss is that of base 2", r"L = \ln \sum", r"L = \log_2 \sum"),
    value("smoothing leaves the right token out", r"\frac{\varepsilon}{K}", r"\frac{\varepsilon}{K} (1 - [k = y])"),
    value("bits per byte are nats", r"\frac{T}{B} \frac{L}{\ln 2}", r"\frac{T}{B} L"),
    value(
        "epsilon of Adam stands under the root",
        r"w_t = w_{t-1} - \eta \frac{\hat m_t}{\sqrt{\hat v_t} + \epsilon}",
        r"w_t = w_{t-1} - \eta \frac{\hat m_t}{\sqrt{\hat v_t + \epsilon}}",
    ),
    value("AdamW decays without the rate", r"(1 - \eta \lambda)", r"(1 - \lambda)"),
    value("training costs as much as two forward passes", "C = 6 N D", "C = 4 N D"),
    value("a multiply-add is one operation", "F = 2 a b c", "F = a b c"),
    value("the roofline is the smaller of the two", r"\max\left(\frac{F}{P}", r"\min\left(\frac{F}{P}"),
    value("a bound from below is one from above", r"t \ge \frac{s (N", r"t \le \frac{s (N"),
    value("a refused token is drawn from the wrong difference", "max(0, p_x - q_x)", "max(0, q_x - p_x)"),
    value("speculation counts one token too few", r"\alpha^{\gamma+1}", r"\alpha^{\gamma}"),
    value("the loss of preferences has the wrong sign", r"\rho_w} - \beta", r"\rho_w} + \beta"),
    value("the second stage of ZeRO cuts the weights", r"2 N + \frac{14 N}{n}", r"\frac{16 N}{n}"),
    value("the bubble forgets the last stage", r"\frac{p - 1}{m + p - 1}", r"\frac{p - 1}{m + p}"),
    Fault(
        "a line of the sheet is checked by nothing",
        PAGE,
        'check_formula("adamw", w, **hats, **rates)',
        "_ = hats",
        page("every_line_is_checked_exactly_once"),
    ),
    Fault(
        "a check that clips nothing passes any bound",
        PAGE,
        "torch.tensor([0.5, 100.0])",
        "torch.tensor([90.0, 100.0])",
        page("no_sign_and_no_number_of_a_line_can_change_unnoticed"),
    ),
    Fault(
        "a group is left out of the page",
        PAGE,
        "```{formulas} inference\n```",
        "",
        page("each_group_stands_on_the_page_once_and_in_order"),
    ),
    Fault(
        "a bound is not compared with what was observed",
        CHECK,
        "if not bool(BOUNDS[relation](tensor(observed), bound).all()):",
        "if bound.isnan().any():",
        unit("a_check_fails_or_refuses"),
    ),
    Fault(
        "a statement that nothing checks is let through",
        CHECK,
        "            pending.add(name)\n",
        "            pass\n",
        unit("a_check_fails_or_refuses"),
    ),
    Fault(
        "a minus is read as a plus",
        LATEX,
        'self.take() == "-"',
        'self.take() == "+"',
        unit("an_expression_has_its_value"),
    ),
    Fault(
        "a matrix is multiplied entry by entry",
        "companion/formulas/values.py",
        "else left @ right",
        "else left * right",
        unit("names_side_by_side_are_multiplied_as_matrices_and_odot_entry_by_entry"),
    ),
    Fault(
        "a line may stand twice",
        EXTENSION,
        " or formula.id in {other.id for other in found}",
        "",
        ("tests/notebooks/test_formula_page.py::test_a_line_that_is_not_complete_is_refused",),
    ),
    Fault("the folded checks are printed", STYLE, ":is(.cell, details, .formula-link, ", ":is(.formula-link, ", SITE),
    Fault("the sheet prints in one column", STYLE, "column-count: 2", "column-count: 1", SITE),
]
