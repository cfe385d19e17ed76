//! What `krm cfg` and the merges read: a file, a folder, or standard input.

use std::collections::HashMap;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use krm_engine::files::unreadable_because;
use krm_engine::functions::from_list;
use krm_engine::merge::File;
use krm_engine::{Diagnostic, Node, Result, Sources, for_each_resource, package};
use krm_function::Object;
use krm_yaml::Document;
use rayon::prelude::*;

use crate::os::{self, Disk};
use crate::report::counted;

/// The endings of files that hold YAML.
pub const YAML: &[&str] = &[".yaml", ".yml"];
/// The endings of files that may hold resources.
pub const YAML_AND_JSON: &[&str] = &[".yaml", ".yml", ".json"];

/// Reads a file, every file of configuration in a folder with one of the endings but those its `.krmignore` names, or
/// standard input (`-`). What is wrong with several files of a folder is said of all of them. Templates of Helm charts
/// are passed over, and how many is said.
pub fn read(path: &str, endings: &[&str], sources: &Sources) -> Result<Vec<File>> {
    let (files, templates) = read_but_templates(path, endings, sources)?;
    tell_templates(templates.len());
    Ok(files)
}

/// The same; also the templates of Helm charts, which were passed over.
pub fn read_but_templates(
    path: &str,
    endings: &[&str],
    sources: &Sources,
) -> Result<(Vec<File>, Vec<PathBuf>)> {
    if path == "-" {
        if std::io::stdin().is_terminal() {
            eprintln!("waiting for resources on standard input; end it with Ctrl-D");
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map_err(|error| unreadable("standard input", &error))?;
        return Ok((vec![File::read(String::new(), &sources.add_bytes("<stdin>", bytes)?)?], Vec::new()));
    }
    let root = Path::new(path);
    let disk = Disk::default();
    let source = |file: &Path| {
        let shown = file.display().to_string();
        let bytes = os::read(file).map_err(|error| unreadable(&shown, &error))?;
        sources.add_bytes(shown, bytes)
    };
    if !root.is_dir() {
        disk.settle(root.parent().unwrap_or(root))?;
        // A single file goes by its name when it is added to a folder.
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok((vec![File::read(name, &source(root)?)?], Vec::new()));
    }
    let names = package::files(&disk, root, endings)?;
    let read = |name: String| -> Result<Content> {
        let place = root.join(&name);
        let source = source(&place)?;
        if package::is_chart_template(&disk, &place, source.text()) {
            return Ok(Content::Template(place));
        }
        let file = File::read(name.as_str(), &source);
        let documents = file.as_ref().map(|file| file.documents.as_slice());
        match package::is_configuration(&name, &source, documents) {
            true => file.map(Content::Configuration),
            false => Ok(Content::Other),
        }
    };
    let read: Vec<Result<Content>> = names.into_par_iter().map(read).collect();
    let (mut files, mut templates, mut faults) = (Vec::with_capacity(read.len()), Vec::new(), Vec::new());
    for file in read {
        match file {
            Ok(Content::Configuration(file)) => files.push(file),
            Ok(Content::Template(place)) => templates.push(place),
            Ok(Content::Other) => {}
            Err(fault) => faults.push(fault),
        }
    }
    if let Some(last) = faults.pop() {
        faults.push(last.help(format!("name a file that is not configuration in `{}`", package::IGNORE)));
    }
    Diagnostic::join(faults).map_or(Ok((files, templates)), Err)
}

/// What a file of a folder turned out to be.
enum Content {
    Configuration(File),
    Template(PathBuf),
    Other,
}

/// Says that templates of Helm charts were passed over: what is not read must not seem to be.
pub fn tell_templates(count: usize) {
    if count > 0 {
        eprintln!("passed over {} of Helm charts", counted(count, "template"));
    }
}

/// Reads what is merged into something else. Standard input may be the output of another command: the resources of a
/// `ResourceList` or a `List` go to the files they say they are from, without the annotations that say so, and others to
/// a file for new resources.
pub fn read_resources(path: &str, sources: &Sources) -> Result<Vec<File>> {
    let mut files = read(path, YAML_AND_JSON, sources)?;
    if path != "-" {
        return Ok(files);
    }
    let (mut items, mut documents) = (Vec::new(), Vec::new());
    for mut document in files.remove(0).documents.into_iter().filter(|document| !document.root.is_null()) {
        document.resolve_references()?;
        let mut nodes = Vec::new();
        for_each_resource(&document.root, &mut |path, node, _| nodes.push((path.is_empty(), node.clone())));
        for (is_document, node) in nodes {
            if !node.is_map() {
                let message = format!("standard input holds {}, which is not a resource", node.kind_name());
                return Err(Diagnostic::error("input-not-a-resource", message)
                    .at(node.span())
                    .help("give it resources, a ResourceList or a List"));
            }
            items.push(from_list(Object::from(node))?);
            documents.push(if is_document { document.clone() } else { Document::made(Node::null()) });
        }
    }
    package::give_homes(&mut items, "")?;
    let mut by_path: Vec<File> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for (item, mut document) in items.into_iter().zip(documents) {
        let path = item.home.clone().unwrap_or_default().path;
        document.root = without_internal_annotations(item.into_node());
        let at = *known.entry(path.clone()).or_insert_with(|| {
            by_path.push(File::made(path, Vec::new()));
            by_path.len() - 1
        });
        by_path[at].documents.push(document);
    }
    Ok(by_path)
}

/// A resource without the notes that programs take on the way: they are not for files.
fn without_internal_annotations(node: Node) -> Node {
    let mut object = Object::from(node);
    object.remove_internal_annotations();
    object.into_node()
}

/// Standard input, which is read when no path is given; nobody wants to type configuration.
pub fn no_path() -> Result<&'static str> {
    if std::io::stdin().is_terminal() { Err(no_input("nothing comes through a pipe")) } else { Ok("-") }
}

/// There is nothing to work on.
pub fn no_input(why: &str) -> Diagnostic {
    Diagnostic::error("no-input", format!("no folder or file is named, and {why}"))
        .help("name one, such as `.` for the folder you are in")
}

fn unreadable(path: &str, error: &std::io::Error) -> Diagnostic {
    let message = format!("cannot read `{path}`: {}", unreadable_because(error));
    os::with_near_path(Diagnostic::error("path-unreadable", message), Path::new(path))
}
