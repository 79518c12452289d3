//! The frame of all pages: content policy, style, script and the bar at the top.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use rye_sign::Digest;

use super::links::Links;
use super::text::{Shown, plain};

const STYLE: &str = include_str!("../assets/style.css");
const SCRIPT: &str = include_str!("../assets/script.js");
const SYMBOLS: &str = include_str!("../assets/symbols.svg");

/// The content policy of a page of the server, whose forms and events ask the same server.
pub(crate) fn served_policy() -> String {
    policy("'self'")
}

/// The content policy of a page: its own style and script, by their hashes, and nothing from anywhere.
fn policy(own: &str) -> String {
    let hash = |text: &str| STANDARD.encode(Digest::of(text.as_bytes()).as_bytes());
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src {own}; base-uri 'none'; form-action {own}",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// A whole page.
pub(crate) fn document(title: &str, project: &str, links: Links, body: &Markup) -> Markup {
    let forms = if links == Links::Served { "'self'" } else { "'none'" };
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(forms));
                meta name="viewport" content="width=device-width,initial-scale=1";
                meta name="referrer" content=(if links == Links::Served { "same-origin" } else { "no-referrer" });
                title { (plain(title)) " · Rye" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                svg.vh width="0" height="0" aria-hidden="true" focusable="false" {
                    defs { (PreEscaped(SYMBOLS)) }
                }
                (bar(title, project, links))
                main #main { (body) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// A page that leads to another one of the server, with and without a click.
pub(crate) fn entrance(address: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content={ "0;url=" (address) };
                title { "Rye" }
            }
            body { a href=(address) { "Threads" } }
        }
    };
    page.into_string()
}

fn bar(title: &str, project: &str, links: Links) -> Markup {
    html! {
        header.top {
            div { b { "Rye" } @if !project.is_empty() { " " span.where { "/ " (Shown(project)) } } }
            @if links == Links::Served {
                nav aria-label="Pages" { ul {
                    @for (name, address) in [("Threads", "../threads/"), ("Compare", "../compare/")] {
                        li { a href=(address) aria-current=[(title == name).then_some("page")] { (name) } }
                    }
                } }
            }
            div.end { @if links == Links::Served { span.note { "loopback only" } } (colours()) }
        }
    }
}

fn colours() -> Markup {
    html! {
        fieldset.seg {
            legend.vh { "Colours" }
            @for (value, label) in [("auto", "Auto"), ("light", "Light"), ("dark", "Dark")] {
                label {
                    input type="radio" name="cs" value=(value) id={ "cs-" (value) } checked[value == "auto"];
                    (label)
                }
            }
        }
    }
}

/// A symbol before a text that says the same.
pub(crate) fn icon(name: &str) -> Markup {
    html! { svg.i aria-hidden="true" { use href={ "#i-" (name) } {} } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_cannot_end_their_elements() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
    }

    #[test]
    fn the_policy_allows_nothing_but_two_hashes() {
        let policy = policy("'none'");
        assert_eq!(policy.matches("sha256-").count(), 2);
        assert!(!policy.contains("unsafe") && !policy.contains("http"));
    }
}
