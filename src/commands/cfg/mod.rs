//! `krm cfg`: looking at configuration, and formatting it.

mod cat;
pub mod fmt;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use krm_engine::cfg::{self, Item, Locality, query::Query};
use krm_engine::files::clean;
use krm_engine::merge::File;
use krm_engine::{Node, Result, for_each_resource};
use krm_function::annotations::{INDEX, LEGACY_INDEX, LEGACY_PATH, PATH};
use krm_yaml::Style;
use krm_yaml::emit::preserve::{self, Layout};

use super::input;
use crate::cli::examples;
use crate::os;
use crate::report::{Report, sanitize};

/// Look at configuration: draw it, print it, search it, count it, format it
///
/// A package is a folder of configuration: its `.yaml` and `.yml` files, and those of the folders within. What a file
/// `.krmignore` names there, by patterns as in `.gitignore`, is left out.
#[derive(Debug, Args)]
#[command(after_help = examples::CFG)]
pub struct CfgArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Cat(cat::CatArgs),
    Count(CountArgs),
    Fmt(fmt::FmtArgs),
    Grep(GrepArgs),
    Tree(tree::TreeArgs),
}

pub fn run(args: CfgArgs, report: &Report) -> Result<()> {
    match args.verb {
        Verb::Cat(args) => cat::cat(&args, report),
        Verb::Count(args) => count(&args, report),
        Verb::Fmt(args) => fmt::fmt(&args, report),
        Verb::Grep(args) => grep(&args, report),
        Verb::Tree(args) => tree::tree(&args, report),
    }
}

/// Whether configuration for tools counts.
#[derive(Debug, Args)]
pub(super) struct LocalityArgs {
    /// Show configuration for tools too: what is annotated `config.kubernetes.io/local-config`
    #[arg(long)]
    include_local: bool,
    /// Show nothing else
    #[arg(long)]
    exclude_non_local: bool,
}

impl LocalityArgs {
    pub fn keeps(&self, item: &Item) -> bool {
        let LocalityArgs { include_local, exclude_non_local } = *self;
        Locality { include_local, exclude_non_local }.keeps(item)
    }
}

/// Whether packages within the package count.
#[derive(Debug, Args)]
pub(super) struct DepthArgs {
    /// Look into the packages within the package too: folders with a `Krmfile` or `Kptfile`
    #[arg(short = 'R', long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    recurse_subpackages: bool,
}

impl DepthArgs {
    pub fn subpackages(&self) -> Subpackages {
        if self.recurse_subpackages { Subpackages::Included } else { Subpackages::Skipped }
    }
}

/// What is done with the packages within a package.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Subpackages {
    Included,
    Skipped,
}

/// A resource as it is printed.
pub fn text(item: &mut Item) -> String {
    cfg::format::drop_empty_annotations(&mut item.node);
    preserve::fresh_document(&item.head, &item.node, &item.foot, Layout::COMPACT)
}

pub fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("---\n")
}

/// Notes the file a resource comes from, and its position there.
pub(super) fn annotate(item: &mut Item) {
    if item.path.is_empty() {
        return;
    }
    // Into a place of their own, not into brackets that are empty.
    cfg::format::drop_empty_annotations(&mut item.node);
    let (path, index) = (item.path.clone(), item.index.to_string());
    let annotations = item.node.map_at("metadata").and_then(|meta| meta.map_at("annotations"));
    if let Some(annotations) = annotations {
        for (key, value) in [(LEGACY_INDEX, &index), (LEGACY_PATH, &path), (INDEX, &index), (PATH, &path)] {
            annotations.set(key, Node::from(value.as_str()).with_style(Style::SingleQuoted));
        }
    }
}

/// Count the resources of a package
#[derive(Debug, Args)]
#[command(after_help = examples::COUNT)]
struct CountArgs {
    /// The package: a folder or a file; standard input if none is named
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Count each kind apart
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    kind: bool,
    #[command(flatten)]
    depth: DepthArgs,
}

fn count(args: &CountArgs, report: &Report) -> Result<()> {
    let mut text = String::new();
    for Package { path, items } in packages(args.dir.as_deref(), args.depth.subpackages(), report)? {
        let items = without_lists(items);
        if let Some(dir) = args.dir.as_deref().filter(|dir| dir.as_os_str() != "-") {
            // A blank line between packages.
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("{}/\n", clean(&dir.join(path)).display()));
        }
        match args.kind {
            true => cfg::count(&items)
                .iter()
                .for_each(|(kind, count)| text.push_str(&format!("{kind}: {count}\n"))),
            false => text.push_str(&format!("{}\n", items.len())),
        }
    }
    os::print(sanitize::inert(&text).as_bytes())
}

