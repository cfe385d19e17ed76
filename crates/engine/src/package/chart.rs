//! Helm charts that lie in a package: their templates are not configuration before Helm rendered them.

use std::path::Path;

use crate::files::world::World;

/// The file that makes a folder a chart. It has an `apiVersion`, but no `kind`, and is not a resource.
const FILE: &str = "Chart.yaml";

/// Whether a file describes a chart.
pub(super) fn is_chart(path: &str) -> bool {
    path.rsplit('/').next() == Some(FILE)
}

/// Whether a file is a template of a Helm chart: it holds `{{` and lies below the `templates` of a folder with a `Chart.yaml`.
pub fn is_chart_template(world: &dyn World, place: &Path, text: &str) -> bool {
    if !text.contains("{{") {
        return false;
    }
    let Ok(real) = world.real_path(place) else { return false };
    real.ancestors().skip(1).any(|folder| {
        folder.file_name().is_some_and(|name| name == "templates")
            && folder.parent().is_some_and(|chart| world.is_file(&chart.join(FILE)))
    })
}
