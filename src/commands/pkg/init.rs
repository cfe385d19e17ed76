//! `krm pkg init`: a folder becomes a package.

use krm_engine::{Diagnostic, Node, Result, kpt};
use krm_function::{Object, annotations};
use krm_yaml::emit::preserve;

use crate::cli::PkgInitArgs;
use crate::os::{self, Changes};

pub fn run(args: &PkgInitArgs) -> Result<()> {
    let dir = &args.dir;
    if dir.is_file() {
        return Err(Diagnostic::error("init-on-file", format!("`{}` is a file", dir.display()))
            .help("name a folder, or one that does not exist yet"));
    }
    let name = match dir.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => {
            let here = if dir.is_dir() { os::absolute(dir)? } else { os::current_dir()? };
            here.file_name().unwrap_or_default().to_string_lossy().into_owned()
        }
    };
    if !dir.exists() {
        eprintln!("creating package directory {}", dir.display());
    }
    let files = [
        (kpt::FILE, preserve::fresh(&kptfile(args, &name))),
        ("README.md", readme(args, &name)),
        (kpt::CONTEXT_FILE, preserve::fresh(&kpt::package_context("example"))),
    ];
    let mut changes = Changes::to_output(dir)?;
    for (file, text) in files {
        let path = dir.join(file);
        if !path.exists() {
            let shown = path.strip_prefix(".").unwrap_or(&path);
            eprintln!("writing {}", shown.display());
            changes.write(&path, text.as_bytes())?;
        }
    }
    changes.commit()
}

fn kptfile(args: &PkgInitArgs, name: &str) -> Node {
    let mut kptfile = Object::new(kpt::API_VERSION, kpt::FILE, name);
    kptfile.set_annotation(annotations::LOCAL_CONFIG, "true");
    let mut info = Node::map();
    for (key, value) in [("site", &args.site), ("description", &args.description)] {
        if !value.is_empty() {
            info.set(key, value.as_str());
        }
    }
    if !args.keywords.is_empty() {
        let words: Vec<Node> = args.keywords.iter().map(|word| Node::from(word.as_str())).collect();
        info.set("keywords", Node::from(words));
    }
    kptfile.set("info", info);
    kptfile.into_node()
}

fn readme(args: &PkgInitArgs, name: &str) -> String {
    format!(
        "# {name}\n\n{}\n\n## Usage\n\nLook at what is in the package:\n\n    krm pkg tree {name}\n\nRun its \
         functions:\n\n    krm fn render {name}\n",
        args.description
    )
}
