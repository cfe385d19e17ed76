//! The page: a build to look at, in one file.
//!
//! [`html`] is a function from the data of a page ([`krm_engine::page::Page`]) to its text. The text holds everything: style,
//! script and data. It asks nobody for anything, and a content security policy makes sure of that. Without script it is a
//! document with the same steps, changes and result; the script turns that into something to move about in.
//!
//! A server that keeps a page up to date passes [`Mode::Live`]. The page then listens to server-sent events at the address
//! it is given (same origin, relative), and knows three kinds:
//!
//! | event | data | what the page does |
//! | --- | --- | --- |
//! | `changed` | anything | gets its own address again, and shows the new data; step, resource and field stay chosen |
//! | `failed` | the diagnostics as text | shows them above the last good state |
//! | `good` | anything | takes the diagnostics away |

mod encode;
mod fallback;
mod graph;
mod layers;
mod lean;

use std::fmt::Write as _;
use std::sync::LazyLock;

use krm_engine::page::Page;

pub use layers::layers;

/// The look of a page to move about in, and of one that is a list.
static EXPLORE: LazyLock<String> =
    LazyLock::new(|| lean::style(concat!(include_str!("style/base.css"), include_str!("style/explore.css"))));
static LISTS: LazyLock<String> =
    LazyLock::new(|| lean::style(concat!(include_str!("style/base.css"), include_str!("style/lists.css"))));
/// What a page does, one idea each: each uses those before it.
const SCRIPTS: [&str; 11] = [
    include_str!("script/dom.js"),
    include_str!("script/data.js"),
    include_str!("script/address.js"),
    include_str!("script/source.js"),
    include_str!("script/words.js"),
    include_str!("script/resource.js"),
    include_str!("script/step.js"),
    include_str!("script/history.js"),
    include_str!("script/timeline.js"),
    include_str!("script/search.js"),
    include_str!("script/controls.js"),
];
/// What only a page does that is served.
const LIVE: &str = include_str!("script/live.js");
const BEGIN: &str = include_str!("script/begin.js");
/// Runs before anything is shown, so that nothing is shown twice.
const EARLY: &str = "document.documentElement.classList.add('js')";

/// What a page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode<'a> {
    /// A file, to be kept and sent around.
    File,
    /// The view of a server, which says at this address when there is something new.
    Live { events: &'a str },
}

/// The text of a page.
pub fn html(page: &Page, mode: Mode) -> String {
    let counts = Counts::new(page);
    let (connect, live) = match mode {
        Mode::File => ("", String::new()),
        Mode::Live { events } => ("; connect-src 'self'", format!(" data-events=\"{}\"", escaped(events))),
    };
    let script = script(mode);
    let policy = format!(
        "default-src 'none'; script-src '{}' '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'{connect}",
        encode::integrity(EARLY),
        encode::integrity(&script),
        encode::integrity(&EXPLORE),
    );
    let mut out = head(&page.title, &policy, &live, &EXPLORE, &format!("<script>{EARLY}</script>\n"));
    let _ = write!(
        out,
        "<p class=\"facts\">{}</p></div>\n<div class=\"tools\" id=\"tools\"></div></div>\n\
         <div id=\"strip\" class=\"strip\" hidden></div>\n\
         <div id=\"notice\" class=\"notice\" role=\"status\" hidden></div>\n</header>\n<main class=\"panes\">\n",
        facts(page, &counts)
    );
    graph::write(page, &counts, &mut out);
    out.push_str("<section id=\"resources\" class=\"pane\" aria-label=\"Resources\" tabindex=\"-1\">\n<div class=\"static\">\n");
    fallback::write(page, &counts, &mut out);
    out.push_str(
        "</div>\n</section>\n<section id=\"history\" class=\"pane\" aria-label=\"History\" tabindex=\"-1\"></section>\n</main>\n",
    );
    let (encoding, data) = encode::data(&page.json());
    let _ = write!(
        out,
        "<script type=\"application/json\" id=\"data\" data-encoding=\"{encoding}\">{data}</script>\n\
         <script>{script}</script>\n</body>\n</html>\n"
    );
    out
}

/// A page without script: a list to jump from, if there is anything to jump to, and what it leads to. Each part is named
/// for who cannot see it.
pub fn plain_page(
    title: &str,
    facts: &str,
    (nav_name, nav): (&str, &str),
    (name, body): (&str, &str),
) -> String {
    let policy = format!(
        "default-src 'none'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        encode::integrity(&LISTS)
    );
    let mut out = head(title, &policy, "", &LISTS, "");
    let nav = match nav.is_empty() {
        true => String::new(),
        false => format!("<nav id=\"graph\" class=\"pane\" aria-label=\"{nav_name}\">\n{nav}</nav>\n"),
    };
    let _ = write!(
        out,
        "<p class=\"facts\">{facts}</p></div></div>\n</header>\n<main class=\"panes\">\n{nav}\
         <section id=\"resources\" class=\"pane\" aria-label=\"{name}\" tabindex=\"-1\">\n{body}</section>\n</main>\n</body>\n</html>\n"
    );
    out
}

