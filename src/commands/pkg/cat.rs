//! `krm pkg cat`: the files of a package, one after the other.

use std::path::Path;

use krm_engine::package::is_configuration;
use krm_engine::{Result, cfg, kpt};
use krm_function::annotations;
use krm_yaml::{Node, Style};

use crate::cli::PkgCatArgs;
use crate::commands::cfg::{join, text};
use crate::os::{self, Disk};
use crate::report::Report;

pub fn run(args: &PkgCatArgs, report: &Report) -> Result<()> {
    let disk = Disk::default();
    let (root, mut paths) = match args.dir.is_file() {
        true => {
            let name = args.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (args.dir.parent().unwrap_or(Path::new("")).to_path_buf(), vec![name])
        }
        false => (args.dir.clone(), kpt::files::listed(&disk, &args.dir)?),
    };
    // Those of a package come before those of its subpackages.
    let package_of = |path: &str| {
        let folders = path.rmatch_indices('/').map(|(end, _)| path[..end].to_owned());
        folders
            .into_iter()
            .find(|folder| paths.contains(&format!("{folder}/{}", kpt::FILE)))
            .unwrap_or_default()
    };
    let mut ordered: Vec<(String, String)> =
        paths.iter().map(|path| (package_of(path), path.clone())).collect();
    ordered.sort_by(|(a, _), (b, _)| a.split('/').cmp(b.split('/')));
    paths = ordered.into_iter().map(|(_, path)| path).collect();
    if !args.recurse_subpackages {
        let below: Vec<String> = paths
            .iter()
            .filter_map(|path| path.strip_suffix("/Kptfile").map(|folder| format!("{folder}/")))
            .collect();
        paths.retain(|path| !below.iter().any(|folder| path.starts_with(folder)));
    }
    let mut texts = Vec::new();
    for path in &paths {
        let file = root.join(path);
        let source = match kpt::files::read(&disk, &file, &report.sources) {
            Ok(source) => source,
            // What is not text is left out.
            Err(_) if !kpt::holds_resources(path) => continue,
            Err(error) => return Err(error),
        };
        let as_text = || source.text().trim_end_matches('\n').to_owned() + "\n";
        if !kpt::holds_resources(path) {
            texts.push(as_text());
            continue;
        }
        let parsed = krm_yaml::parse(&source);
        if !is_configuration(path, &source, parsed.as_deref()) {
            texts.push(as_text());
            continue;
        }
        let documents = parsed?.into_iter().filter(|document| !document.root.is_null());
        for (index, document) in documents.enumerate() {
            let mut item = cfg::Item {
                path: path.clone(),
                index,
                head: document.head().to_owned(),
                foot: document.foot().to_owned(),
                node: document.root,
            };
            if args.annotate {
                annotate(&mut item);
            }
            if args.format {
                cfg::format::format(&mut item)?;
            }
            if args.strip_comments {
                cfg::format::strip_comments(&mut item.node);
                (item.head, item.foot) = Default::default();
            }
            texts.push(text(&mut item));
        }
    }
    os::print(join(texts.into_iter()).as_bytes())
}

/// Says where a resource is, under the names of today and the older ones.
fn annotate(item: &mut cfg::Item) {
    let index = item.index.to_string();
    let values = [
        (annotations::LEGACY_INDEX, index.as_str()),
        (annotations::LEGACY_PATH, item.path.as_str()),
        (annotations::INDEX, index.as_str()),
        (annotations::PATH, item.path.as_str()),
    ];
    if let Some(all) = item.node.map_at("metadata").and_then(|metadata| metadata.map_at("annotations")) {
        for (key, value) in values {
            all.set(key, Node::from(value).with_style(Style::SingleQuoted));
        }
    }
}
