//! Which file of one side is which of the other, under another path.

use std::path::Path;

use rustc_hash::FxHashMap;

/// How much of two files must be the same for one to be the other, moved.
const ALIKE: f64 = 0.5;
/// The most leftovers to compare each with each.
const MOST: usize = 200;

/// Pairs files, given by path and content, that are on one side only: the same content first, then the same name, then any
/// that have at least half of their lines in common.
pub(super) fn pairs(gone: &[(&str, String)], new: &[(&str, String)]) -> Vec<(usize, usize)> {
    let mut of_new: Vec<Option<usize>> = vec![None; new.len()];
    let mut taken = vec![false; gone.len()];
    // A content that several files have says nothing, but their names may.
    for with_name in [true, false] {
        let key = |(path, text): &(&str, String)| (with_name.then(|| name(path).to_owned()), text.clone());
        let mut places: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for at in (0..gone.len()).filter(|at| !taken[*at] && !gone[*at].1.is_empty()) {
            places.entry(key(&gone[at])).or_default().push(at);
        }
        let mut wanted: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for at in (0..new.len()).filter(|at| of_new[*at].is_none()) {
            wanted.entry(key(&new[at])).or_default().push(at);
        }
        for (key, at) in wanted {
            if let (&[at], Some(&[place])) = (&at[..], places.get(&key).map(Vec::as_slice)) {
                (of_new[at], taken[place]) = (Some(place), true);
            }
        }
    }
    let rest_gone: Vec<usize> = (0..gone.len()).filter(|at| !taken[*at]).collect();
    let rest_new: Vec<usize> = (0..new.len()).filter(|at| of_new[*at].is_none()).collect();
    if rest_gone.len() <= MOST && rest_new.len() <= MOST {
        let mut alike: Vec<(bool, f64, usize, usize)> = Vec::new();
        for (x, y) in rest_gone.iter().flat_map(|x| rest_new.iter().map(move |y| (*x, *y))) {
            let is_same_name = name(gone[x].0) == name(new[y].0);
            alike.push((is_same_name, similarity(&gone[x].1, &new[y].1), x, y));
        }
        alike.retain(|(_, alike, _, _)| *alike >= ALIKE);
        alike.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then((a.2, a.3).cmp(&(b.2, b.3))));
        for (_, _, x, y) in alike {
            if !taken[x] && of_new[y].is_none() {
                (of_new[y], taken[x]) = (Some(x), true);
            }
        }
    }
    of_new.iter().enumerate().filter_map(|(at, place)| Some(((*place)?, at))).collect()
}

fn name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// How many lines of the longer of two texts are in the other, too.
fn similarity(a: &str, b: &str) -> f64 {
    let mut left: FxHashMap<&str, usize> = FxHashMap::default();
    a.lines().for_each(|line| *left.entry(line).or_default() += 1);
    let mut same = 0;
    for line in b.lines() {
        if let Some(count) = left.get_mut(line).filter(|count| **count > 0) {
            *count -= 1;
            same += 1;
        }
    }
    same as f64 / a.lines().count().max(b.lines().count()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_by_content_and_name() {
        let files = |files: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
            files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect()
        };
        let gone = files(&[("a/x.yaml", "1\n2\n3\n"), ("a/y.yaml", "4\n5\n6\n"), ("a/z.yaml", "7\n8\n")]);
        let new = files(&[("b/y.yaml", "4\n5\n7\n"), ("b/new.yaml", "1\n2\n3\n"), ("b/other.yaml", "9\n")]);
        assert_eq!(pairs(&gone, &new), [(1, 0), (0, 1)]);
    }
}
