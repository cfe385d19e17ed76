//! Which functions run, in what order, and on what.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::Arc;

use krm_yaml::{Diagnostic, Result};

use crate::functions::{Function, Home, Item};
use crate::runtime::Runtime;

/// A function and what it works on.
#[derive(Clone, Debug)]
pub struct Planned {
    pub function: Function,
    pub scope: Scope,
}

/// The part of a package a function works on, and where the files it adds go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Everything,
    /// A folder and those below; with slashes, relative to the package.
    Folder(String),
}

/// Functions in a folder of this name work on the folder above.
const FUNCTIONS: &str = "functions";

impl Scope {
    /// What a function works on whose configuration stands here.
    pub fn of(home: Option<&Home>) -> Self {
        match home.map(|home| working_folder(&home.path)).filter(|folder| !folder.is_empty()) {
            Some(folder) => Scope::Folder(folder.to_owned()),
            None => Scope::Everything,
        }
    }

    /// Whether a resource is worked on. One that stands nowhere is only where everything is.
    pub fn holds(&self, home: Option<&Home>) -> bool {
        let Scope::Folder(folder) = self else { return true };
        let Some(home) = home else { return false };
        let theirs = working_folder(&home.path);
        // By whole names: `app` does not hold what is in `apple`.
        theirs.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The folder for files it adds; empty for the root.
    pub fn folder(&self) -> &str {
        match self {
            Scope::Everything => "",
            Scope::Folder(folder) => folder,
        }
    }
}

/// The folder of a file; the one above where that is called `functions`.
fn working_folder(path: &str) -> &str {
    let parent = |path: &'_ str| path.rfind('/').unwrap_or(0);
    let folder = &path[..parent(path)];
    match folder == FUNCTIONS || folder.ends_with("/functions") {
        true => &folder[..parent(folder)],
        false => folder,
    }
}

impl Planned {
    /// The functions that resources declare: those in the deepest folder first, then by the name of the folder, then as
    /// they stand in files. Refuses those that the user did not allow, all of them at once.
    ///
    /// `dir` is where programs run, `root` the folder of the package.
    pub fn declared(
        items: &[Item],
        dir: &Path,
        root: Option<&Path>,
        runtime: &Arc<Runtime>,
    ) -> Result<Vec<Self>> {
        let mut planned = Vec::new();
        let mut refused = Vec::new();
        for item in items {
            let home = item.home.as_ref();
            let folder = home.map_or("", |home| home.path.rsplit_once('/').map_or("", |(folder, _)| folder));
            let local = root.map(|root| root.join(folder));
            match Function::from_item(item, dir, local.as_deref(), runtime) {
                Ok(Some(function)) => planned.push(Self { function, scope: Scope::of(home) }),
                Ok(None) => {}
                Err(error) => refused.push(error),
            }
        }
        planned.sort_by_key(|planned| {
            let folder = planned.scope.folder().to_owned();
            let depth = if folder.is_empty() { 0 } else { folder.split('/').count() };
            (Reverse(depth), folder)
        });
        match Diagnostic::join(refused) {
            Some(error) => Err(error),
            None => Ok(planned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(path: &str) -> Home {
        Home { path: path.into(), index: 0 }
    }

    #[test]
    fn a_function_works_on_its_folder_and_those_below() {
        let scope = Scope::of(Some(&home("app/fn.yaml")));
        assert_eq!(scope, Scope::Folder("app".into()));
        for (path, holds) in [
            ("app/a.yaml", true),
            ("app/deep/a.yaml", true),
            ("apple/a.yaml", false),
            ("a.yaml", false),
            ("app/functions/other.yaml", true),
        ] {
            assert_eq!(scope.holds(Some(&home(path))), holds, "{path}");
        }
        assert!(!scope.holds(None));
        assert_eq!(Scope::of(Some(&home("fn.yaml"))), Scope::Everything);
        assert_eq!(Scope::of(None), Scope::Everything);
    }

    #[test]
    fn functions_in_a_folder_of_that_name_work_on_the_one_above() {
        assert_eq!(Scope::of(Some(&home("functions/fn.yaml"))), Scope::Everything);
        assert_eq!(Scope::of(Some(&home("app/functions/fn.yaml"))), Scope::Folder("app".into()));
        assert_eq!(
            Scope::of(Some(&home("app/my-functions/fn.yaml"))),
            Scope::Folder("app/my-functions".into())
        );
    }
}
