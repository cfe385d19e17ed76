//! `krm cfg fmt`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use krm_engine::cfg::{self, Item};
use krm_engine::merge::File;
use krm_engine::workspace::Workspace;
use krm_engine::{Diagnostic, Node, Result, Sources, edit, package, refuse_templates};
use krm_yaml::emit::preserve::{self, Layout};
use krm_yaml::{Document, Span};

use super::join;
use crate::cli::{as_kustomize, examples};
use crate::commands::input;
use crate::os;
use crate::report::{Report, counted, names};

/// Put the fields of all resources into their usual order, and indent them consistently, in place
///
/// Comments stay with their fields, blank lines between entries stay, and lists keep their order: what `krm build` prints
/// does not change. A resource annotated `config.kubernetes.io/formatting: none` is left alone, and so is a file that a
/// generator of a kustomization, there or in a folder above, puts into a ConfigMap or a Secret, one that a `.krmignore`
/// names, and a template of a Helm chart. In a folder, files that hold no resource are left alone too.
#[derive(Debug, Args)]
#[command(after_help = examples::FMT)]
pub struct FmtArgs {
    /// Packages or files; standard input to standard output if none is named, or `-`
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Change nothing; name the files that would change, and fail if there are any
    #[arg(long)]
    check: bool,
    /// Change nothing; print what would change
    #[arg(long)]
    diff: bool,
    /// Report nothing but what went wrong
    #[arg(short, long)]
    quiet: bool,
}

pub fn fmt(args: &FmtArgs, report: &Report) -> Result<()> {
    let paths = if args.paths.is_empty() { &vec![PathBuf::from(input::no_path()?)] } else { &args.paths };
    let changes = match args.check || args.diff {
        true => None,
        false => {
            let named: Vec<&Path> =
                paths.iter().map(PathBuf::as_path).filter(|path| path.as_os_str() != "-").collect();
            Some(os::Changes::in_packages(&named)?)
        }
    };
    let mut changed = Vec::new();
    let (mut templates, mut ignored) = (Vec::new(), Vec::new());
    let mut seen = 0;
    for path in paths {
        let is_input = path.as_os_str() == "-";
        if path.is_file() {
            // Hooks name every file that changed.
            if is_ignored(path)? {
                ignored.push(path.clone());
                continue;
            }
            let text = os::read(path).map(krm_yaml::decode_lossy).unwrap_or_default();
            if package::is_chart_template(&os::Disk::default(), path, &text) {
                templates.push(path.clone());
                continue;
            }
        }
        let (files, passed_over) =
            input::read_but_templates(&path.to_string_lossy(), input::YAML, &report.sources)?;
        templates.extend(passed_over);
        let is_folder = path.is_dir();
        let data = if is_input { HashSet::new() } else { data_files(path, &files) };
        for file in files {
            // Other files of a folder, such as the values of a chart, look as their owners want them to.
            if is_folder && !file.documents.iter().any(|d| is_resource(&d.root)) {
                continue;
            }
            let place = place(path, &file);
            if !data.is_empty() && place.canonicalize().is_ok_and(|place| data.contains(&place)) {
                if !is_folder {
                    report.show(&is_data(&place));
                }
                continue;
            }
            seen += usize::from(!is_input);
            let before = file.source.as_ref().map_or("", |source| source.text());
            // A check of nothing would always pass.
            if is_input && args.check && before.trim().is_empty() {
                return Err(input::no_input("standard input is empty"));
            }
            let mut text = formatted(&file.documents)?;
            if cfg::comment_places::differ_alone(before, &text) {
                text = before.to_owned();
            }
            if is_input && !args.check && !args.diff {
                os::print(text.as_bytes())?;
            } else if text != before {
                let before = before.to_owned();
                changed.push(Changed { place, before, text });
            }
        }
    }
    if args.diff {
        for Changed { place, before, text } in &changed {
            os::print(edit::diff(&place.display().to_string(), before, text).as_bytes())?;
        }
    }
    if args.check {
        check(&changed)?;
    }
    if let Some(mut changes) = changes {
        for Changed { place, before, text } in &changed {
            changes.edit(place, before, text.as_bytes())?;
        }
        changes.commit()?;
    }
    if !args.quiet && !as_kustomize::is_called() {
        input::tell_templates(templates.len());
        if !ignored.is_empty() {
            let shown = names(ignored.iter().map(|path| path.display().to_string()));
            eprintln!("passed over what `{}` names: {shown}", package::IGNORE);
        }
    }
    // Called as `kustomize` it says nothing, and a diff says it all.
    if seen > 0 && !args.diff && !args.quiet && !as_kustomize::is_called() {
        eprintln!("{}", summary(&changed, seen));
    }
    Ok(())
}

fn summary(changed: &[Changed], seen: usize) -> String {
    match changed.len() {
        0 => format!("nothing to format in {}", counted(seen, "file")),
        n => {
            let places = changed.iter().map(|file| file.place.display().to_string());
            format!("formatted {}: {}", counted(n, "file"), names(places))
        }
    }
}

