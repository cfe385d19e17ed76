//! `krm cfg`: looking at configuration, and formatting it.

use std::collections::{BTreeMap, HashMap};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use krm_engine::cfg::tree::{Branch, Field, Structure};
use krm_engine::cfg::{self, Item, Locality, query::Query};
use krm_engine::merge::File;
use krm_engine::{Diagnostic, Node, Result};
use krm_yaml::Style;
use krm_yaml::emit::preserve::{self, Layout};

use super::input;
use crate::cli::examples;
use crate::os;
use crate::report::Report;

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
    Cat(CatArgs),
    Count(CountArgs),
    Fmt(super::cfg_fmt::FmtArgs),
    Grep(GrepArgs),
    Tree(TreeArgs),
}

pub fn run(args: CfgArgs, report: &Report) -> Result<()> {
    match args.verb {
        Verb::Cat(args) => cat(&args, report),
        Verb::Count(args) => count(&args, report),
        Verb::Fmt(args) => super::cfg_fmt::fmt(&args, report),
        Verb::Grep(args) => grep(&args, report),
        Verb::Tree(args) => tree(&args, report),
    }
}

/// Print the resources of a package, one after the other
#[derive(Debug, Args)]
#[command(after_help = examples::CAT)]
struct CatArgs {
    /// The package: a folder or a file; standard input where none is named
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Put fields into their usual order
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    format: bool,
    /// Annotate each resource with the file it comes from
    #[arg(long)]
    annotate: bool,
    /// Wrap the resources in a list of this kind
    #[arg(long, value_name = "KIND")]
    wrap_kind: Option<String>,
    /// The apiVersion of that list
    #[arg(long, value_name = "VERSION")]
    wrap_version: Option<String>,
    /// A file whose one resource becomes the `functionConfig` of that list
    #[arg(long, value_name = "FILE")]
    function_config: Option<PathBuf>,
    /// Write all values in this style; several with commas between
    #[arg(long, value_name = "STYLE", value_delimiter = ',')]
    style: Vec<YamlStyle>,
    /// Leave comments out
    #[arg(long)]
    strip_comments: bool,
    #[command(flatten)]
    locality: LocalityArgs,
    /// Write to this file instead of standard output
    #[arg(long, value_name = "FILE")]
    dest: Option<PathBuf>,
    #[command(flatten)]
    depth: DepthArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YamlStyle {
    #[value(name = "TaggedStyle")]
    Tagged,
    #[value(name = "DoubleQuotedStyle")]
    DoubleQuoted,
    #[value(name = "SingleQuotedStyle")]
    SingleQuoted,
    #[value(name = "LiteralStyle")]
    Literal,
    #[value(name = "FoldedStyle")]
    Folded,
    #[value(name = "FlowStyle")]
    Flow,
}

#[derive(Debug, Args)]
struct LocalityArgs {
    /// Show configuration for tools too: what is annotated `config.kubernetes.io/local-config`
    #[arg(long)]
    include_local: bool,
    /// Show nothing else
    #[arg(long)]
    exclude_non_local: bool,
}

impl LocalityArgs {
    fn keeps(&self, item: &Item) -> bool {
        let LocalityArgs { include_local, exclude_non_local } = *self;
        Locality { include_local, exclude_non_local }.keeps(item)
    }
}

#[derive(Debug, Args)]
struct DepthArgs {
    /// Look into the packages within the package too: folders with a `Krmfile` or `Kptfile`
    #[arg(short = 'R', long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    recurse_subpackages: bool,
}

fn cat(args: &CatArgs, report: &Report) -> Result<()> {
    let mut items = read(args.dir.as_deref(), args.depth.recurse_subpackages, report)?;
    items.retain(|item| args.locality.keeps(item));
    for item in &mut items {
        if args.annotate {
            annotate(item);
        }
        if args.format {
            cfg::format::format(item)?;
        }
        if args.strip_comments {
            cfg::format::strip_comments(&mut item.node);
            (item.head, item.foot) = Default::default();
        }
        for style in &args.style {
            restyle(&mut item.node, *style);
        }
    }
    let text = match &args.wrap_kind {
        None => join(items.iter_mut().map(text)),
        Some(kind) => {
            let mut list = Node::map();
            list.set("apiVersion", args.wrap_version.as_deref().unwrap_or("config.kubernetes.io/v1"));
            list.set("kind", kind.as_str());
            items.iter_mut().for_each(|item| cfg::format::drop_empty_annotations(&mut item.node));
            list.set("items", Node::from(items.into_iter().map(|item| item.node).collect::<Vec<_>>()));
            if let Some(path) = &args.function_config {
                let mut configs = read(Some(path), true, report)?;
                if configs.len() != 1 {
                    let message = format!("{} holds {} resources", path.display(), configs.len());
                    return Err(Diagnostic::error("function-config-count", message)
                        .help("`--function-config` takes a file with exactly one"));
                }
                list.set("functionConfig", configs.remove(0).node);
            }
            preserve::fresh(&list)
        }
    };
    match &args.dest {
        None => os::print(text.as_bytes()),
        Some(path) => os::write(path, text.as_bytes()),
    }
}

fn text(item: &mut Item) -> String {
    cfg::format::drop_empty_annotations(&mut item.node);
    preserve::fresh_document(&item.head, &item.node, &item.foot, Layout::COMPACT)
}

pub(super) fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("---\n")
}

