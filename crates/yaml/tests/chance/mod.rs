//! Chance, for tests of what nobody thought of.

use arbtest::arbitrary::Unstructured;
use arbtest::arbtest;

pub struct Chance<'r, 'b>(&'r mut Unstructured<'b>);

impl Chance<'_, '_> {
    pub fn below(&mut self, n: usize) -> usize {
        self.0.int_in_range(0..=n - 1).expect("without bytes it is the first")
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Runs a check with the chance of a seed, which is the same in every run. A failure names the seed:
/// `arbtest(..).seed(..).minimize()` in place of what is here looks for a smaller example.
pub fn with_chance(seed: u64, mut check: impl FnMut(&mut Chance)) {
    let check = |bytes: &mut Unstructured| {
        check(&mut Chance(bytes));
        Ok(())
    };
    arbtest(check).seed(seed << 32 | BYTES).run();
}

/// How much chance there is for a check: enough for a large document. The low half of a seed is this size.
const BYTES: u64 = 8192;
