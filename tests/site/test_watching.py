"""What the tests of the site look with: axe on thinned-out pages, and the watch for other hosts. No site is needed."""

import pytest

from tests.site.accessibility import axe_faults
from tests.site.conftest import Watch, serve

pytestmark = pytest.mark.browser
PLAIN = "<p>A readable sentence.</p>"
PALE = '<p style="color: #ccc">A pale sentence.</p>'


@pytest.fixture
def shown(browser):
    """Lay text out on a white page, and give the tab."""
    context = browser.new_context()
    tab = context.new_page()

    def show(text):
        page = f'<title>t</title><main style="background: #fff"><h1>Title</h1>{text}</main>'
        tab.set_content(f'<!doctype html><html lang="en">{page}')
        return tab

    yield show
    context.close()


def kinds(found):
    return [fault.partition(":")[0] for fault in found]


def test_pale_words_behind_many_readable_ones_are_found(shown):
    assert axe_faults(shown(PLAIN * 40)) == []
    assert kinds(axe_faults(shown(PLAIN * 40 + PALE))) == ["color-contrast"]


def test_colours_are_looked_at_twelve_times_over_all_pages_and_new_ones_still(shown):
    seen = {}
    for _ in range(6):
        assert axe_faults(shown(PLAIN * 5), seen=seen) == []
    assert sorted(seen.values()) == [6, 12]  # the heading of each page, and its sentences
    assert kinds(axe_faults(shown(PLAIN + PALE), seen=seen)) == ["color-contrast"]
    assert len(seen) == 3


def test_small_text_is_looked_at_though_large_text_in_its_colours_was(shown):
    seen = {}
    for _ in range(6):
        assert axe_faults(shown('<p style="color: #808080; font-size: 24px">Large.</p>' * 5), seen=seen) == []
    found = axe_faults(shown(PLAIN + '<p style="color: #808080; font-size: 23px">Small.</p>'), seen=seen)
    assert kinds(found) == ["color-contrast"]


@pytest.mark.parametrize("around", ["opacity: 0.3", "background: #222"])
def test_a_colour_is_looked_at_again_where_what_surrounds_it_differs(shown, around):
    seen = {}
    line = '<p style="background: #fff">A readable sentence.</p>' if "opacity" in around else PLAIN
    for _ in range(6):
        assert axe_faults(shown(line * 5), seen=seen) == []
    assert kinds(axe_faults(shown(f'<div style="{around}">{line}</div>'), seen=seen)) == ["color-contrast"]


def test_every_other_rule_is_asked_unless_contrast_alone_is_wanted(shown):
    picture = '<img src="data:," width="9" height="9">'
    assert kinds(axe_faults(shown(PLAIN + picture))) == ["image-alt"]
    assert axe_faults(shown(PLAIN + picture), contrast_only=True) == []


def test_links_that_hardly_differ_from_their_text_are_found_where_links_are_asked_for(shown):
    line = '<p>A readable sentence with <a href="#" style="color: #333; text-decoration: none">a link</a> in it.</p>'
    assert kinds(axe_faults(shown(line))) == ["link-in-text-block"]
    assert axe_faults(shown(line), links=False) == []


def test_words_that_were_emptied_come_back(shown):
    tab = shown(PLAIN * 40)
    axe_faults(tab)
    assert tab.inner_text("main").count("readable") == 40


def test_a_request_to_another_host_or_port_is_heard_and_does_not_leave(browser, tmp_path):
    with serve(tmp_path) as gone:
        pass
    others = ["https://example.org/a.js", f"{gone}/a.js"]
    scripts = "".join(f'<script src="{other}"></script>' for other in others)
    (tmp_path / "page.html").write_text(f"<!doctype html>{scripts}", "utf8")
    with serve(tmp_path) as address:
        context = browser.new_context()
        watch = Watch()
        watch.follow(context)
        context.new_page().goto(f"{address}/page.html")
        context.close()
    assert sorted(watch.other_hosts) == sorted(watch.failed) == sorted(others)
