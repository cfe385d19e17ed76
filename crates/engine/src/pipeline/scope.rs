//! Which resources a step sees.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

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
    /// All resources, as most steps do.
    #[default]
    Everything,
    /// What is in a folder and those below; with slashes, relative to the package. What the step did not see comes after
    /// what it gave.
    // quirk(out-of-scope-comes-last): Resources outside the folder of a function come after those in it, wherever they
    // were before. (kyaml `FunctionFilter.Filter`)
    Folder(Arc<str>),
    /// What a package and those below it hold. What the step did not see comes after what it gave.
    Part(Choice),
    /// What a selector chooses. What the step did not see keeps its position, and so does what it was given; what is new
    /// comes last.
    Chosen(Choice),
}

/// Says of a resource whether a step sees it.
type Choice = Arc<dyn Fn(&Resource) -> bool + Send + Sync>;

/// What a step does not see, and where everything was before it ran.
#[derive(Default)]
pub(crate) struct Outside {
    others: Vec<(usize, Resource)>,
    /// Where those were that the step sees, by their numbers.
    seats: FxHashMap<usize, usize>,
}

impl Outside {
    /// The resources that the step does not see.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Resource> {
        self.others.iter().map(|(_, r)| r)
    }
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
            Scope::Part(holds) | Scope::Chosen(holds) => holds(r),
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
    pub(crate) fn folder(&self) -> &str {
        match self {
            Scope::Folder(folder) => folder,
            Scope::Everything | Scope::Part(_) | Scope::Chosen(_) => "",
        }
    }

    /// Takes out what the step does not see, to be [put back](Self::join) after it ran.
    pub(crate) fn split(&self, items: &mut Resources) -> Outside {
        if matches!(self, Scope::Everything) || items.iter().all(|r| self.holds(r)) {
            return Outside::default();
        }
        let all = std::mem::take(items).into_vec().into_iter().enumerate();
        let (inside, others): (Vec<_>, Vec<_>) = all.partition(|(_, r)| self.holds(r));
        let mut seats = FxHashMap::default();
        if let Scope::Chosen(_) = self {
            seats.extend(inside.iter().filter_map(|(at, r)| Some((number(r)?, *at))));
        }
        *items = Resources::from_vec(inside.into_iter().map(|(_, r)| r).collect());
        Outside { others, seats }
    }

    pub(crate) fn join(&self, items: &mut Resources, outside: Outside) {
        let Outside { others, seats } = outside;
        if others.is_empty() {
            return;
        }
        let inside = std::mem::take(items).into_vec();
        let Scope::Chosen(_) = self else {
            *items =
                Resources::from_vec(inside.into_iter().chain(others.into_iter().map(|(_, r)| r)).collect());
            return;
        };
        let mut all: Vec<Option<Resource>> = Vec::new();
        all.resize_with(others.len() + seats.len(), || None);
        others.into_iter().for_each(|(at, r)| all[at] = Some(r));
        for r in inside {
            match number(&r).and_then(|number| seats.get(&number)) {
                Some(seat) if all[*seat].is_none() => all[*seat] = Some(r),
                _ => all.push(Some(r)),
            }
        }
        *items = Resources::from_vec(all.into_iter().flatten().collect());
    }
}

fn number(r: &Resource) -> Option<usize> {
    r.home.as_ref().and_then(|home| home.number)
}

impl fmt::Debug for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Everything => f.write_str("Everything"),
            Scope::Folder(folder) => write!(f, "Folder({folder})"),
            Scope::Part(_) => f.write_str("Part"),
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
    use crate::schema::Schema;

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
    fn what_a_selector_leaves_out_keeps_its_position() {
        let resource = |number: usize| {
            let node = krm_function::Object::new("v1", "ConfigMap", "a").into_node();
            let mut r = Resource::new(node, &Schema::builtin());
            r.home = Some(Box::new(Home { number: Some(number), ..home("a.yaml") }));
            r
        };
        let scope = Scope::Chosen(Arc::new(|r| number(r).is_some_and(|number| number % 2 == 1)));
        let mut items = Resources::from_vec((0..6).map(resource).collect());
        let outside = scope.split(&mut items);
        // One is gone, the others are in another order, and there is a new one.
        *items.as_vec_mut() = [9, 5, 1].into_iter().map(resource).collect();
        scope.join(&mut items, outside);
        assert_eq!(items.iter().filter_map(number).collect::<Vec<_>>(), [0, 1, 2, 4, 5, 9]);
    }

    #[test]
    fn functions_in_a_folder_of_that_name_work_on_the_one_above() {
        assert!(matches!(Scope::of(Some(&home("functions/fn.yaml"))), Scope::Everything));
        assert_eq!(Scope::of(Some(&home("app/functions/fn.yaml"))).folder(), "app");
        assert_eq!(Scope::of(Some(&home("app/my-functions/fn.yaml"))).folder(), "app/my-functions");
    }
}
