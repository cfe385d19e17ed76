//! Layers and steps as a list with rails beside it: what a base does flows into the layer that uses it.

use std::fmt::Write as _;

use krm_engine::page::{LayerKind, Page, PageStep};

use super::{Counts, counted, escaped};

/// The height of a row and the distance of rails, in the units of the drawing.
const HEIGHT: u32 = 28;
const APART: u32 = 13;
/// More rails than this are drawn on top of each other.
const MOST: u32 = 6;

/// How many colours layers have before they begin again.
const HUES: usize = 8;

pub fn write(page: &Page, counts: &Counts, out: &mut String) {
    out.push_str(
        "<nav id=\"graph\" class=\"pane\" aria-label=\"Layers and steps\">\n<ol class=\"layers\">\n",
    );
    let hues = hues(page);
    let deepest = page.layers.iter().map(|layer| layer.depth.min(MOST)).max().unwrap_or(0);
    let mut rails = Rails { lanes: vec![None; deepest as usize + 1], width: 14 + APART * deepest };
    let runs = page.steps.iter().map(|step| step.run as usize + 1).max().unwrap_or(0);
    let mut ends = vec![0; runs];
    page.steps.iter().enumerate().for_each(|(number, step)| ends[step.run as usize] = number);
    let mut open: Option<u32> = None;
    for (number, step) in page.steps.iter().enumerate() {
        let layer = &page.layers[step.layer as usize];
        let hue = hues[step.layer as usize];
        if open != Some(step.layer) {
            if open.is_some() {
                out.push_str("</ol></li>\n");
            }
            open = Some(step.layer);
            let tag = match (layer.kind, layer.again) {
                (LayerKind::Component, _) => "<span class=\"tag\">component</span>",
                (LayerKind::Composition, _) => "<span class=\"tag\">composition</span>",
                (LayerKind::Package, _) => "<span class=\"tag\">package</span>",
                (_, true) => "<span class=\"tag\">again</span>",
                _ => "",
            };
            let name = if layer.name == "." { "this folder" } else { &layer.name };
            let _ = write!(
                out,
                "<li class=\"layer h{hue}\">{}<h2 class=\"name\" title=\"{1}\"><span class=\"path\"><bdi>{1}</bdi></span>{tag}</h2>\n<ol>\n",
                rails.row(layer.depth, hue, Dot::None, Below::GoesOn),
                escaped(name)
            );
        }
        let below = match ends[step.run as usize] == number && layer.depth > 0 {
            true => Below::Ends,
            false => Below::GoesOn,
        };
        let [came, changed, went] = counts.steps[number];
        let size = came + changed + went;
        let warnings = counts.warnings[number];
        let quiet = if size == 0 && warnings == 0 { " quiet" } else { "" };
        // A step that is called by its kind and name does not say its kind again.
        let detail = match step.detail.is_empty() || step.label.starts_with(&format!("{}/", step.detail)) {
            true => String::new(),
            false => format!("<span class=\"detail\"><bdi>{}</bdi></span>", escaped(&step.detail)),
        };
        let _ = writeln!(
            out,
            "<li><a class=\"row{quiet}\" href=\"#step-{number}\" data-step=\"{number}\" title=\"{}\">{}<span class=\"label\">\
             <bdi>{}</bdi></span>{detail}{}</a></li>",
            escaped(&step.id),
            rails.row(layer.depth, hue, Dot::Changes(size), below),
            escaped(&label(step, layer.kind)),
            badges(came, changed, went, warnings)
        );
    }
    if open.is_some() {
        out.push_str("</ol></li>\n");
    }
    let title = if page.failure.is_some() { "stopped here" } else { "result" };
    let _ = write!(
        out,
        "<li class=\"layer h0 end\"><ol><li><a class=\"row result\" href=\"#result\" data-step=\"{}\">{}<span class=\"label\">\
         {title}</span><span class=\"badges\">{}</span></a></li></ol></li>\n</ol>\n</nav>\n",
        page.steps.len(),
        rails.row(0, 0, Dot::Ring, Below::Ends),
        counted(counts.result, "resource")
    );
}

/// The colour of each layer; one that is used twice has one.
pub fn hues(page: &Page) -> Vec<usize> {
    let mut names: Vec<&str> = Vec::new();
    // The target is the last that begins; it has the first colour.
    for layer in page.layers.iter().rev().filter(|layer| !layer.is_finish()) {
        if !names.contains(&layer.name.as_str()) {
            names.push(&layer.name);
        }
    }
    let hue = |name: &str| names.iter().position(|known| *known == name).unwrap_or_default() % HUES;
    page.layers.iter().map(|layer| if layer.is_finish() { HUES } else { hue(&layer.name) }).collect()
}

