"""Pages for property tests: trees with links in all places."""

from typing import cast

from hypothesis import strategies as st

from tplspider.web.html import Element, parse_html

TAGS = st.sampled_from(["div", "ul", "li", "p", "nav", "td", "section", "span", "b"])
HREFS = st.sampled_from(
    [
        *"a.html b.html ./a.html /a.html#x /docs/c.html /docs/deep/er/d ../up.html ?q=1".split(),
        *"?b=1&a=2 /docs/?a=2&b=1 #part \\docs\\f.html http://www.example.org/docs/g.html".split(),
        *"https://example.org/docs/h.html HTTPS://example.org/docs/o.html /docs/l.pdf".split(),
        *"/docs/p.pdf?next=/ http://example.org:8080/docs/i.html /docs/M.ZIP?x=1".split(),
        *"http://sub.example.org/j.html //other.example/k.html mailto:me@example.org".split(),
        *"javascript:void(0) /docs/n.tar.gz http://[::1 http://example.org:port/".split(),
        *"/docs/ü.html ///me:secret@example.org/docs/q.html ///docs/r.html".split(),
        *"http:/me:secret@example.org/docs/q.html http:me:secret@example.org".split(),
        *"/docs/%C3%BC.html http://user:password@example.org/docs/h.html //user@".split(),
        *"//user@example.org/docs/a@b.html \\\\user:pass:word@EXAMPLE.org\\docs\\h.html".split(),
        *"http://@example.org/docs/q.html http://user:password@/docs/r.html".split(),
        *"/docs/user:password@s.html http://süb.example.org/ http://bücher.example/".split(),
        *"http://\uff45xample.org/docs/v.html http://www.EXAMPLE\uff0eorg/docs/w.html".split(),
        *("", " /docs/e.html ", f"http://{'h' * 253}/", f"http://{'ü' * 254}/"),
        f"http://{'ü.' * 150}example.org/",
        f"http://{'xn--tda.' * 30}example.org/",
        f"http://{'ü.' * 30}example.org/",  # too long in ASCII alone
        f"http://sub.{'x' * 60}.example.org/",
        f"//{'ü' * 300}@example.org/docs/t.html",
        *(f"http://example.org:{sign * 300}80/docs/u.html" for sign in "08ü"),
        "http://[::1]" + "ü" * 300 + "/",
        f"/docs/{'long/' * 20}?b=1&a=2",
        f"http://user:password@example.org/docs/{'./x ' * 30}",
    ]
)


def _element(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(
        lambda tag, inner: f"<{tag}>{''.join(inner)}</{tag}>", TAGS, st.lists(children, max_size=5)
    )


LINKS = st.one_of(
    st.builds('<a href="{}">x</a>'.format, HREFS),
    st.builds('<a href="{}" download>x</a>'.format, HREFS),
    st.builds('<area href="{}">'.format, HREFS),
    st.builds('<a href="{}"><area href="{}"></a>'.format, HREFS, HREFS),
    st.just("<a name=x>no link</a>"),
    st.just("some text "),
)
BASES = st.sampled_from(
    [
        *("", "", ""),
        '<base href="/docs/">',
        '<base target="x"><base href="http://example.org/deep/x">',
        '<base href="http://user:password@example.org/deep/x">',
        f'<base href="http://{"ü" * 300}/deep/x">',
        f'<base href="/{"deep/" * 20}">',
        '<base href="nowhere://süb.example.org/x">',
        '<base href="//süb.example.org/deep/x">',
    ]
)
BODIES = st.lists(st.recursive(LINKS, _element, max_leaves=25), max_size=4).map("".join)
DOCUMENTS = st.one_of(
    st.builds("<html><head>{}</head><body>{}</body></html>".format, BASES, BODIES),
    st.builds("<html><body>{}</body></html>{}".format, BODIES, BASES),
    # Two top-level elements.
    st.builds("<html><head></head></html>{}<body>{}</body></html>".format, BODIES, BODIES),
    BODIES,
)


def select(html: str, xpath: str) -> list[Element]:
    return cast("list[Element]", parse_html(html).xpath(xpath))
