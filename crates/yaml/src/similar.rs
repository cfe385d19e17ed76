//! What was probably meant: the nearest of the words that would have been right.

/// The candidate nearest to a word, if one is near enough to be a slip of the hand.
///
/// ```
/// assert_eq!(krm_yaml::nearest("resorces", ["resources", "patches"]), Some("resources"));
/// assert_eq!(krm_yaml::nearest("unrelated", ["resources", "patches"]), None);
/// ```
pub fn nearest<'c>(word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = word.to_lowercase();
    // One slip in three letters; a word of one or two letters resembles everything. A slip is a letter that is changed,
    // added, dropped or swapped with its neighbour.
    let most = wanted.chars().count() / 3;
    candidates
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= most.max(1) * 4)
        .map(|candidate| (distance(&wanted, candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many slips one word is away from another, whatever the case of its letters.
pub fn distance(word: &str, other: &str) -> usize {
    strsim::osa_distance(&word.to_lowercase(), &other.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let fields = ["directory", "filePrefix", "patterns", "patternsIgnored"];
        assert_eq!(nearest("dirrectory", fields), Some("directory"));
        assert_eq!(nearest("pattenrs", fields), Some("patterns"));
        assert_eq!(nearest("FILEPREFIX", fields), Some("filePrefix"));
        assert_eq!(nearest("x", fields), None);
        assert_eq!(nearest("", fields), None);
    }
}
