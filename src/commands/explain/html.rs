//! The whole build as a page, opened at what was asked for.

use std::path::Path;

use krm_engine::explain::{FieldPath, ResourceName, lines, locate, resources};
use krm_engine::page::{Wanted, page};
use krm_engine::trace::Segment;
use krm_engine::{Diagnostic, Result, Track};

use super::{Answerer, ExplainArgs, Traced};
use crate::os;
use crate::page::{Mode, html};

/// Writes the page of a target. A build that fails has one too, up to the step that failed.
pub(super) fn write(
    answerer: &Answerer,
    args: &ExplainArgs,
    mask: &[FieldPath],
    all: &[Traced],
    words: &[String],
    file: &Path,
) -> Result<()> {
    let [one] = all else {
        let message = format!("a page shows one folder, and {} are named", all.len());
        return Err(Diagnostic::error("explain-html-folders", message).help("write a page for each of them"));
    };
    let wanted = Wanted {
        target: &one.target,
        home: &std::env::current_dir().unwrap_or_default(),
        depth: answerer.depth,
        show_secrets: args.show_secrets,
        mask,
        warnings: &answerer.session.warnings_of(&one.target),
        failure: one.built.as_ref().err(),
        start: start(one, words, args.line)?,
    };
    let page = page(&one.trace, &answerer.report.sources, &wanted);
    os::write(file, html(&page, Mode::File).as_bytes())?;
    one.failure()
}

/// What the page shows first: the first resource and field that the words mean.
fn start(one: &Traced, words: &[String], line: Option<usize>) -> Result<Option<(Track, Vec<Segment>)>> {
    if let Some(line) = line {
        one.failure()?;
        let (found, path) = lines::at_line(&one.trace, line)?;
        return Ok(Some((found.track, path)));
    }
    let Some((resource, fields)) = words.split_first() else { return Ok(None) };
    let found = match resources(&one.trace, &ResourceName::parse(resource)?) {
        Ok(mut found) => found.swap_remove(0),
        // Why there is nothing is in the error of the build, which the page shows.
        Err(_) if one.built.is_err() => return Ok(None),
        Err(error) => return Err(error),
    };
    let path = match fields.first() {
        Some(field) => {
            locate(&one.trace, &found, &FieldPath::parse(field)?).into_iter().next().map(|at| at.path)
        }
        None => None,
    };
    Ok(Some((found.track, path.unwrap_or_default())))
}
