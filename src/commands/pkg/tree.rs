//! `krm pkg tree`: the files, resources and subpackages of a package, drawn.

use std::collections::BTreeMap;

use krm_engine::package::is_configuration;
use krm_engine::{Node, Result, kpt};

use crate::cli::PkgTreeArgs;
use crate::commands::function::packages::follow_link;
use crate::os::{self, Disk};
use crate::report::{Report, sanitize};

/// A folder with what is in it.
#[derive(Default)]
struct Folder {
    is_package: bool,
    /// Resources first, then other files.
    resources: Vec<String>,
    others: Vec<String>,
    folders: BTreeMap<String, Folder>,
}

pub fn run(args: &PkgTreeArgs, report: &Report) -> Result<()> {
    let disk = Disk::default();
    let dir = follow_link(&args.dir)?;
    let mut root = Folder::default();
    for path in kpt::files::listed(&disk, &dir)? {
        let mut folder = &mut root;
        let mut parts = path.split('/').peekable();
        let mut name = "";
        while let Some(part) = parts.next() {
            match parts.peek() {
                Some(_) => folder = folder.folders.entry(part.to_owned()).or_default(),
                None => name = part,
            }
        }
        folder.is_package |= name == kpt::FILE;
        let resources = match kpt::holds_resources(&path) {
            true => resources(&disk, &dir.join(&path), report)?,
            false => Vec::new(),
        };
        match resources.is_empty() {
            true => folder.others.push(name.to_owned()),
            false => folder.resources.extend(resources.into_iter().map(|text| format!("[{name}]  {text}"))),
        }
    }
    // A link goes by its own name.
    let named = if args.dir.is_symlink() { &args.dir } else { &os::absolute(&dir)? };
    let name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut out = title(&name, &root) + "\n";
    draw(&root, "", &mut out);
    os::print(sanitize::inert(&out).as_bytes())
}

/// `KIND NAMESPACE/NAME` of each resource of a file; none if it holds something else.
fn resources(disk: &Disk, file: &std::path::Path, report: &Report) -> Result<Vec<String>> {
    let source = kpt::files::read(disk, file, &report.sources)?;
    let parsed = krm_yaml::parse(&source);
    if !is_configuration(source.name(), &source, parsed.as_deref()) {
        return Ok(Vec::new());
    }
    let documents = parsed?;
    let mut all = Vec::new();
    for document in documents.iter().filter(|document| !document.root.is_null()) {
        let text =
            |keys: &[&str]| document.root.at(keys.iter().copied()).and_then(Node::text).unwrap_or_default();
        let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
        if kind.is_empty() || text(&["apiVersion"]).is_empty() || name.is_empty() {
            return Ok(Vec::new());
        }
        all.push(match text(&["metadata", "namespace"]) {
            "" => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        });
    }
    Ok(all)
}

fn title(name: &str, folder: &Folder) -> String {
    if folder.is_package { format!("Package \"{name}\"") } else { name.to_owned() }
}

fn draw(folder: &Folder, indent: &str, out: &mut String) {
    let files = folder.resources.iter().chain(&folder.others).map(|text| (text.clone(), None));
    let folders = folder.folders.iter().map(|(name, below)| (title(name, below), Some(below)));
    let branches: Vec<(String, Option<&Folder>)> = files.chain(folders).collect();
    for (at, (text, below)) in branches.iter().enumerate() {
        let is_last = at + 1 == branches.len();
        out.push_str(&format!("{indent}{}{text}\n", if is_last { "└── " } else { "├── " }));
        if let Some(below) = below {
            draw(below, &format!("{indent}{}", if is_last { "    " } else { "│   " }), out);
        }
    }
}
