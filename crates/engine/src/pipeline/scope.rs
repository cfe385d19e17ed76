//! Which resources a step sees.

use std::fmt;
use std::sync::Arc;

use crate::resource::list::Resources;
use crate::resource::{Home, Resource};

/// Which resources a step sees. The others pass by it: they are not given to it, and it cannot remove them.
///
/// ```
/// use krm_engine::{Home, Scope};
/// let scope = Scope::of(Some(&Home::new("app/functions/label.yaml", 0)));
/// assert!(scope.holds_home(Some(&Home::new("app/deep/web.yaml", 0))));
/// assert!(!scope.holds_home(Some(&Home::new("apple/web.yaml", 0))));
/// ```
#[derive(Clone, Default)]
pub enum Scope {
    #[default]
    Everything,
    /// What is in a folder and those below; with slashes, relative to the package. What the step did not see comes after
    /// what it gave, as in the reference.
    Folder(Arc<str>),
    /// What a selector chooses. What the step did not see keeps its position.
    Chosen(Arc<dyn Fn(&Resource) -> bool + Send + Sync>),
}

/// Functions in a folder of this name work on the folder above.
const FUNCTIONS: &str = "functions";

impl Scope {
    /// What a function works on whose configuration is in this file.
    pub fn of(home: Option<&Home>) -> Self {
        match home.map(|home| working_folder(&home.path)).filter(|folder| !folder.is_empty()) {
            Some(folder) => Scope::Folder(folder.into()),
            None => Scope::Everything,
        }
    }

    /// Whether a resource is worked on.
    pub fn holds(&self, r: &Resource) -> bool {
        match self {
            Scope::Chosen(is_chosen) => is_chosen(r),
            _ => self.holds_home(r.home.as_deref()),
        }
    }

    /// Whether what is in a file is worked on. What is in none is only if everything is.
    pub fn holds_home(&self, home: Option<&Home>) -> bool {
        let Scope::Folder(folder) = self else { return true };
        let Some(home) = home else { return false };
        let theirs = working_folder(&home.path);
        // By whole names: `app` does not hold what is in `apple`.
        theirs.strip_prefix(&**folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The folder for files a step adds; empty for the root.
    pub fn folder(&self) -> &str {
        match self {
            Scope::Folder(folder) => folder,
            Scope::Everything | Scope::Chosen(_) => "",
        }
    }

    /// Takes out what the step does not see, to be [put back](Self::join) after it ran.
    pub(super) fn split(&self, items: &mut Resources) -> Vec<(usize, Resource)> {
        if matches!(self, Scope::Everything) || items.iter().all(|r| self.holds(r)) {
            return Vec::new();
        }
        let all = std::mem::take(items).into_vec().into_iter().enumerate();
        let (inside, outside): (Vec<_>, Vec<_>) = all.partition(|(_, r)| self.holds(r));
        *items = Resources::from_vec(inside.into_iter().map(|(_, r)| r).collect());
        outside
    }

    pub(super) fn join(&self, items: &mut Resources, outside: Vec<(usize, Resource)>) {
        if outside.is_empty() {
            return;
        }
        let inside = std::mem::take(items).into_vec();
        let mut all = Vec::with_capacity(inside.len() + outside.len());
        let mut outside = outside.into_iter().peekable();
        for r in inside {
            while let Some((_, other)) =
                outside.next_if(|(at, _)| matches!(self, Scope::Chosen(_)) && *at <= all.len())
            {
                all.push(other);
            }
            all.push(r);
        }
        all.extend(outside.map(|(_, r)| r));
        *items = Resources::from_vec(all);
    }
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Everything => f.write_str("Everything"),
            Scope::Folder(folder) => write!(f, "Folder({folder})"),
            Scope::Chosen(_) => f.write_str("Chosen"),
        }
    }
}

/// The folder of a file; the one above if that is called `functions`.
fn working_folder(path: &str) -> &str {
    let parent = |path: &'_ str| path.rfind('/').unwrap_or(0);
    let folder = &path[..parent(path)];
    match folder == FUNCTIONS || folder.ends_with("/functions") {
        true => &folder[..parent(folder)],
        false => folder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(path: &str) -> Home {
        Home::new(path, 0)
    }

    #[test]
    fn a_function_works_on_its_folder_and_those_below() {
        let scope = Scope::of(Some(&home("app/fn.yaml")));
        assert_eq!(scope.folder(), "app");
        for (path, holds) in [
            ("app/a.yaml", true),
            ("app/deep/a.yaml", true),
            ("apple/a.yaml", false),
            ("a.yaml", false),
            ("app/functions/other.yaml", true),
        ] {
            assert_eq!(scope.holds_home(Some(&home(path))), holds, "{path}");
        }
        assert!(!scope.holds_home(None));
        assert!(matches!(Scope::of(Some(&home("fn.yaml"))), Scope::Everything));
        assert!(matches!(Scope::of(None), Scope::Everything));
    }

    #[test]
    fn functions_in_a_folder_of_that_name_work_on_the_one_above() {
        assert!(matches!(Scope::of(Some(&home("functions/fn.yaml"))), Scope::Everything));
        assert_eq!(Scope::of(Some(&home("app/functions/fn.yaml"))).folder(), "app");
        assert_eq!(Scope::of(Some(&home("app/my-functions/fn.yaml"))).folder(), "app/my-functions");
    }
}
