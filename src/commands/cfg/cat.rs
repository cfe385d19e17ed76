//! `krm cfg cat`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use krm_engine::{Diagnostic, Node, Result, cfg};
use krm_yaml::Style;
use krm_yaml::emit::preserve;

use super::{DepthArgs, LocalityArgs, Subpackages, annotate, join, read, text};
use crate::cli::examples;
use crate::os;
use crate::report::Report;

/// Print the resources of a package, one after the other
#[derive(Debug, Args)]
#[command(after_help = examples::CAT)]
pub struct CatArgs {
    /// The package: a folder or a file; standard input if none is named
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
    /// Write all values in this style; separate several with commas
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

pub fn cat(args: &CatArgs, report: &Report) -> Result<()> {
    let mut items = read(args.dir.as_deref(), args.depth.subpackages(), report)?;
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
                let mut configs = read(Some(path), Subpackages::Included, report)?;
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

fn restyle(node: &mut Node, style: YamlStyle) {
    let style = match style {
        YamlStyle::Tagged => {
            // quirk(tagged-style-tags-resources-alone): `--style TaggedStyle` writes the tag of a resource, and of
            // nothing in it. (kyaml `kio.ByteWriter`)
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