fn annotate(item: &mut Item) {
    if item.path.is_empty() {
        return;
    }
    // Into a place of their own, not into brackets that stand empty.
    cfg::format::drop_empty_annotations(&mut item.node);
    let (path, index) = (item.path.clone(), item.index.to_string());
    let annotations = item.node.map_at("metadata").and_then(|meta| meta.map_at("annotations"));
    if let Some(annotations) = annotations {
        for prefix in ["config.kubernetes.io", "internal.config.kubernetes.io"] {
            annotations
                .set(&format!("{prefix}/index"), Node::from(index.as_str()).with_style(Style::SingleQuoted));
            annotations
                .set(&format!("{prefix}/path"), Node::from(path.as_str()).with_style(Style::SingleQuoted));
        }
    }
}

fn restyle(node: &mut Node, style: YamlStyle) {
    let style = match style {
        YamlStyle::Tagged => {
            // As in the reference, of the resource alone.
            if node.is_map() {
                node.trivia_mut().tag = Some("!!map".into());
            }
            return;
        }
        YamlStyle::DoubleQuoted => Style::DoubleQuoted,
        YamlStyle::SingleQuoted => Style::SingleQuoted,
        YamlStyle::Literal => Style::Literal,
        YamlStyle::Folded => Style::Folded,
        YamlStyle::Flow => Style::Flow,
    };
    apply_style(node, style);
}

fn apply_style(node: &mut Node, style: Style) {
    if (style == Style::Flow) != node.is_scalar() {
        node.set_style(style);
    }
    if let Some(map) = node.as_map_mut() {
        map.values_mut().for_each(|(_, value)| apply_style(value, style));
    } else if let Some(items) = node.as_seq_mut() {
        items.iter_mut().for_each(|item| apply_style(item, style));
    }
}

/// Count the resources of a package
#[derive(Debug, Args)]
#[command(after_help = examples::COUNT)]
struct CountArgs {
    /// The package: a folder or a file; standard input where none is named
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
    for Package { path, items } in packages(args.dir.as_deref(), args.depth.recurse_subpackages, report)? {
        if let Some(dir) = args.dir.as_deref().filter(|dir| dir.as_os_str() != "-") {
            // A blank line between packages.
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("{}/\n", clean(&dir.join(path))));
        }
        match args.kind {
            true => cfg::count(&items)
                .iter()
                .for_each(|(kind, count)| text.push_str(&format!("{kind}: {count}\n"))),
            false => text.push_str(&format!("{}\n", items.len())),
        }
    }
    os::print(text.as_bytes())
}

/// Print the resources that have a field with a value
///
/// The query is a field path, alone or with a regular expression (`=`) or a quantity (`<`, `<=`, `>`, `>=`) to compare with.
#[derive(Debug, Args)]
#[command(after_help = examples::GREP)]
struct GrepArgs {
    /// What to look for, as `path.to.field[=value]`
    query: String,
    /// The package: a folder or a file; standard input where none is named
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Annotate each resource with the file it comes from, and its position there: annotations that end in `/path` and
    /// `/index`, which functions and `krm fn sink` go by; `--annotate=false` prints resources as they are
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_missing_value = "true", value_name = "BOOL")]
    annotate: bool,
    /// Print the resources that do not fit
    #[arg(long)]
    invert_match: bool,
    #[command(flatten)]
    depth: DepthArgs,
}

fn grep(args: &GrepArgs, report: &Report) -> Result<()> {
    let query = Query::parse(&args.query)?;
    let mut items = read(args.dir.as_deref(), args.depth.recurse_subpackages, report)?;
    items.retain(|item| query.accepts(item) != args.invert_match);
    if args.annotate {
        items.iter_mut().for_each(annotate);
    }
    os::print(join(items.iter_mut().map(text)).as_bytes())
}