/// How every page begins, up to its name: what is in the bar at the top comes next.
fn head(title: &str, policy: &str, attributes: &str, style: &str, early: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html>\n<html lang=\"en\"{attributes}>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title} · krm</title>\n<link rel=\"icon\" href=\"{ICON}\">\n<style>{style}</style>\n{early}</head>\n<body>\n\
         <a class=\"skip\" href=\"#resources\">Skip to the resources</a>\n<header>\n<div class=\"top\"><div class=\"brand\">{MARK}\
         <h1><bdi>{title}</bdi></h1>"
    )
}

/// The script of a page, as one.
fn script(mode: Mode) -> String {
    let live = matches!(mode, Mode::Live { .. }).then_some(LIVE);
    let parts: String = SCRIPTS.into_iter().chain(live).chain([BEGIN]).collect();
    format!("(()=>{{'use strict';{}}})();", lean::script(&parts))
}

/// What each step did, counted.
struct Counts {
    /// Came, changed, went; by step.
    steps: Vec<[usize; 3]>,
    /// Warnings, by step.
    warnings: Vec<usize>,
    /// How many resources are in the result.
    result: usize,
}

impl Counts {
    fn new(page: &Page) -> Self {
        let mut steps = vec![[0; 3]; page.steps.len()];
        let mut count = |step: u32, what: usize| {
            if let Some(step) = steps.get_mut(step as usize) {
                step[what] += 1;
            }
        };
        for resource in &page.resources {
            for (number, version) in resource.versions.iter().enumerate() {
                count(version.step, usize::from(number > 0));
            }
            resource.gone.into_iter().for_each(|step| count(step, 2));
        }
        let mut warnings = vec![0; page.steps.len()];
        page.warnings.iter().filter_map(|warning| warning.step).for_each(|step| warnings[step as usize] += 1);
        let result = page.resources.iter().filter(|resource| resource.gone.is_none()).count();
        Self { steps, warnings, result }
    }
}

fn facts(page: &Page, counts: &Counts) -> String {
    let mut facts = vec![
        counted(counts.result, "resource"),
        counted(page.layers.iter().filter(|layer| !layer.is_finish()).count(), "layer"),
        counted(page.steps.len(), "step"),
    ];
    if !page.warnings.is_empty() {
        facts.push(format!("<strong>{}</strong>", counted(page.warnings.len(), "warning")));
    }
    facts.join(" · ")
}

/// `1 step`, `2 steps`.
pub fn counted(count: usize, what: &str) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|part| std::str::from_utf8(part).unwrap_or_default())
        .collect();
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {what}{plural}", groups.join(","))
}

/// A text as it is written in HTML, between tags or in an attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// A sentence of ours in HTML, with what it quotes in backticks as code.
pub fn prose(text: &str) -> String {
    let escaped = escaped(text);
    let parts: Vec<&str> = escaped.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped;
    }
    let code = |(at, part): (usize, &&str)| match at % 2 {
        0 => (*part).to_owned(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(code).collect()
}

/// Three layers, one above the other.
const MARK: &str = "<svg class=\"mark\" viewBox=\"0 0 24 24\" width=\"24\" height=\"24\" aria-hidden=\"true\" focusable=\"false\">\
    <path class=\"m3\" d=\"M12 13.5 3 18l9 4.5 9-4.5z\"/><path class=\"m2\" d=\"M12 8 3 12.5 12 17l9-4.5z\"/>\
    <path class=\"m1\" d=\"M12 2.500 3 7l9 4.500L21 7z\"/></svg>";
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E\
    %3Cpath fill='%230f8577' d='M12 13.5 3 18l9 4.5 9-4.5z'/%3E%3Cpath fill='%23c2700c' d='M12 8 3 12.5 12 17l9-4.5z'/%3E\
    %3Cpath fill='%234f5bd5' d='M12 2.5 3 7l9 4.5L21 7z'/%3E%3C/svg%3E";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(counted(1, "step"), "1 step");
        assert_eq!(counted(4000, "resource"), "4,000 resources");
        assert_eq!(counted(1234567, "line"), "1,234,567 lines");
    }

    #[test]
    fn what_is_quoted_is_code() {
        assert_eq!(prose("none named `a<b`"), "none named <code>a&lt;b</code>");
        assert_eq!(prose("a ` alone"), "a ` alone");
    }

    /// The size that is promised for everything but the data and the text without script.
    #[test]
    fn the_shell_is_small() {
        let shell = head("", "", "", &EXPLORE, "").len() + script(Mode::Live { events: "" }).len();
        assert!(shell <= 60_000, "{shell} bytes");
    }

    #[test]
    fn nothing_of_a_name_is_markup() {
        assert_eq!(escaped("</script><b a='\"&"), "&lt;/script&gt;&lt;b a=&#39;&quot;&amp;");
    }
}