/// Whether the `.krmignore` of a folder above, as far as the repository reaches, names a file.
fn is_ignored(path: &Path) -> Result<bool> {
    let disk = os::Disk::default();
    let Ok(real) = path.canonicalize() else { return Ok(false) };
    if as_kustomize::is_called() {
        return Ok(false);
    }
    for folder in real.ancestors().skip(1) {
        let below = real.strip_prefix(folder).expect("a folder above").to_string_lossy();
        if folder.join(package::IGNORE).is_file() && package::leaves_out(&disk, folder, &below)? {
            return Ok(true);
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    Ok(false)
}

/// A file that is not formatted, and how it should be.
struct Changed {
    place: PathBuf,
    before: String,
    text: String,
}

/// The files that generators put into ConfigMaps and Secrets, by their real paths: their text is data, and what is built
/// would change with it. Kustomizations of the folders above may name them as well, as far as the repository reaches.
fn data_files(path: &Path, files: &[File]) -> HashSet<PathBuf> {
    let disk = os::Disk::default();
    let Ok(real) = path.canonicalize() else { return HashSet::new() };
    let folder = if real.is_dir() { &real } else { real.parent().unwrap_or(&real) };
    let mut folders = match path.is_dir() {
        true => Workspace::folders_below(&disk, path).unwrap_or_default(),
        false => vec![folder.to_owned()],
    };
    let mut above: Vec<&Path> = Vec::new();
    for folder in folder.ancestors() {
        above.push(folder);
        if folder.join(".git").exists() {
            break;
        }
    }
    folders.extend(above.iter().skip(1).map(|folder| folder.to_path_buf()));
    let mut data = HashSet::new();
    let mut add = |folder: &Path, generator: &Node| {
        let lists = ["files", "envs"].into_iter().filter_map(|key| generator.get(key));
        let named = lists.flat_map(Node::items).chain(generator.get("env")).filter_map(Node::text);
        let named = named.map(|named| named.split_once('=').map_or(named, |(_, file)| file));
        data.extend(named.filter_map(|named| folder.join(named).canonicalize().ok()));
    };
    for layer in Workspace::of(&disk, &Sources::new(), folders).layers() {
        let fields = ["configMapGenerator", "secretGenerator"];
        let generators =
            fields.iter().filter_map(|field| layer.root.as_ref()?.get(field)).flat_map(Node::items);
        generators
            .chain(layer.configurations.iter().filter(|config| is_generator(config)))
            .for_each(|generator| add(&layer.folder, generator));
    }
    // A generator in a folder of its own names files as seen from the kustomization that uses the folder.
    for file in files {
        let inside = Path::new(&file.path).parent().into_iter().flat_map(Path::ancestors);
        let folders: Vec<PathBuf> = inside.map(|inside| folder.join(inside)).collect();
        for generator in
            file.documents.iter().map(|document| &document.root).filter(|root| is_generator(root))
        {
            let folders = folders.iter().map(PathBuf::as_path).chain(above.iter().copied());
            folders.for_each(|folder| add(folder, generator));
        }
    }
    data
}

/// The built-ins that `configMapGenerator` and `secretGenerator` stand for.
fn is_generator(config: &Node) -> bool {
    let kind = config.get("kind").and_then(Node::text);
    matches!(kind, Some("ConfigMapGenerator" | "SecretGenerator"))
}

fn is_data(place: &Path) -> Diagnostic {
    let message = format!(
        "`{}` is left as it is: a generator puts its text into a ConfigMap or a Secret",
        place.display()
    );
    Diagnostic::warning("formatting-data", message)
        .help("formatting it would change what is built; print it formatted with `krm cfg fmt < FILE`")
}

fn is_resource(node: &Node) -> bool {
    ["apiVersion", "kind"].iter().all(|key| node.get(key).and_then(Node::text).is_some())
}

fn place(path: &Path, file: &File) -> PathBuf {
    match path.as_os_str() == "-" {
        true => "standard input".into(),
        false if path.is_dir() => path.join(&file.path),
        false => path.to_owned(),
    }
}

fn check(changed: &[Changed]) -> Result<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let many = if changed.len() == 1 { " is" } else { "s are" };
    let message = format!("{} file{many} not formatted", changed.len());
    let diagnostic =
        Diagnostic::error("not-formatted", message).help("run the same command without `--check`");
    Err(changed.iter().fold(diagnostic, |d, file| d.note(file.place.display().to_string(), Span::NONE)))
}

pub fn formatted(documents: &[Document]) -> Result<String> {
    let texts = documents.iter().map(document).collect::<Result<Vec<_>>>()?;
    // A comment ahead of the first `---` is read as that of the first document, and may as well be there.
    let (lead, texts) = match (documents, texts.as_slice()) {
        ([first, _, ..], [lead, rest @ ..]) if first.root.is_null() => (lead.as_str(), rest),
        (_, all) => ("", all),
    };
    Ok(format!("{lead}{}", join(texts.iter().filter(|text| !text.is_empty()).cloned())))
}

/// A document as `kustomize cfg fmt` formats it: fields in their order, indented by two, lists not further than their keys.
fn document(document: &Document) -> Result<String> {
    let mut item = Item::of(document.root.clone());
    if document.root.is_null() || cfg::format::is_left_alone(&item) || is_json(document) {
        let text = preserve::document(document);
        let text = text.strip_prefix("---\n").unwrap_or(&text);
        let is_said = text.lines().any(|line| !matches!(line.trim(), "" | "---"));
        return Ok(if is_said { format!("{}\n", text.trim_end()) } else { String::new() });
    }
    refuse_templates(&item.node)?;
    cfg::format::format(&mut item)?;
    let text = preserve::fresh_document(document.head(), &item.node, document.foot(), Layout::COMPACT);
    Ok(cfg::blank_lines::kept(document, &item.node, text))
}

/// Whether a document is JSON, which is left alone: YAML would write it on one line, with escapes that JSON does not have.
/// What is on a single line of a YAML file is YAML in braces.
fn is_json(document: &Document) -> bool {
    let source = document.source();
    let text = source.text()[document.span().range()].trim_start_matches('\u{feff}').trim();
    let is_yaml = input::YAML.iter().any(|ending| source.name().ends_with(ending));
    (text.contains('\n') || !is_yaml) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
