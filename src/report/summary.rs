//! Words for the line that sums up what a command did.

/// `1 file`, `2 files`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The names of files, as many as anyone reads: `a.yaml, b.yaml`.
pub fn names(all: impl ExactSizeIterator<Item = impl Into<String>>) -> String {
    const MOST: usize = 8;
    let more = all.len().saturating_sub(MOST);
    let mut names: Vec<String> = all.take(MOST).map(Into::into).collect();
    if more > 0 {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
