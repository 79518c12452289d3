use super::*;

const LONG: Duration = Duration::from_secs(60);

fn base() -> Url {
    Url::parse("https://example.org/guide/page.html").unwrap()
}

#[track_caller]
fn check(html: &str, markdown: &str, text: &str) {
    let page = |style| page(html, &base(), Grammar::Html, style, 1 << 20, LONG).text;
    assert_eq!(page(Style::Markdown), markdown, "{html}");
    assert_eq!(page(Style::Text), text, "{html}");
}

#[test]
fn blocks_and_marks() {
    check("<h1>A <i>b</i></h1><p>c\n d<p>e", "# A *b*\n\nc d\n\ne", "A b\n\nc d\n\ne");
    check("a<br>b<hr>c", "a\nb\n\n---\n\nc", "a\nb\n\nc");
    check("x <b> y </b> z", "x **y** z", "x y z");
    check("<b></b>a<code>b`c</code>", "a``b`c``", "ab`c");
    check("<blockquote><p>a<p>b</blockquote>c", "> a\n>\n> b\n\nc", "a\n\nb\n\nc");
    check("<div>a</div><div>b</div>", "a\nb", "a\nb");
}

#[test]
fn lists() {
    check(
        "<ul><li>a<li><p>b</p><ol><li>c</ol></ul>d",
        "- a\n- b\n\n  1. c\n\nd",
        "- a\n- b\n\n  1. c\n\nd",
    );
    check("<p>x<ol><li>a</li><li>b</li></ol>", "x\n\n1. a\n2. b", "x\n\n1. a\n2. b");
    check("<li>alone", "- alone", "- alone");
}

#[test]
fn links_can_be_asked_for() {
    check("<a href='../x?a=(b)'>y</a>!", "[y](https://example.org/x?a=%28b%29)!", "y!");
    check("<a href='javascript:z()'>y</a>", "y", "y");
    check("<a href='#top'>y</a>", "y", "y");
    check("<a href='data:text/html,x'>y</a> <a>z</a>", "y z", "y z");
    check("<base href='https://b.example/'><a href=c>y</a>", "[y](https://b.example/c)", "y");
    check(
        "<img alt='a [b]' src=p.png><img src=q.png>",
        "![a b](https://example.org/guide/p.png)",
        "a [b]",
    );
}

#[test]
fn what_is_written_as_it_is() {
    check("<pre>a  b\n ```\n</pre>c", "````\na  b\n ```\n````\n\nc", "a  b\n ```\n\nc");
    check("<pre><code>x\n</code></pre>", "```\nx\n```", "x");
}

#[test]
fn tables() {
    check(
        "<table><tr><th>a<th>b|c</tr><tr><td>1</td><td><p>2<p>3</td></tr></table>d",
        "| a | b\\|c |\n| --- | --- |\n| 1 | 2 3 |\n\nd",
        "a b|c\n1 2 3\n\nd",
    );
}

#[test]
fn what_nobody_reads_is_left_out() {
    check("a<script>if (a<b) { '<p>' }</script>b<style>p{}</style>c", "abc", "abc");
    check("a<svg><text>x</text><svg></svg>y</svg>b<template>t</template>", "ab", "ab");
    check("<!-- a --><!doctype html>b&amp;&lt;&#x41;", "b&<A", "b&<A");
    check("<iframe><p>x</iframe>a<noscript>b</noscript>", "ab", "ab");
}

/// In XML, an element that is closed where it opens is empty. In HTML, it contains the text after it.
#[test]
fn the_type_says_how_a_page_is_read() {
    let check = |page_text: &str, html: &str, xml: &str| {
        let text = |grammar| page(page_text, &base(), grammar, Style::Text, 1 << 20, LONG).text;
        assert_eq!(
            (text(Grammar::Html).as_str(), text(Grammar::Xml).as_str()),
            (html, xml),
            "{page_text}"
        );
    };
    check("a<script/>b", "a", "ab");
    check("a<script src='x'/>b<p>c</p>", "a", "ab\n\nc");
    check("a<style/>b", "a", "ab");
    check("<title/>a", "", "a");
    check("a<textarea/>b<p>c</p>", "ab<p>c</p>", "ab\n\nc");
    check("a<iframe/>b", "a", "ab");
    check("a<template/>b<video/>c", "a", "abc");
    check("<svg><title/>x</svg>a", "a", "a");
    check("<svg/>a<svg><path/><script/></svg>b", "ab", "ab");
    check("<p/>a<b/>b", "ab", "ab");
    check("<ul><li/></ul>a", "- \n\na", "- \n\na");
    check("a<script>if (a &lt; b) { }</script>b", "ab", "ab");
    check("a<script><![CDATA[ '</script>' ]]></script>b", "a' ]]>b", "ab");
    check("a<![CDATA[<b>&amp;]]>c", "a&]]>c", "a<b>&amp;c");
}

#[test]
fn the_title_stands_apart() {
    let page = page(
        "<title> A\n b </title><title>c</title><p>d",
        &base(),
        Grammar::Html,
        Style::Text,
        100,
        LONG,
    );
    assert_eq!((page.title.as_deref(), page.text.as_str()), (Some("A b"), "d"));
}

#[test]
fn a_hostile_page_takes_no_more_than_its_length() {
    for open in [
        "<div>",
        "<b>",
        "<ul><li>",
        "<blockquote>x",
        "<table><tr><td>",
        "<table>",
        "<pre>",
        "<a href=x>y",
        "<svg>",
        "<ol>",
        "<blockquote><ol><pre>\n\n\n\n",
    ] {
        let html = open.repeat(500_000 / open.len());
        let page = page(&html, &base(), Grammar::Html, Style::Markdown, 300_000, LONG);
        assert!(page.text.len() < 400_000, "{open} {}", page.text.len());
    }
}

#[test]
fn a_tag_that_takes_for_ever_is_not_read_to_its_end() {
    let attributes: String = (0..200_000).map(|number| format!(" a{number}")).collect();
    let html = format!("<p>before<p{attributes}>after");
    let page = page(&html, &base(), Grammar::Html, Style::Text, 1 << 20, Duration::ZERO);
    assert_eq!((page.text.as_str(), page.is_cut), ("before", true));
}