/// What a step is called here.
pub fn label(step: &PageStep, layer: LayerKind) -> String {
    match (layer, step.label.as_str()) {
        (LayerKind::Finish, "hash") => "hash suffixes".to_owned(),
        (LayerKind::Finish, label) => label.replace('-', " "),
        (_, label) => label.to_owned(),
    }
}

fn badges(came: usize, changed: usize, went: usize, warnings: usize) -> String {
    let mut out = String::from("<span class=\"badges\">");
    let mut badge = |count: usize, class: &str, sign: &str, words: &str| {
        if count > 0 {
            let _ = write!(
                out,
                "<span class=\"{class}\"><span aria-hidden=\"true\">{sign}{count}</span><span class=\"sr\">{count} {words}\
                 </span></span>"
            );
        }
    };
    badge(came, "add", "+", "added, ");
    badge(changed, "mod", "~", "changed, ");
    badge(went, "del", "−", "removed, ");
    badge(warnings, "warn", "!", "warned about, ");
    out + "</span>"
}

/// What is on the rail of a row.
enum Dot {
    /// Nothing: it is a heading.
    None,
    /// The result.
    Ring,
    /// A step, larger the more it changed.
    Changes(usize),
}

/// What becomes of the rail of a row below it.
enum Below {
    GoesOn,
    /// It joins the one on its left, if there is any.
    Ends,
}

/// The state of the rails from row to row.
struct Rails {
    /// The colour of what runs in each, if anything does.
    lanes: Vec<Option<usize>>,
    width: u32,
}

impl Rails {
    /// The piece of the rails beside a row.
    fn row(&mut self, depth: u32, hue: usize, dot: Dot, below: Below) -> String {
        let depth = depth.min(self.lanes.len() as u32 - 1);
        let x = |lane: u32| 8 + APART * lane;
        let (own, middle) = (depth as usize, HEIGHT / 2);
        let mut svg = format!(
            "<svg class=\"rail\" viewBox=\"0 0 {0} {HEIGHT}\" width=\"{0}\" height=\"{HEIGHT}\" aria-hidden=\"true\" \
             focusable=\"false\">",
            self.width + 4
        );
        let mut line = |hue: usize, path: String| {
            let _ = write!(svg, "<path class=\"s{hue}\" d=\"{path}\"/>");
        };
        for (lane, hue) in self.lanes.iter().enumerate().take(own) {
            if let Some(hue) = hue {
                line(*hue, format!("M{} 0V{HEIGHT}", x(lane as u32)));
            }
        }
        if let Some(before) = self.lanes[own] {
            line(before, format!("M{} 0V{middle}", x(depth)));
        }
        for lane in own + 1..self.lanes.len() {
            if let Some(hue) = self.lanes[lane].take() {
                line(hue, format!("M{0} 0C{0} {middle} {1} 0 {1} {middle}", x(lane as u32), x(depth)));
            }
        }
        match (below, depth) {
            (Below::GoesOn, _) => {
                line(hue, format!("M{} {middle}V{HEIGHT}", x(depth)));
                self.lanes[own] = Some(hue);
            }
            (Below::Ends, 0) => self.lanes[own] = None,
            (Below::Ends, _) => {
                line(
                    hue,
                    format!("M{0} {middle}C{0} {HEIGHT} {1} {middle} {1} {HEIGHT}", x(depth), x(depth - 1)),
                );
                self.lanes[own] = None;
                self.lanes[own - 1].get_or_insert(hue);
            }
        }
        match dot {
            Dot::None => {}
            Dot::Ring => {
                let _ = write!(svg, "<circle class=\"ring\" cx=\"{}\" cy=\"{middle}\" r=\"6\"/>", x(depth));
            }
            Dot::Changes(count) => {
                let (class, r) = match count {
                    0 => ("none", 32),
                    count => ("some", 38 + (6.0 * (count as f64).log10().min(4.0)) as u32),
                };
                let _ = write!(
                    svg,
                    "<circle class=\"{class} s{hue}\" cx=\"{}\" cy=\"{middle}\" r=\"{}.{}\"/>",
                    x(depth),
                    r / 10,
                    r % 10
                );
            }
        }
        svg + "</svg>"
    }
}
