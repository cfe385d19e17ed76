//! `krm cfg tree`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use krm_engine::cfg::tree::{Branch, Field, Structure};
use krm_engine::files::clean;
use krm_engine::{Result, cfg};

use super::{LocalityArgs, is_package, take, without_lists};
use crate::cli::examples;
use crate::commands::input;
use crate::os;
use crate::report::colour::{CYAN, paint};
use crate::report::{Report, sanitize};

/// Draw a package as a tree of folders, files and resources
#[derive(Debug, Args)]
#[command(after_help = examples::TREE)]
pub struct TreeArgs {
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
    /// What the branches are; by default owners if any resource has one, else folders and files
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

pub fn tree(args: &TreeArgs, report: &Report) -> Result<()> {
    let from_input = args.dir.as_os_str() == "-";
    let mut items = Vec::new();
    input::read(&args.dir.to_string_lossy(), input::YAML, &report.sources)?
        .into_iter()
        .for_each(|file| take(file, &mut items));
    items = without_lists(items);
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
    let root = if from_input { Path::new(".") } else { &clean(&args.dir) };
    let root = &root.to_string_lossy();
    let tree =
        cfg::tree::tree(root, &items, &fields, structure, &|folder| is_package(&args.dir.join(folder)))?;
    let colour = report.colours.on_stdout();
    let mut text = format!("{}\n", sanitize::inert(&tree.text));
    draw(&tree.branches, "", colour, &mut text);
    os::print(text.as_bytes())
}

fn draw(branches: &[Branch], indent: &str, colour: bool, out: &mut String) {
    for (at, branch) in branches.iter().enumerate() {
        let is_last = at + 1 == branches.len();
        out.push_str(indent);
        out.push_str(if is_last { "└── " } else { "├── " });
        match branch.tag.as_deref().map(sanitize::inert) {
            Some(tag) if colour => out.push_str(&format!("[{}]  ", paint(CYAN, &tag))),
            Some(tag) => out.push_str(&format!("[{tag}]  ")),
            None => {}
        }
        out.push_str(&sanitize::inert(&branch.text));
        out.push('\n');
        draw(&branch.branches, &format!("{indent}{}", if is_last { "    " } else { "│   " }), colour, out);
    }
}
