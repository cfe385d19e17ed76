//! What was probably meant: the nearest of the words that would have been right.

/// The candidate nearest to a word, where one is near enough to be a slip of the hand.
///
/// ```
/// assert_eq!(krm_yaml::nearest("resorces", ["resources", "patches"]), Some("resources"));
/// assert_eq!(krm_yaml::nearest("unrelated", ["resources", "patches"]), None);
/// ```
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted: Vec<char> = word.to_lowercase().chars().collect();
    // One slip in three letters; a word of one or two letters resembles everything.
    let most = wanted.len() / 3;
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= most.max(1) * 4)
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters must be changed, added, dropped or swapped with their neighbour.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let same = usize::from(a[i] != b[j]);
            let mut least = (last[j] + same).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let fields = ["namespace", "namePrefix", "patches", "patchesStrategicMerge"];
        assert_eq!(nearest("nampespace", fields), Some("namespace"));
        assert_eq!(nearest("pathces", fields), Some("patches"));
        assert_eq!(nearest("NAMEPREFIX", fields), Some("namePrefix"));
        assert_eq!(nearest("x", fields), None);
        assert_eq!(nearest("", fields), None);
    }
}