/// Draw a package as a tree of folders, files and resources
#[derive(Debug, Args)]
#[command(after_help = examples::TREE)]
struct TreeArgs {
    /// The package, or `-` for standard input
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Show the names of containers
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    name: Option<bool>,
    /// Show the resources containers ask for
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    resources: Option<bool>,
    /// Show ports
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    ports: Option<bool>,
    /// Show images
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    image: Option<bool>,
    /// Show replicas
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    replicas: Option<bool>,
    /// Show arguments
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    args: Option<bool>,
    /// Show commands
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    command: Option<bool>,
    /// Show environment variables
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL", hide_possible_values = true)]
    env: Option<bool>,
    /// Show all of these but those that are switched off, as with `--all --env=false`
    #[arg(long)]
    all: bool,
    /// Show this field; may be given several times
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    field: Vec<String>,
    #[command(flatten)]
    locality: LocalityArgs,
    /// What the branches stand for; unless this says it, owners where any resource has one, else folders and files
    #[arg(long, value_name = "STRUCTURE")]
    graph_structure: Option<GraphStructure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GraphStructure {
    /// Who owns whom
    Owners,
    /// Folders and files
    Directory,
}

fn tree(args: &TreeArgs, report: &Report) -> Result<()> {
    let from_input = args.dir.as_os_str() == "-";
    let mut items = Vec::new();
    input::read(&args.dir.to_string_lossy(), &report.sources)?
        .into_iter()
        .for_each(|file| take(file, &mut items));
    items.retain(|item| args.locality.keeps(item));
    if from_input {
        items.iter_mut().for_each(|item| item.path = item.annotated_path().to_owned());
    }
    if items.is_empty() {
        return Ok(());
    }
    let mut fields = args.field.iter().map(|path| Field::new(path)).collect::<Result<Vec<_>>>()?;
    let parts = [
        (args.name, "name"),
        (args.image, "image"),
        (args.command, "command"),
        (args.args, "args"),
        (args.env, "env"),
        (args.resources, "resources"),
        (args.ports, "ports"),
    ];
    let is_shown = |asked: Option<bool>| asked.unwrap_or(args.all);
    for (_, part) in parts.iter().filter(|(asked, _)| is_shown(*asked)) {
        fields.extend(Field::of_containers(part));
    }
    if is_shown(args.replicas) {
        fields.push(Field::new("spec.replicas")?);
    }
    if is_shown(args.ports) {
        fields.push(Field::new("spec.ports")?);
    }
    let structure = args.graph_structure.map(|structure| match structure {
        GraphStructure::Owners => Structure::Owners,
        GraphStructure::Directory => Structure::Folders,
    });
    let root = if from_input { "." } else { &clean(&args.dir) };
    let tree =
        cfg::tree::tree(root, &items, &fields, structure, &|folder| is_package(&args.dir.join(folder)))?;
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let mut text = format!("{}\n", tree.text);
    draw(&tree.branches, "", colour, &mut text);
    os::print(text.as_bytes())
}

/// A path without `./` and trailing `/`, for showing.
fn clean(path: &Path) -> String {
    let parts = path.components().filter(|part| *part != std::path::Component::CurDir);
    let clean: PathBuf = parts.collect();
    if clean.as_os_str().is_empty() { ".".to_owned() } else { clean.display().to_string() }
}

fn draw(branches: &[Branch], indent: &str, colour: bool, out: &mut String) {
    for (at, branch) in branches.iter().enumerate() {
        let is_last = at + 1 == branches.len();
        out.push_str(indent);
        out.push_str(if is_last { "└── " } else { "├── " });
        match &branch.tag {
            Some(tag) if colour => out.push_str(&format!("[\x1b[36m{tag}\x1b[0m]  ")),
            Some(tag) => out.push_str(&format!("[{tag}]  ")),
            None => {}
        }
        out.push_str(&branch.text);
        out.push('\n');
        draw(&branch.branches, &format!("{indent}{}", if is_last { "    " } else { "│   " }), colour, out);
    }
}

/// A package within a folder: its path there, and its resources, whose paths are within the package.
struct Package {
    path: String,
    items: Vec<Item>,
}

/// The resources of a folder, a file, or standard input; those of packages within behind those of the folder itself.
fn read(path: Option<&Path>, subpackages: bool, report: &Report) -> Result<Vec<Item>> {
    Ok(packages(path, subpackages, report)?.into_iter().flat_map(|package| package.items).collect())
}

fn packages(path: Option<&Path>, subpackages: bool, report: &Report) -> Result<Vec<Package>> {
    let shown = path.map_or_else(|| Ok(input::no_path()?.into()), |path| Ok(path.to_string_lossy()))?;
    let mut packages: BTreeMap<String, Vec<Item>> = BTreeMap::from([(String::new(), Vec::new())]);
    let mut known = HashMap::new();
    for mut file in input::read(&shown, &report.sources)? {
        let package = path.map_or("", |root| package_of(root, &file.path, &mut known)).to_owned();
        if !subpackages && !package.is_empty() {
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

fn is_package(folder: &Path) -> bool {
    krm_engine::package::PACKAGE_FILES.iter().any(|name| folder.join(name).is_file())
}

/// Takes the resources out of a file; those within a list one by one where they come without a file.
fn take(file: File, items: &mut Vec<Item>) {
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