/// Print the resources that have a field with a value
///
/// The query is a field path, alone or with a regular expression (`=`) or a quantity (`<`, `<=`, `>`, `>=`) to compare with.
#[derive(Debug, Args)]
#[command(after_help = examples::GREP)]
struct GrepArgs {
    /// What to look for, as `path.to.field[=value]`
    query: String,
    /// The package: a folder or a file; standard input if none is named
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Annotate each resource with the file it comes from, and its position there: annotations that end in `/path` and
    /// `/index`, which functions and `krm fn sink` go by; `--annotate=false` prints resources as they are
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    annotate: bool,
    /// Print the resources that do not match
    #[arg(long)]
    invert_match: bool,
    #[command(flatten)]
    depth: DepthArgs,
}

fn grep(args: &GrepArgs, report: &Report) -> Result<()> {
    let query = Query::parse(&args.query)?;
    let mut items = without_lists(read(args.dir.as_deref(), args.depth.subpackages(), report)?);
    items.retain(|item| query.accepts(item) != args.invert_match);
    if args.annotate {
        items.iter_mut().for_each(annotate);
    }
    os::print(join(items.iter_mut().map(text)).as_bytes())
}

/// A package within a folder: its path there, and its resources, whose paths are within the package.
struct Package {
    path: String,
    items: Vec<Item>,
}

/// The resources of a folder, a file, or standard input; those of packages within after those of the folder itself.
pub(super) fn read(path: Option<&Path>, subpackages: Subpackages, report: &Report) -> Result<Vec<Item>> {
    Ok(packages(path, subpackages, report)?.into_iter().flat_map(|package| package.items).collect())
}

fn packages(path: Option<&Path>, subpackages: Subpackages, report: &Report) -> Result<Vec<Package>> {
    let shown = path.map_or_else(|| Ok(input::no_path()?.into()), |path| Ok(path.to_string_lossy()))?;
    let mut packages: BTreeMap<String, Vec<Item>> = BTreeMap::from([(String::new(), Vec::new())]);
    let mut known = HashMap::new();
    for mut file in input::read(&shown, input::YAML, &report.sources)? {
        let package = path.map_or("", |root| package_of(root, &file.path, &mut known)).to_owned();
        if subpackages == Subpackages::Skipped && !package.is_empty() {
            continue;
        }
        if !package.is_empty() {
            file.path.drain(..=package.len());
        }
        take(file, packages.entry(package).or_default());
    }
    Ok(packages.into_iter().map(|(path, items)| Package { path, items }).collect())
}

/// The innermost folder that is a package of its own, by the file that marks one; nothing of what belongs to the root.
fn package_of<'p>(root: &Path, path: &'p str, known: &mut HashMap<String, bool>) -> &'p str {
    let mut folder = path;
    while let Some((parent, _)) = folder.rsplit_once('/') {
        folder = parent;
        if *known.entry(folder.to_owned()).or_insert_with(|| is_package(&root.join(folder))) {
            return folder;
        }
    }
    ""
}

pub(super) fn is_package(folder: &Path) -> bool {
    krm_engine::package::PACKAGE_FILES.iter().any(|name| folder.join(name).is_file())
}

/// Takes the resources out of a file; those within a list one by one if they come without a file.
pub(super) fn take(file: File, items: &mut Vec<Item>) {
    for (index, document) in file.documents.iter().filter(|document| !document.root.is_null()).enumerate() {
        let node = document.root.clone();
        let is_list =
            node.get("kind").and_then(Node::text).is_some_and(|kind| matches!(kind, "List" | "ResourceList"));
        let path = file.path.clone();
        match node.get("items").filter(|_| is_list && path.is_empty()) {
            Some(list) => {
                let nodes = list.items().iter().cloned();
                items.extend(nodes.map(|node| Item { index, ..Item::of(node) }));
            }
            None => {
                let (head, foot) = (document.head().to_owned(), document.foot().to_owned());
                items.push(Item { path, index, node, head, foot });
            }
        }
    }
}

/// Puts the items of lists in place of the lists. Each counts as a resource of the file.
pub(super) fn without_lists(items: Vec<Item>) -> Vec<Item> {
    let mut result: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        let (mut nodes, mut is_list) = (Vec::new(), true);
        for_each_resource(&item.node, &mut |path, node, _| {
            is_list = !path.is_empty();
            nodes.push(node.clone());
        });
        let resources = match is_list {
            true => {
                nodes.into_iter().map(|node| Item { path: item.path.clone(), ..Item::of(node) }).collect()
            }
            false => vec![item],
        };
        for mut resource in resources {
            let last = result.last().filter(|last| last.path == resource.path && !last.path.is_empty());
            if let Some(last) = last {
                resource.index = last.index + 1;
            }
            result.push(resource);
        }
    }
    result
}
