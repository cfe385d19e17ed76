//! Where resources come from, as `buildMetadata` shows it.

use krm_yaml::Text;

use crate::files::repository::Repository;
use crate::files::world::clean;
use crate::resource::{Origin, Resource, ResourceRef};

/// An origin one step further.
pub(crate) fn append(origin: &Origin, path: &str) -> Origin {
    if let Some(repository) = Repository::parse(path) {
        // quirk(root-of-a-repository-is-not-cloned): The path of what comes from the root of a repository begins with
        // `notCloned`, the name of a folder that stands for one that is yet to be fetched. (`resource.Origin.Append`)
        let path = if repository.path.is_empty() { "notCloned" } else { &repository.path };
        let path = clean(std::path::Path::new(path)).display().to_string().into();
        return Origin {
            path,
            repo: repository.url.into(),
            reference: repository.reference.into(),
            ..origin.clone()
        };
    }
    let path = clean(&std::path::Path::new(origin.path.as_str()).join(path));
    Origin { path: path.display().to_string().into(), ..origin.clone() }
}

/// What a built-in, asked for in a kustomization file, leaves on the resources it sees.
pub(crate) fn by_builtin(origin: &Origin, file: &str, kind: &str) -> Origin {
    let by = ResourceRef { api_version: "builtin".into(), kind: kind.into(), ..ResourceRef::default() };
    Origin {
        repo: origin.repo.clone(),
        reference: origin.reference.clone(),
        configured_in: append(origin, file).path,
        configured_by: Some(by),
        ..Origin::default()
    }
}

/// What a configured step leaves on the resources it sees.
pub(crate) fn by_config(config: &Resource) -> Option<Origin> {
    let origin = config.origin.as_ref()?;
    Some(Origin {
        path: Text::new(),
        configured_in: origin.path.clone(),
        configured_by: Some(ResourceRef {
            api_version: config.gvk().api_version().into(),
            kind: config.kind().into(),
            name: config.name().into(),
            namespace: config.namespace().into(),
        }),
        ..(**origin).clone()
    })
}
